"""`Trace`: how a run went, point by point."""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from frankwolfe.rows.observed_entries import named_weights, weights_named

if TYPE_CHECKING:
    from frankwolfe.problem import Problem

COLUMNS = (
    "nit",
    "passes",
    "seconds",
    "fun",
    "gap",
    "gap_estimate",
    "table_error",
    "complexity",
    "fw_gap",
    "bound_estimate",
    "violation",
)
LAZY = ("fun", "gap", "fw_gap", "complexity", "violation")
"""Columns that are worked out when they are first read."""
PENDING_BYTES = 2**28
"""Memory that iterates waiting to be evaluated may take before that is done at once."""


class Trace(Mapping[str, np.ndarray]):
    """How a run went: equally long columns, read as ``trace["fun"]`` or ``trace.fun``.

    While the run goes on only the iterates are kept. The exact objective and gap, a pass over the data for each
    point, are worked out when they are first read: who does not look does not pay. A run with ``trace=0`` keeps no
    iterates. Its trace has what the method knew by itself, and NaN elsewhere.

    Columns: ``nit`` (steps), ``passes`` (gradient evaluations / n), ``seconds`` (of the method alone), ``fun`` (exact
    objective), ``gap`` (how far that is above the best lower bound that the run, or a traced point, has proven by then;
    where the loss is not convex, ``fw_gap``), ``fw_gap`` (exact Frank-Wolfe gap), ``gap_estimate`` (the free estimate,
    ``max_s <r, w - s>``), ``bound_estimate`` (online estimate of the gap that the table proves; NaN where there is
    none), ``table_error`` (``"sfw"`` only, NaN elsewhere: the free online estimate of ``H = ||alpha - grad f||_1``;
    ``problem.diameters().inf`` times it is an error bar for the estimated gap), ``complexity`` (of the iterate: its
    rank over a trace-norm ball, else its number of non-zeros), ``violation`` (of side constraints; zero without any).

    Examples
    --------
    >>> import frankwolfe as fw
    >>> problem = fw.Problem([[1.0, 2.0], [3.0, -1.0]], [1.0, -1.0], loss="squared", constraint=fw.L1Ball(1.0))
    >>> trace = fw.minimize(problem, method="fw", tol=0, max_passes=4).trace
    >>> trace.nit
    array([0, 1, 2, 3, 4])
    """

    def __init__(self, problem: "Problem"):
        self._problem: Problem | None = problem
        self._convex = bool(problem.loss.convex)
        self._least_gap = 0.0 if problem.side is None else -np.inf  # beside side constraints a point may be too low
        self._rows: list[dict[str, float]] = []
        self._pending: list[tuple[dict[str, float], Any]] = []
        self._pending_bytes = 0
        # where rows are on disk their memory bounds this, too: each table of slopes has a number for every row
        self._table_room = np.inf if problem.objective.reads is None else problem.X.memory // 8

    def record(
        self, w: Any, table: np.ndarray | None = None, multipliers: np.ndarray | None = None, **numbers: float
    ) -> None:
        """Add a point, with the table of slopes, and the multipliers of side constraints, that went with it.

        Numbers for ``fun``, ``gap`` and ``fw_gap`` that are known already save the work later.
        """
        self._drop_note(numbers["nit"])
        self._rows.append(numbers)
        if not np.isnan(numbers.get("fw_gap", np.nan)):
            assert self._problem is not None
            numbers["complexity"] = self._problem.complexity(w)
            numbers["violation"] = self._problem.violation(w)
            return
        packed: tuple[Any, Any] = (None, w)
        if isinstance(w, np.ndarray):
            nonzero = np.flatnonzero(w)
            packed = (nonzero, w[nonzero]) if 2 * nonzero.size < w.size else (None, w.copy())
        if table is not None and ("gap" in numbers or self._pending_bytes + table.nbytes > self._table_room):
            table = None
        table = None if table is None else table.copy()
        multipliers = None if table is None or multipliers is None else multipliers.copy()
        self._wait(numbers, *packed, table, multipliers)
        if self._pending_bytes > PENDING_BYTES:
            self._evaluate_pending()

    def note(self, **numbers: float) -> None:
        """Add a point of which nothing but these numbers will be known: the weights are not kept."""
        self._rows.append({**numbers, "noted": True})

    def _drop_note(self, nit: float) -> None:
        """Remove the note on an iterate that is about to be recorded."""
        if self._rows and self._rows[-1].get("noted") and self._rows[-1]["nit"] == nit:
            self._rows.pop()

    def _wait(
        self,
        numbers: dict[str, float],
        nonzero: np.ndarray | None,
        values: Any,
        table: np.ndarray | None,
        multipliers: np.ndarray | None,
    ) -> None:
        """Let a point wait to be evaluated: its weights, of an array perhaps only those that are not zero."""
        point = nonzero, values, table, multipliers
        self._pending.append((numbers, point))
        self._pending_bytes += sum(part.nbytes for part in point if part is not None)

    def know_last(self, **numbers: float) -> None:
        """Take note of what has come to be known of the latest point."""
        self._rows[-1].update(numbers)

    def state(self) -> dict[str, Any]:
        """Return the points as a flat mapping; evaluated or not, they stay as they are."""
        rows = json.dumps(self._rows, default=np.generic.item)
        found: dict[str, Any] = {"rows": rows}
        places = {id(row): place for place, row in enumerate(self._rows)}
        for numbers, (nonzero, values, table, multipliers) in self._pending:
            name = f"pending.{places[id(numbers)]}"
            found |= named_weights(f"{name}.values", values)
            found |= {} if nonzero is None else {f"{name}.nonzero": nonzero}
            found |= {} if table is None else {f"{name}.table": table}
            found |= {} if multipliers is None else {f"{name}.multipliers": multipliers}
        return found

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over the points of the trace with this state."""
        self._rows = json.loads(state["rows"])
        self._pending, self._pending_bytes = [], 0
        for place in sorted({int(name.split(".")[1]) for name in state if name.startswith("pending.")}):
            name = f"pending.{place}"
            values = weights_named(f"{name}.values", state)
            nonzero, table, multipliers = (state.get(f"{name}.{part}") for part in ("nonzero", "table", "multipliers"))
            self._wait(self._rows[place], nonzero, values, table, multipliers)

    @property
    def problem(self) -> "Problem | None":
        """What was solved; None in a copy, which lets go of the data."""
        return self._problem

    def last_nit(self) -> int:
        """Step number of the latest point, -1 if there is none."""
        return int(self._rows[-1]["nit"]) if self._rows else -1

    def _evaluate_pending(self) -> None:
        """Evaluate the iterates that wait."""
        for numbers, (nonzero, values, table, multipliers) in self._pending:
            assert self._problem is not None
            w = values
            if nonzero is not None:
                w = np.zeros(self._problem.size)
                w[nonzero] = values
            found = self._problem.evaluate(w)
            if np.isnan(numbers.get("fw_gap", np.nan)):
                numbers["fw_gap"] = found.gap
            numbers.setdefault("fun", found.value)
            numbers["complexity"] = self._problem.complexity(w)
            numbers["violation"] = self._problem.violation(w)
            if table is not None:
                numbers["lower_bound"] = max(numbers["lower_bound"], self._problem.dual_value(table, multipliers))
        self._pending, self._pending_bytes = [], 0

    def __getitem__(self, column: str) -> np.ndarray:
        if column not in COLUMNS:
            raise KeyError(f"{column!r}; the columns are {', '.join(COLUMNS)}")
        if column in LAZY:
            self._evaluate_pending()
        if column == "gap":
            return self._gaps()
        return np.array([row.get(column, np.nan) for row in self._rows])

    def _gaps(self) -> np.ndarray:
        """Return how far each objective is above the best bound by then, and no more than its own gap.

        At the last point that may be less than what the run has found: it had no need to look at all traced points.
        """
        gaps, bound = [], -np.inf
        for row in self._rows:
            bound = max(bound, row["lower_bound"])
            fun, fw_gap = row.get("fun", np.nan), row.get("fw_gap", np.nan)
            above = max(fun - bound, self._least_gap) if fun == fun else np.nan
            least = above if above < fw_gap else fw_gap
            gaps.append(min(least, row.get("gap", least)))
            if self._convex:
                bound = max(bound, fun - fw_gap)
        return np.array(gaps)

    def __getattr__(self, column: str) -> np.ndarray:
        if column in COLUMNS:
            return self[column]
        raise AttributeError(f"'Trace' object has no attribute {column!r}")

    def __iter__(self) -> Iterator[str]:
        return iter(COLUMNS)

    def __len__(self) -> int:
        return len(COLUMNS)

    def __repr__(self) -> str:
        return f"<Trace: {len(self._rows)} points of {', '.join(COLUMNS)}>"

    def __getstate__(self) -> dict:
        self._evaluate_pending()  # so that a pickled trace need not carry the data
        return {**self.__dict__, "_problem": None}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
