"""The objective of a problem, written once for rows in memory, on disk and on a cluster.

All work on rows or samples is done by tasks (`frankwolfe.objective.tasks`). What has an entry for each row, such as
predictions, losses and slopes, stays with the rows: an array on this machine, a `Kept` on a cluster.
"""

from functools import cached_property
from typing import Any

import numpy as np

from frankwolfe.losses.loss_arrays import LossArrays
from frankwolfe.objective import tasks
from frankwolfe.objective.intercept import InterceptSearch, is_shifted, kinked_point
from frankwolfe.objective.point import Guess, Point, Segment, ZeroModel
from frankwolfe.objective.tasks import EPSILON
from frankwolfe.shards.interface import Kept, Shards
from frankwolfe.shards.local import Local, Serial, Threads

Before = Point | Guess | ZeroModel | None


class Objective:
    """``F(w) = sum_i p_i f(x_i' w, y_i)``, and its minimum over an intercept where there is one.

    Parameters
    ----------
    samples : Samples
        Rows, targets, weights and loss; the loss has a shift where there is an intercept.
    size : int
        Number of weights.
    executor : Serial or Threads, optional
        Works on the blocks of rows; by default as many threads as there are cores.
    shards : Shards, optional
        Where the rows are, if not on this machine.
    starts_at_zero : bool
        Whether runs start from the zero model. Where calls are costly, evaluating it takes the first exact pass too.
    """

    def __init__(
        self,
        samples: Any,
        size: int,
        executor: Serial | Threads | None = None,
        shards: Shards | None = None,
        starts_at_zero: bool = False,
    ):
        self.samples, self.size, self.outputs = samples, size, samples.rows.outputs
        self.shards: Any = shards or Local(samples._replace(loss=self.base_loss), size, executor)
        self._starts_at_zero = starts_at_zero and not is_shifted(samples.loss)
        self._pass_at_zero: tuple[Point, np.ndarray] | None = None
        self._atom_slopes: list[tuple[Any, Any, np.ndarray]] = []

    @property
    def base_loss(self) -> Any:
        """The loss of predictions to which the intercept, if there is one, has been added."""
        loss = self.samples.loss
        return loss.base if is_shifted(loss) else loss

    @property
    def losses(self) -> LossArrays:
        """The same loss for many samples at once, where rows are on this machine."""
        return self.shards.losses

    @property
    def compiled(self) -> bool:
        """Whether the data is so large that kernels work on it; workers of a cluster choose for themselves."""
        return isinstance(self.shards, Local) and self.shards.losses.compiled

    @property
    def executor(self) -> Any:
        """What works on the blocks of rows on this machine."""
        return self.shards.executor

    @property
    def reads(self) -> float | None:
        """How often all rows have been read from disk; None where they are in memory."""
        return self.shards.reads

    # --- exact passes ---------------------------------------------------------------------------------------------

    def predict(self, w: Any) -> Any:
        """Return all predictions without an intercept, in the shape of the targets: half a pass."""
        return self.shards.keep(tasks.predict, w)

    def gradient(self, alpha: Any) -> np.ndarray:
        """Return ``X' alpha``, flat, for one weighted derivative a prediction: half a pass."""
        return self.shards.run(tasks.gradient, alpha)[0]

    def at(self, w: Any, before: Before = None, since: Any = None) -> tuple[Point, np.ndarray]:
        """Return the point with the weights ``w``, and the gradient there: the exact pass.

        ``before`` is where the search for an intercept starts, see `point`. ``since`` are predictions: the slope along
        the segment from there is returned with the point.
        """
        known, self._pass_at_zero = self._pass_at_zero, None  # for the first pass only: it takes up memory on workers
        if known is not None and not w.any():
            return known
        if is_shifted(self.samples.loss):  # the best intercept needs all predictions first
            z = self.predict(w)
            found = self.point(z, before, None if since is None else Segment(self, since, z))
            return found, self.gradient(found.alpha)
        more = self.shards.calls_are_costly
        found = self.shards.run(tasks.exact_pass, w, keep=3, also=(since, more))
        z, losses, alpha, value, reach, along, gradient = found
        z, size = z.ravel(), float(reach) if more else None
        slope = None if since is None else (since, z, float(along))
        return Point(z, losses, alpha.ravel(), float(value), size=size, along=slope), gradient

    def point(self, z: Any, before: Before = None, segment: Segment | None = None) -> Point:
        """Evaluate the objective where the predictions are ``z``, with the best intercept if there is one.

        ``before`` is another point, close by if possible: its intercept is where the search for the best one starts.
        ``segment`` is one along which the slope will be needed.
        """
        samples, z = self.samples, z.reshape(self.samples.shape)
        if is_shifted(samples.loss) and not samples.loss.smooth:
            return kinked_point(samples, z)
        if is_shifted(samples.loss):
            return self._with_best_intercept(z, before, segment)
        atoms, also = self.extras_for(z, segment)
        losses, alpha, *found, slopes = self.shards.run(tasks.evaluate, z, None, keep=2, also=also)
        value, reach, along = map(float, found)
        self.note_slopes(atoms, alpha, slopes)
        return Point(z.ravel(), losses, alpha.ravel(), value, **self._extras_of(segment, reach, along))

    def _with_best_intercept(self, z: Any, before: Before, segment: Segment | None) -> Point:
        """Return the point with some predictions and the best intercept for them."""
        search = InterceptSearch(self, z, segment)
        shift, curve = search.best(before)
        at, stationary = search.sums(shift), search.is_level(shift)
        losses, alpha, reach, along = search.last
        extras = self._extras_of(segment, reach, along)
        return Point(z.ravel(), losses, alpha.ravel(), at.value, shift, stationary, search.mean, curve, **extras)

    def extras_for(self, z: Any, segment: Segment | None) -> tuple[Any, tuple]:
        """Return the active atoms that predictions combine, if known, and what a task should return with a point.

        Where calls are costly that is all that will be needed there: slopes along a segment, and along the atoms.
        """
        if not self.shards.calls_are_costly:
            return None, ()
        atoms = z.args[0] if isinstance(z, Kept) and z.task is tasks.combine else None
        return atoms, (None if segment is None else segment.ends, atoms, True)

    def _extras_of(self, segment: Segment | None, reach: float, along: float) -> dict[str, Any]:
        """Return the fields of a point that came as extras."""
        if not self.shards.calls_are_costly:
            return {}
        return {"size": reach, "along": None if segment is None else (*segment.ends, along)}

    def note_slopes(self, atoms: Any, alpha: Any, slopes: np.ndarray) -> None:
        """Keep the slopes at a point along active atoms, of the last two points: they will be needed."""
        if atoms is not None:
            self._atom_slopes = [*self._atom_slopes[-1:], (atoms, alpha, slopes)]

    def slopes_along(self, atoms: Any, alpha: Any) -> np.ndarray | None:
        """Return the slopes along active atoms, if they came with the point whose derivatives these are."""
        return next((s for known, at, s in self._atom_slopes if known is atoms and at is alpha), None)

    def zero_model(self) -> ZeroModel:
        """Evaluate the zero model. No row is read, unless calls are costly and runs start there."""
        if self._starts_at_zero and self.shards.calls_are_costly:
            self._pass_at_zero = self.at(np.zeros(self.size))
            return ZeroModel(self._pass_at_zero[0].value, None, None, None)
        at = self.point(self.zeros())
        return ZeroModel(at.value, at.shift, at.mean, at.curve)

    # --- vectors --------------------------------------------------------------------------------------------------

    def zeros(self) -> Any:
        """Return zeros, one for each prediction."""
        return self.shards.keep(tasks.zeros)

    def vectors_at(self, w: Any, shift: Any) -> tuple[Any, Any, Any]:
        """Return predictions, losses and slopes at some weights and an intercept; clusters compute them when needed."""
        z = self.predict(w)
        found = self.shards.keep(tasks.evaluate, z, shift)
        return z, *(self.shards.keep(tasks.entry, found, k) for k in range(2))

    def sum_of(self, z: Any, other: Any) -> Any:
        """Return the sum of predictions."""
        return self.shards.keep(tasks.mix, z, other, 1.0)

    def segment(self, at: Point, images: Any) -> Segment:
        """Return the segment from a point to some predictions."""
        return Segment(self, at.z, images)

    def curvatures(self, at: Point, care: float, floor: float) -> Any:
        """Return weighted curvatures at a point, one for each prediction, none of them less than ``floor`` in size.

        ``care`` is explained in `frankwolfe.objective.tasks.fill_curvatures`.
        """
        return self.shards.keep(tasks.curvatures, at.z, at.shift, at.losses, at.alpha, care, floor)

    def nearest_slopes(self, alpha: Any) -> Any:
        """Return slopes near ``alpha`` that are in the domains of their conjugates; the same where they are already."""
        return self.shards.keep(tasks.nearest_slopes, alpha)

    # --- sums -----------------------------------------------------------------------------------------------------

    def increase(self, there: Point, here: Point) -> float:
        """Return the increase of the objective from one point to another, summed sample by sample."""
        return float(self.shards.run(tasks.increase, there.losses, here.losses)[0])

    def gap_rounding(self, at: Point, alpha: Any) -> float:
        """Return what rounding may do to a gap by some slopes, whose terms are of the size of ``alpha_i z_i``."""
        if at.size is not None and alpha is at.alpha:
            return 4.0 * EPSILON * at.size
        return 4.0 * EPSILON * float(self.shards.run(tasks.sizes, alpha, at.z)[0])

    def residuals(self, at: Point, alpha: Any) -> float:
        """Return ``sum_i p_i (f_i(z_i) + f_i*(alpha_i / p_i) - alpha_i z_i / p_i)`` at a point: no term is negative.

        It is infinite where a slope is outside of the domain of its conjugate. No row is read.
        """
        return float(self.shards.run(tasks.residuals, at.z, at.shift, alpha)[0])

    def conjugates(self, alpha: Any) -> tuple[float, float]:
        """Return ``sum_i p_i f_i*(alpha_i / p_i)`` and the sum of its terms' sizes; infinite outside of the domain."""
        total, size = self.shards.run(tasks.conjugates, alpha)
        return float(total), float(size)

    def shift_curvature(self, z: Any, shift: np.ndarray) -> np.ndarray:
        """Return the second derivative of the objective in a shift of all predictions ``z``, a matrix."""
        if self.outputs:
            return self.shards.run(tasks.intercept_hessian, z, shift)[0]
        return np.array([[self.shards.run(tasks.intercept_slope, z, float(shift[0]))[1]]])

    def slope_sums(self, alpha: Any) -> tuple[bool, np.ndarray, float]:
        """Return whether slopes are finite, their sums over all samples, and the sum of their sizes."""
        infinite, sums, size = self.shards.run(tasks.slope_sums, alpha)
        return not infinite, sums, float(size)

    def only_differences(self, at: Point) -> bool:
        """Return whether the loss depends on differences of outputs only: slopes of each sample sum to zero."""
        return not self.shards.run(tasks.uneven_slopes, at.alpha)[0]

    def column_norms(self) -> np.ndarray:
        """Return the Euclidean norms of all columns, rows counted by their weights."""
        return np.sqrt(self.shards.run(tasks.column_squares)[0])

    def value_without_intercept(self) -> float:
        """Return the objective of the zero model whose intercept is zero too. No row is read."""
        return float(self.shards.run(tasks.zero_value)[0])

    def rounding_columns(self, shift: np.ndarray) -> np.ndarray:
        """Return, for each weight, the size of what slopes at the zero model are summed up from, times its column.

        Of an objective with an intercept ``shift`` at the zero model: see `Problem.tolerance`.
        """
        squares, size = self.shards.run(tasks.rounding_squares, shift, self.curvature_scale)
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows shows in the objective
            return np.sqrt(squares) * np.sqrt(size)

    @cached_property
    def curvature_scale(self) -> float:
        """Size of the loss's curvatures: its smoothness or, where that is infinite, the largest one at the zero model.

        Models use a small part of it as the least curvature of a sample. No row is read.
        """
        smoothness = float(self.base_loss.smoothness())
        if np.isfinite(smoothness):
            return smoothness
        at = self.point(self.zeros())
        largest = max(self.shards.run(tasks.largest_curvature, at.z, at.shift, at.losses, at.alpha)[0])
        return largest if 0.0 < largest < np.inf else 1.0
