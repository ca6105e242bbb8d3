"""Rows in several pieces, each of them in memory as it came: nothing is copied to make one of them."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from frankwolfe.rows.flat_matrices import SeenFlat
from frankwolfe.rows.multi_output import Seen


class ChunkedRows:
    """Pieces of rows, one after the other, as an `Objective` takes them. Blocks never go across pieces.

    Parameters
    ----------
    chunks : sequence
        Rows of one layout each: `Dense`, `CSR`, `Centred`, or `MultiOutput` of them.
    sizes : sequence of int
        How many rows each of them has.
    """

    def __init__(self, chunks: Sequence[Any], sizes: Sequence[int]):
        self.chunks = chunks
        self.offsets: list[int] = np.cumsum([0, *sizes]).tolist()

    @property
    def outputs(self) -> int:
        """Number of entries of a prediction; 0 where it is a number."""
        return self.chunks[0].outputs

    @property
    def is_sparse(self) -> bool:
        """Whether only some entries are stored."""
        return self.chunks[0].is_sparse

    def stored(self) -> int:
        """Return the number of stored entries, each counted once for each output."""
        return sum(chunk.stored() for chunk in self.chunks)

    def cut(self, entries: int) -> list[slice]:
        """Cut each piece into blocks of about so many entries."""
        return [
            slice(first + part.start, first + part.stop)
            for first, chunk in zip(self.offsets, self.chunks, strict=False)
            for part in chunk.cut(entries)
        ]

    def block(self, part: slice) -> Any:
        """Return some rows that follow each other in one piece."""
        number = int(np.searchsorted(self.offsets, part.start, side="right")) - 1
        first = self.offsets[number]
        return self.chunks[number].block(slice(part.start - first, part.stop - first))

    def _in_turn(self) -> Iterator[tuple[slice, Any]]:
        """Yield all pieces, and where their rows are among all."""
        for number, chunk in enumerate(self.chunks):
            yield slice(self.offsets[number], self.offsets[number + 1]), chunk

    def dot_all(self, w: np.ndarray) -> np.ndarray:
        """Inner products of all rows with ``w``."""
        return np.concatenate([chunk.dot_all(w) for chunk in self.chunks])

    def add_all(self, alpha: np.ndarray, d: int) -> np.ndarray:
        """Sum of all rows, each times its entry of ``alpha``."""
        return sum(chunk.add_all(alpha[part], d) for part, chunk in self._in_turn())

    def sandwich(self, left: np.ndarray, right: np.ndarray) -> Seen | SeenFlat:
        """Return the data as matrices ``left S right'`` see it."""
        if not self.outputs:
            return SeenFlat(self, left, right)
        return Seen(np.concatenate([chunk.rows.dot_all(left) for chunk in self.chunks]), right)
