"""Least squares for many targets over the same columns: one certified answer for each, with the work shared.

For every target ``y_k``, minimise ``sum_i p_i (x_i' w - y_ik)^2 / 2`` over non-negative weights with a sum of at most,
or exactly, the radius. TargetValues may leave out columns of their own: a donor must not explain itself.

TargetValues are solved in blocks, by column generation. A round computes the gradients ``X' alpha`` of all targets of a
block as one matrix product. The gradient of a target proves its gap over *all* columns that it may use. If the gap is
too large, the columns with the smallest entries join the few that are active, and the quadratic model of
`frankwolfe.solvers.corrective.quadratic_models` is minimised over these. Only active columns of the data are copied.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from time import perf_counter
from typing import NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.arguments.arrays import as_weights
from frankwolfe.arguments.types import TableLike
from frankwolfe.compile.kernels import worth_compiling
from frankwolfe.linalg.threads import single_threaded
from frankwolfe.problem import Problem
from frankwolfe.result import Result, Status, Trace
from frankwolfe.sets.base import Hull
from frankwolfe.solvers.corrective.quadratic_models import HessianModel, minimise

BLOCK_ENTRIES = 2**20
"""Entries of the gradients of a block: 8 megabytes, so that all threads together stay small beside the data."""

JOINING = 12
"""Columns that join the active ones in a round."""

MOST_ROUNDS = 60
"""Rounds before a target is left to the general solver. Ten are usual."""

MODEL_SHARE = 1e-3
"""A model is minimised to this part of the gap."""


class Shared(NamedTuple):
    """What all targets share: data, row weights that sum to one, column means and norms, and the set of weights."""

    X: TableLike
    p: np.ndarray
    means: np.ndarray | None
    squares: np.ndarray
    hull: Hull

    @classmethod
    def of(cls, problem: Problem, sample_weight: np.ndarray | None, hull: Hull) -> "Shared":
        """Return what targets share, given the problem of one of them and the weights of the rows."""
        X, p = problem.X, as_weights(sample_weight, problem.n)
        if sparse.issparse(X):
            X = sparse.csc_array(X)
            squares = X.power(2).T @ p
        else:
            X = np.asarray(X, dtype=np.float64)
            squares = np.einsum("ij,ij,i->j", X, X, p)
        means = X.T @ p if problem.intercept else None
        return cls(X, p, means, squares if means is None else squares - means**2, hull)

    def gradients(self, alpha: np.ndarray) -> np.ndarray:
        """Return ``X' alpha`` of several targets, one in each row."""
        found = np.ascontiguousarray((self.X.T @ alpha.T).T) if sparse.issparse(self.X) else alpha @ self.X
        # with an intercept slopes sum to zero up to rounding, which large means would magnify
        return found if self.means is None else found - np.outer(alpha.sum(axis=1), self.means)

    def columns(self, at: np.ndarray) -> np.ndarray:
        """Return a copy of some columns, centred if there is an intercept."""
        found = self.X[:, at].toarray() if sparse.issparse(self.X) else self.X[:, at]
        return found if self.means is None else found - self.means[at]

    def centred(self, y: np.ndarray) -> np.ndarray:
        """Return targets, one in each row, as the best intercept leaves them."""
        return y if self.means is None else y - (y @ self.p)[:, None]


class Target:
    """One target: its active columns with their weights, and what is known of them."""

    def __init__(self, y: np.ndarray, excluded: np.ndarray, zero_value: float, tol: float, compiled: bool):
        self.y, self.excluded, self.compiled = y, excluded, compiled
        self.zero_value, self.tolerance = zero_value, tol * zero_value
        self.at, self.u = np.zeros(0, dtype=np.intp), np.zeros(0)
        self.columns = np.zeros((len(y), 0))
        self.errors, self.value, self.gap, self.level = -y, np.inf, np.inf, 0.0
        self.rounds = 0

    def start(self, keys: np.ndarray, shared: Shared) -> None:
        """Activate the columns with the smallest keys."""
        keys[self.excluded] = np.inf
        self._activate(np.zeros(0, dtype=np.intp), _smallest(keys, JOINING), shared)
        if not len(self.at):  # overflow, which the gap will show
            self.gap = np.nan
            return
        if not shared.hull.filled:
            self.u[int(keys[self.at].argmin())] = shared.hull.radius
        self._solve(shared, 0.0)

    def look(self, r: np.ndarray, shared: Shared) -> bool:
        """Prove the gap by the gradient, and improve the weights if it is too large. Return whether that is done."""
        if np.isnan(self.gap):
            return True
        self.rounds += 1
        r[self.excluded] = np.inf
        slope, least = r[self.at], float(r.min())
        self.value = float(0.5 * (shared.p @ self.errors**2))
        # one column of weight zero stands for all that are not active
        self.gap = max(shared.hull.gap(np.append(slope, least), np.append(self.u, 0.0)), 0.0)
        self.level = max(0.0, -least) if shared.hull.filled else abs(least)
        if self.gap <= self.tolerance or not np.isfinite(self.gap):
            return True
        outside = r
        outside[self.at] = np.inf
        bound = min(float(slope.min(initial=np.inf)), 0.0 if shared.hull.filled else np.inf)
        joining = _smallest(outside, JOINING)
        self._activate(np.flatnonzero(self.u), joining[outside[joining] < bound], shared)
        self._solve(shared, MODEL_SHARE * self.gap)
        return not float(0.5 * (shared.p @ self.errors**2)) < self.value

    def _activate(self, kept: np.ndarray, joining: np.ndarray, shared: Shared) -> None:
        """Keep some of the active columns and let others join, with weight zero."""
        self.at = np.append(self.at[kept], joining)
        self.u = np.append(self.u[kept], np.zeros(len(joining)))
        self.columns = np.hstack([self.columns[:, kept], shared.columns(joining)])

    def _solve(self, shared: Shared, tolerance: float) -> None:
        """Minimise over the active columns. The objective is quadratic, so its model is exact."""
        weighted = self.columns * shared.p[:, None]
        H = self.columns.T @ weighted
        self.errors = self.columns @ self.u - self.y
        if not np.isfinite(H).all():
            self.gap = np.nan
            return
        slope, every = self.errors @ weighted, np.arange(len(self.at))
        model = HessianModel(shared.hull, H, self.u, slope, every, self.compiled)
        self.u = minimise(model, max(tolerance, 0.1 * self.tolerance))
        self.errors = self.columns @ self.u - self.y


def _smallest(keys: np.ndarray, count: int) -> np.ndarray:
    """Return the places of the smallest finite keys."""
    found = np.argpartition(keys, count)[:count] if count < len(keys) else np.arange(len(keys))
    return np.sort(found[np.isfinite(keys[found])])


@single_threaded
def minimize_targets(
    problem: Problem,
    Y: np.ndarray,
    sample_weight: np.ndarray | None,
    excluded: Sequence[np.ndarray],
    tol: float,
    most_rounds: float = MOST_ROUNDS,
    n_threads: int | None = None,
) -> list[Result | None]:
    """Return the certified result for each target; None for a target that needs the general solver.

    Parameters
    ----------
    problem : Problem
        The problem of any target: squared loss, rows in memory, a set of non-negative weights with a bounded sum.
    Y : array of shape (n, targets)
        TargetValues.
    sample_weight : array of shape (n,) or None
        Weights of the rows.
    excluded : sequence of arrays of int
        For each target, the columns that it may not use.
    tol : float
        The gap of a target must be at most ``tol`` times its objective at zero weights.
    most_rounds : float
        Rounds after which a target is left to the general solver.
    n_threads : int, optional
        Threads that share the targets. The results do not depend on it.

    Returns
    -------
    list of Result or None
    """
    hull = problem.constraint.structure().coordinates
    assert hull is not None
    assert not hull.signed
    shared, count = Shared.of(problem, sample_weight, hull), Y.shape[1]
    compiled = worth_compiling(problem.n * problem.d * count)
    weights = np.zeros((count, problem.d))
    size = max(1, BLOCK_ENTRIES // problem.d)  # never by the number of threads, which must not change a bit

    @np.errstate(over="ignore", invalid="ignore")  # overflow shows in the gap
    def solve(first: int) -> list[Result | None]:
        last, begin = min(first + size, count), perf_counter()
        y = shared.centred(np.ascontiguousarray(Y[:, first:last].T, dtype=np.float64))
        zero_values = 0.5 * (y**2 @ shared.p)
        targets = [Target(row, excluded[first + k], float(zero_values[k]), tol, compiled) for k, row in enumerate(y)]
        products = shared.gradients(y * -shared.p)
        for target, keys in zip(targets, products, strict=True):  # the best single columns come first
            target.start(hull.radius * keys + 0.5 * hull.radius**2 * shared.squares, shared)
        working = targets
        while working:
            gradients = shared.gradients(np.array([target.errors for target in working]) * shared.p)
            working = [
                target
                for target, r in zip(working, gradients, strict=True)
                if not target.look(r, shared) and target.rounds < most_rounds
            ]
        seconds = (perf_counter() - begin) / len(targets)
        found = list[Result | None]()
        for k, target in enumerate(targets):
            proven = target.gap <= target.tolerance
            weights[first + k, target.at] = target.u
            x, shift = weights[first + k], 0.0
            if shared.means is not None:
                shift = float(shared.p @ Y[:, first + k] - shared.means @ x)
            found.append(_result(problem, target, x, shift, seconds) if proven else None)
        return found

    with ThreadPoolExecutor(n_threads or os.cpu_count() or 1) as pool:
        blocks = [pool.submit(copy_context().run, solve, first) for first in range(0, count, size)]
        return [result for block in blocks for result in block.result()]


def _result(problem: Problem, target: Target, x: np.ndarray, intercept: float, seconds: float) -> Result:
    """Return the result of a certified target."""
    trace, passes, fun, gap = Trace(problem), float(target.rounds), target.value, target.gap
    known = {"seconds": seconds, "fun": fun, "gap": gap, "fw_gap": gap, "lower_bound": fun - gap}
    trace.note(nit=target.rounds, passes=passes, **known)
    return Result(
        x=x,
        intercept=intercept,
        fun=fun,
        gap=gap,
        fw_gap=gap,
        gap_estimate=gap,
        status=Status.CONVERGED,
        message=f"The exact gap {gap:.3g} is within the tolerance {target.tolerance:.3g}.",
        tolerance=target.tolerance,
        nit=target.rounds,
        passes=passes,
        checks=0,
        certificate_passes=0.0,
        seconds=seconds,
        certificate_seconds=0.0,
        compile_seconds=0.0,
        convex=True,
        method="auto: many targets",
        batch_size=problem.n,
        trace=trace,
        state={},
        known_advice=[],
        prices={"radius": target.level},
        zero_value=target.zero_value,
    )
