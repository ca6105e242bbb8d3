"""Solutions along a grid of radii: the runs, the grid, `radius_path`, and the choice of a radius."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from frankwolfe.arguments.names import as_seed, as_threads, teaching
from frankwolfe.arguments.types import ConstraintSet, Loss, RowNumbers, TableLike, TargetValues, Weights
from frankwolfe.best_subset import MOST_NODES, best_subset
from frankwolfe.compile.kernels import timed
from frankwolfe.linalg.threads import single_threaded
from frankwolfe.methods.registry import as_method, pick
from frankwolfe.problem import Problem
from frankwolfe.problem.linear_bounds import Infeasible, LinearBounds
from frankwolfe.result import Result, Status
from frankwolfe.run import driven, minimize, shown
from frankwolfe.running.driver import Driver, Limits
from frankwolfe.sets.checks import numbers
from frankwolfe.sets.named import as_constraint, carried
from frankwolfe.shards.local import Threads
from frankwolfe.solvers.corrective import solver_for
from frankwolfe.solvers.corrective.feasible_point import feasible_point

# --- Runs along ascending radii, each started from the solution of the last one.


def follow(
    problem: Problem,
    radii: Sequence[float] | np.ndarray,
    *,
    max_nonzeros: int | None = None,
    max_nodes: int = MOST_NODES,
    **options: Any,
) -> Iterator[Result]:
    """Yield the results at ascending radii. Each run starts from the last point and its gradient estimate.

    An interrupted result is the last.

    Parameters
    ----------
    problem : Problem
        Its set must have a radius, which the path replaces.
    radii : array
        Ascending radii.
    max_nonzeros, max_nodes : int, optional
        Most features of each solution, and most relaxations to solve for it; see `best_subset`.
    **options : dict
        For `minimize`.
    """
    live = _SharedSolver.of(problem, **options) if max_nonzeros is None else None
    before: Result | None = None
    last = problem.constraint
    for radius in radii:
        here = problem.over(last.with_radius(float(radius)))
        if max_nonzeros is not None:
            features = None if before is None else before.x
            before = best_subset(here, max_nonzeros, x0=features, max_nodes=max_nodes, **options)
        elif live is not None:
            before = live.at(here)
        else:
            start = None if before is None else carried(before.x, last, here.constraint)
            x0 = None if before is None or start is None else replace(before, x=start)
            before = minimize(here, x0=x0, trace=0, **options)
        last = here.constraint
        yield before
        if before.status is Status.INTERRUPTED:
            return


def until_interrupted(results: Iterable[Result]) -> list[Result]:
    """Return all results, or those before an interrupt from the keyboard."""
    found: list[Result] = []
    try:
        found.extend(results)  # appends one by one
    except KeyboardInterrupt:
        if not found:
            raise
    return found


class _SharedSolver:
    """One corrective solver for all radii: it takes its atoms, columns and Hessian from one radius to the next."""

    def __init__(self, limits: Limits, name: str, n_threads: int | None):
        self.limits, self.name, self.executor = limits, name, Threads(n_threads)
        self.solver: Any = None

    @classmethod
    def of(
        cls,
        problem: Problem,
        method: Any = "auto",
        tol: float = 1e-4,
        max_passes: float | None = 100.0,
        max_seconds: float | None = None,
        n_threads: int | None = None,
        **others: Any,
    ) -> "_SharedSolver | None":
        """Return one if the method is corrective and the vertices of the set have one non-zero entry; else None."""
        limits = Limits.checked(tol, max_passes, max_seconds)
        chosen = as_method(method)
        chosen = pick(limits.passes, problem) if chosen.solver == "auto" else chosen
        hull, shift = problem.constraint.structure().hull, problem.constraint.structure().shift
        fits = chosen.solver == "corrective" and hull and problem.loss.smooth and np.isfinite(limits.passes)
        if problem.side is not None:  # a larger set must contain the last solution
            fits = fits and (hull.signed or hull.filled) and shift is None
        return cls(limits, chosen.name, as_threads(n_threads)) if fits else None

    @timed
    @single_threaded
    def at(self, problem: Problem) -> Result:
        """Return the result over another set."""
        bar = shown(problem, self.name, self.limits)
        problem = problem.own(self.executor)
        if self.solver is None or not self.solver.move_to(problem):
            self.solver = solver_for(problem)(problem, problem.default_start())
        return driven(Driver(self.solver, self.limits, None, bar, trace=0), self.name)


# --- The radii of a path: given ones, or a grid derived from the data.

SHORTEST = 1e-3
"""First radius of a grid, relative to the last."""


BISECTIONS = 10
"""Number of bisections, and of fourfold radii before, to find the smallest radius that conditions admit."""

DOUBLINGS = 40
"""Most doublings of the first guess of the last radius."""


def as_radii(radii: Any) -> np.ndarray:
    """Return the radii of a path, checked and ascending."""
    grid = np.unique(numbers("radius_path", "radii", radii, "a list"))
    if grid.size == 0 or grid.ndim != 1 or not np.isfinite(grid).all() or grid[0] <= 0.0:
        raise ValueError(f"radii must be positive, finite numbers, at least one; got {radii!r}")
    return grid


def radius_grid(problem: Problem, n_radii: int, least: float = 0.0) -> np.ndarray:
    """Return a geometric grid of radii, up to where the constraint hardly matters.

    The tangent of the objective at zero meets zero at radius ``F(0) / support(-gradient)``, with the support function
    of the set of radius one. This radius is doubled until the objective hardly decreases, then halved while the
    solution fits into the smaller set. The grid ends there, and begins at a thousandth of it.

    Parameters
    ----------
    problem : Problem
        Its set must have a radius.
    n_radii : int
        Number of radii.
    least : float
        Side conditions hold for no smaller radius. By default that radius is searched for.

    Returns
    -------
    array of shape (n_radii,)
    """
    if isinstance(n_radii, bool) or not isinstance(n_radii, int | np.integer) or n_radii < 1:
        raise ValueError(f"n_radii must be a positive int, got {n_radii!r}")
    begin = problem.evaluate(problem.zero())
    low, high = problem.constraint.radius_range(problem.size)
    low = max(low, least)
    unit = min(max(1.0, low), high)
    slope = float(problem.constraint.with_radius(unit).support(-begin.gradient.ravel())) / unit
    if not np.isfinite(begin.value) or not np.isfinite(slope):
        raise ValueError("the objective or its gradient at zero is not finite, so there is no grid: rescale X or y")
    first = max(problem.zero_value / slope if slope > 0.0 else 1.0, low)
    if problem.side is not None and not least:
        low = least_radius(problem, max(SHORTEST * first, low), min(first, high), high)
        first = max(first, low)
    doubled = np.minimum(first * 2.0 ** np.arange(DOUBLINGS), high)
    end, last = doubled[0], np.inf
    for radius, found in zip(doubled, follow(problem, doubled, tol=1e-3, max_passes=100.0), strict=True):
        if found.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        end = radius
        # Stop where doubling the radius lowers the objective by less than one percent of the total decrease.
        if not last - found.fun > 1e-2 * (begin.value - found.fun):
            break
        last = found.fun
    for _ in range(DOUBLINGS):
        if end / 2.0 < low or not problem.constraint.with_radius(end / 2.0).contains(found.x.ravel()):
            break
        end /= 2.0
    return np.geomspace(max(SHORTEST * end, low), end, n_radii)


def least_radius(problem: Problem, low: float, first: float, most: float) -> float:
    """Return nearly the smallest radius above ``low`` for which some weights satisfy the side conditions.

    Raises ValueError, with conditions that contradict each other, if there is none up to ``most``, or for far larger
    radii than ``first``.
    """

    def contradiction(radius: float) -> Infeasible | None:
        here = problem.over(problem.constraint.with_radius(radius))
        try:
            feasible_point(here, problem.side, here.flat("x", here.default_start()))
        except Infeasible as error:
            return error
        return None

    error = None
    for high in np.minimum(first * 4.0 ** np.arange(BISECTIONS), most):
        error = contradiction(high)
        if error is None:
            break
        low = high
    if error is not None:
        raise error
    for _ in range(BISECTIONS):
        middle = np.sqrt(low * high)
        low, high = (low, middle) if contradiction(middle) is None else (middle, high)
    return high


# --- `radius_path` and its result.


@dataclass(eq=False)
class RadiusPath:
    """The result of `radius_path`: a solution for each radius.

    Attributes
    ----------
    radii : array of shape (n_radii,)
        The radii, ascending.
    coefs : sparse array of shape (n_radii, d), or (n_radii, d * outputs)
        Weights, one row for each radius; those of several outputs are flattened.
    intercepts : array of shape (n_radii,), or (n_radii, outputs)
        Zeros unless there is an intercept.
    funs, gaps : array of shape (n_radii,)
        Exact objective and exact gap.
    success : array of bool of shape (n_radii,)
        Whether the gap met the tolerance.
    passes : array of shape (n_radii,)
        Gradient evaluations divided by n.
    seconds : float
        Time of all runs together, without compilation.
    shape : tuple
        Shape of the weights of one radius.
    names : list of str or None
        Names of the columns, if the data was a frame.
    """

    radii: np.ndarray
    coefs: sparse.csr_array
    intercepts: np.ndarray
    funs: np.ndarray
    gaps: np.ndarray
    success: np.ndarray
    passes: np.ndarray
    seconds: float
    shape: tuple[int, ...]
    names: list[str] | None = None

    def __len__(self) -> int:
        return len(self.radii)

    def __repr__(self) -> str:
        certified = f"{int(self.success.sum())} of {len(self)} certified"
        return f"<RadiusPath: {len(self)} radii from {self.radii[0]:.4g} to {self.radii[-1]:.4g}, {certified}>"

    def coef(self, k: int) -> np.ndarray:
        """Return the weights at radius number ``k``, as a dense array in the shape of a `Result`."""
        return self.coefs[[k], :].toarray().reshape(self.shape)

    def plot(self, ax: Any = None, most: int = 10, names: Any = None) -> Any:
        """Draw the weights against the radius (needs matplotlib).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        most : int
            Number of weights in colour and with a name: those with the largest share of the radius, on average over
            the path. The others are grey.
        names : sequence of str, optional
            Names of the columns; by default those of the data frame, or x0, x1, ...

        Returns
        -------
        matplotlib Axes
        """
        from frankwolfe.plots import plot_path

        return plot_path(self, ax=ax, most=most, names=names)


@teaching
def radius_path(
    X: TableLike,
    y: TargetValues = None,
    *,
    loss: Loss = "logistic",
    constraint: ConstraintSet = "l1",
    radii: Any = None,
    n_radii: int = 30,
    intercept: bool = False,
    sample_weight: RowNumbers = None,
    side: LinearBounds | None = None,
    max_nonzeros: int | None = None,
    method: Any = "auto",
    tol: float = 1e-4,
    max_passes: float | None = 1000.0,
    rng: Any = None,
    random_state: Any = None,
    n_threads: int | None = None,
) -> RadiusPath:
    """Minimise the same objective over a set at many radii, each run started from the last solution.

    If it is interrupted from the keyboard, it returns the radii so far.

    Parameters
    ----------
    X : array, sparse matrix, data frame or RowStore of shape (n, d)
        As for `Problem`.
    y : array of shape (n,), or (n, outputs)
        TargetValues, in the form that the loss takes.
    loss : str or loss
        For instance ``"logistic"``.
    constraint : str or set
        A name (``"l1"``, ``"l2"``, ``"linf"``, ``"simplex"``, ``"nonnegative-l1"``, ``"trace"``, ``"group"``) or a set
        with a radius, which the path replaces.
    radii : array, optional
        Positive radii, in any order. By default a grid derived from the data, see `radius_grid`.
    n_radii : int
        Length of that grid.
    intercept : bool
        Whether to fit a free intercept.
    sample_weight : array of shape (n,), optional
        Non-negative weights.
    side : LinearBounds, optional
        Linear conditions beside the set, which hold at every radius. The grid begins where some weights satisfy them.
    max_nonzeros : int, optional
        Most features with a weight that is not zero, at each radius. Gaps compare with the best model of so many
        features (docs/best-subset.md).
    method, tol, max_passes, rng, random_state, n_threads
        Settings of every run, as for `minimize`.

    Returns
    -------
    RadiusPath

    Examples
    --------
    >>> import frankwolfe as fw
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 2.0, 3.0]
    >>> path = fw.radius_path(X, y, loss="squared", radii=[0.5, 1.0, 3.0], tol=1e-9)
    >>> path.coefs.toarray().round(6)
    array([[0. , 0.5],
           [0. , 1. ],
           [1. , 2. ]])
    """
    problem = make_problem(X, y, loss, constraint, sample_weight, intercept, side)
    options = {
        "max_nonzeros": max_nonzeros,
        "method": method,
        "tol": tol,
        "max_passes": max_passes,
        "rng": as_seed(random_state, rng),
        "n_threads": n_threads,
    }
    grid = radius_grid(problem, n_radii) if radii is None else as_radii(radii)
    return collected(problem, grid, until_interrupted(follow(problem, grid, **options)))


def make_problem(
    X: TableLike,
    y: TargetValues,
    loss: Loss,
    constraint: ConstraintSet,
    sample_weight: RowNumbers,
    intercept: bool,
    side: LinearBounds | None = None,
    offset: RowNumbers = None,
) -> Problem:
    """Return the problem over a set that is given by name or as an object."""
    named = isinstance(constraint, str)
    first = as_constraint("l1", None, 0, 0) if named else constraint  # until d and the number of outputs are known
    problem = Problem(X, y, loss, first, sample_weight, intercept, side, offset)
    return problem.over(as_constraint(constraint, None, problem.d, problem.outputs)) if named else problem


def collected(problem: Problem, radii: np.ndarray, results: list[Result]) -> RadiusPath:
    """Return the results at the first radii of a path, or at all, as one object."""
    return RadiusPath(
        radii[: len(results)],
        sparse.csr_array(np.array([found.x.ravel() for found in results])),
        np.array([found.intercept for found in results]),
        np.array([found.fun for found in results]),
        np.array([found.gap for found in results]),
        np.array([found.success for found in results]),
        np.array([found.passes for found in results]),
        sum(found.seconds for found in results),
        problem.shape,
        problem.feature_names,
    )


# --- The choice of a radius: the loss on held-out rows, and whether the grid is wide enough.


@single_threaded
def held_out_loss(problem: Problem, found: Result) -> float:
    """Return the objective on held-out rows, with the fitted intercept.

    Parameters
    ----------
    problem : Problem
        The held-out rows, without an intercept.
    found : Result
        The result of a run on the other rows.
    """
    return problem.value_of_predictions(np.asarray(problem.X @ found.x) + found.intercept)


def at_the_edge(radii: Sequence[float] | np.ndarray, chosen: int, problem: Problem, w: Weights) -> list[str]:
    """Return advice if the chosen radius is the first or the last of its grid; else an empty list.

    If the constraint does not bind at the last radius, larger radii have the same solution, and no advice is needed.

    Parameters
    ----------
    radii : array
        The grid, ascending.
    chosen : int
        Index of the chosen radius.
    problem : Problem
        The problem over the set of that radius.
    w : array
        Its solution.
    """
    radius = float(radii[chosen])
    if len(radii) < 2 or 0 < chosen < len(radii) - 1:
        return []
    if chosen == 0:
        return [
            f"The chosen radius {radius:.4g} is the smallest of the {len(radii)} that were tried: the best one may be "
            f"smaller. Extend the grid downwards, for instance to {radius / 10.0:.2g}."
        ]
    if problem.constraint.contains(1.01 * np.ravel(w)):
        return []
    return [
        f"The chosen radius {radius:.4g} is the largest of the {len(radii)} that were tried: the best one may be "
        f"larger. Extend the grid upwards, for instance to {radius * 10.0:.2g}."
    ]
