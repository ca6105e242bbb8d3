"""Groups of coordinates as users write them, checked."""

from collections.abc import Iterable
from typing import Any

import numpy as np


def as_lists(part: str, groups: Any) -> tuple[tuple[int, ...], ...]:
    """Return the coordinates of each group, sorted, from a sequence of sequences of ints."""
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        raise TypeError(f"{part}: groups must be a list of lists of coordinates, got {type(groups).__name__}")
    found = tuple(_group(part, g, group) for g, group in enumerate(groups))
    if not found:
        raise ValueError(f"{part}: groups is empty: at least one group is needed")
    return found


def _group(part: str, g: int, group: Any) -> tuple[int, ...]:
    try:
        indices = np.array(list(group))
    except TypeError:
        raise TypeError(f"{part}: group {g} must be a list of coordinates, got {type(group).__name__}") from None
    if indices.size == 0:
        raise ValueError(f"{part}: group {g} is empty")
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise TypeError(f"{part}: group {g} must hold the numbers of coordinates, got {indices.ravel()[0]!r}")
    ordered = np.sort(indices)
    if ordered[0] < 0:
        raise ValueError(f"{part}: group {g} has index {ordered[0]}: coordinates are counted from 0")
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if twice.size:
        raise ValueError(f"{part}: group {g} names coordinate {twice[0]} twice")
    return tuple(ordered.tolist())


def as_labels(part: str, groups: Any) -> tuple[np.ndarray, int]:
    """Return the number of its group for every coordinate, and how many groups there are.

    Takes a label for each coordinate, or the coordinates of each group, disjoint and leaving none out.
    """
    if _labels_given(groups):
        labels = np.asarray(groups)
        kinds = {isinstance(label, str) for label in groups}
        labels = np.array(labels.tolist()) if labels.dtype == object else labels
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise ValueError(f"{part}: groups holds NaN or infinity; labels must be ints or strings")
        if len(kinds) > 1 or labels.dtype.kind not in "iufbUS":
            raise TypeError(
                f"{part}: groups must hold labels that are all ints or all strings, got {list(groups)[:5]!r}"
            )
        names, numbers = np.unique(labels, return_inverse=True)
        return numbers.astype(np.int64), len(names)
    owner: dict[int, int] = {}
    for g, group in enumerate(as_lists(part, groups)):
        for j in group:
            if j in owner:
                raise ValueError(
                    f"{part}: groups {owner[j]} and {g} both have coordinate {j}: groups must not overlap "
                    "(LatentGroupBall takes groups that do)"
                )
            owner[j] = g
    d, last = len(owner), max(owner)
    if last >= d:
        missing = min(set(range(d)) - set(owner))
        raise ValueError(
            f"{part}: group {owner[last]} has index {last}, but coordinate {missing} is in no group: the groups "
            "must cover every coordinate"
        )
    return np.array([owner[j] for j in range(d)]), max(owner.values()) + 1


def _labels_given(groups: Any) -> bool:
    """Whether these are labels of coordinates, and not lists of them."""
    if isinstance(groups, np.ndarray) and groups.dtype != object:
        return groups.ndim == 1 and groups.size > 0
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        return False
    entries = list(groups)
    return bool(entries) and all(isinstance(entry, str) or not isinstance(entry, Iterable) for entry in entries)
