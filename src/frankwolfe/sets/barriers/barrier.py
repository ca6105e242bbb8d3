"""What a barrier is.

A barrier ``B`` of a set is smooth and convex inside it and grows without bound toward its boundary. The minimisers of
``F + mu B`` are the *central path*: there ``grad F = -mu grad B``, and for a self-concordant barrier of parameter
``nu`` the Frank-Wolfe gap is at most ``nu mu`` (Nesterov and Nemirovski 1994). So a set whose barrier is known can be
minimised over by Newton's method on few linear systems, whatever the scales of the data.

The variables ``y`` of a barrier are what it likes best: the weights themselves, weights of points, and auxiliary ones
that make a constraint simple. The weights are an affine function of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

import numpy as np


class Expansion(NamedTuple):
    """A barrier to second order at a point, auxiliary variables eliminated, in local coordinates ``e``.

    Attributes
    ----------
    gradient : array of shape (k,)
        First derivative in ``e``.
    hessian : array of shape (k, k), or (k,) for a diagonal one
        Second derivative in ``e``.
    moves : array of shape (d,) or (d, k)
        The matrix from ``e`` to moves of the weights; a vector stands for a diagonal matrix.
    recover : function
        From ``e`` to the move of all variables ``y``.
    equations : array of shape (m, k), optional
        Moves must keep ``equations @ e = 0``.
    rest : float
        Squared Newton decrement of the auxiliary variables alone.
    """

    gradient: np.ndarray
    hessian: np.ndarray
    moves: np.ndarray
    recover: Callable[[np.ndarray], np.ndarray]
    equations: np.ndarray | None = None
    rest: float = 0.0


class Barrier(ABC):
    """A self-concordant barrier of a set, as it was made for a number of weights.

    Attributes
    ----------
    nu : float
        Its parameter.
    quick_up_to : int
        Up to how many weights minimising over the set by its barrier is as quick as by its vertices even where that is
        easy, as measured.
    """

    nu: float
    quick_up_to: int = 64
    factor: float = 1.0
    shift: Any = 0.0

    @abstractmethod
    def start(self) -> np.ndarray:
        """Return variables strictly inside, near the middle."""

    @abstractmethod
    def value(self, y: np.ndarray) -> float:
        """Return the barrier's value, infinite outside."""

    @abstractmethod
    def point(self, y: np.ndarray) -> np.ndarray:
        """Return the weights that variables stand for, before the set is scaled and translated."""

    @abstractmethod
    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order, before the set is scaled and translated."""

    def weights(self, y: np.ndarray) -> np.ndarray:
        """Return the weights that variables stand for."""
        return self.factor * self.point(y) + self.shift

    def at(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order."""
        found = self.expand(y)
        return found if self.factor == 1.0 else found._replace(moves=self.factor * found.moves)

    def without_tiny(self, w: np.ndarray, least: float) -> np.ndarray:
        """Return weights of the set with those (of matrices, the singular values) of size at most ``least`` at zero.

        Where the set has equations the others make up for it, if they can.
        """
        if np.any(self.shift):
            return np.where(np.abs(w) > least, w, 0.0)
        return self.factor * self.point_without_tiny(w / self.factor, least / abs(self.factor))

    def point_without_tiny(self, w: np.ndarray, least: float) -> np.ndarray:
        """Do what `without_tiny` says, before the set is scaled."""
        return np.where(np.abs(w) > least, w, 0.0)

    def scaled(self, factor: float) -> "Barrier":
        """Return the barrier of the set times a factor."""
        other = copy(self)
        other.factor, other.shift = factor * self.factor, factor * self.shift
        return other

    def translated(self, shift: Any) -> "Barrier":
        """Return the barrier of the set moved by a vector."""
        other = copy(self)
        other.shift = self.shift + shift
        return other
