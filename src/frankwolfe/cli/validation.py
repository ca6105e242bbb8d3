"""Held-out rows: splits, and the scores of models on the rows they were not fitted to."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.cli.options import Options
from frankwolfe.cli.problems import Specification
from frankwolfe.linalg.threads import single_threaded
from frankwolfe.model.preparation import Preparation
from frankwolfe.path import held_out_loss, make_problem
from frankwolfe.problem import Problem
from frankwolfe.result import Result, Status

Scores = dict[str, float]
"""Scores by their names in the output."""

NAMES = {
    "accuracy": "accuracy",
    "balanced-accuracy": "balanced accuracy",
    "roc-auc": "ROC AUC",
    "rmse": "root mean squared error",
    "mae": "mean absolute error",
    "r2": "R2",
    "baseline": "most frequent class",
}
"""Names of scores in the output. The baseline is the accuracy of always predicting that class."""

BETTER_IF_LARGER = ("accuracy", "balanced accuracy", "ROC AUC", "R2")


def accuracy(right: np.ndarray, weights: Any = None) -> Scores:
    """Return the share of correct classes."""
    return {NAMES["accuracy"]: float(np.average(right, weights=weights))}


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
    return {NAMES["rmse"]: squares**0.5, NAMES["r2"]: 1.0 - squares / spread if spread > 0.0 else np.nan}


def in_words(scores: list[Scores]) -> str:
    """Return scores in words: their values, or mean and standard deviation of several."""
    parts = []
    for name in scores[0]:
        values = np.array([found[name] for found in scores])
        text = f"{values.mean():.4g}" + (f" +/- {values.std():.2g}" if len(values) > 1 else "")
        parts.append(f"{name} {text}")
    return ", ".join(parts)


class Split(NamedTuple):
    """Rows to fit to, and rows to predict."""

    train: np.ndarray
    test: np.ndarray


def splits_of(spec: Specification, options: Options) -> list[Split]:
    """Return one split, or one for each fold, stratified by class. The same seed gives the same rows."""
    holdout, folds = options.holdout, options.folds or 0
    if holdout is not None and folds:
        raise ValueError("--holdout and --folds exclude each other")
    _check_scoring(spec, options)
    if holdout is None and not folds:
        return []
    n = len(spec.y)
    if folds > n:
        raise ValueError(f"--folds {folds} is more than the {n} rows")
    groups = np.zeros(n) if spec.classes is None else spec.y
    mixed = np.random.default_rng(options.seed).permutation(n)
    order = mixed[np.argsort(groups[mixed], kind="stable")]  # class by class, shuffled within each
    if holdout is not None:
        masks = [np.diff(np.floor(np.arange(n + 1) * holdout + 0.5)) > 0.0]  # evenly spread over the order
    else:
        masks = [np.arange(n) % folds == fold for fold in range(folds)]
    splits = [Split(np.sort(order[~held]), np.sort(order[held])) for held in masks]
    for train, test in splits:
        if not train.size or not test.size:
            raise ValueError(f"of {n} rows none would be {'held out' if train.size else 'left to fit to'}")
        missing = np.setdiff1d(groups, groups[train])
        if missing.size and spec.classes is not None:
            name = spec.classes[np.searchsorted(np.unique(groups), missing[0])]
            raise ValueError(f"class {name} has too few rows to hold some out: all of them would be")
    return splits


def _check_scoring(spec: Specification, options: Options) -> None:
    """Raise ValueError if the score does not apply to the targets, or nothing is held out."""
    if options.scoring is None:
        return
    if options.holdout is None and options.folds is None:
        raise ValueError("--scoring is for rows held out: add --folds or --holdout")
    if spec.classes is None:
        target, offered = "numbers", ["loss", "rmse", "mae", "r2"]
    else:
        target, offered = f"{len(spec.classes)} classes", ["loss", "accuracy", "balanced-accuracy"]
        offered += ["roc-auc"] * (len(spec.classes) == 2)
    if options.scoring not in offered:
        raise ValueError(f"--scoring {options.scoring}: the target is {target}, whose scores are {', '.join(offered)}")


def held_out(
    spec: Specification, splits: list[Split], run: Callable[[Problem, Preparation], Iterable[Result]]
) -> Iterator[list[Scores]]:
    """Yield, for each split, the scores of the results that a run on its training rows yields.

    Parameters
    ----------
    spec : Specification
        The problem. Its option ``scoring`` is the score that comes first, by which results are compared.
    splits : list of Split
        From `splits_of`.
    run : callable
        Maps a problem and the preparation of its columns to results, for instance along a path of radii.
    """
    data, constraint = spec.data, spec.options.constraint
    for split in splits:
        problem, preparation = spec.problem(split.train)
        X = preparation.apply(data.table.rows(split.test), data.features.names).X
        weights = spec.weights(split.test, split.train)
        offset = None if spec.offset is None else spec.offset[split.test]
        others = make_problem(X, spec.y[split.test], spec.loss, constraint, weights, intercept=False, offset=offset)
        results = list(run(problem, preparation))
        if any(found.status is Status.INTERRUPTED for found in results):
            raise KeyboardInterrupt  # a mean over some of the folds would be another score
        yield [_scores(spec, split, others, found) for found in results]


@single_threaded
def _scores(spec: Specification, split: Split, problem: Problem, found: Result) -> Scores:
    """Return the scores of a result on held-out rows, whose problem is given. The score to compare by comes first."""
    y = spec.y[split.test]
    weights = None if spec.data.weights is None else spec.data.weights[split.test]
    predicted = np.asarray(problem.X @ found.x) + found.intercept
    predicted = predicted if problem.offset is None else predicted + problem.offset
    predicted = np.exp(predicted) if spec.loss.log_link else predicted
    logarithmic = spec.loss_name in ("logistic", "multinomial")
    loss = {"log-loss" if logarithmic else f"{spec.loss_name} loss": held_out_loss(problem, found)}
    scoring = spec.options.scoring
    if spec.classes is None:
        scores = errors(predicted, y, weights)
        if scoring == "loss" or (scoring is None and spec.loss_name not in ("squared", "multitask-squared")):
            return loss | scores
        if scoring == "mae":
            scores[NAMES["mae"]] = float(np.average(np.abs(predicted - y), axis=0, weights=weights).mean())
    else:
        chosen = predicted.argmax(axis=1) if predicted.ndim == 2 else np.where(predicted > 0.0, 1.0, -1.0)
        values, counts = np.unique(spec.y[split.train], return_counts=True)
        baseline = float(np.average(y == values[counts.argmax()], weights=weights))
        scores = loss | accuracy(chosen == y, weights) | {NAMES["baseline"]: baseline}
        if scoring == "balanced-accuracy":
            from sklearn.metrics import recall_score

            recall = recall_score(y, chosen, average="macro", labels=np.unique(y), sample_weight=weights)
            scores[NAMES[scoring]] = float(recall)
        if scoring == "roc-auc":
            from sklearn.metrics import roc_auc_score

            scores[NAMES[scoring]] = float(roc_auc_score(y, predicted, sample_weight=weights))
    first = NAMES.get(str(scoring))
    return ({first: scores[first]} if first else {}) | scores
