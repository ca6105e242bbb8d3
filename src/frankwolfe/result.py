"""`Result`: the answer of a run, how it ended (`Status`), and how it went (`Trace`)."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from frankwolfe.linalg.singular import rank_of
from frankwolfe.rows.observed_entries import named_weights, weights_named

if TYPE_CHECKING:
    from frankwolfe.problem import Problem


# --- `Trace`: how a run went, point by point.

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


# --- `Result`: the answer of a run, and how it ended (`Status`).


class Status(StrEnum):
    """Every way a run can end. Only ``CONVERGED`` is a success, and only a proven gap makes it one.

    ``LIKELY``, with ``stop="likely"`` alone, is none: the gap is within the tolerance with high probability.
    """

    CONVERGED = "converged"
    MAX_PASSES = "max-passes"
    MAX_SECONDS = "max-seconds"
    CALLBACK = "callback"
    INTERRUPTED = "interrupted"
    NON_FINITE = "non-finite"
    STALLED = "stalled"
    LIKELY = "likely"


@dataclass(eq=False)
class Result:
    """The answer of `minimize`.

    Attributes
    ----------
    x : array of shape (d,), or (d, outputs), or Factors
        The point found; feasible. For a completion problem, the factors of a matrix.
    intercept : float, or array of shape (outputs,)
        The best intercept at ``x``, where the problem has one; else zero.
    fun : float
        Exact objective at ``x``; NaN with ``stop="likely"``, which takes no pass: ``problem.value(x)`` takes it.
    gap : float
        How far ``fun`` is above the best lower bound on the optimum that the run has proven: for convex losses
        ``fun - gap <= F* <= fun`` (docs/certificates.md). For others, the exact Frank-Wolfe gap at ``x``.
    fw_gap : float
        Exact Frank-Wolfe gap at ``x``, never less than ``gap``; NaN where a bound made it needless to take it.
        ``problem.gap(x)`` takes it at any time.
    likely_gap : float
        With ``stop="likely"``, how far the objective at ``x`` is above the optimum at most, with probability
        ``confidence``. It is never ``gap``, which is infinite then: nothing is proven. NaN otherwise.
    confidence : float
        With ``stop="likely"``, 0.99; NaN otherwise.
    lower_bound : float
        ``fun - gap``: no point of the set (that keeps to side constraints) has a smaller objective. Minus infinity
        where the loss is not convex.
    gap_estimate : float
        The method's own estimate at the end, for comparison; never the reason for success.
    status : Status
        How the run ended.
    message : str
        The same in words.
    success : bool
        Whether the gap at ``x`` met the tolerance, and so did the violation of side constraints.
    tolerance : float
        What the gap had to meet: ``tol * F(0)``, but with an intercept not less than a few units of rounding of
        what gaps are computed from (`Problem.tolerance`).
    nit : int
        Steps made.
    passes : float
        Gradient evaluations divided by n.
    checks : int
        Certificates taken beyond ``passes``.
    certificate_passes : float
        What they have read of the data: predictions of all rows, or a sum over all rows, are half a pass each.
    seconds : float
        Time of the method and its certificates; tracing, callbacks and compilation are not in it.
    certificate_seconds : float
        The part of ``seconds`` that went into certificates.
    compile_seconds : float
        Time to compile code or to load it from the cache, with the import of numba; only the part within the run.
    convex : bool
        Whether the loss is convex, so that ``fun - gap`` is a lower bound on ``F*``.
    method : str
        Name of the method.
    batch_size : int
        Rows looked at in a step.
    trace : Trace
        How the run went.
    state : mapping
        What a later run takes over when it starts from the result, by name: arrays and numbers.
    violation : float or None
        The largest violation of a side constraint at ``x``, relative to the size of the constraint's terms
        (`LinearBounds.violation`). None where the problem has none. Where it is above zero, ``gap`` may be negative:
        ``x`` is then below the optimum of the points that satisfy the constraints.
    violation_tolerance : float or None
        What the violation had to meet: ``side_tol``.
    reads : float or None
        How often all rows were read from disk, certificates included; None where they are in memory.
    advice : list of str
        What to do about columns of unlike scale, or a radius that is far too small; mostly empty.
    """

    x: Any
    intercept: Any
    fun: float
    gap: float
    fw_gap: float
    gap_estimate: float
    status: Status
    message: str
    tolerance: float
    nit: int
    passes: float
    checks: int
    certificate_passes: float
    seconds: float
    certificate_seconds: float
    compile_seconds: float
    convex: bool
    method: str
    batch_size: int
    trace: Trace
    state: Mapping[str, Any] = field(repr=False)
    violation: float | None = None
    violation_tolerance: float | None = None
    told: list[str] | None = field(default=None, repr=False)
    likely_gap: float = np.nan
    confidence: float = np.nan
    reads: float | None = None

    @property
    def advice(self) -> list[str]:
        """What to do about columns of unlike scale, or a radius that lets next to nothing be fitted; mostly empty.

        Worked out when it is first asked for, from some rows of the data.

        Examples
        --------
        >>> import numpy as np, frankwolfe as fw
        >>> X = np.random.default_rng(0).normal(size=(50, 3))
        >>> problem = fw.Problem(X, X @ [100.0, 50.0, 0.0], loss="squared", constraint=fw.L1Ball(0.1))
        >>> fw.minimize(problem).advice[0][:45]
        'Radius 0.1 lowers the objective by only 0.2%,'
        """
        if self.told is None:
            from frankwolfe.advice import advice_on

            problem = self.trace.problem
            self.told = [] if problem is None else advice_on(problem, self)
        return self.told

    def __getstate__(self) -> dict:
        self.advice  # noqa: B018 - worked out while the data is at hand, which a pickled result does not carry
        return self.__dict__

    @property
    def lower_bound(self) -> float:
        """The best proven lower bound on the optimum; minus infinity where the loss is not convex."""
        return self.fun - self.gap if self.convex and self.gap < np.inf else -np.inf

    @property
    def success(self) -> bool:
        """Whether the gap at ``x`` met the tolerance."""
        return self.status is Status.CONVERGED

    @property
    def nonzeros(self) -> int:
        """Number of entries of ``x`` that are not zero; of its factors, where it is kept as such."""
        parts = (self.x,) if isinstance(self.x, np.ndarray) else (self.x.left, self.x.right)
        return sum(int(np.count_nonzero(part)) for part in parts)

    @property
    def rank(self) -> int:
        """Rank of ``x``, where it is a matrix: singular values above 1e-8 of the largest."""
        if np.ndim(self.x) == 1:
            raise ValueError("x is a vector: it has no rank")
        return rank_of(self.singular_values)

    @property
    def singular_values(self) -> np.ndarray:
        """Singular values of ``x``, where it is a matrix, in falling order."""
        if np.ndim(self.x) == 1:
            raise ValueError("x is a vector: it has no singular values")
        return np.linalg.svd(self.x, compute_uv=False) if isinstance(self.x, np.ndarray) else self.x.singular_values

    def size_in_words(self) -> str:
        """Say how large ``x`` is."""
        if isinstance(self.x, np.ndarray) and self.x.ndim == 1:
            return f"{self.x.size} entries, {self.nonzeros} not zero"
        p, q = self.x.shape
        return f"{p} x {q}, rank {self.rank}"

    @property
    def is_likely(self) -> bool:
        """Whether the run was asked for a likely bound, so that no pass was taken and nothing is proven."""
        return not np.isnan(self.confidence)

    def numbers_in_words(self) -> list[tuple[str, str]]:
        """Say what is known of the objective: exact and proven, or likely."""
        if self.is_likely:
            claim = f"{self.confidence:.0%} confidence, not proven; wanted {self.tolerance:.3g}"
            unknown = "not evaluated: problem.value(result.x)"
            return [("fun", unknown), ("likely_gap", f"{self.likely_gap:.3g} ({claim})")]
        proof = "proven" if self.convex else "exact"
        return [("fun", f"{self.fun:.12g}"), ("gap", f"{self.gap:.3g} ({proof}; wanted {self.tolerance:.3g})")]

    def __repr__(self) -> str:
        lines = [
            ("status", f"{self.status} ({'success' if self.success else 'not certified to tolerance'})"),
            ("message", self.message),
            *self.numbers_in_words(),
            ("gap_estimate", f"{self.gap_estimate:.3g}"),
            *self._violation_line(),
            ("x", self.size_in_words()),
            ("method", f"{self.method}, batch size {self.batch_size}"),
            ("nit", f"{self.nit}"),
            ("passes", f"{self.passes:.4g}, and {self.certificate_passes:.4g} for {self.checks} certificates"),
            *([] if self.reads is None else [("reads", f"{self.reads:.4g} of all rows on disk")]),
            ("seconds", f"{self.seconds:.3g}, and {self.compile_seconds:.2g} to compile"),
            *(("advice", sentence) for sentence in self.advice),
        ]
        return "\n".join(f"{name:>12}: {text}" for name, text in lines)

    def _violation_line(self) -> list[tuple[str, str]]:
        """Return what to show of side constraints: nothing where there are none."""
        if self.violation is None:
            return []
        return [
            ("violation", f"{self.violation:.3g} of a side constraint's size (wanted {self.violation_tolerance:.3g})")
        ]

    def _repr_html_(self) -> str:
        from frankwolfe.display import html_of

        return html_of(self)

    def plot(self, ax: Any = None) -> Any:
        """Draw objective and gaps against passes (needs matplotlib).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.

        Returns
        -------
        matplotlib Axes
        """
        from frankwolfe.plots import plot_result

        return plot_result(self, ax=ax)

    def plot_complexity(self, ax: Any = None) -> Any:
        """Draw how the rank of the iterate, or its number of non-zeros, went along the run (needs matplotlib).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.

        Returns
        -------
        matplotlib Axes
        """
        from frankwolfe.plots import plot_complexity

        return plot_complexity(self, ax=ax)

    def plot_spectrum(self, ax: Any = None) -> Any:
        """Draw the singular values of ``x``, a matrix (needs matplotlib).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.

        Returns
        -------
        matplotlib Axes
        """
        from frankwolfe.plots import plot_spectrum

        return plot_spectrum(self, ax=ax)

    def plot_groups(self, groups: Any, names: Any = None, ax: Any = None) -> Any:
        """Draw the Euclidean norms of the groups of ``x``: which are selected, and how strong (needs matplotlib).

        Parameters
        ----------
        groups : list of lists of int, or array of shape (d,)
            As `GroupBall` takes them: the coordinates of each group, or a label for each coordinate.
        names : list of str, optional
            What to call the groups; their numbers otherwise.
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.

        Returns
        -------
        matplotlib Axes
        """
        from frankwolfe.plots import plot_groups

        return plot_groups(self, groups, names=names, ax=ax)
