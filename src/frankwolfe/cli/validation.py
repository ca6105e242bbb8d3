"""How well models of some rows predict the others: splits, and the scores on what was held out."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.cli.posing import Specification
from frankwolfe.cli.scores import Scores, accuracy, errors
from frankwolfe.linalg.threads import single_threaded
from frankwolfe.problem import Problem
from frankwolfe.result import Result, Status

BASELINE = "most frequent class"
"""Name of the accuracy that takes no model."""


class Split(NamedTuple):
    """Rows to fit to, and rows to predict."""

    train: np.ndarray
    test: np.ndarray


def splits_of(spec: Specification, holdout: float | None, folds: int | None, seed: int) -> list[Split]:
    """Return one split, or one for each fold; classes keep their shares. The same seed gives the same rows.

    Parameters
    ----------
    spec : Specification
        With the targets.
    holdout : float or None
        Part of the rows to hold out.
    folds : int or None
        Or the number of parts, each of which is held out in turn.
    seed : int
        Of the shuffle.

    Returns
    -------
    list of Split
    """
    if holdout is not None and folds is not None:
        raise ValueError("--holdout and --folds exclude each other")
    n = len(spec.y)
    groups = np.zeros(n) if spec.classes is None else spec.y
    mixed = np.random.default_rng(seed).permutation(n)
    order = mixed[np.argsort(groups[mixed], kind="stable")]  # class by class, shuffled within each
    places = np.arange(n)
    if holdout is not None:
        shares = np.floor((places + 1) * holdout + 0.5) - np.floor(places * holdout + 0.5)
        found = [_split(order, shares > 0.0)]
    elif folds is not None:
        if folds > n:
            raise ValueError(f"--folds {folds} is more than the {n} rows")
        found = [_split(order, places % folds == fold) for fold in range(folds)]
    else:
        return []
    for split in found:
        _check(spec, split)
    return found


def _split(order: np.ndarray, held: np.ndarray) -> Split:
    return Split(np.sort(order[~held]), np.sort(order[held]))


def _check(spec: Specification, split: Split) -> None:
    """Raise ValueError if there is nothing to fit to, or to predict."""
    if not split.train.size or not split.test.size:
        raise ValueError(f"of {len(spec.y)} rows none would be {'held out' if split.train.size else 'left to fit to'}")
    if spec.classes is not None:
        gone = np.setdiff1d(spec.y, spec.y[split.train])
        if gone.size:
            name = spec.classes[np.searchsorted(np.unique(spec.y), gone[0])]
            raise ValueError(f"class {name} has too few rows to hold some out: all of them would be")


def held_out(
    spec: Specification, splits: list[Split], run: Callable[[Problem], Iterable[Result]]
) -> Iterator[list[Scores]]:
    """Yield, for each split, the scores of the results that a run on its training rows yields.

    Parameters
    ----------
    spec : Specification
        What was asked.
    splits : list of Split
        From `splits_of`.
    run : callable
        From a problem to results, for instance along a path of radii.
    """
    data = spec.data
    for train, test in splits:
        problem, preparation = spec.pose(train)
        X = preparation.apply(data.table.rows(test), data.features.names).X
        weights = None if data.weights is None else data.weights[test]
        results = list(run(problem))
        if any(found.status is Status.INTERRUPTED for found in results):
            raise KeyboardInterrupt  # a mean of some folds only, or of some radii, would be another score
        yield [_scores(spec, X, train, test, weights, found) for found in results]


@single_threaded
def _scores(spec: Specification, X: Any, train: np.ndarray, test: np.ndarray, weights: Any, found: Result) -> Scores:
    """Return how well a result predicts the rows held out."""
    predicted, y = np.asarray(X @ found.x) + found.intercept, spec.y[test]
    if spec.classes is None:
        return errors(predicted, y, weights)
    chosen = predicted.argmax(axis=1) if predicted.ndim == 2 else np.where(predicted > 0.0, 1.0, -1.0)
    values, counts = np.unique(spec.y[train], return_counts=True)
    always = values[counts.argmax()]
    return accuracy(chosen == y, weights) | {BASELINE: accuracy(y == always, weights)["accuracy"]}
