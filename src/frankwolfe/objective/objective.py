"""The objective of a problem, written once for rows in memory, on disk and on a cluster.

Tasks (`frankwolfe.objective.tasks`) do all work on rows or samples. Vectors with an entry per sample, such as
predictions, losses and derivatives ``alpha``, stay with the rows: an array on this machine, a `Kept` on a cluster. The
derivatives ``alpha`` are also called slopes.
"""

from functools import cached_property
from typing import Any

import numpy as np

from frankwolfe.arguments.types import PerRow, Weights
from frankwolfe.losses.base import LossArrays
from frankwolfe.objective import tasks
from frankwolfe.objective.intercept import InterceptSearch, kinked_point
from frankwolfe.objective.offset import ShiftedLoss
from frankwolfe.objective.point import Guess, Point, Segment
from frankwolfe.objective.tasks import EPSILON
from frankwolfe.shards.local import Kept, Local, Shards, entry

Before = Point | Guess | None


class Objective:
    """``F(w) = sum_i p_i f(x_i' w, y_i) + <c, w>``, minimised over the intercept if the problem has one.

    Parameters
    ----------
    samples : Samples
        Rows, targets, weights and loss. The loss is a `ShiftedLoss` for a problem with an intercept.
    size : int
        Number of weights.
    shards : Shards, optional
        Runs tasks on the rows. By default `Local`, for rows in memory.
    starts_at_zero : bool
        Whether runs start at zero weights. If calls are costly, evaluating F(0) then computes the first gradient too.
    linear : array, optional
        The coefficients ``c``, flat. They need no rows, so tasks know nothing of them: this class adds the linear term
        to values, and ``c`` to gradients. A point is given by its predictions and its linear term.
    """

    def __init__(
        self,
        samples: Any,
        size: int,
        shards: Shards | None = None,
        starts_at_zero: bool = False,
        linear: np.ndarray | None = None,
    ):
        self.samples, self.size, self.outputs = samples, size, samples.rows.outputs
        self.intercept = isinstance(samples.loss, ShiftedLoss)
        self.base_loss = samples.loss.base if self.intercept else samples.loss  # of predictions with the intercept
        self.shards: Any = shards or Local(samples._replace(loss=self.base_loss), size)
        self.coefficients = linear
        self._starts_at_zero = starts_at_zero and not self.intercept
        self._pass_at_zero: tuple[Point, np.ndarray] | None = None
        self._atom_slopes: list[tuple[Any, Any, np.ndarray]] = []

    def hand_over(self, run: "Objective") -> "Objective":
        """Return the objective of a run. It gets the pass at zero weights, if there is one: it can be used once."""
        run._pass_at_zero, self._pass_at_zero = self._pass_at_zero, None
        return run

    @property
    def losses(self) -> LossArrays:
        """The same loss for arrays of samples, for rows on this machine."""
        return self.shards.losses

    @property
    def compiled(self) -> bool:
        """Whether the data is large enough for compiled kernels; False on a cluster, where each worker decides."""
        return isinstance(self.shards, Local) and self.shards.losses.compiled

    @property
    def executor(self) -> Any:
        """The executor that runs the work on blocks of rows on this machine."""
        return self.shards.executor

    @property
    def reads(self) -> float | None:
        """Number of times that all rows have been read from disk; None for rows in memory."""
        return self.shards.reads

    # --- exact passes ---------------------------------------------------------------------------------------------

    def predict(self, w: Weights) -> Any:
        """Return all predictions without an intercept, in the shape of the targets: half a pass."""
        return self.shards.keep(tasks.predict, w)

    def linear(self, w: Weights) -> float:
        """Return the linear term ``<c, w>``."""
        return 0.0 if self.coefficients is None else float(self.coefficients @ w)

    def with_linear(self, gradient: np.ndarray, at: Any = slice(None)) -> np.ndarray:
        """Return a gradient, or its entries ``at``, after the part of the linear term is added."""
        return gradient if self.coefficients is None else gradient + self.coefficients[at]

    def gradient(self, alpha: PerRow) -> np.ndarray:
        """Return ``X' alpha + c``, flat, for one weighted derivative per prediction: half a pass."""
        return self.with_linear(self.shards.run(tasks.gradient, alpha)[0])

    def at(self, w: Weights, before: Before = None, since: Any = None) -> tuple[Point, np.ndarray]:
        """Evaluate the objective and its gradient at the weights ``w``: the exact pass.

        ``before`` starts the search for the intercept, see `point`. ``since`` is a vector of predictions. If it is
        given, the point includes the directional derivative along the segment from ``since``.
        """
        known, self._pass_at_zero = self._pass_at_zero, None  # used once: it occupies memory on the workers
        if known is not None and not w.any():
            return known
        if self.intercept:  # the best intercept needs all predictions first
            z = self.predict(w)
            found = self.point(z, before, None if since is None else Segment(self, since, z), self.linear(w))
            return found, self.gradient(found.alpha)
        more = self.shards.calls_are_costly
        found = self.shards.run(tasks.exact_pass, w, keep=3, also=(since, more))
        z, losses, alpha, value, reach, along, gradient = found
        z, size = z.ravel(), float(reach) if more else None
        slope = None if since is None else (since, z, float(along))
        at = Point(z, losses, alpha.ravel(), float(value), size=size, along=slope)
        return _with_linear(at, self.linear(w)), self.with_linear(gradient)

    def point(self, z: PerRow, before: Before = None, segment: Segment | None = None, linear: float = 0.0) -> Point:
        """Evaluate the objective at the predictions ``z``, with the optimal intercept if the problem has one.

        ``before`` is a nearby point, whose intercept starts the search. ``segment`` is the segment along which the
        caller needs the directional derivative. ``linear`` is the linear term at the weights.
        """
        return _with_linear(self._point(z, before, segment), linear)

    def _point(self, z: PerRow, before: Before, segment: Segment | None) -> Point:
        """Evaluate the losses at the predictions ``z``, with the optimal intercept if the problem has one."""
        samples, z = self.samples, z.reshape(self.samples.shape)
        if self.intercept and not samples.loss.smooth:
            return kinked_point(samples, z)
        if self.intercept:
            return self._with_best_intercept(z, before, segment)
        atoms, also = self.extras_for(z, segment)
        losses, alpha, *found, slopes = self.shards.run(tasks.evaluate, z, None, keep=2, also=also)
        value, reach, along = map(float, found)
        self.note_slopes(atoms, alpha, slopes)
        return Point(z.ravel(), losses, alpha.ravel(), value, **self._extras_of(segment, reach, along))

    def _with_best_intercept(self, z: PerRow, before: Before, segment: Segment | None) -> Point:
        """Evaluate the objective at the predictions ``z`` and the optimal intercept for them."""
        search = InterceptSearch(self, z, segment)
        shift, curve = search.best(before)
        at, stationary = search.sums(shift), search.is_level(shift)
        losses, alpha, reach, along = search.last
        extras = self._extras_of(segment, reach, along)
        return Point(z.ravel(), losses, alpha.ravel(), at.value, shift, stationary, search.mean, curve, **extras)

    def extras_for(self, z: PerRow, segment: Segment | None) -> tuple[Any, tuple]:
        """Return the active atoms that the predictions ``z`` combine, if known, and extra arguments for `evaluate`.

        If calls are costly, one call returns all that later steps need at a point: the directional derivatives along
        the segment and along the atoms.
        """
        if not self.shards.calls_are_costly:
            return None, ()
        atoms = z.args[0] if isinstance(z, Kept) and z.task is tasks.combine else None
        return atoms, (None if segment is None else segment.ends, atoms, True)

    def _extras_of(self, segment: Segment | None, reach: float, along: float) -> dict[str, Any]:
        """Return the fields of a `Point` that the extra arguments of `evaluate` have computed."""
        if not self.shards.calls_are_costly:
            return {}
        return {"size": reach, "along": None if segment is None else (*segment.ends, along)}

    def note_slopes(self, atoms: Any, alpha: PerRow, slopes: np.ndarray) -> None:
        """Store the directional derivatives along active atoms, for the last two points."""
        if atoms is not None:
            self._atom_slopes = [*self._atom_slopes[-1:], (atoms, alpha, slopes)]

    def slopes_along(self, atoms: Any, alpha: PerRow) -> np.ndarray | None:
        """Return the directional derivatives stored by `note_slopes` for these atoms and ``alpha``, or None."""
        return next((s for known, at, s in self._atom_slopes if known is atoms and at is alpha), None)

    def zero_model(self) -> Point:
        """Evaluate the objective at zero weights. Reads no row, unless calls are costly and runs start there.

        The point has no vectors: they would occupy memory.
        """
        if self._starts_at_zero and self.shards.calls_are_costly:
            self._pass_at_zero = self.at(np.zeros(self.size))
            at = self._pass_at_zero[0]
        else:
            at = self.point(self.zeros())
        return at._replace(z=None, losses=None, alpha=None)

    # --- vectors --------------------------------------------------------------------------------------------------

    def zeros(self) -> Any:
        """Return zeros, one for each prediction."""
        return self.shards.keep(tasks.zeros)

    def vectors_at(self, w: Weights, shift: Any) -> tuple[Any, Any, Any]:
        """Return predictions, losses and derivatives at given weights and intercept; evaluated lazily on a cluster."""
        z = self.predict(w)
        found = self.shards.keep(tasks.evaluate, z, shift)
        return z, *(self.shards.keep(entry, found, k) for k in range(2))

    def sum_of(self, z: PerRow, other: Any) -> Any:
        """Return the sum of two vectors of predictions."""
        return self.shards.keep(tasks.mix, z, other, 1.0)

    def segment(self, at: Point, images: Any, linear: float = 0.0) -> Segment:
        """Return the line segment from a point to the predictions ``images``, where the linear term is ``linear``."""
        return Segment(self, at.z, images, (at.linear, linear))

    def curvatures(self, at: Point, damping: float, floor: float) -> Any:
        """Return weighted second derivatives at a point, one per prediction, bounded below by ``floor``.

        ``damping`` is the damping of `frankwolfe.objective.tasks.fill_curvatures`.
        """
        return self.shards.keep(tasks.curvatures, at.z, at.shift, at.losses, at.alpha, damping, floor)

    def nearest_slopes(self, alpha: PerRow) -> Any:
        """Return ``alpha`` with each slope outside the domain of its conjugate moved to a nearby slope inside."""
        return self.shards.keep(tasks.nearest_slopes, alpha)

    # --- sums -----------------------------------------------------------------------------------------------------

    def increase(self, there: Point, here: Point) -> float:
        """Return the increase of the objective from one point to another, summed sample by sample."""
        return float(self.shards.run(tasks.increase, there.losses, here.losses)[0]) + there.linear - here.linear

    def gap_rounding(self, at: Point, alpha: PerRow) -> float:
        """Return a bound on the rounding error of a gap computed from ``alpha``, from ``sum_i |alpha_i z_i|``."""
        if at.size is not None and alpha is at.alpha:
            return 4.0 * EPSILON * (at.size + abs(at.linear))
        return 4.0 * EPSILON * (float(self.shards.run(tasks.sizes, alpha, at.z)[0]) + abs(at.linear))

    def residuals(self, at: Point, alpha: PerRow) -> float:
        """Return the Fenchel-Young residual ``sum_i p_i (f_i(z_i) + f_i*(alpha_i / p_i) - alpha_i z_i / p_i)``.

        No term is negative. It is infinite if a slope is outside the domain of its conjugate. It reads no row.
        """
        return float(self.shards.run(tasks.residuals, at.z, at.shift, alpha)[0])

    def conjugates(self, alpha: PerRow) -> tuple[float, float]:
        """Return ``sum_i p_i f_i*(alpha_i / p_i)`` and the sum of absolute terms; infinite outside the domain."""
        total, size = self.shards.run(tasks.conjugates, alpha)
        return float(total), float(size)

    def shift_curvature(self, z: PerRow, shift: np.ndarray) -> np.ndarray:
        """Return the second derivative of the objective in the intercept, as a matrix."""
        if self.outputs:
            return self.shards.run(tasks.intercept_hessian, z, shift)[0]
        return np.array([[self.shards.run(tasks.intercept_slope, z, float(shift[0]))[1]]])

    def slope_sums(self, alpha: PerRow) -> tuple[bool, np.ndarray, float]:
        """Return whether all slopes are finite, their sum over the samples, and the sum of their absolute values."""
        infinite, sums, size = self.shards.run(tasks.slope_sums, alpha)
        return not infinite, sums, float(size)

    def only_differences(self, at: Point) -> bool:
        """Return whether the slopes of each sample sum to zero, as for a loss of differences of outputs."""
        return not self.shards.run(tasks.uneven_slopes, at.alpha)[0]

    def column_norms(self) -> np.ndarray:
        """Return the weighted Euclidean norms of all columns, ``sqrt(sum_i p_i x_ij^2)``."""
        return np.sqrt(self.shards.run(tasks.column_squares)[0])

    def value_without_intercept(self) -> float:
        """Return the objective at zero weights and zero intercept. Reads no row."""
        return float(self.shards.run(tasks.zero_value)[0])

    def rounding_columns(self, shift: np.ndarray) -> np.ndarray:
        """Return for each weight a bound on ``sum_i |alpha_i x_ij|`` at zero weights, the scale of its rounding error.

        ``shift`` is the intercept at zero weights. `Problem.tolerance` uses the bound.
        """
        squares, size = self.shards.run(tasks.rounding_squares, shift, self.curvature_scale)
        with np.errstate(over="ignore", invalid="ignore"):  # overflow shows in the objective
            return np.sqrt(squares) * np.sqrt(size)

    @cached_property
    def curvature_scale(self) -> float:
        """Scale of the loss's curvature: its smoothness or, if infinite, the largest curvature at zero weights.

        Quadratic models use a small fraction of it as the smallest curvature of a sample. It reads no row.
        """
        smoothness = float(self.base_loss.smoothness())
        if np.isfinite(smoothness):
            return smoothness
        at = self.point(self.zeros())
        largest = max(self.shards.run(tasks.largest_curvature, at.z, at.shift, at.losses, at.alpha)[0])
        return largest if 0.0 < largest < np.inf else 1.0


def _with_linear(at: Point, linear: float) -> Point:
    """Return a point after the linear term is added to its objective."""
    return at._replace(value=at.value + linear, linear=linear) if linear else at
