"""Advice on data or a radius that prevents a model from fitting: short sentences, or none.

False alarms are worse than silence, so the thresholds are far from the values measured on the tables of scikit-learn
and on text, raw and standardised. Columns in the same units differ in size by a factor of 18 at most, columns in
different units by 1,600 and more. Diabetes, with a factor of 67, gets no advice.
"""

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from frankwolfe.arguments.types import TableLike
from frankwolfe.linalg.matrices import evenly_spread
from frankwolfe.objective.tasks import mix

if TYPE_CHECKING:
    from frankwolfe.problem import Problem
    from frankwolfe.result import Result

UNLIKE = 100.0
"""Ratio of the sizes of large and small columns from which on there is advice."""

LITTLE, WORTHWHILE = 0.01, 0.1
"""A decrease of the objective by less than the first part of its value at zero is too little if the second part, and
three times the decrease so far, is possible."""


def advice_on(problem: "Problem", result: "Result", default_radius: bool = False) -> list[str]:
    """Return advice on a result, in sentences; mostly an empty list.

    Some rows of the data are read. If the objective decreased by little, all rows are predicted.

    Parameters
    ----------
    problem : Problem
        The problem that was solved.
    result : Result
        Its result.
    default_radius : bool
        Whether the radius is the default one, for which the threshold is higher.

    Returns
    -------
    list of str
    """
    if not problem.source.in_reach:
        return []
    return [*on_columns(problem, result), *on_radius(problem, result, default_radius)]


def _is_ours(problem: "Problem", result: "Result") -> bool:
    """Return whether a radius limits all weights alike, and weights are numbers."""
    return problem.constraint.is_ball() and isinstance(result.x, np.ndarray)


def _binds(problem: "Problem", w: np.ndarray) -> bool:
    """Return whether the constraint is active. If not, neither radius nor scales affect the weights."""
    return not problem.constraint.contains(1.01 * w)


def on_columns(problem: "Problem", result: "Result") -> list[str]:
    """Return advice on columns of different scales."""
    if not _is_ours(problem, result):
        return []
    ratio = unlikeness(problem.source.some_rows(_most_rows(problem.d, problem.samples.rows.is_sparse)))
    if ratio < UNLIKE or (result.success and not _binds(problem, result.x.ravel())):
        return []
    return [
        f"The columns of X differ in size by a factor of about {_round(ratio)}, and the set treats all weights alike, "
        "so small columns hardly count: standardise them (sklearn.preprocessing.StandardScaler; on the command line "
        "--standardize)."
    ]


def _most_rows(d: int, is_sparse: bool) -> int:
    """Return the number of rows that are enough to compare columns."""
    return 1000 if is_sparse else min(1000, max(50, 200_000 // d))


def unlikeness(X: TableLike) -> float:
    """Return the size of a large column divided by that of a small one.

    The size of a column is the root mean square of its differences from the median, zeros left out. For a measurement
    that is about the standard deviation; for a column of zeros and few ones it is one, however few there are. A
    twentieth of the columns may be smaller than the small one, and as many larger than the large one. Some rows, evenly
    spread, stand for all.

    Examples
    --------
    >>> unlikeness(np.array([[0.0, 1000.0], [1.0, 1000.0], [0.0, 3000.0]]))
    2000.0
    """
    X = X[evenly_spread(X.shape[0], _most_rows(X.shape[1], sparse.issparse(X)))]
    if sparse.issparse(X):
        counts = np.bincount(X.indices, X.data != 0.0, minlength=X.shape[1])
        squares = np.bincount(X.indices, np.square(X.data, dtype=np.float64), minlength=X.shape[1])
    else:
        apart = X - np.median(X, axis=0)
        counts, squares = np.count_nonzero(apart, axis=0), np.square(apart, dtype=np.float64).sum(axis=0)
    sizes = np.sqrt(squares[counts > 0] / counts[counts > 0])
    sizes = sizes[(sizes > 0.0) & np.isfinite(sizes)]
    if sizes.size < 2:
        return 1.0
    return float(np.quantile(sizes, 0.95, method="higher") / np.quantile(sizes, 0.05, method="lower"))


def on_radius(problem: "Problem", result: "Result", default_radius: bool = False) -> list[str]:
    """Return advice on a radius with which the objective decreases far less than with a larger one."""
    few = result.max_features is not None  # the objective may be high for want of features
    if few or not _is_ours(problem, result) or not result.success or not problem.zero_value > 0.0:
        return []
    w, fitted = result.x.ravel(), 1.0 - result.fun / problem.zero_value
    # With the default radius of 10, text in five classes decreases the objective by 6% to 23%, and 4 to 15 times as
    # much is possible; standardised tables decrease it by 45% or more. Users who choose a radius may want it to bind.
    if not fitted < (0.25 if default_radius else LITTLE) or (w.any() and not _binds(problem, w)):
        return []
    downhill, radius = -problem.gradient(result.x).ravel(), problem.constraint.own_radius()
    if problem.constraint.support(np.full(w.size, -1.0)) <= 0.0:  # no larger radius admits negative weights
        downhill = np.maximum(downhill, 0.0)
    if radius is None or not downhill.any():
        return []
    possible = 1.0 - _lowest_along(problem, w, downhill, result.fun) / problem.zero_value
    if not (possible > WORTHWHILE and possible > 3.0 * fitted):
        return []
    # F* is convex in the radius, with the slope -support(downhill) / radius: its tangent meets zero here
    better = radius * (1.0 + result.fun / problem.constraint.support(downhill))
    return [
        f"Radius {radius:g} lowers the objective by only {_percent(fitted)}, while larger weights lower it by more "
        f"than {min(9, int(10.0 * possible))}0%. Try radius {float(f'{better:.2g}'):g}, which the slope of the "
        "objective suggests, or choose one with fw.radius_path, an estimator whose name ends in CV, or frankwolfe path "
        "on the command line."
    ]


def _lowest_along(problem: "Problem", w: np.ndarray, direction: np.ndarray, fun: float) -> float:
    """Return about the lowest objective along a descent direction, from a point where it is ``fun``."""
    largest = float(np.abs(direction).max())
    direction = direction / largest  # its square would underflow in small units
    # the tangent meets zero at fun / |gradient|^2: begin far below, and multiply the step by four
    step = 4.0**-6 * fun / (largest * float(direction @ direction))
    # predictions are linear in the weights: two passes, however many steps are tried
    objective = problem.objective
    z, images = objective.predict(w), objective.predict(direction)
    for _ in range(18):
        linear = objective.linear(w) + step * objective.linear(direction)
        value = problem.value_of_predictions(objective.shards.keep(mix, z, images, step), linear)
        if not value < fun:
            break
        fun, step = value, 4.0 * step
    return fun


def _round(number: float) -> str:
    """Return a number with one digit, so that all folds of the data have the same advice."""
    return f"{float(f'{number:.1g}'):,.0f}"


def _percent(share: float) -> str:
    return f"{float(f'{100.0 * max(share, 0.0):.1g}'):g}%"
