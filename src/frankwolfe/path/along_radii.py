"""`radius_path` and what it returns: the answers along a grid of radii."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from frankwolfe.arguments.keywords import teaching
from frankwolfe.path.grid import as_radii, radius_grid
from frankwolfe.path.warm_runs import follow, until_interrupted
from frankwolfe.problem import Problem
from frankwolfe.result import Result
from frankwolfe.sets.named import as_constraint


@dataclass(eq=False)
class RadiusPath:
    """What `radius_path` returns: one answer for each radius.

    Attributes
    ----------
    radii : array of shape (n_radii,)
        Ascending.
    coefs : sparse array of shape (n_radii, d), or (n_radii, d * outputs)
        Weights, one row for each radius; with several outputs laid out flat.
    intercepts : array of shape (n_radii,), or (n_radii, outputs)
        Zeros unless there is an intercept.
    funs, gaps : array of shape (n_radii,)
        Exact objective and exact gap.
    success : array of bool of shape (n_radii,)
        Whether the gap met the tolerance.
    passes : array of shape (n_radii,)
        Gradient evaluations divided by n.
    seconds : float
        Time that all runs took together, compilation left out.
    shape : tuple
        Shape of the weights of one radius.
    names : list of str or None
        Names of the columns, where the data was a frame.
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
        """Weights at radius number ``k``, as a dense array of the shape that a `Result` has."""
        return self.coefs[[k], :].toarray().reshape(self.shape)

    def plot(self, ax: Any = None, most: int = 10, names: Any = None) -> Any:
        """Draw the weights against the radius (needs matplotlib).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.
        most : int
            How many weights to draw in colour and by name: those with the largest part of the radius, on average over
            the path. The others are grey.
        names : sequence of str, optional
            What to call the columns; by default as the data frame did, or x0, x1, ...

        Returns
        -------
        matplotlib Axes
        """
        from frankwolfe.plots import plot_path

        return plot_path(self, ax=ax, most=most, names=names)


@teaching
def radius_path(
    X: Any,
    y: Any = None,
    *,
    loss: Any = "logistic",
    constraint: Any = "l1",
    radii: Any = None,
    n_radii: int = 30,
    intercept: bool = False,
    sample_weight: Any = None,
    method: Any = "auto",
    tol: float = 1e-4,
    max_passes: float | None = 1000.0,
    random_state: Any = None,
    n_threads: int | None = None,
) -> RadiusPath:
    """Minimise the same objective over a set at many radii, each run started from the answer before.

    Interrupted from the keyboard, it returns the radii it has come to.

    Parameters
    ----------
    X : array, sparse matrix, data frame or RowStore of shape (n, d)
        As for `Problem`.
    y : array of shape (n,), or (n, outputs)
        Targets, as the loss needs them.
    loss : str or loss
        For instance ``"logistic"``.
    constraint : str or set
        A name (``"l1"``, ``"l2"``, ``"linf"``, ``"simplex"``, ``"nonnegative-l1"``, ``"trace"``, ``"group"``) or a set
        with a radius, which the path replaces.
    radii : array, optional
        Positive; visited in ascending order. By default a grid from the data, see `radius_grid`.
    n_radii : int
        Length of that grid.
    intercept : bool
        Whether to fit a free intercept.
    sample_weight : array of shape (n,), optional
        Non-negative weights.
    method, tol, max_passes, random_state, n_threads
        Of every run, as for `minimize`.

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
    problem = posed(X, y, loss, constraint, sample_weight, intercept)
    options = {
        "method": method,
        "tol": tol,
        "max_passes": max_passes,
        "random_state": random_state,
        "n_threads": n_threads,
    }
    grid = radius_grid(problem, n_radii) if radii is None else as_radii(radii)
    return collected(problem, grid, until_interrupted(follow(problem, grid, **options)))


def posed(X: Any, y: Any, loss: Any, constraint: Any, sample_weight: Any, intercept: bool) -> Problem:
    """Return the problem with a set by name or as an object; a set that depends on the data's shape is made for it."""
    if not isinstance(constraint, str):
        return Problem(X, y, loss, constraint, sample_weight, intercept=intercept)
    stand_in = as_constraint("l1", None, 0, 0)  # replaced as soon as the numbers of columns and outputs are known
    problem = Problem(X, y, loss, stand_in, sample_weight, intercept=intercept)
    return problem.over(as_constraint(constraint, None, problem.d, problem.outputs))


def collected(problem: Problem, radii: np.ndarray, results: list[Result]) -> RadiusPath:
    """Return the results along a path, or along the first part of it, as one object."""
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
