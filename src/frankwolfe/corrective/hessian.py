"""The Hessian of the objective in all weights, at most some thousands: formed from the rows, a block at a time."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.corrective.coupled import coupled_curvatures
from frankwolfe.elimination import eliminated
from frankwolfe.objective import Point, curvatures
from frankwolfe.problem import Problem

BLOCK = 2**21
"""Numbers in a block of rows."""


class Formed(NamedTuple):
    """A Hessian as a matrix."""

    H: np.ndarray

    def times(self, v: np.ndarray) -> np.ndarray:
        """Return ``H v``."""
        return self.H @ v

    def pulled(self, moves: np.ndarray) -> np.ndarray:
        """Return ``moves' H moves``; a vector stands for a diagonal matrix."""
        return moves[:, None] * self.H * moves if moves.ndim == 1 else moves.T @ (self.H @ moves)


class Rooted(NamedTuple):
    """A Hessian ``root' root``, where the data has fewer rows than columns."""

    root: np.ndarray

    def times(self, v: np.ndarray) -> np.ndarray:
        """Return ``H v``."""
        return self.root.T @ (self.root @ v)

    def pulled(self, moves: np.ndarray) -> np.ndarray:
        """Return ``moves' H moves``; a vector stands for a diagonal matrix."""
        images = self.root * moves if moves.ndim == 1 else self.root @ moves
        return images.T @ images


def objective_hessian(problem: Problem, at: Point, care: float, floor: float) -> Formed | Rooted:
    """Return the second derivative of the objective in the flat weights, made positive; the intercept follows them.

    Parameters
    ----------
    problem : Problem
        With few weights.
    at : Point
        Where.
    care, floor : float
        See `frankwolfe.objective.bend`.
    """
    if problem.outputs:
        return Formed(_of_outputs(problem, at, _blocks(problem, at, care, floor)))
    bends = curvatures(problem.samples, at, care, floor)
    total = bends.sum()
    means = bends / total @ problem.X if at.shift is not None and total > 0.0 else None
    if problem.n < problem.d:
        return Rooted(np.sqrt(bends)[:, None] * _dense(problem.X, means))
    H = np.zeros((problem.d, problem.d))
    for part in _parts(problem):
        rows = _dense(problem.X[part], means)
        H += (rows.T * bends[part]) @ rows
    return Formed(H)


def _parts(problem: Problem) -> Iterator[slice]:
    """Cut all rows into blocks."""
    step = max(1, BLOCK // problem.d)
    return (slice(first, first + step) for first in range(0, problem.n, step))


def _of_outputs(problem: Problem, at: Point, blocks: np.ndarray) -> np.ndarray:
    """Return the Hessian in the weights of several outputs, from a matrix for each sample."""
    d, outputs, free = problem.d, problem.outputs, at.shift is not None
    means = problem.samples.weights @ problem.X if free else None  # else large numbers would cancel
    H, cross = np.zeros((d, outputs, d, outputs)), np.zeros((outputs, d, outputs))
    pairs = [(c, e) for c in range(outputs) for e in range(c + 1) if blocks[:, c, e].any()]
    for part in _parts(problem):
        rows = _dense(problem.X[part], means)
        for c, e in pairs:
            H[:, c, :, e] += (rows.T * blocks[part, c, e]) @ rows
            cross[c, :, e] += blocks[part, c, e] @ rows
    for c, e in pairs:
        H[:, e, :, c] = H[:, c, :, e].T
        cross[e, :, c] = cross[c, :, e]
    flat = H.reshape(problem.size, problem.size)
    return eliminated(flat, cross.reshape(outputs, problem.size), blocks.sum(axis=0)) if free else flat


def _dense(rows: Any, means: np.ndarray | None) -> np.ndarray:
    """Return rows as an array of float64; less their means where an intercept makes up for them anyway."""
    dense = np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), dtype=np.float64)
    return dense if means is None else dense - means


def _blocks(problem: Problem, at: Point, care: float, floor: float) -> np.ndarray:
    """Return a matrix for each sample: second derivatives, or a diagonal that bounds them if the loss is not convex."""
    if problem.loss.convex:
        return coupled_curvatures(problem, at, care, floor)
    bounds = curvatures(problem.samples, at, care, floor).reshape(problem.samples.shape)
    return bounds[:, :, None] * np.eye(problem.outputs)
