"""What this library chooses itself."""

from benchmark_utils.ours import OurSolver


class Solver(OurSolver):
    """Method ``auto``."""

    name = "auto"
    method = "auto"
