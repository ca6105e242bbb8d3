"""`ranges`: between which values a weight, a contrast or a prediction lies in all good models, proven from both sides.

A model is good if its objective is at most ``T``, a little more than that of the best. For any ``c`` and ``t > 0``,
weak duality gives

    min over good w of c'w   >=   t (min over w of [F(w) + c'w / t] - T).

The problem on the right is the user's own with a linear term, so the *lower bound* that a run proves on it proves one
end of the range, for every ``t``. Its solution is a point on the boundary of the good models if its objective is ``T``:
then both sides agree. The objectives and values of two solutions suggest the ``t`` for which it is. On the line between
a solution that is good and one that is not, convexity tells which points are good.

A functional ``c'w + s b`` with the intercept ``b`` is that of a prediction. With ``m`` the mean row, ``b`` is the mean
of all predictions less ``m'w``, and a mean of predictions is a linear term in each loss (`Problem.plus_linear`).
"""

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import cached_property
from math import inf, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from frankwolfe.arguments.names import as_flag, as_threads
from frankwolfe.certificates.written import require_result
from frankwolfe.display import Progress
from frankwolfe.losses.base import many
from frankwolfe.problem import Problem
from frankwolfe.problem.rules import ColumnNames
from frankwolfe.result import Result
from frankwolfe.run import minimize
from frankwolfe.sets.base import vertex_of

if TYPE_CHECKING:
    import pandas as pd

SMALL = 2**18
"""Entries of data below which one thread is faster than two."""

ACCURACY = 8e-4
"""An end is good enough if its two bounds differ by this part of their distance from the estimate."""

MOST_RUNS = 25
"""Most problems that are solved for one end. Four are usual."""

INNER_SHARE = 2e-4
"""Each is solved to this part of what a good model may be above the best."""


class RangeEnd(NamedTuple):
    """One end of a range: a bound for all good models, a value that one of them attains, and that model."""

    proven: float
    attained: float
    w: np.ndarray
    intercept: Any


class GoodModel(NamedTuple):
    """A model on the way: the value of the functional, the objective, the weights, the intercept, its ``1 / t``."""

    value: float
    fun: float
    w: np.ndarray
    intercept: Any
    pull: float = 0.0


class Functional(NamedTuple):
    """The functional ``c'w + s b`` of the weights and the intercept."""

    c: np.ndarray
    s: float

    def at(self, w: np.ndarray, intercept: Any) -> float:
        """Return its value."""
        return float(self.c @ w) + (self.s * float(intercept) if self.s else 0.0)


@dataclass
class Ranges:
    """Ranges of linear functionals over all good models.

    Attributes
    ----------
    names : list of str
        Names of the functionals.
    estimate : array of shape (k,)
        Their values at the answer.
    low_proven, low_attained, high_attained, high_proven : arrays of shape (k,)
        No good model is below ``low_proven`` or above ``high_proven``; there are good models with the attained values.
    low_models, high_models : arrays of shape (k, size)
        The weights of those models, flat.
    low_intercepts, high_intercepts : arrays of shape (k,), or (k, outputs)
        Their intercepts.
    limit : float
        Objective up to which a model is good.
    scope : str
        What else good models satisfy, besides the rules: empty unless the fit had no budget (docs/ranges.md).
    always_used, never_used, sign_certain : arrays of bool
        Whether the value is zero in no good model; is zero in all of them; has one sign, or zero, in all of them.
    """

    names: list[str]
    estimate: np.ndarray
    low_proven: np.ndarray
    low_attained: np.ndarray
    high_attained: np.ndarray
    high_proven: np.ndarray
    low_models: np.ndarray
    high_models: np.ndarray
    low_intercepts: np.ndarray
    high_intercepts: np.ndarray
    limit: float
    scope: str = ""

    @property
    def always_used(self) -> np.ndarray:
        """Whether the value is zero in no good model."""
        return (self.low_proven > 0.0) | (self.high_proven < 0.0)

    @property
    def never_used(self) -> np.ndarray:
        """Whether the value is zero in all good models."""
        return (self.low_proven == 0.0) & (self.high_proven == 0.0)

    @property
    def sign_certain(self) -> np.ndarray:
        """Whether no two good models have values of different sign."""
        return (self.low_proven >= 0.0) | (self.high_proven <= 0.0)

    def to_frame(self) -> "pd.DataFrame":
        """Return a table with a row for each functional (needs pandas)."""
        import pandas as pd

        columns = ("estimate", "low_proven", "low_attained", "high_attained", "high_proven")
        facts = ("sign_certain", "always_used", "never_used")
        return pd.DataFrame({name: getattr(self, name) for name in columns + facts}, index=self.names)

    def plot(self, ax: Any = None) -> Any:
        """Draw a line for each functional from end to end, and a dot for the estimate (needs matplotlib).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.

        Returns
        -------
        matplotlib Axes
        """
        from frankwolfe.plots import plot_ranges

        return plot_ranges(self, ax=ax)

    def __repr__(self) -> str:
        width = max(map(len, self.names), default=0)
        rows = zip(self.names, self.estimate, self.low_proven, self.high_proven, self.sign_certain, strict=True)
        lines = [
            f"{name:<{width}}  {value:>12.6g}  [{low:.6g}, {high:.6g}]{'' if sure else '  either sign'}"
            for name, value, low, high, sure in rows
        ]
        scope = f", and {self.scope}" if self.scope else ""
        return "\n".join([f"Ranges over all models with an objective of at most {self.limit:.6g}{scope}:", *lines])


def _threads_for(problem: Problem) -> int:
    """Return the default number of threads. Runs on small data are mostly Python code, which threads only slow down."""
    rows = problem.samples.rows
    return 1 if rows.stored() < SMALL else os.cpu_count() or 1


def ranges(
    problem: Problem,
    result: Result,
    of: Any = "coefficients",
    within: float = 0.01,
    *,
    predict: Any = None,
    within_absolute: float | None = None,
    names: Sequence[str] | None = None,
    n_threads: int | None = None,
    progress: bool = False,
) -> Ranges:
    """Return between which values weights, contrasts or predictions lie in every good model, with a proof.

    A model is good if it is in the set, keeps all conditions, and its objective is at most 1% above that of the answer,
    or as ``within`` says. The set of good models is no confidence interval: it says what these data, this loss and
    these constraints leave open, not what another sample would give (docs/ranges.md).

    Parameters
    ----------
    problem : Problem
        The problem, with a convex loss.
    result : Result
        Its answer.
    of : "coefficients", list of column names, patterns or numbers, or array of shape (k, d)
        What to find the ranges of: all weights, some of them, or a functional of the weights for each row of an array,
        such as a contrast of two columns. A single name or number will do, too. With several outputs rows have as many
        entries as there are weights, laid out flat.
    within : float
        How much worse than the answer a good model may be, as a part of the answer's objective.
    predict : array or sparse matrix of shape (k, d), optional
        Rows whose predictions to find the ranges of, with the intercept, in place of ``of``; for losses of one output.
    within_absolute : float, optional
        The same as a number, in place of ``within``.
    names : sequence of str, optional
        Names of the functionals.
    n_threads : int, optional
        Threads, each with a functional of its own; by default one for each core, and a single one for small data.
    progress : bool
        Whether to show a progress bar (needs tqdm).

    Returns
    -------
    Ranges

    Examples
    --------
    >>> import numpy as np, frankwolfe as fw
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 3))
    >>> y = X @ [1.0, -0.5, 0.0] + 0.5 * rng.normal(size=50)
    >>> problem = fw.Problem(X, y, loss="squared", constraint=fw.L1Ball(3.0))
    >>> found = fw.ranges(problem, fw.minimize(problem, tol=1e-9), within=0.1)
    >>> found.sign_certain
    array([ True,  True, False])
    """
    if not problem.loss.convex:
        raise ValueError(
            f"ranges needs a convex loss, got {type(problem.loss).__name__}: no bound is proven for others. "
            "Losses such as 'huber' and 'logistic' are convex"
        )
    require_result(problem, result)
    extra = within * abs(result.fun) if within_absolute is None else within_absolute
    if not (np.isfinite(extra) and extra > 0.0):
        raise ValueError(
            f"good models must be allowed to be worse than the answer by a positive number, got {extra:g}: "
            "pass within or within_absolute"
        )
    rows, found_names = functionals(problem, of) if predict is None else _predictions(problem, of, predict)
    if not len(rows):
        raise ValueError("of names no functional")
    names = found_names if names is None else list(names)
    if len(names) != len(rows):
        raise ValueError(f"names has {len(names)} entries, but there are {len(rows)} functionals")
    share = 1.0 if predict is not None and problem.intercept else 0.0
    search = _Search(problem, result, result.fun + extra)
    with (
        Progress(as_flag("progress", progress), "ranges", float(len(rows)), "ranges") as bar,
        ThreadPoolExecutor(as_threads(n_threads) or _threads_for(problem)) as pool,
    ):
        # a run sees the modes of this thread, such as `python_mode`
        runs = [pool.submit(copy_context().run, search.both, Functional(c, share)) for c in rows]
        ends = []
        for run in runs:
            ends.append(run.result())
            bar.update(float(len(ends)))
    lows, highs = zip(*ends, strict=True)
    return Ranges(
        names,
        np.array([Functional(c, share).at(search.best.w, search.best.intercept) for c in rows]) + 0.0,
        np.array([end.proven for end in lows]) + 0.0,
        np.array([end.attained for end in lows]) + 0.0,
        0.0 - np.array([end.attained for end in highs]),
        0.0 - np.array([end.proven for end in highs]),
        np.array([end.w for end in lows]),
        np.array([end.w for end in highs]),
        np.array([end.intercept for end in lows]),
        np.array([end.intercept for end in highs]),
        search.limit,
    )


def _predictions(problem: Problem, of: Any, rows: Any) -> tuple[np.ndarray, list[str]]:
    """Return rows to predict as functionals of the weights, and their names."""
    if not (isinstance(of, str) and of == "coefficients"):
        raise ValueError("of and predict both say what to find the ranges of: pass one of them")
    if problem.outputs:
        raise ValueError("predict goes with losses of one output: pass rows of flat weights as of")
    rows = rows.toarray() if issparse(rows) else rows
    rows, names = functionals(problem, np.asarray(rows, dtype=np.float64))
    return rows, names


def functionals(problem: Problem, of: Any) -> tuple[np.ndarray, list[str]]:
    """Return what ``of`` names, for `ranges`, as rows with a number for each flat weight, and names."""
    known = ColumnNames(problem.feature_names, problem.d)
    outputs = max(1, problem.outputs)
    if isinstance(of, str | int | np.integer):
        of = range(problem.d) if of == "coefficients" else [of]
    if not isinstance(of, np.ndarray) and isinstance(of, Iterable):
        of = list(of)
        if all(isinstance(item, str | int | np.integer) for item in of):
            columns = [j for item in of for j in known.matching(item, "of")]
            places = [j * outputs + c for j in columns for c in range(outputs)]
            labels = [
                f"{known.names[j]}" + (f" [{c}]" if problem.outputs else "") for j in columns for c in range(outputs)
            ]
            return np.eye(problem.size)[places], labels
    rows = np.atleast_2d(np.asarray(of, dtype=np.float64))
    if rows.ndim != 2 or rows.shape[1] != problem.size or not np.isfinite(rows).all():
        raise ValueError(f"of must be rows of {problem.size} finite numbers, one for each weight, got {rows.shape}")
    return rows, [f"row {i}" for i in range(len(rows))]


def _pull_between(one: "GoodModel", other: "GoodModel", fun: float) -> float:
    """Return the pull ``1 / t`` at which the objective is ``fun``, as the solutions at two pulls suggest.

    A model for quadratic objectives: the value of the functional falls linearly on a part of the way from the lower
    pull to the higher one and is constant on the rest, as where a weight stays zero. The objective is then linear in
    the square of the pull on that part, whose middle is the quotient of the two differences.
    """
    middle = (other.fun - one.fun) / (one.value - other.value)
    first, last = one.pull, 2.0 * middle - one.pull
    if last > other.pull:
        first, last = 2.0 * middle - other.pull, other.pull
    return sqrt(max(first**2 + (fun - one.fun) / (other.fun - one.fun) * (last**2 - first**2), 0.0))


class _Search:
    """The search for ends of ranges over the models of a problem with an objective of at most ``limit``."""

    def __init__(self, problem: Problem, result: Result, limit: float):
        self.problem, self.fun, self.limit, self.extra = problem, result.fun, limit, limit - result.fun
        self.best = GoodModel(0.0, result.fun, np.ravel(np.asarray(result.x)), result.intercept)
        self.tol = INNER_SHARE * self.extra / max(problem.zero_value, 1e-300)

    def both(self, functional: Functional) -> tuple[RangeEnd, RangeEnd]:
        """Return the lower end of a functional, and that of its negative."""
        return self.end(functional), self.end(Functional(-functional.c, -functional.s))

    def end(self, functional: Functional) -> RangeEnd:
        """Return the lower end of a functional.

        The bound is a concave function of ``t``, whose slope at the solution ``w`` is ``F(w) - limit``. The next ``t``
        is where the rise of a quadratic objective would be right, or at times where the lines by a good solution and
        one that is not good meet, which are above that function.
        """
        (c, s), best = functional, self.best
        if not (c.any() or s):
            return RangeEnd(0.0, 0.0, best.w, best.intercept)
        good, worse = best._replace(value=functional.at(best.w, best.intercept)), None
        here, slopes = good.value, c - s * self._mean if s else c
        proven, least = -float(self.problem.constraint.proven_support(-slopes)), 0.0
        width = float(slopes @ best.w) - proven
        if s:
            width, proven, least = max(width, self._intercept_width), -inf, self._least(s)
        elif not width > 0.0:
            return RangeEnd(here, here, best.w, best.intercept)
        else:
            w = vertex_of(self.problem.constraint, c)
            at = self.problem.evaluate(w)
            if at.value <= self.limit and self.problem.violation(w) == 0.0:
                return RangeEnd(min(proven, float(c @ w)), float(c @ w), w, at.intercept)
        t, start, before = max(0.05 * width / self.extra, 1.001 * least), best.w, good
        for turn in range(MOST_RUNS):
            tilted = self.problem.plus_linear(slopes / t, s / t)
            run = minimize(tilted, tol=self.tol, max_passes=200, x0=start, trace=0, n_threads=1)
            start, added = np.ravel(np.asarray(run.x)), s * self._mean_offset if s else 0.0
            value = functional.at(start, run.intercept)
            found = GoodModel(value, run.fun - (value + added) / t, start, run.intercept, 1.0 / t)
            if np.isfinite(run.gap):
                proven = max(proven, t * (run.fun - run.gap - self.limit) - added)
            if found.fun > self.limit:
                worse = found if worse is None or found.fun < worse.fun else worse
            elif found.value <= good.value:
                before, good = good, found
            end = self._between(good, worse)
            # conditions may keep a functional from moving at all: then its distance from the estimate is zero
            if end.value - proven <= ACCURACY * max(here - end.value, 1e-6 * width) or t == least > 0.0:
                break
            t_next = self._next(before, good, worse, turn)
            t = max(t_next if worse is not None or 0.0 < t_next < t else 0.1 * t, least)
        # rounding may put one on the wrong side of the other
        return RangeEnd(min(proven, end.value), end.value, end.w, end.intercept)

    def _next(self, before: GoodModel, good: GoodModel, worse: GoodModel | None, turn: int) -> float:
        """Return the next ``t``: between a good model and one that is not, or beyond the good ones."""
        if worse is None:
            known = good.fun - before.fun > 2.5e-3 * self.extra and good.value < before.value
            pull = _pull_between(before, good, self.limit) if known else 0.0
            return 1.0 / pull if pull > good.pull else 0.1 / good.pull if good.pull else 0.0
        lines = (good.value - worse.value) / (worse.fun - good.fun)
        if turn % 4 == 3 or not good.value > worse.value:
            return lines
        pull = _pull_between(good, worse, self.limit)
        return 1.0 / pull if good.pull < pull < worse.pull else lines

    def _between(self, good: GoodModel, worse: GoodModel | None) -> GoodModel:
        """Return the last point on the line from a good model to one that is not, which is good by convexity."""
        if worse is None or not worse.value < good.value:
            return good
        part = (self.limit - good.fun) / (worse.fun - good.fun) * (1.0 - 1e-12)
        w = good.w + part * (worse.w - good.w)
        intercept = good.intercept + part * (worse.intercept - good.intercept)
        return GoodModel(good.value + part * (worse.value - good.value), self.limit, w, intercept)

    # --- functionals with the intercept ---

    @cached_property
    def _mean(self) -> np.ndarray:
        """The weighted mean of the rows."""
        return np.asarray(self.problem.X.T @ self.problem.samples.weights)

    @cached_property
    def _mean_offset(self) -> float:
        """The weighted mean of the offsets."""
        offset = self.problem.offset
        return 0.0 if offset is None else float(offset @ self.problem.samples.weights)

    @cached_property
    def _intercept_width(self) -> float:
        """About how far the intercept alone may be off, by the smoothness of the loss."""
        smoothness = float(self.problem.loss.smoothness())
        return sqrt(2.0 * self.extra / smoothness) if 0.0 < smoothness < inf else 1.0

    def _least(self, s: float) -> float:
        """Return a ``t`` above which a linear term ``s b / t`` leaves the objective bounded from below.

        The derivatives of a loss, such as the logistic one, may have limits, and so has their mean.
        """
        problem, far = self.problem, -1e6 * s
        z = problem.X @ self.best.w + (0.0 if problem.offset is None else problem.offset)
        z = z + far * (1.0 + float(np.abs(z).max()))
        with np.errstate(over="ignore"):
            slopes = many(problem.loss).derivative(z, problem.y)
        return 1.02 / max(-s * float(slopes @ problem.samples.weights), 1e-300)
