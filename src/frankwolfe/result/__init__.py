"""What a run returns: `Result`, how it ended (`Status`), and how it went (`Trace`)."""

from frankwolfe.result.result import Result, Status
from frankwolfe.result.trace import COLUMNS, Trace

__all__ = ["COLUMNS", "Result", "Status", "Trace"]
