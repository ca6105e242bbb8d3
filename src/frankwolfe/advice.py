"""What to do about data or a radius that keeps a model from fitting: short sentences, or none.

False alarms are worse than silence, so the thresholds keep their distance from what was measured, on the tables of
scikit-learn and on text, as they are and standardised. Columns in like units differ in size by a factor of 18 at most,
those in unlike units by 1,600 and more. Diabetes, with a factor of 67, gets no advice.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from frankwolfe.data.store.row_store import RowStore
from frankwolfe.sets.atoms import vertex_of

if TYPE_CHECKING:
    from frankwolfe.problem import Problem
    from frankwolfe.result import Result

UNLIKE = 100.0
"""Columns are told apart when the sizes of the large ones are this many times those of the small ones."""

LITTLE, WORTHWHILE = 0.01, 0.1
"""Parts of the objective at zero: lowering it by less than the first is too little, if the second is in reach."""

MOST_ENTRIES, LEAST_ROWS, MOST_ROWS = 200_000, 50, 1000
"""How much of the data is looked at to compare its columns."""

DOUBLINGS = 40
"""How often a radius is doubled to see what a larger one would do."""


class ScaleWarning(UserWarning):
    """The scale of the columns, or a small radius, keeps an estimator from fitting: says what to do about it.

    Examples
    --------
    >>> import warnings, frankwolfe as fw
    >>> warnings.simplefilter("ignore", fw.ScaleWarning)  # for those who know
    """


def advice_on(problem: "Problem", result: "Result") -> list[str]:
    """Return what to do about a result, in sentences: an empty list where there is nothing to say.

    Looks at some rows of the data; where next to nothing is fitted, predicts all of them.

    Parameters
    ----------
    problem : Problem
        What was solved.
    result : Result
        Its answer.

    Returns
    -------
    list of str
    """
    if problem.on_cluster and not problem.X.in_reach:
        return []
    return [*on_columns(problem, result), *on_radius(problem, result)]


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


def on_radius(problem: "Problem", result: "Result") -> list[str]:
    """Return what to do about a radius that lets next to nothing be fitted."""
    if not _is_ours(problem, result) or not result.success or not problem.zero_value > 0.0:
        return []
    w, fitted = result.x.ravel(), 1.0 - result.fun / problem.zero_value
    if not fitted < LITTLE:
        return []
    if not w.any():  # zero itself met the tolerance: look where the first step would have gone
        w = vertex_of(problem.constraint, problem.gradient(np.zeros(problem.shape)).ravel())
    elif not _binds(problem, w):
        return []
    factor, best = _along(problem, w, result.fun)
    possible = 1.0 - best / problem.zero_value
    if not (possible > WORTHWHILE and possible > 4.0 * fitted):
        return []
    radius = problem.constraint.own_radius()
    return [
        f"Radius {radius:g} lowers the objective by only {_percent(fitted)}. At radius {factor * radius:g} a multiple "
        f"of the same weights would lower it by {_percent(possible)}: try larger ones, for instance by fw.radius_path, "
        "an estimator whose name ends in CV, or on the command line by frankwolfe path."
    ]


def _along(problem: "Problem", w: np.ndarray, fun: float) -> tuple[float, float]:
    """Return by which power of two to multiply the weights, and the objective there: for as long as it falls."""
    z = None if problem.on_cluster else problem.objective.predict(w)
    factor, best = 1.0, fun
    for _ in range(DOUBLINGS):
        value = problem.value(2.0 * factor * w) if z is None else problem.value_of_predictions(2.0 * factor * z)
        if not value < best - 1e-3 * (problem.zero_value - best):  # the last doublings are not worth their radius
            break
        factor, best = 2.0 * factor, value
    return factor, best


def _round(number: float) -> str:
    """Return a number with one digit: near enough, and the same for all folds of the data."""
    return f"{float(f'{number:.1g}'):,.0f}"


def _percent(share: float) -> str:
    return f"{float(f'{100.0 * max(share, 0.0):.1g}'):g}%"
