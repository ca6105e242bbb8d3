"""The Hessian of the objective in all weights, for some hundreds of weights, and a lower bound by a step on a face.

The second derivative of a loss is a number per sample or, with several outputs, a small matrix. A diagonal upper bound
of this matrix would be simpler, but makes steps many times too short if the classes are strongly correlated.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from scipy.linalg import qr

from frankwolfe.arguments.types import PerRow
from frankwolfe.linalg.matrices import eliminated, weighted_gram
from frankwolfe.losses import has_dual
from frankwolfe.objective.point import Point
from frankwolfe.objective.tasks import fill_coupled_curvatures, shifted_by
from frankwolfe.problem import Problem
from frankwolfe.rows.dense import Centred, even_parts
from frankwolfe.sets.base import Hull
from frankwolfe.shards.local import DataBlock, Local
from frankwolfe.solvers.corrective.active_atoms import features_of, sparse_gram
from frankwolfe.solvers.dual_bound import slopes_after

MIN_PIVOT = 1e-5
"""Smallest accepted pivot of a Cholesky factor of a matrix with unit diagonal. Below it, QR is used instead."""


@dataclass(frozen=True, eq=False)
class FullHessian:
    """A Hessian as a matrix.

    Attributes
    ----------
    H : array
        The matrix.
    rows : function
        Returns blocks of rows such that ``rows' rows`` sum up to ``H``. If an intercept has been eliminated, they sum
        up to the larger matrix that starts with the intercept.
    eliminated : int
        Number of columns of these rows that belong to the intercept.
    """

    H: np.ndarray
    rows: Callable[[], Iterable[np.ndarray]]
    eliminated: int = 0

    @cached_property
    def root(self) -> np.ndarray:
        """Upper triangular matrix with ``root' root = H``: by Cholesky or, if that loses too many digits, by QR.

        Forming ``H`` squares the condition number. QR of the rows does not.
        """
        scale = np.sqrt(np.maximum(np.einsum("jj->j", self.H), 0.0))
        bent = np.flatnonzero(scale)  # a column without entries has a zero row and column in the root, too
        scale = scale[bent]
        try:
            factor = np.linalg.cholesky(self.H[np.ix_(bent, bent)] / scale / scale[:, None])
            if np.einsum("jj->j", factor).min(initial=1.0) > MIN_PIVOT:
                root = np.zeros(self.H.shape)
                root[np.ix_(bent, bent)] = factor.T * scale
                return root
        except np.linalg.LinAlgError:
            pass
        return self._root_of_rows()

    def _root_of_rows(self) -> np.ndarray:
        root = triangle_of(self.rows(), len(self.H) + self.eliminated)
        if not self.eliminated:
            return root
        pivots = np.abs(np.diagonal(root)[: self.eliminated])
        # A direction of the intercept that does not change the loss (the same for all classes) has a zero pivot. Its
        # rows are kept: nothing was eliminated by it.
        idle = np.flatnonzero(pivots <= 1e-13 * pivots.max(initial=0.0))
        kept = np.concatenate([idle, np.arange(self.eliminated, len(root))])
        return root[kept, self.eliminated :]

    def without_rows(self) -> "FullHessian":
        """Return a Hessian whose root comes from the eigenvalues of ``H``, those that are rounding errors left out.

        It is cheaper than QR of all rows, and loses directions whose curvature is 1e-13 of that of the columns.
        """

        def root() -> list[np.ndarray]:
            scale = np.sqrt(np.maximum(np.einsum("jj->j", self.H), 0.0))
            safe = np.where(scale > 0.0, scale, 1.0)
            sizes, axes = np.linalg.eigh(self.H / safe / safe[:, None])
            kept = sizes > 1e-13
            return [np.sqrt(sizes[kept])[:, None] * axes[:, kept].T * scale]

        return FullHessian(self.H, root)

    def plus(self, H: np.ndarray, rows: np.ndarray) -> "FullHessian":
        """Return the sum with another matrix ``H = rows' rows``."""
        padded = np.hstack([np.zeros((len(rows), self.eliminated)), rows])
        return FullHessian(self.H + H, lambda: chain(self.rows(), [padded]), self.eliminated)

    def finite(self) -> bool:
        """Whether all entries are finite."""
        return bool(np.isfinite(self.H).all())

    def times(self, v: np.ndarray) -> np.ndarray:
        """Return ``H v``."""
        return self.root.T @ (self.root @ v)

    def pulled(self, moves: np.ndarray) -> np.ndarray:
        """Return ``moves' H moves``. A vector ``moves`` stands for a diagonal matrix."""
        if moves.ndim == 1:
            return moves[:, None] * self.H * moves
        images = self.root @ moves  # a product with H could become indefinite by rounding
        return images.T @ images


def triangle_of(blocks: Iterable[np.ndarray], width: int) -> np.ndarray:
    """Return an upper triangular ``R`` such that ``R' R`` is the sum of ``block' block``, by QR of stacked blocks."""
    root, waiting = np.zeros((0, width)), list[np.ndarray]()
    for block in chain(blocks, [None]):
        if block is not None and len(block):
            waiting.append(block)
        if waiting and (block is None or sum(map(len, waiting)) > 4 * width):
            root, waiting = qr(np.vstack([root, *waiting]), mode="r", check_finite=False)[0][:width], []
    return root


def objective_hessian(problem: Problem, at: Point, curvatures: PerRow) -> FullHessian:
    """Return the Hessian of the objective in the flat weights. An intercept is eliminated.

    Parameters
    ----------
    problem : Problem
        Problem with few weights.
    at : Point
        Point at which to compute the Hessian.
    curvatures : array or Kept
        Result of `loss_curvatures` at this point.
    """
    shards, free = problem.objective.shards, at.shift is not None
    means = None
    if free and problem.samples.rows.is_sparse:  # centre the rows against cancellation; dense rows are centred already
        squares, means = shards.run(column_moments)
        if not problem.outputs and (means**2 <= 0.9 * squares).all():
            means = None  # at most a digit is lost, and sparse products are faster
    H, *mixed = shards.run(hessian_sums, curvatures, means, free)
    if free:
        H = eliminated(H, *mixed)
    return FullHessian(
        H, lambda: shards.run(hessian_triangles, curvatures, means, free)[0], max(1, problem.outputs) if free else 0
    )


# --- tasks ------------------------------------------------------------------------------------------------------------


def column_moments(local: Local) -> tuple:
    """Return, in one read, the weighted sums of squares of each column, and the weighted sum of each column."""
    weights, d = local.samples.weights, _sizes(local)[1]

    def add(block: DataBlock) -> tuple:
        rows, some = features_of(block.samples.rows), weights[block.part]
        return rows.column_norms(some, d) ** 2, np.asarray(rows.add_all(some, d), np.float64)

    with np.errstate(over="ignore", invalid="ignore"):  # an overflow is detected in the objective
        return local.each(add)


def hessian_sums(local: Local, D: np.ndarray, means: np.ndarray | None, free: bool) -> tuple:
    """Return the Hessian in the weights and, with a free intercept, the mixed one and that in the intercept."""
    k, d = _sizes(local)
    matrices = D.reshape(-1, k, k)
    pairs = [(c, e) for c in range(k) for e in range(c + 1) if matrices[:, c, e].any()]

    def task(block: DataBlock) -> tuple:
        H, cross = np.zeros((k, k, d, d)), np.zeros((k, k, d))
        features = features_of(block.samples.rows)
        if k == 1 and means is None and features.is_sparse:
            A, some = features.matrix(d), matrices[block.part, 0, 0]
            return sparse_gram(A, A, some)[None, None], (A.T @ some)[None, None]
        for rows, some in _dense_rows(block, matrices, means, d, d):
            for c, e in pairs:
                H[c, e] += weighted_gram(rows, some[:, c, e])
                if free:
                    cross[c, e] += some[:, c, e] @ rows
        return H, cross

    H, cross = local.each(task)
    for c, e in pairs:
        H[e, c] = H[c, e].T
        cross[e, c] = cross[c, e]
    H = H.transpose(2, 0, 3, 1).reshape(local.size, -1)  # weights are ordered by column, then by output
    return (H, cross.transpose(0, 2, 1).reshape(k, -1), matrices.sum(axis=0)) if free else (H,)


def hessian_triangles(local: Local, D: np.ndarray, means: np.ndarray | None, free: bool) -> tuple:
    """Return a list of triangular ``R`` such that ``R' R`` sum up to the Hessian, with the intercept first if free."""
    k, d = _sizes(local)
    matrices = D.reshape(-1, k, k)

    def blocks(block: DataBlock) -> Iterator[np.ndarray]:
        for rows, some in _dense_rows(block, matrices, means, d, local.size * k):
            roots = _roots_of_matrices(some)
            spread = np.einsum("icd,ij->icjd", roots, rows).reshape(-1, local.size)
            yield np.hstack([roots.reshape(-1, k), spread]) if free else spread

    return local.each(lambda block: ([triangle_of(blocks(block), local.size + (k if free else 0))],))


def _sizes(local: Local) -> tuple[int, int]:
    """Return the number of outputs, at least one, and the number of columns."""
    k = max(1, local.samples.rows.outputs)
    return k, local.size // k


def _dense_rows(
    block: DataBlock, matrices: np.ndarray, means: np.ndarray | None, d: int, width: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield parts of a block as dense, centred rows with their curvatures. Parts are smaller for a large ``width``."""
    some, rows = matrices[block.part], features_of(block.samples.rows)
    curved = np.flatnonzero(some.any(axis=(1, 2)))
    if len(curved) < 0.5 * len(some):  # other rows add nothing
        some, rows = some[curved], rows.some_rows(curved)
    for part in even_parts(len(some), width, 2**21):
        piece = rows.block(part)
        dense = np.asarray(piece.matrix(d).toarray() if piece.is_sparse else piece.values, dtype=np.float64)
        taken = piece.means if isinstance(piece, Centred) else means
        yield dense if taken is None else dense - taken, some[part]


def _roots_of_matrices(blocks: np.ndarray) -> np.ndarray:
    """Return roots ``B`` with ``B' B = M`` for a stack of symmetric matrices ``M``. Tiny eigenvalues count as zero."""
    sizes, axes = np.linalg.eigh(blocks)
    sizes[sizes < 1e-14 * sizes[:, -1:]] = 0.0
    return np.sqrt(sizes)[:, :, None] * axes.transpose(0, 2, 1)


# --- second derivatives of losses -------------------------------------------------------------------------------------


def loss_curvatures(problem: Problem, at: Point, damping: float, floor: float) -> Any:
    """Return a positive, weighted second derivative per sample: a number or, for several outputs, a matrix.

    Parameters
    ----------
    problem : Problem
        Problem with few weights.
    at : Point
        Point at which to compute the derivatives.
    damping, floor : float
        Damping and smallest curvature, see `frankwolfe.objective.tasks.fill_curvatures`.
    """
    if problem.outputs and problem.loss.convex:
        return coupled_curvatures(problem, at, damping, floor)
    curvatures = problem.objective.curvatures(at, damping, floor)
    # a non-convex loss with several outputs: a diagonal upper bound of its second derivative
    return problem.objective.shards.keep(diagonal_matrices, curvatures) if problem.outputs else curvatures


def coupled_curvatures(problem: Problem, at: Point, damping: float, floor: float) -> Any:
    """Return the weighted second derivatives at a point, of shape ``(n, outputs, outputs)``.

    As in `frankwolfe.objective.tasks.fill_curvatures`, the smallest curvature is ``floor``. The ``damping`` adds
    curvature along the gradient of the loss: up to that of the parabola that touches the loss and has the minimum 0.
    """
    return problem.objective.shards.keep(coupled_at, at.z, at.shift, at.losses, at.alpha, damping, floor)


def coupled_at(
    local: Local, z: np.ndarray, shift: Any, losses: np.ndarray, alpha: np.ndarray, damping: float, floor: float
) -> np.ndarray:
    """Return the second derivatives at predictions ``z`` and intercept ``shift``."""
    samples, there = local.samples, shifted_by(local, z, shift)
    curvatures = np.empty((*samples.shape, samples.shape[1]))
    given = samples.targets, samples.weights, local.losses, there
    fill_coupled_curvatures(*given, losses, alpha.reshape(samples.shape), damping, floor, curvatures)
    return curvatures


def diagonal_matrices(local: Local, curvatures: np.ndarray) -> np.ndarray:
    """Return curvatures, one per prediction, as diagonal matrices of shape ``(n, outputs, outputs)``."""
    shape = local.samples.shape
    return curvatures.reshape(shape)[:, :, None] * np.eye(shape[1])


# --- a lower bound for points whose gap is dominated by rounding ------------------------------------------------------


def slopes_on_face(problem: Problem, at: Point, hull: Hull, w: np.ndarray, gradient: np.ndarray) -> np.ndarray | None:
    """Return the loss derivatives at the minimiser of a quadratic model on the face of the set that contains a point.

    The Newton step to this minimiser may be smaller than the rounding error of the weights. The derivatives, updated to
    first order by that step, therefore give a better dual point than those at the point.

    Parameters
    ----------
    problem : Problem
        The problem to minimise.
    at : Point
        The point.
    hull : Hull
        The set, whose vertices have one non-zero entry.
    w, gradient : array
        Weights and gradient at the point.

    Returns
    -------
    array or None
        Derivatives in the shape of the predictions; None if they are too expensive, or if the loss has no conjugate.
    """
    active = np.flatnonzero(w)
    if problem.size > 600 or len(active) < 2 or not has_dual(problem.loss):  # the cost is cubic in the weights
        return None
    curvatures = loss_curvatures(problem, at, 0.0, 0.0)
    hessian = objective_hessian(problem, at, curvatures)
    if not hessian.finite():
        return None
    images, slope, signs = hessian.root[:, active], gradient[active], np.sign(w[active])
    largest = int(np.abs(w[active]).argmax())
    inside = hull.filled and np.abs(w).sum() < (1.0 - 1e-12) * hull.radius
    if not inside:  # the largest weight compensates the changes of the others, so that the l1 norm is constant
        follows = -signs / signs[largest]
        images, slope = images + np.outer(images[:, largest], follows), slope + slope[largest] * follows
    d = np.zeros(problem.size)
    d[active] = _shortest_minimiser(images, slope)
    if not inside:
        d[active[largest]] = float(follows @ d[active])
    return slopes_after(problem, at, curvatures, d)


def _shortest_minimiser(images: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Return the minimum-norm minimiser of ``<slope, d> + |images d|^2 / 2``, in scaled columns."""
    sizes = np.linalg.norm(images, axis=0)
    scale = np.divide(1.0, sizes, out=np.zeros(len(sizes)), where=sizes > 0.0)
    _, roots, axes = np.linalg.svd(images * scale, full_matrices=False)
    kept = roots > 1e-12 * roots.max(initial=0.0)  # ignore flat directions
    return -scale * (axes[kept].T @ (axes[kept] @ (scale * slope) / roots[kept] ** 2))
