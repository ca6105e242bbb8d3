"""Targets as they are in a file, and as a loss takes them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Encoded(NamedTuple):
    """Targets that a loss takes.

    Attributes
    ----------
    y : array
        Labels -1 and +1, class numbers, numbers, or rows of them.
    classes : array or None
        The classes in ascending order: of two the first is -1 and the second +1; of more, their numbers.
    """

    y: np.ndarray
    classes: np.ndarray | None


def row_number(row: int) -> str:
    """Say which row it is, counted from one."""
    return f"row {row + 1}"


def kind_of_target(targets: np.ndarray, place: Callable[[int], str] = row_number) -> str:
    """Say what the targets are: ``"two classes"``, ``"classes"``, ``"numbers"`` or ``"rows"``.

    Words are classes; so are two numbers. More than two numbers are numbers. Where numbers and words are mixed nobody
    can tell whether the words are classes or mistakes: that is an error.

    Parameters
    ----------
    targets : array of shape (n,), or (n, k)
        Numbers, truth values or words.
    place : callable
        Says where a row is.

    Examples
    --------
    >>> kind_of_target(np.array([0.0, 1.0, 1.0])), kind_of_target(np.array(["a", "b", "c"]))
    ('two classes', 'classes')
    """
    if targets.ndim == 2:
        return "rows"
    classes = np.unique(targets)
    if classes.dtype.kind == "U":
        _refuse_mixture(targets, classes, place)
    if classes.size <= 2:
        return "two classes"
    return "numbers" if targets.dtype.kind == "f" else "classes"


def _refuse_mixture(targets: np.ndarray, classes: np.ndarray, place: Callable[[int], str]) -> None:
    """Raise ValueError if some of the words are numbers."""
    words = np.array([not is_number(word) for word in classes.tolist()])
    if words.all() or not words.any():
        return
    wordy = words[np.searchsorted(classes, targets)]
    count, first = int(wordy.sum()), int(np.argmax(wordy))
    raise ValueError(
        f"the target holds {len(targets) - count:,} numbers and {count:,} other value{'s' * (count > 1)} (the first is "
        f"{str(targets[first])!r} in {place(first)}): mend or remove those rows; if all values are names of classes, "
        "say so with --loss multinomial, or with --loss logistic if there are two"
    )


def is_number(text: str) -> bool:
    """Whether a text is a number, finite or not."""
    try:
        float(text)
    except ValueError:
        return False
    return True


DEFAULT_LOSSES = {
    "two classes": "logistic",
    "classes": "multinomial",
    "numbers": "squared",
    "rows": "multitask-squared",
}
"""The loss for each kind of target, where none is named."""


def encoded(targets: np.ndarray, loss: Any, loss_name: str, place: Callable[[int], str]) -> Encoded:
    """Return targets as the loss takes them, or say why it cannot.

    Parameters
    ----------
    targets : array of shape (n,), or (n, k)
        Numbers, truth values or words.
    loss : loss
        What they are for.
    loss_name : str
        What the user calls it.
    place : callable
        Says where a row is.

    Returns
    -------
    Encoded
    """
    if loss.targets == "rows":
        return Encoded(_numbers(np.atleast_2d(targets.T).T, loss_name, place), None)
    if targets.ndim == 2:
        raise ValueError(f"the {loss_name} loss takes one target column, not {targets.shape[1]}: use multitask-squared")
    if loss.targets not in ("labels", "classes"):
        return Encoded(_numbers(targets, loss_name, place), None)
    classes, codes = np.unique(targets, return_inverse=True)
    if classes.dtype.kind == "f" and (classes == np.round(classes)).all() and np.abs(classes).max() < 2.0**53:
        classes = classes.astype(np.int64)
    if classes.size < 2:
        raise ValueError(f"the target has one class only, {classes[0]}: there is nothing to tell apart")
    if loss.targets == "classes":
        return Encoded(codes.astype(np.float64), classes)
    if classes.size > 2:
        raise ValueError(_too_many(classes, loss_name))
    return Encoded(2.0 * codes - 1.0, classes)


def _too_many(classes: np.ndarray, loss_name: str) -> str:
    shown = ", ".join(str(value) for value in classes[:3]) + (", ..." if classes.size > 3 else "")
    numbers = ", or a loss of real targets such as squared" if classes.dtype.kind in "if" else ""
    return (
        f"the target has {classes.size} classes ({shown}), and the {loss_name} loss takes two: "
        f"use the multinomial loss{numbers}"
    )


def _numbers(targets: np.ndarray, loss_name: str, place: Callable[[int], str]) -> np.ndarray:
    """Return targets as numbers, or name the first that is none."""
    if targets.dtype.kind in "fb":
        return targets.astype(np.float64)
    words, first = np.unique(targets, return_index=True)
    bad = [at for word, at in zip(words.tolist(), first.tolist(), strict=True) if not is_number(word)]
    if bad:
        at = min(bad)
        cell, row = str(targets.flat[at]), at // (targets.size // len(targets))
        raise ValueError(f"the {loss_name} loss takes numbers, but the target in {place(row)} is {cell!r}")
    return targets.astype(np.float64)
