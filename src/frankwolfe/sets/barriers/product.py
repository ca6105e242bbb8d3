"""The barrier of a product of sets: the sum of theirs."""

import numpy as np
from scipy.linalg import block_diag

from frankwolfe.sets.barriers.barrier import Barrier, Expansion


class ProductBarrier(Barrier):
    """Barriers of sets side by side."""

    def __init__(self, parts: list[Barrier]):
        self.parts = parts
        self.nu = sum(part.nu for part in parts)
        self.quick_up_to = min(part.quick_up_to for part in parts)
        self.ends = np.cumsum([len(part.start()) for part in parts])[:-1]

    def start(self) -> np.ndarray:
        """Return the centre."""
        return np.concatenate([part.start() for part in self.parts])

    def _split(self, y: np.ndarray) -> list[tuple[Barrier, np.ndarray]]:
        return list(zip(self.parts, np.split(y, self.ends), strict=True))

    def value(self, y: np.ndarray) -> float:
        """Return the barrier's value, infinite outside."""
        return float(sum(part.value(piece) for part, piece in self._split(y)))

    def point(self, y: np.ndarray) -> np.ndarray:
        """Return the weights."""
        return np.concatenate([part.weights(piece) for part, piece in self._split(y)])

    def point_without_tiny(self, w: np.ndarray, least: float) -> np.ndarray:
        """Set tiny weights to zero, each set in its way."""
        ends = np.cumsum([len(part.weights(part.start())) for part in self.parts])[:-1]
        pieces = zip(self.parts, np.split(w, ends), strict=True)
        return np.concatenate([part.without_tiny(piece, least) for part, piece in pieces])

    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order: blocks on a diagonal."""
        found = [part.at(piece) for part, piece in self._split(y)]
        ends = np.cumsum([len(each.gradient) for each in found])[:-1]
        diagonal = all(each.moves.ndim == 1 for each in found)
        moves = [each.moves if diagonal or each.moves.ndim == 2 else np.diag(each.moves) for each in found]
        rows = [np.zeros((0, len(each.gradient))) if each.equations is None else each.equations for each in found]

        def recover(e: np.ndarray) -> np.ndarray:
            return np.concatenate([each.recover(piece) for each, piece in zip(found, np.split(e, ends), strict=True)])

        return Expansion(
            np.concatenate([each.gradient for each in found]),
            block_diag(*(each.hessian if each.hessian.ndim == 2 else np.diag(each.hessian) for each in found)),
            np.concatenate(moves) if diagonal else block_diag(*moves),
            recover,
            block_diag(*rows) if sum(map(len, rows)) else None,
            sum(each.rest for each in found),
        )
