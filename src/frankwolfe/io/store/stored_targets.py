"""Targets as a store keeps them: numbers, or the numbers of classes whose names are in the manifest."""

from typing import Any

import numpy as np

from frankwolfe.data.store.manifest import Manifest
from frankwolfe.io.store.block_arrays import as_array


class Targets:
    """Collects the targets of blocks: 8 bytes a row, or a row of them.

    Words and truth values are classes. Which there are is known at the end, and they are numbered in ascending order.

    Parameters
    ----------
    before : Manifest, optional
        Of the store that is added to: kind and classes are those that are there.
    """

    def __init__(self, before: Manifest | None = None):
        self._before = before
        self._kind: str | None = None
        self.outputs = 0
        self._found: list[np.ndarray] = []
        self._codes: dict[Any, int] = {}
        if before is not None:
            self.outputs = before.outputs
            self._kind = self._kind_before(before)
            self._codes = {name: code for code, name in enumerate(before.classes or [])}

    @staticmethod
    def _kind_before(before: Manifest) -> str:
        if before.parts[0].targets is None:
            return "none"
        return "classes" if before.classes is not None else "rows of numbers" if before.outputs else "numbers"

    def take(self, y: Any, n: int) -> None:
        """Take over the targets of ``n`` rows."""
        values = None if y is None else as_array(y)
        kind = _kind_of(values)
        if self._kind is not None and kind != self._kind:
            raise ValueError(f"the targets are {kind}, and those of the rows before are {self._kind}")
        self._kind = kind
        if values is None:
            return
        if len(values) != n:
            raise ValueError(f"y has {len(values)} entries, but there are {n} rows in X")
        if kind == "classes":
            self._found.append(self._coded(values))
            return
        outputs = values.shape[1] if values.ndim == 2 else 0
        if (self._found or self._before is not None) and outputs != self.outputs:
            raise ValueError(f"y has {outputs} columns, and those of the rows before have {self.outputs}")
        self.outputs = outputs
        numbers = values.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise ValueError(f"y holds NaN or infinity (first in row {int(np.argwhere(~np.isfinite(numbers))[0, 0])})")
        self._found.append(numbers)

    def _coded(self, values: np.ndarray) -> np.ndarray:
        names, codes = np.unique(values.astype(str) if values.dtype.kind != "b" else values, return_inverse=True)
        own = []
        for name in names.tolist():
            if self._before is not None and name not in self._codes:
                raise ValueError(f"y holds {name!r}, which is none of the classes in the store")
            own.append(self._codes.setdefault(name, len(self._codes)))
        return np.array(own)[codes].astype(np.float64)

    @property
    def classes(self) -> list[Any] | None:
        """What class numbers stand for, in ascending order."""
        return sorted(self._codes) if self._kind == "classes" else None

    def numbers(self) -> np.ndarray | None:
        """Return all targets as numbers."""
        if not self._found:
            return None
        found = np.concatenate(self._found)
        if self._kind != "classes":
            return found
        place = {name: number for number, name in enumerate(sorted(self._codes))}
        return np.array([float(place[name]) for name in self._codes])[found.astype(np.int64)]


def _kind_of(values: np.ndarray | None) -> str:
    if values is None:
        return "none"
    if values.ndim not in (1, 2) or values.size == 0:
        raise ValueError(f"y must be a vector, or a matrix with a row for each row of X; got shape {values.shape}")
    if values.dtype == object and all(isinstance(entry, str) for entry in values.ravel()[:1]):
        mixed = [entry for entry in values.ravel() if not isinstance(entry, str)]
        if mixed:
            raise ValueError(f"y holds words and other things, such as {mixed[0]!r}")
        return "classes"
    if values.dtype.kind in "Ub":
        if values.ndim == 2:
            raise ValueError("y must be a vector where it holds classes")
        return "classes"
    if values.dtype.kind not in "fiu" and values.dtype != object:
        raise TypeError(f"y must hold numbers or words, got dtype {values.dtype}")
    return "numbers" if values.ndim == 1 else "rows of numbers"
