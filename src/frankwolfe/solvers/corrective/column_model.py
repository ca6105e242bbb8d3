"""The quadratic model for many atoms: the Hessian ``A' D A`` is never formed.

The model is that of `frankwolfe.solvers.corrective.hessian_model`. It is minimised by cyclic descent: compiled loops
over the columns make a Frank-Wolfe or away step for one atom after the other. Faces are solved by conjugate gradients.

Notation: ``A`` holds the columns of the active atoms, ``D`` the curvatures, ``u`` the weights; ``bent = D A u``.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import routine, verb
from frankwolfe.rows.csr import ONE, TWO
from frankwolfe.rows.dense import dot_row
from frankwolfe.sets.base import EXHAUSTED
from frankwolfe.solvers.corrective.active_matrix import RowBlocks
from frankwolfe.solvers.corrective.hessian_model import Model


class ColumnModel(Model):
    """Quadratic model for many atoms, minimised by cyclic descent, and on faces by conjugate gradients.

    Parameters
    ----------
    atoms : Coordinates
        The active set.
    slope : array
        Slopes of the objective in the atoms' weights, where the model begins.
    curvatures : array
        The diagonal of ``D``.
    z : array
        Predictions ``A u`` where the model begins.
    shifts : int
        Number of intercepts, 0 if there is none. They are eliminated from the model.
    """

    def __init__(self, atoms: Any, slope: np.ndarray, curvatures: np.ndarray, z: np.ndarray, shifts: int = 0):
        super().__init__(atoms.hull, atoms.u)
        self.matrix: RowBlocks = atoms.matrix.blocks
        self.columns, self.curvatures, self.bent = atoms.columns, curvatures, curvatures * z
        self.free, outputs, m = shifts > 0, max(1, shifts), len(slope)
        totals, homes, pulls = np.ones(outputs), atoms.active % outputs, np.zeros(m)
        if self.free:
            totals, pulls = self._sums(curvatures, outputs), self.matrix.project(curvatures)
            totals = np.where(totals > 0.0, totals, 1.0)
        self.intercept = FollowingIntercept(totals, homes, pulls, np.zeros(outputs))
        self._follow()
        self.square = np.maximum(self.matrix.squares(curvatures) - pulls * pulls / totals[homes], 0.0)
        self.linear = slope - self._along(self.bent, self.intercept.sums)

    @staticmethod
    def _sums(bent: np.ndarray, outputs: int) -> np.ndarray:
        """Return the sums over all samples, one per output."""
        return bent.reshape(-1, outputs).sum(axis=0)

    def _follow(self) -> None:
        """Recompute the intercept's sums from ``bent``."""
        if self.free:
            self.intercept.sums[:] = self._sums(self.bent, len(self.intercept.sums))

    def _along(self, bent: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Return ``A' bent``, corrected for the eliminated intercept: minus ``pulls * sums / totals``."""
        totals, homes, pulls, _ = self.intercept
        return self.matrix.project(bent) - pulls * (sums / totals)[homes] if self.free else self.matrix.project(bent)

    def descend(self, tolerance: float) -> float:
        """Cycle once over all atoms, three times over those with weight, and once over all. Return the model's gap."""
        everyone = np.arange(len(self.u))
        gap = self._cycle(everyone, 1, tolerance)
        if gap > tolerance:
            self._cycle(np.flatnonzero(self.u), 3, 0.3 * tolerance)
            gap = self._cycle(everyone, 1, tolerance)
        return gap

    def _cycle(self, visit: np.ndarray, turns: int, tolerance: float) -> float:
        arguments = self.hull, self.curvatures, self.linear, self.square, self.u, self.bent, self.intercept
        return float(cycle(self.columns, *arguments, visit, turns, tolerance))

    def leap(self, failures: int) -> bool:
        """Move toward the minimiser on the face by conjugate gradients. Return whether the weights changed."""
        face, signs, spent = self._face()
        slope = (self.linear + self._along(self.bent, self.intercept.sums))[face]
        square = np.maximum(self.square[face], max(1e-30 * self.square.max(), 1e-300))

        def product(move):
            whole = np.zeros(len(self.u))
            whole[face] = move
            bent = self.curvatures * self.matrix.predict(whole)
            return self._along(bent, self._sums(bent, len(self.intercept.sums)))[face]

        move = conjugate_gradients(product, slope, square, signs if spent else None, 0.1, 12 * 2**failures)
        if not (slope @ move < 0.0):
            return False
        return self._go(face, signs, move, spent)

    def _jump(self, goal: np.ndarray) -> bool:
        """Move to the weights ``goal`` if the model is lower there. Return whether it is."""
        images = self.matrix.predict(goal)
        bent, totals = images * self.curvatures, self.intercept.totals
        saved = (self._sums(bent, len(totals)) ** 2 / totals).sum() if self.free else 0.0
        if not self.linear @ goal + 0.5 * (bent @ images - saved) < self._value():
            return False
        self.u, self.bent = goal, bent
        self._follow()
        return True

    def _put(self, u: np.ndarray) -> None:
        """Set the weights and recompute ``bent`` and the intercept."""
        self.u, self.bent = u, self.curvatures * self.matrix.predict(u)
        self._follow()

    def _value(self) -> float:
        """Return the value of the model, up to a constant."""
        weighted = self.curvatures > 0.0
        saved = (self.intercept.sums**2 / self.intercept.totals).sum()
        curve = (self.bent[weighted] ** 2 / self.curvatures[weighted]).sum()
        return float(self.linear @ self.u + 0.5 * (curve - saved))


def conjugate_gradients(
    product: Callable[[np.ndarray], np.ndarray],
    slope: np.ndarray,
    square: np.ndarray,
    signs: np.ndarray | None,
    accuracy: float,
    most: int,
) -> np.ndarray:
    """Minimise ``slope' x + x' H x / 2`` by preconditioned conjugate gradients.

    Parameters
    ----------
    product : function
        Hessian-vector product ``x -> H x``.
    slope : array
        Gradient at ``x = 0``.
    square : array
        Diagonal of ``H``, used as the preconditioner.
    signs : array or None
        If given, the constraint ``signs' x = 0``.
    accuracy : float
        Relative norm of the residual to stop at.
    most : int
        Maximum number of iterations.

    Returns
    -------
    array
        The approximate minimiser ``x``.
    """

    def balanced(residual):
        if signs is not None:
            residual = residual - (signs @ (residual / square)) / (1.0 / square).sum() * signs
        return residual / square

    move, residual = np.zeros(len(slope)), slope.copy()
    ahead = balanced(residual)
    search, size = -ahead, residual @ ahead
    goal = accuracy * accuracy * size
    for _ in range(most):
        if not size > goal:
            break
        bent = product(search)
        curve = bent @ search
        if not curve > 0.0:
            break
        move += size / curve * search
        residual += size / curve * bent
        ahead = balanced(residual)
        before, size = size, residual @ ahead
        search = size / before * search - ahead
    return move


# --- operations on a column -------------------------------------------------------------------------------------------


# (columns, j, v): the inner product of column `j` with `v`
column_dot = verb("column_dot")
# (columns, j, c, curvatures, v): add `c D a_j` to `v` in place, where `a_j` is column `j` and `D` the diagonal of
# curvatures
column_add_bent = verb("column_add_bent")


class SparseColumns(NamedTuple):
    """Columns in compressed sparse column format."""

    data: np.ndarray
    samples: np.ndarray
    starts: np.ndarray

    def column_dot(self, j, v):
        """Return the inner product of column ``j`` with ``v``."""
        data, samples, even, odd = self.data, self.samples, 0.0, 0.0
        k, stop = np.uint64(self.starts[j]), np.uint64(self.starts[j + 1])
        while k + ONE < stop:  # unrolled by two: a plain loop is compiled to gather instructions, four times slower
            even += data[k] * v[samples[k]]
            odd += data[k + ONE] * v[samples[k + ONE]]
            k += TWO
        return even + odd if k == stop else even + odd + data[k] * v[samples[k]]

    def column_add_bent(self, j, c, curvatures, v):
        """Add ``c D a_j`` to ``v``."""
        data, samples = self.data, self.samples
        for k in range(np.uint64(self.starts[j]), np.uint64(self.starts[j + 1])):
            i = samples[k]
            v[i] += c * data[k] * curvatures[i]


class DenseColumns(NamedTuple):
    """Dense columns: row ``j`` of ``values`` is column ``j``."""

    values: np.ndarray

    def column_dot(self, j, v):
        """Return the inner product of column ``j`` with ``v``."""
        return dot_row(self.values, j, v)

    def column_add_bent(self, j, c, curvatures, v):
        """Add ``c D a_j`` to ``v``."""
        values = self.values
        for i in range(len(v)):
            v[i] += c * values[j, i] * curvatures[i]


def by_columns(matrix: RowBlocks) -> SparseColumns | DenseColumns:
    """Return a column-major copy of a matrix."""
    if not matrix.sparse:
        return DenseColumns(np.ascontiguousarray(np.concatenate([block.columns() for block in matrix.blocks]).T))
    free = np.zeros(matrix.blocks[0].width + 1, np.uint64)  # where the next entry of each column goes
    for block in matrix.blocks:
        free[1:] += np.bincount(block.rows.indices, minlength=len(free) - 1).astype(np.uint64)
    starts = np.cumsum(free)
    free = starts.copy()
    data, samples = np.empty(matrix.stored), np.empty(matrix.stored, np.uint32)
    for block in matrix.blocks:
        sort_by_columns(*block.rows, np.uint32(block.part.start), free, data, samples)
    return SparseColumns(data, samples, starts)


@kernel
def sort_by_columns(data, columns, starts, first, free, to_data, to_samples):
    """Copy a block of rows, whose first sample is ``first``, from row-major to column-major order.

    ``free[j]`` is the position of the next entry of column ``j``. It is advanced in place.
    """
    for i in range(len(starts) - 1):
        sample = first + np.uint32(i)
        for k in range(np.uint64(starts[i]), np.uint64(starts[i + 1])):
            at = free[columns[k]]
            to_data[at] = data[k]
            to_samples[at] = sample
            free[columns[k]] = at + ONE


# --- cyclic descent ---------------------------------------------------------------------------------------------------


@routine
def moved(hull, u, slope, bent, square, total, curve):
    """Return the sign of an atom and the exact step size ``gamma`` along ``a - u``; negative for an away step.

    ``a`` is the vertex ``sign * radius * e_j``. The model's decrease rate along ``a - u`` is
    ``lead = total - radius * sign * slope``, where ``total`` is its slope along ``u``. Its curvature is ``bow``.
    An away step is at most ``size / (radius - size)`` long, which makes the weight zero.
    """
    sign = 1.0
    if u < 0.0 or (u == 0.0 and hull.signed and slope > 0.0):
        sign = -1.0
    radius, size = hull.radius, abs(u)
    lead = total - radius * sign * slope
    least = -size / (radius - size) if size < radius else 0.0
    bow = radius * radius * square - 2.0 * radius * sign * bent + curve
    if lead > 0.0:
        return sign, (1.0 if lead >= bow else lead / bow)
    return sign, (least if lead <= least * bow else lead / bow)


@routine
def multiply(scale, u, bent, sums):
    """Multiply weights, ``bent`` and the intercept's sums by ``scale``, in place."""
    for k in range(len(u)):
        u[k] *= scale
    for i in range(len(bent)):
        bent[i] *= scale
    for c in range(len(sums)):
        sums[c] *= scale


class FollowingIntercept(NamedTuple):
    """An intercept that is eliminated from the model: for all weights it has its optimal value.

    Attributes
    ----------
    totals : array of shape (outputs,)
        Sums of the curvatures. Without an intercept a single 1, which has no effect.
    homes : array of shape (m,)
        The output that each column contributes to.
    pulls : array of shape (m,)
        Sums of the columns of ``D A``; zeros without an intercept.
    sums : array of shape (outputs,)
        Sums of ``D A u`` over the samples. The optimal change of the intercept is ``-sums / totals``.
    """

    totals: np.ndarray
    homes: np.ndarray
    pulls: np.ndarray
    sums: np.ndarray


@kernel
def cycle(columns, hull, curvatures, linear, square, u, bent, intercept, visit, turns, tolerance):
    """Minimise the model by ``turns`` cycles over the atoms ``visit``. Return the gap estimate of the last cycle.

    On the boundary of the hull a step goes toward or away from the vertex ``a`` of an atom, along ``a - u``, which
    preserves the sum of the weights. It costs one column: shrinking ``u`` and ``bent = D A u`` is a multiplication of
    ``scale``. In the interior of a filled hull the step is ordinary coordinate descent. The intercept is eliminated.

    The scalars ``size = |u|_1``, ``pull = linear' u`` and ``curve = u' H u`` are updated with each step, so that the
    slope along ``u``, ``pull + curve``, is always known.
    """
    totals, homes, pulls, sums = intercept.totals, intercept.homes, intercept.pulls, intercept.sums
    radius, scale, gap = hull.radius, 1.0, 0.0
    for _ in range(turns):
        size, pull, curve = 0.0, 0.0, 0.0
        for i in range(len(curvatures)):
            curve += bent[i] * bent[i] / curvatures[i] if curvatures[i] > 0.0 else 0.0
        for c in range(len(sums)):
            curve -= sums[c] * sums[c] / totals[c]
        for j in range(len(u)):
            size += abs(u[j])
            pull += linear[j] * u[j]
        gap = pull + curve if hull.filled else 0.0
        for j in visit:
            home = homes[j]
            weight, along = scale * u[j], scale * (column_dot(columns, j, bent) - pulls[j] * sums[home] / totals[home])
            slope = linear[j] + along
            key = -abs(slope) if hull.signed else slope
            gap = max(gap, pull + curve - radius * key)
            slack = radius - size
            if hull.filled and slack > EXHAUSTED * radius:
                goal = weight - slope / square[j] if square[j] > 0.0 else weight
                goal = min(max(goal, -abs(weight) - slack), abs(weight) + slack)
                if not hull.signed:
                    goal = max(goal, 0.0)
                change = goal - weight
                size += abs(goal) - abs(weight)
                pull += change * linear[j]
                curve += change * (2.0 * along + change * square[j])
            else:
                if weight == 0.0 and pull + curve <= radius * key:
                    continue
                sign, gamma = moved(hull, weight, slope, along, square[j], pull + curve, curve)
                if gamma == 0.0:
                    continue
                change, left = gamma * radius * sign, 1.0 - gamma
                goal = left * weight + change
                if sign * goal <= 0.0:
                    goal = 0.0
                pull = left * pull + change * linear[j]
                curve = left * left * curve + change * (2.0 * left * along + change * square[j])
                size = left * size + gamma * radius
                scale *= left
                if scale < 1e-6:
                    multiply(scale, u, bent, sums)
                    scale = 1.0
            if change != 0.0:
                u[j] = goal / scale
                column_add_bent(columns, j, change / scale, curvatures, bent)
                sums[home] += change / scale * pulls[j]
        if hull.filled and radius - size <= EXHAUSTED * radius and pull + curve > 0.0:  # step toward zero
            scale *= max(0.0, -pull / curve) if curve > 0.0 else 0.0
        multiply(scale, u, bent, sums)
        scale = 1.0
        if gap <= tolerance:
            break
    return gap
