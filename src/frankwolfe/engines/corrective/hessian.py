"""The Hessian of the objective in all weights, at most some thousands: formed from the rows, a block at a time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import qr

from frankwolfe.engines.corrective.output_curvatures import coupled_curvatures
from frankwolfe.linalg.schur import eliminated
from frankwolfe.linalg.weighted_gram import weighted_gram
from frankwolfe.objective.objective import Block
from frankwolfe.objective.point import Point
from frankwolfe.problem import Problem

BLOCK_NUMBERS = 2**21
"""Numbers in a block of rows. Twice or half as many: no difference in time."""

MIN_PIVOT = 1e-5
"""Least pivot of a Cholesky factor of unit diagonal that is trusted; below, too many digits have been lost, and the
root is taken from the rows by QR. Twice or half: no difference."""


@dataclass(frozen=True, eq=False)
class Formed:
    """A Hessian as a matrix.

    Attributes
    ----------
    H : array
        The matrix.
    rows : function
        Yields blocks of rows whose squares ``rows' rows`` sum up to it, or where an intercept has been eliminated to a
        larger matrix that begins with the intercept.
    eliminated : int
        How many columns of these rows are the intercept's.
    """

    H: np.ndarray
    rows: Callable[[], Iterator[np.ndarray]]
    eliminated: int = 0

    @cached_property
    def root(self) -> np.ndarray:
        """A triangle with ``root' root = H``.

        It comes from the matrix or, where that has lost too many digits, from the rows, which takes longer. Squares of
        rows lose the digits of small directions; a triangle made of the rows keeps them.
        """
        found = sharp_root(self.H)
        return self._root_of_rows() if found is None else found

    def _root_of_rows(self) -> np.ndarray:
        root = np.zeros((0, len(self.H) + self.eliminated))
        for block in self.rows():
            root = qr(np.vstack([root, block]), mode="r", check_finite=False)[0][: root.shape[1]]
        if not self.eliminated:
            return root
        pivots = np.abs(np.diagonal(root)[: self.eliminated])
        # an intercept that changes nothing, the same for all classes, takes nothing away
        idle = np.flatnonzero(pivots <= 1e-13 * pivots.max(initial=0.0))
        kept = np.concatenate([idle, np.arange(self.eliminated, len(root))])
        return root[kept, self.eliminated :]

    def plus(self, H: np.ndarray, rows: np.ndarray) -> "Formed":
        """Return the sum with another matrix ``H = rows' rows``."""
        padded = np.hstack([np.zeros((len(rows), self.eliminated)), rows])
        return Formed(self.H + H, lambda: chain(self.rows(), [padded]), self.eliminated)

    def finite(self) -> bool:
        """Whether nothing has overflowed."""
        return bool(np.isfinite(self.H).all())

    def times(self, v: np.ndarray) -> np.ndarray:
        """Return ``H v``."""
        return self.root.T @ (self.root @ v)

    def pulled(self, moves: np.ndarray) -> np.ndarray:
        """Return ``moves' H moves``; a vector stands for a diagonal matrix."""
        if moves.ndim == 1:
            return moves[:, None] * self.H * moves
        images = self.root @ moves  # a product with H itself may turn indefinite by rounding
        return images.T @ images


class Rooted(NamedTuple):
    """A Hessian ``root' root``, where the data has fewer rows than columns."""

    root: np.ndarray

    def finite(self) -> bool:
        """Whether nothing has overflowed."""
        return bool(np.isfinite(self.root).all())

    def times(self, v: np.ndarray) -> np.ndarray:
        """Return ``H v``."""
        return self.root.T @ (self.root @ v)

    def pulled(self, moves: np.ndarray) -> np.ndarray:
        """Return ``moves' H moves``; a vector stands for a diagonal matrix."""
        images = images_of(self.root, moves)
        return images.T @ images


def sharp_root(H: np.ndarray) -> np.ndarray | None:
    """Return a triangle with ``root' root = H`` by Cholesky's method, None where too few digits would be left."""
    scale = np.sqrt(np.maximum(np.einsum("jj->j", H), 0.0))
    if not scale.all():
        return None
    try:
        factor = np.linalg.cholesky(H / scale / scale[:, None])
    except np.linalg.LinAlgError:
        return None
    return factor.T * scale if np.einsum("jj->j", factor).min(initial=1.0) > MIN_PIVOT else None


def images_of(root: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Return ``root moves``; a vector stands for a diagonal matrix."""
    return root * moves if moves.ndim == 1 else root @ moves


def loss_curvatures(problem: Problem, at: Point, care: float, floor: float) -> np.ndarray:
    """Return a weighted second derivative for each sample, made positive: a number or, for several outputs, a matrix.

    Parameters
    ----------
    problem : Problem
        With few weights.
    at : Point
        Where.
    care, floor : float
        See `frankwolfe.objective.sums.fill_curvatures`.
    """
    if problem.outputs and problem.loss.convex:
        return coupled_curvatures(problem, at, care, floor)
    curvatures = problem.objective.curvatures(at, care, floor)
    # for a loss of several outputs that is not convex, a diagonal that bounds its second derivative
    return (
        curvatures.reshape(problem.samples.shape)[:, :, None] * np.eye(problem.outputs)
        if problem.outputs
        else curvatures
    )


def objective_hessian(problem: Problem, at: Point, curvatures: np.ndarray) -> Formed | Rooted:
    """Return the second derivative of the objective in the flat weights; the intercept follows them.

    Parameters
    ----------
    problem : Problem
        With few weights.
    at : Point
        Where.
    curvatures : array
        What `loss_curvatures` says there.
    """
    if problem.outputs:
        free = problem.outputs if at.shift is not None else 0
        return Formed(_of_outputs(problem, at, curvatures), lambda: _rows_of_outputs(problem, at, curvatures), free)
    total = curvatures.sum()
    means = curvatures / total @ problem.X if at.shift is not None and total > 0.0 else None
    if problem.n < problem.d:
        return Rooted(np.sqrt(curvatures)[:, None] * _dense(problem.X, means))

    def task(block: Block) -> tuple:
        rows = _dense(problem.X[block.part], means)
        return (weighted_gram(rows, curvatures[block.part]),)

    (H,) = problem.objective.executor.run(task, problem.objective.blocks)
    return Formed(
        H, lambda: (np.sqrt(curvatures[part])[:, None] * _dense(problem.X[part], means) for part in _parts(problem))
    )


def _parts(problem: Problem) -> Iterator[slice]:
    """Cut all rows into blocks."""
    step = max(1, BLOCK_NUMBERS // problem.d)
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
            H[:, c, :, e] += weighted_gram(rows, blocks[part, c, e])
            cross[c, :, e] += blocks[part, c, e] @ rows
    for c, e in pairs:
        H[:, e, :, c] = H[:, c, :, e].T
        cross[e, :, c] = cross[c, :, e]
    flat = H.reshape(problem.size, problem.size)
    return eliminated(flat, cross.reshape(outputs, problem.size), blocks.sum(axis=0)) if free else flat


def _rows_of_outputs(problem: Problem, at: Point, blocks: np.ndarray) -> Iterator[np.ndarray]:
    """Yield rows whose squares sum up to the Hessian of several outputs: as many for a sample as it has outputs."""
    outputs, free = problem.outputs, at.shift is not None
    means = problem.samples.weights @ problem.X if free else None
    step = max(1, BLOCK_NUMBERS // (problem.size * outputs))
    for first in range(0, problem.n, step):
        part = slice(first, first + step)
        roots = _roots(blocks[part])
        rows = np.einsum("icd,ij->icjd", roots, _dense(problem.X[part], means)).reshape(-1, problem.size)
        yield np.hstack([roots.reshape(-1, outputs), rows]) if free else rows


def _roots(blocks: np.ndarray) -> np.ndarray:
    """Return roots ``B`` with ``B' B`` each of some symmetric matrices, without what rounding makes of their zeros."""
    sizes, axes = np.linalg.eigh(blocks)
    sizes[sizes < 1e-14 * sizes[:, -1:]] = 0.0
    return np.sqrt(sizes)[:, :, None] * axes.transpose(0, 2, 1)


def _dense(rows: Any, means: np.ndarray | None) -> np.ndarray:
    """Return rows as an array of float64; less their means where an intercept makes up for them anyway."""
    dense = np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), dtype=np.float64)
    return dense if means is None else dense - means
