"""Held-out rows: splits, and the scores of models on the rows they were not fitted to."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.cli.options import HeldOut
from frankwolfe.cli.problems import Specification
from frankwolfe.linalg.threads import single_threaded
from frankwolfe.path import held_out_loss, make_problem
from frankwolfe.problem import Problem
from frankwolfe.result import Result, Status

Scores = dict[str, float]

NAMES = {
    "balanced-accuracy": "balanced accuracy",
    "roc-auc": "ROC AUC",
    "rmse": "root mean squared error",
    "mae": "mean absolute error",
    "r2": "R2",
}
"""Names of scores in the output, if not those on the command line."""

BETTER_IF_LARGER = ("accuracy", "balanced accuracy", "ROC AUC", "R2")


def accuracy(right: np.ndarray, weights: Any = None) -> Scores:
    """Return the share of correct classes."""
    return {"accuracy": float(np.average(right, weights=weights))}


def errors(predictions: np.ndarray, targets: np.ndarray, weights: Any = None) -> Scores:
    """Return the root mean squared error, and the part of the targets' variance that is explained.

    Examples
    --------
    >>> errors(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    {'root mean squared error': 1.4142135623730951, 'R2': 0.11111111111111116}
    """
    squares = float(np.average((predictions - targets) ** 2, axis=0, weights=weights).mean())
    mean = np.average(targets, axis=0, weights=weights)
    spread = float(np.average((targets - mean) ** 2, axis=0, weights=weights).mean())
    return {"root mean squared error": squares**0.5, "R2": 1.0 - squares / spread if spread > 0.0 else np.nan}


def told(scores: list[Scores]) -> str:
    """Return scores in words: their values, or mean and standard deviation of several."""
    said = []
    for name in scores[0]:
        values = np.array([found[name] for found in scores])
        text = f"{values.mean():.4g}" + (f" +/- {values.std():.2g}" if len(values) > 1 else "")
        said.append(f"{name} {text}")
    return ", ".join(said)


CLASSES, NUMBERS = ("accuracy", "balanced-accuracy", "roc-auc"), ("rmse", "mae", "r2")
"""Scores of classes and of numbers, besides the loss."""

BASELINE = "most frequent class"
"""Name of the accuracy of always predicting that class."""


class Split(NamedTuple):
    """Rows to fit to, and rows to predict."""

    train: np.ndarray
    test: np.ndarray


def splits_of(spec: Specification, how: HeldOut, seed: int) -> list[Split]:
    """Return one split, or one for each fold, stratified by class. The same seed gives the same rows.

    Parameters
    ----------
    spec : Specification
        With the targets.
    how : HeldOut
        The fraction of the rows to hold out, or the number of folds; and the score.
    seed : int
        Of the shuffle.

    Returns
    -------
    list of Split
    """
    holdout, folds = how.holdout, how.folds
    if holdout is not None and folds is not None:
        raise ValueError("--holdout and --folds exclude each other")
    _check_scoring(spec, how)
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
    """Raise ValueError if there is nothing to fit to, or to predict, or a class is missing."""
    if not split.train.size or not split.test.size:
        raise ValueError(f"of {len(spec.y)} rows none would be {'held out' if split.train.size else 'left to fit to'}")
    if spec.classes is not None:
        gone = np.setdiff1d(spec.y, spec.y[split.train])
        if gone.size:
            name = spec.classes[np.searchsorted(np.unique(spec.y), gone[0])]
            raise ValueError(f"class {name} has too few rows to hold some out: all of them would be")


def _check_scoring(spec: Specification, how: HeldOut) -> None:
    """Raise ValueError if the score does not apply to the targets, or nothing is held out."""
    if how.scoring is None:
        return
    if how.holdout is None and how.folds is None:
        raise ValueError("--scoring is for rows held out: add --folds or --holdout")
    offered = ["loss", *(NUMBERS if spec.classes is None else CLASSES)]
    if how.scoring == "roc-auc" and spec.classes is not None and len(spec.classes) > 2:
        offered.remove("roc-auc")
    if how.scoring not in offered:
        target = "numbers" if spec.classes is None else f"{len(spec.classes)} classes"
        raise ValueError(f"--scoring {how.scoring}: the target is {target}, whose scores are {', '.join(offered)}")


def held_out(
    spec: Specification, splits: list[Split], run: Callable[[Problem], Iterable[Result]], scoring: str | None
) -> Iterator[list[Scores]]:
    """Yield, for each split, the scores of the results that a run on its training rows yields.

    Parameters
    ----------
    spec : Specification
        The problem.
    splits : list of Split
        From `splits_of`.
    run : callable
        Maps a problem to results, for instance along a path of radii.
    scoring : str or None
        The score that comes first, by which results are compared.
    """
    data = spec.data
    for train, test in splits:
        problem, preparation = spec.problem(train)
        X = preparation.apply(data.table.rows(test), data.features.names).X
        others = make_problem(X, spec.y[test], spec.loss, spec.constraint, spec.weights(test, train), intercept=False)
        rows = _Rows(spec, train, test, others)
        results = list(run(problem))
        if any(found.status is Status.INTERRUPTED for found in results):
            raise KeyboardInterrupt  # a mean over some of the folds would be another score
        yield [rows.scores(found, scoring) for found in results]


class _Rows(NamedTuple):
    """Rows held out."""

    spec: Specification
    train: np.ndarray
    test: np.ndarray
    problem: Problem

    @single_threaded
    def scores(self, found: Result, scoring: str | None) -> Scores:
        """Return the scores of a result, the one to compare by first."""
        spec, y = self.spec, self.spec.y[self.test]
        weights = None if spec.data.weights is None else spec.data.weights[self.test]
        predicted = np.asarray(self.problem.X @ found.x) + found.intercept
        loss = {loss_name(spec): held_out_loss(self.problem, found)}
        if spec.classes is None:
            others = errors(predicted, y, weights)
            if scoring == "mae":
                return {
                    NAMES[scoring]: float(np.average(np.abs(predicted - y), axis=0, weights=weights).mean())
                } | others
            by_loss = scoring == "loss" or (scoring is None and spec.loss_name not in ("squared", "multitask-squared"))
            return (loss if by_loss else {}) | _first(NAMES.get(str(scoring)), others)
        chosen = predicted.argmax(axis=1) if predicted.ndim == 2 else np.where(predicted > 0.0, 1.0, -1.0)
        values, counts = np.unique(spec.y[self.train], return_counts=True)
        always = accuracy(y == values[counts.argmax()], weights)["accuracy"]
        others = loss | accuracy(chosen == y, weights) | {BASELINE: always}
        if scoring == "balanced-accuracy":
            from sklearn.metrics import recall_score

            recall = recall_score(y, chosen, average="macro", labels=np.unique(y), sample_weight=weights)
            return {NAMES[scoring]: float(recall)} | others
        if scoring == "roc-auc":
            from sklearn.metrics import roc_auc_score

            return {NAMES[scoring]: float(roc_auc_score(y, predicted, sample_weight=weights))} | others
        return _first(scoring, others)


def _first(name: str | None, scores: Scores) -> Scores:
    """Return scores with the named one, if it is there, first."""
    return ({name: scores[name]} if name in scores else {}) | scores


def loss_name(spec: Specification) -> str:
    """Return the name of the loss on held-out rows."""
    return "log-loss" if spec.loss_name in ("logistic", "multinomial") else f"{spec.loss_name} loss"
