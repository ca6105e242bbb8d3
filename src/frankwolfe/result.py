"""`Result`: the answer of a run, its end (`Status`) and its course (`Trace`)."""

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from frankwolfe.arguments.types import Weights
from frankwolfe.linalg.singular import rank_of
from frankwolfe.rows.observed_entries import named_weights, weights_named

if TYPE_CHECKING:
    from frankwolfe.problem import Problem
    from frankwolfe.summary import Summary


# --- `Trace`: the course of a run, point by point.

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
"""Columns that are computed when they are first read."""


class _Pending(NamedTuple):
    """A point that waits to be evaluated: its row of the trace, the iterate, and what proves a lower bound.

    If ``nonzero`` is an array, it holds the places of the weights in ``values``, and the others are zero.
    """

    row: dict[str, float]
    values: Any
    nonzero: np.ndarray | None
    table: np.ndarray | None
    multipliers: np.ndarray | None

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self[1:] if part is not None)


class Trace(Mapping[str, np.ndarray]):
    """The course of a run: columns of equal length, read as ``trace["fun"]`` or ``trace.fun``.

    A run only stores iterates. The exact objective and gap, which cost a pass over the data for each point, are
    computed when they are first read. A run with ``trace=0`` stores no iterates: its trace has only the numbers that
    the method computes anyway, and NaN elsewhere.

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
        self._least_gap = 0.0 if problem.side is None else -np.inf  # infeasible points may be below the optimum
        self._rows: list[dict[str, float]] = []
        self._pending: list[_Pending] = []
        self._pending_bytes = 0
        # A table has a number for every row. If rows are on disk, their memory limit holds for tables, too.
        self._table_bytes = np.inf if problem.objective.reads is None else problem.X.memory // 8

    def record(
        self, w: Weights, table: np.ndarray | None = None, multipliers: np.ndarray | None = None, **numbers: float
    ) -> None:
        """Add a point, with the table of slopes and the multipliers of side constraints at that step.

        ``fun``, ``gap`` and ``fw_gap`` are not computed later if they are among the numbers.
        """
        if self._rows and self._rows[-1].get("noted") and self._rows[-1]["nit"] == numbers["nit"]:
            self._rows.pop()  # a note on the same iterate
        self._rows.append(numbers)
        if not np.isnan(numbers.get("fw_gap", np.nan)):
            self._measure(numbers, w)
            return
        nonzero, values = None, w
        if isinstance(w, np.ndarray):
            places = np.flatnonzero(w)
            nonzero, values = (places, w[places]) if 2 * places.size < w.size else (None, w.copy())
        if table is None or "gap" in numbers or self._pending_bytes + table.nbytes > self._table_bytes:
            table = multipliers = None
        self._wait(_Pending(numbers, values, nonzero, copy(table), copy(multipliers)))
        # Limit the memory of the iterates that wait.
        if self._pending_bytes > 2**28:
            self._evaluate_pending()

    def note(self, **numbers: float) -> None:
        """Add a point without its iterate: only these numbers will be known of it."""
        self._rows.append({**numbers, "noted": True})

    def know_last(self, **numbers: float) -> None:
        """Add numbers to the latest point."""
        self._rows[-1].update(numbers)

    def last_nit(self) -> int:
        """Step number of the latest point, -1 if there is none."""
        return int(self._rows[-1]["nit"]) if self._rows else -1

    @property
    def problem(self) -> "Problem | None":
        """The problem that was solved; None in a copy, which does not hold the data."""
        return self._problem

    def _wait(self, point: _Pending) -> None:
        self._pending.append(point)
        self._pending_bytes += point.nbytes

    def _measure(self, row: dict[str, float], w: Weights) -> None:
        """Add the complexity of an iterate and its violation of side constraints to a row."""
        assert self._problem is not None
        row |= {"complexity": self._problem.complexity(w), "violation": self._problem.violation(w)}

    def _evaluate_pending(self) -> None:
        """Evaluate the points that wait."""
        for row, values, nonzero, table, multipliers in self._pending:
            assert self._problem is not None
            w = values
            if nonzero is not None:
                w = np.zeros(self._problem.size)
                w[nonzero] = values
            found = self._problem.evaluate(w)
            if np.isnan(row.get("fw_gap", np.nan)):
                row["fw_gap"] = found.gap
            row.setdefault("fun", found.value)
            self._measure(row, w)
            if table is not None:
                row["lower_bound"] = max(row["lower_bound"], self._problem.dual_value(table, multipliers))
        self._pending, self._pending_bytes = [], 0

    def state(self) -> dict[str, Any]:
        """Return the points as a flat mapping. Points that wait stay unevaluated."""
        found: dict[str, Any] = {"rows": json.dumps(self._rows, default=np.generic.item)}
        places = {id(row): place for place, row in enumerate(self._rows)}
        for row, values, *arrays in self._pending:
            name = f"pending.{places[id(row)]}"
            found |= named_weights(f"{name}.values", values)
            named = zip(_Pending._fields[2:], arrays, strict=True)
            found |= {f"{name}.{part}": array for part, array in named if array is not None}
        return found

    def restore(self, state: Mapping[str, Any]) -> None:
        """Replace the points by those of a state."""
        self._rows = json.loads(state["rows"])
        self._pending, self._pending_bytes = [], 0
        for place in sorted({int(name.split(".")[1]) for name in state if name.startswith("pending.")}):
            name = f"pending.{place}"
            arrays = (state.get(f"{name}.{part}") for part in _Pending._fields[2:])
            self._wait(_Pending(self._rows[place], weights_named(f"{name}.values", state), *arrays))

    def __getitem__(self, column: str) -> np.ndarray:
        if column not in COLUMNS:
            raise KeyError(f"{column!r}; the columns are {', '.join(COLUMNS)}")
        if column in LAZY:
            self._evaluate_pending()
        if column == "gap":
            return self._gaps()
        return np.array([row.get(column, np.nan) for row in self._rows])

    def _gaps(self) -> np.ndarray:
        """Return how far each objective is above the best lower bound by then, and no more than its own gap.

        At the last point that may be less than the gap of the result: a run does not evaluate all traced points.
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
        self._evaluate_pending()  # a pickled trace does not hold the data
        return {**self.__dict__, "_problem": None}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)


# --- `Result`: the answer of a run, and its end (`Status`).


class Status(StrEnum):
    """The end of a run. Only ``CONVERGED`` is a success, and it needs a proven gap.

    ``LIKELY``, with ``stop="likely"`` only, is no success: the gap is within the tolerance with high probability.
    ``SUBSET``, with a limit on the number of features only, is no success either: the weights are proven to be the best
    for the chosen features, within the tolerance, but other features may be better, by at most the gap.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> problem = fw.Problem([[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0], loss="squared", constraint=fw.L1Ball(1.0))
    >>> fw.minimize(problem).status
    <Status.CONVERGED: 'converged'>
    """

    CONVERGED = "converged"
    MAX_PASSES = "max-passes"
    MAX_SECONDS = "max-seconds"
    CALLBACK = "callback"
    INTERRUPTED = "interrupted"
    NON_FINITE = "non-finite"
    STALLED = "stalled"
    LIKELY = "likely"
    SUBSET = "subset"


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
        ``fun - gap``: no point of the set that satisfies the side constraints has a smaller objective. Minus infinity
        if the loss is not convex.
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
    prices : mapping
        By how much the optimum falls for each unit by which a constraint is relaxed, from the dual point that proves
        the gap: ``prices["radius"]``, a number, if the set has a radius, and ``prices["side"]``, an array with an entry
        for each row of ``LinearBounds``. An entry is zero if the constraint does not bind, and never negative: for an
        equation, the bound moves in the direction that helps. ``prices["lower"]`` and ``prices["upper"]``, arrays of
        the size of ``x``, are there if the set bounds single weights. Empty if nothing is proven.
    zero_value : float
        Objective of the zero model, ``F(0)``.
    reads : float or None
        How often all rows were read from disk, certificates included; None where they are in memory.
    max_features : int or None
        The limit on the number of features, if there was one (docs/best-subset.md). Then ``gap`` and ``lower_bound``
        compare with the best model of at most so many features, and ``fw_gap`` with that of any number.
    advice : list of str
        What to do about columns of unlike scale, or a radius that is far too small; mostly empty.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> problem = fw.Problem([[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0], loss="squared", constraint=fw.L1Ball(1.0))
    >>> result = fw.minimize(problem, tol=1e-9)
    >>> result.success, result.x.round(6).tolist()
    (True, [0.0, 1.0])
    >>> result.fun, result.gap <= 1e-9 * result.zero_value
    (0.5, True)
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
    known_advice: list[str] | None = field(default=None, repr=False)
    likely_gap: float = np.nan
    confidence: float = np.nan
    reads: float | None = None
    prices: Mapping[str, Any] = field(default_factory=dict, repr=False)
    zero_value: float = np.nan
    max_features: int | None = None

    @property
    def advice(self) -> list[str]:
        """What to do about columns of unlike scale, or a radius that lets next to nothing be fitted; mostly empty.

        Computed from some rows of the data when it is first read.

        Examples
        --------
        >>> import numpy as np, frankwolfe as fw
        >>> X = np.random.default_rng(0).normal(size=(50, 3))
        >>> problem = fw.Problem(X, X @ [100.0, 50.0, 0.0], loss="squared", constraint=fw.L1Ball(0.1))
        >>> fw.minimize(problem).advice[0][:45]
        'Radius 0.1 lowers the objective by only 0.2%,'
        """
        if self.known_advice is None:
            from frankwolfe.advice import advice_on

            problem = self.trace.problem
            self.known_advice = [] if problem is None else advice_on(problem, self)
        return self.known_advice

    def __getstate__(self) -> dict:
        return {**self.__dict__, "known_advice": self.advice}  # a pickled result does not hold the data

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
        """Number of entries of ``x`` that are not zero; of its factors, if it is stored as factors."""
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
        """Return the size of ``x`` in words."""
        if isinstance(self.x, np.ndarray) and self.x.ndim == 1:
            return f"{self.x.size} entries, {self.nonzeros} not zero"
        p, q = self.x.shape
        return f"{p} x {q}, rank {self.rank}"

    @property
    def is_likely(self) -> bool:
        """Whether the run stopped by ``stop="likely"``: it took no exact pass, and nothing is proven."""
        return not np.isnan(self.confidence)

    def numbers_in_words(self) -> list[tuple[str, str]]:
        """Return what is known of the objective in words: exact and proven, or likely."""
        if self.is_likely:
            claim = f"{self.confidence:.0%} confidence, not proven; wanted {self.tolerance:.3g}"
            unknown = "not evaluated: problem.value(result.x)"
            return [("fun", unknown), ("likely_gap", f"{self.likely_gap:.3g} ({claim})")]
        proof = "proven" if self.convex else "exact"
        return [("fun", f"{self.fun:.12g}"), ("gap", f"{self.gap:.3g} ({proof}; wanted {self.tolerance:.3g})")]

    def violation_in_words(self) -> str:
        """Return the violation of side constraints in words."""
        return f"{self.violation:.3g} of a side constraint's size (wanted {self.violation_tolerance:.3g})"

    def __repr__(self) -> str:
        lines = [
            ("status", f"{self.status} ({'success' if self.success else 'not certified to tolerance'})"),
            ("message", self.message),
            *self.numbers_in_words(),
            ("gap_estimate", f"{self.gap_estimate:.3g}"),
            *([] if self.violation is None else [("violation", self.violation_in_words())]),
            ("x", self.size_in_words()),
            ("method", f"{self.method}, batch size {self.batch_size}"),
            ("nit", f"{self.nit}"),
            ("passes", f"{self.passes:.4g}, and {self.certificate_passes:.4g} for {self.checks} certificates"),
            *([] if self.reads is None else [("reads", f"{self.reads:.4g} of all rows on disk")]),
            ("seconds", f"{self.seconds:.3g}, and {self.compile_seconds:.2g} to compile"),
            *(("advice", sentence) for sentence in self.advice),
        ]
        return "\n".join(f"{name:>12}: {text}" for name, text in lines)

    def _repr_html_(self) -> str:
        from frankwolfe.display import html_of

        return html_of(self)

    def summary(self, names: Sequence[str] | None = None) -> "Summary":
        """Return weights by name, what is proven of them, and the prices of what binds, on one screen.

        Parameters
        ----------
        names : sequence of str, optional
            Names of the columns. By default those of the data frame, or x0, x1, and so on.

        Returns
        -------
        Summary

        Examples
        --------
        >>> import frankwolfe as fw
        >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 2.0, 3.0]
        >>> problem = fw.Problem(X, y, loss="squared", constraint=fw.L1Ball(1.0))
        >>> found = fw.minimize(problem, tol=1e-9).summary(["rent", "tv"])
        >>> {rule: round(price, 3) for rule, price in found.binding.items()}
        {'radius': 1.0}
        """
        from frankwolfe.summary import summary_of

        return summary_of(self, names)

    def plot(self, ax: Any = None) -> Any:
        """Draw objective and gaps against passes (needs matplotlib).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.

        Returns
        -------
        matplotlib Axes
        """
        from frankwolfe.plots import plot_result

        return plot_result(self, ax=ax)

    def plot_complexity(self, ax: Any = None) -> Any:
        """Draw the rank of the iterate, or its number of non-zeros, against passes (needs matplotlib).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.

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
            Axes to draw on; by default those of a new figure.

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
            Names of the groups; by default their numbers.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.

        Returns
        -------
        matplotlib Axes
        """
        from frankwolfe.plots import plot_groups

        return plot_groups(self, groups, names=names, ax=ax)
