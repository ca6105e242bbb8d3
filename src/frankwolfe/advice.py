"""What to do about data or a radius that keeps a model from fitting: short sentences, or none.

False alarms are worse than silence, so the thresholds keep their distance from what was measured, on the tables of
scikit-learn and on text, as they are and standardised. Columns in like units differ in size by a factor of 18 at most,
those in unlike units by 1,600 and more. Diabetes, with a factor of 67, gets no advice.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from frankwolfe.store.reader import RowStore

if TYPE_CHECKING:
    from frankwolfe.problem import Problem
    from frankwolfe.result import Result

UNLIKE = 100.0
"""Columns are told apart when the sizes of the large ones are this many times those of the small ones."""

LITTLE, LITTLE_BY_DEFAULT = 0.01, 0.25
"""Parts of the objective at zero: lowering it by less is too little if far more is in reach. The second is for the
default radius. With the default of 10, text in five classes lowers the objective by 6% to 23%, and 4 to 15 times as
much is in reach; standardised tables lower it by 45% or more. Users who choose a radius may want it to bind."""

WORTHWHILE, MULTIPLE = 0.1, 3.0
"""Far more: such a part of the objective at zero, and so many times what was fitted."""

FIRST_STEP, LENGTHENINGS = 4.0**-6, 18
"""The first step along the gradient, as a part of the one that would end a linear fall, and how often it is tried four
times as long."""

MOST_ENTRIES, LEAST_ROWS, MOST_ROWS = 200_000, 50, 1000
"""How much of the data is looked at to compare its columns."""


def advice_on(problem: "Problem", result: "Result", default_radius: bool = False) -> list[str]:
    """Return what to do about a result, in sentences: an empty list where there is nothing to say.

    Looks at some rows of the data; where little is fitted, predicts all of them.

    Parameters
    ----------
    problem : Problem
        What was solved.
    result : Result
        Its answer.
    default_radius : bool
        Whether the radius is the default one. The threshold is then higher.

    Returns
    -------
    list of str
    """
    if problem.on_cluster and not problem.X.in_reach:
        return []
    return [*on_columns(problem, result), *on_radius(problem, result, default_radius)]


def _is_ours(problem: "Problem", result: "Result") -> bool:
    """Whether a radius limits all weights alike, and weights are numbers."""
    return problem.constraint.is_ball() and isinstance(result.x, np.ndarray)


def _binds(problem: "Problem", w: np.ndarray) -> bool:
    """Whether the weights use up the radius; if not, neither it nor the columns' scales keep them from anything."""
    return not problem.constraint.contains(1.01 * w)


def on_columns(problem: "Problem", result: "Result") -> list[str]:
    """Return what to do about columns of unlike scale."""
    if not _is_ours(problem, result):
        return []
    ratio = unlikeness(_rows_at_hand(problem))
    if ratio < UNLIKE or (result.success and not _binds(problem, result.x.ravel())):
        return []
    return [
        f"The columns of X differ in size by a factor of about {_round(ratio)}, and the set treats all weights alike, "
        "so small columns hardly count: standardise them (sklearn.preprocessing.StandardScaler; on the command line "
        "--standardize)."
    ]


def _rows_at_hand(problem: "Problem") -> Any:
    """Return the data, or some rows of it where it is not in memory."""
    if problem.on_cluster:
        return problem.X.some_rows(MOST_ROWS if problem.X.is_sparse else _dense_rows(problem.d))
    return problem.X.head(MOST_ROWS) if isinstance(problem.X, RowStore) else problem.X


def _dense_rows(d: int) -> int:
    """Return how many dense rows to look at."""
    return min(MOST_ROWS, max(LEAST_ROWS, MOST_ENTRIES // d))


def unlikeness(X: Any) -> float:
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
    n, d = X.shape
    if sparse.issparse(X):
        some = X[_spread(n, MOST_ROWS)]
        counts = np.bincount(some.indices, some.data != 0.0, minlength=d)
        squares = np.bincount(some.indices, np.square(some.data, dtype=np.float64), minlength=d)
    else:
        some = X[_spread(n, _dense_rows(d))]
        apart = some - np.median(some, axis=0)
        counts, squares = np.count_nonzero(apart, axis=0), np.square(apart, dtype=np.float64).sum(axis=0)
    sizes = np.sqrt(squares[counts > 0] / counts[counts > 0])
    sizes = sizes[(sizes > 0.0) & np.isfinite(sizes)]
    if sizes.size < 2:
        return 1.0
    return float(np.quantile(sizes, 0.95, method="higher") / np.quantile(sizes, 0.05, method="lower"))


def _spread(n: int, most: int) -> np.ndarray:
    """Return the numbers of at most so many of ``n`` rows, evenly spread."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.intp))


def on_radius(problem: "Problem", result: "Result", default_radius: bool = False) -> list[str]:
    """Return what to do about a radius that lets little be fitted, compared with what a larger one would."""
    if not _is_ours(problem, result) or not result.success or not problem.zero_value > 0.0:
        return []
    w, fitted = result.x.ravel(), 1.0 - result.fun / problem.zero_value
    if not fitted < (LITTLE_BY_DEFAULT if default_radius else LITTLE) or (w.any() and not _binds(problem, w)):
        return []
    downhill, radius = -problem.gradient(result.x).ravel(), problem.constraint.own_radius()
    if problem.constraint.support(np.full(w.size, -1.0)) <= 0.0:  # no larger radius admits negative weights
        downhill = np.maximum(downhill, 0.0)
    if radius is None or not downhill.any():
        return []
    possible = 1.0 - _lowest_along(problem, w, downhill, result.fun) / problem.zero_value
    if not (possible > WORTHWHILE and possible > MULTIPLE * fitted):
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
    """Return about the lowest objective along a direction in which it falls, from a point where it is ``fun``."""
    largest = float(np.abs(direction).max())
    direction = direction / largest  # its square would underflow in small units
    step = FIRST_STEP * fun / (largest * float(direction @ direction))  # the tangent meets zero at fun / |gradient|^2
    value_of = problem.value if problem.on_cluster else problem.value_of_predictions
    if not problem.on_cluster:  # predictions are linear in the weights: two passes, however many steps are tried
        w, direction = problem.objective.predict(w), problem.objective.predict(direction)
    for _ in range(LENGTHENINGS):
        value = value_of(w + step * direction)
        if not value < fun:
            break
        fun, step = value, 4.0 * step
    return fun


def _round(number: float) -> str:
    """Return a number with one digit: near enough, and the same for all folds of the data."""
    return f"{float(f'{number:.1g}'):,.0f}"


def _percent(share: float) -> str:
    return f"{float(f'{100.0 * max(share, 0.0):.1g}'):g}%"
