"""The Hessian of the objective in all weights, at most some thousands: formed from the rows, a block at a time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import qr

from frankwolfe.engines.corrective.output_curvatures import coupled_curvatures, diagonal_matrices
from frankwolfe.linalg.matrices import eliminated, weighted_gram
from frankwolfe.objective.point import Point
from frankwolfe.problem import Problem
from frankwolfe.rows.multi_output import MultiOutput
from frankwolfe.shards.local import Block
from frankwolfe.store.reader import RowStore

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


def loss_curvatures(problem: Problem, at: Any, care: float, floor: float) -> Any:
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
    return problem.objective.shards.keep(diagonal_matrices, curvatures) if problem.outputs else curvatures


def objective_hessian(problem: Problem, at: Any, curvatures: Any) -> Formed | Rooted:
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
    if problem.objective.shards.calls_are_costly:
        from frankwolfe.engines.corrective.remote_hessian import remote_hessian

        return remote_hessian(problem, at, curvatures)
    if problem.outputs:
        free = problem.outputs if at.shift is not None else 0
        return Formed(_of_outputs(problem, at, curvatures), lambda: _rows_of_outputs(problem, at, curvatures), free)
    total = curvatures.sum()
    means = _mean_row(problem, curvatures / total) if at.shift is not None and total > 0.0 else None

    def rows() -> Iterator[np.ndarray]:
        return (np.sqrt(curvatures[part])[:, None] * some for part, some in _parts(problem, problem.d, means))

    if problem.n < problem.d:
        return Rooted(np.vstack(list(rows())))

    def task(block: Block) -> tuple:
        return (weighted_gram(_dense(_plain(block.samples.rows, problem.d), means), curvatures[block.part]),)

    (H,) = problem.objective.shards.each(task)
    return Formed(H, rows)


def _plain(rows: Any, d: int) -> Any:
    """Return rows as they are in the data, a matrix."""
    rows = rows.rows if isinstance(rows, MultiOutput) else rows
    return rows.matrix(d) if rows.is_sparse else rows.values


def _mean_row(problem: Problem, weights: np.ndarray) -> np.ndarray:
    """Return the sum of all rows, each times its weight."""
    if not isinstance(problem.X, RowStore):
        return weights @ problem.X
    return problem.objective.shards.each(lambda block: (weights[block.part] @ _plain(block.samples.rows, problem.d),))[
        0
    ]


def _parts(problem: Problem, width: int, means: np.ndarray | None) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield all rows, dense and less their means, so many that ``width`` numbers for each make up a block."""
    step = max(1, BLOCK_NUMBERS // width)
    if not isinstance(problem.X, RowStore):
        for first in range(0, problem.n, step):
            part = slice(first, first + step)
            yield part, _dense(problem.X[part], means)
        return
    for place, rows in problem.samples.rows.in_turn():
        matrix = _plain(rows, problem.d)
        for first in range(0, matrix.shape[0], step):
            some = _dense(matrix[first : first + step], means)
            yield slice(place.part.start + first, place.part.start + first + len(some)), some


def _of_outputs(problem: Problem, at: Point, blocks: np.ndarray) -> np.ndarray:
    """Return the Hessian in the weights of several outputs, from a matrix for each sample."""
    d, outputs, free = problem.d, problem.outputs, at.shift is not None
    means = _mean_row(problem, problem.samples.weights) if free else None  # else large numbers would cancel
    H, cross = np.zeros((d, outputs, d, outputs)), np.zeros((outputs, d, outputs))
    pairs = [(c, e) for c in range(outputs) for e in range(c + 1) if blocks[:, c, e].any()]
    for part, rows in _parts(problem, d, means):
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
    means = _mean_row(problem, problem.samples.weights) if free else None
    for part, some in _parts(problem, problem.size * outputs, means):
        roots = roots_of_matrices(blocks[part])
        rows = np.einsum("icd,ij->icjd", roots, some).reshape(-1, problem.size)
        yield np.hstack([roots.reshape(-1, outputs), rows]) if free else rows


def roots_of_matrices(blocks: np.ndarray) -> np.ndarray:
    """Return roots ``B`` with ``B' B`` each of some symmetric matrices, without what rounding makes of their zeros."""
    sizes, axes = np.linalg.eigh(blocks)
    sizes[sizes < 1e-14 * sizes[:, -1:]] = 0.0
    return np.sqrt(sizes)[:, :, None] * axes.transpose(0, 2, 1)


def _dense(rows: Any, means: np.ndarray | None) -> np.ndarray:
    """Return rows as an array of float64; less their means where an intercept makes up for them anyway."""
    dense = np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), dtype=np.float64)
    return dense if means is None else dense - means
