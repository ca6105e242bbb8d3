"""`Result`: the answer of a run, and how it ended (`Status`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from frankwolfe.linalg.singular import rank_of
from frankwolfe.result.trace import Trace


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
