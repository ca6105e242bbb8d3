"""From the arguments of a command to a problem. Imported when a command runs: it takes the whole library along."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.files.read import Data, read_data
from frankwolfe.files.targets import DEFAULT_LOSSES, encoded, kind_of_target
from frankwolfe.losses import as_loss
from frankwolfe.path import posed
from frankwolfe.problem import Problem
from frankwolfe.radii import as_constraint


class Question(NamedTuple):
    """A problem, and what was made of the file.

    Attributes
    ----------
    problem : Problem
        What to minimise.
    data : Data
        The file.
    classes : array or None
        What the targets stand for.
    loss : str
        Name of the loss.
    """

    problem: Problem
    data: Data
    classes: np.ndarray | None
    loss: str


def ask(
    path: Path,
    target: Sequence[str],
    loss: str | None,
    constraint: str,
    weights: str | None,
    ignore: Sequence[str],
    no_intercept: bool,
    radius: float | None = None,
) -> Question:
    """Return the problem that the arguments pose."""
    loss_part = None if loss is None else as_loss(loss)  # a wrong name is told before a large file is read
    data = read_data(path, target, weights, ignore)
    assert data.targets is not None
    if loss is None:
        loss = DEFAULT_LOSSES[kind_of_target(data.targets, data.place)]
        loss_part = as_loss(loss)
    y, classes = encoded(data.targets, loss_part, loss, data.place)
    problem = posed(data.X, y, loss_part, constraint, data.weights, intercept=not no_intercept)
    if radius is not None:
        problem = problem.over(as_constraint(constraint, radius, problem.d, problem.outputs))
    return Question(problem, data, classes, loss)


def facts(path: Path, question: Question) -> list[tuple[str, str]]:
    """Return what there is to say about the data of a problem."""
    problem = question.problem
    intercept = "with a free intercept" if problem.intercept else "without an intercept"
    return [
        ("data", f"{path}: {problem.n:,} rows, {problem.d:,} columns{_stored(problem.X)}"),
        ("target", _target(question)),
        ("loss", f"{question.loss}, {intercept}"),
    ]


def _stored(X: Any) -> str:
    return "" if isinstance(X, np.ndarray) else f", {X.nnz:,} stored values"


def _target(question: Question) -> str:
    """Say what the targets are."""
    classes, y = question.classes, question.problem.y
    if classes is None:
        return f"numbers from {y.min():.4g} to {y.max():.4g}"
    counts = np.unique(y, return_counts=True)[1]
    shown = [f"{value} ({count:,} rows)" for value, count in zip(classes, counts, strict=True)]
    return f"{len(classes)} classes: {', '.join(shown[:6])}" + (", ..." if len(shown) > 6 else "")
