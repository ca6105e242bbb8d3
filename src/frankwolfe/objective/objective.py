"""The objective of a problem: all that reads every row of the data is here.

Work is cut into blocks of rows (`frankwolfe.rows.blocks`). What is done with a block is a task that fills its part of
an array, or returns arrays to be added up in block order. An executor says who does it (`frankwolfe.shards.local`).
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.objective.intercept import is_shifted
from frankwolfe.objective.intercept_search import InterceptSearch
from frankwolfe.objective.kinked_intercept import kinked_point
from frankwolfe.objective.point import Guess, Point, ZeroModel
from frankwolfe.objective.prediction_sums import PredictionSums
from frankwolfe.objective.sums import (
    evaluate_losses,
    fill_curvatures,
    fill_output_curvatures,
    project_slopes,
    sum_conjugates,
    sum_residuals,
)
from frankwolfe.objective.way import Way
from frankwolfe.rows import blocks
from frankwolfe.rows.blocks import block_entries, even_parts
from frankwolfe.rows.samples import Samples
from frankwolfe.shards.disk import Place, StoredRows
from frankwolfe.shards.local import Serial, Threads, executor_for


class Block(NamedTuple):
    """Rows that follow each other: which they are, and the samples."""

    part: slice
    samples: Samples


class Objective:
    """``F(w) = sum_i p_i f(x_i' w, y_i)``, and its minimum over an intercept where there is one.

    Parameters
    ----------
    samples : Samples
        Rows, targets, weights and loss.
    size : int
        Number of weights.
    executor : Serial or Threads, optional
        Who works on the blocks; by default as many threads as there are cores.
    """

    def __init__(self, samples: Samples, size: int, executor: Serial | Threads | None = None):
        self.samples, self.size = samples, size
        self.executor = executor_for() if executor is None else executor

    @cached_property
    def blocks(self) -> list[Block]:
        """The rows in memory, cut by size."""
        rows = self.samples.rows
        parts = rows.cut(block_entries(rows.stored(), self.size))
        return [Block(part, self.samples.block(part)) for part in parts]

    @cached_property
    def places(self) -> list[Place]:
        """The rows on disk, cut by size."""
        rows = self.samples.rows
        return rows.places(block_entries(rows.stored(), self.size))

    @property
    def reads(self) -> float | None:
        """How often all rows have been read from disk; None where they are in memory."""
        return self.samples.rows.reads if isinstance(self.samples.rows, StoredRows) else None

    def each(self, task: Callable[[Block], tuple]) -> tuple:
        """Run a task for each block of rows; return the sums of what it returns, added in block order.

        Nothing that looks at the rows of a block may be kept: rows on disk are read into memory that is used again.
        """
        rows, targets, weights, loss = self.samples
        if not isinstance(rows, StoredRows):
            return self.executor.run(task, self.blocks)
        with rows.reading(self.places) as read:

            def on_disk(place: Place) -> tuple:
                with read.rows(place) as some:
                    samples = Samples(some, targets[place.part], weights[place.part], loss)
                    return task(Block(place.part, samples))

            return self.executor.run(on_disk, self.places)

    @cached_property
    def parts(self) -> list[slice]:
        """The samples, cut by their number: for work that reads predictions and no rows."""
        return even_parts(len(self.samples.weights), max((1, *self.samples.shape[1:])), blocks.LEAST)

    def over(self, task: Callable[[slice], tuple]) -> tuple:
        """Run a task for each part of the samples; return the sums of what it returns."""
        return self.executor.run(task, self.parts)

    def predict(self, w: Any) -> np.ndarray:
        """Return all predictions without an intercept, in the shape of the targets: half a pass."""
        z = np.empty(self.samples.shape)

        def task(block: Block) -> tuple:
            z[block.part] = block.samples.rows.dot_all(w)
            return ()

        self.each(task)
        return z

    def gradient(self, alpha: np.ndarray) -> np.ndarray:
        """Return ``X' alpha``, flat, for one weighted derivative a prediction: half a pass."""
        alpha = alpha.reshape(self.samples.shape)

        def task(block: Block) -> tuple:
            return (np.asarray(block.samples.rows.add_all(alpha[block.part], self.size), np.float64),)

        return self.each(task)[0]

    def at(self, w: Any, before: Point | Guess | ZeroModel | None = None) -> tuple[Point, np.ndarray]:
        """Return the point with the weights ``w``, and the gradient there: the exact pass.

        ``before`` is where the search for an intercept starts, see `point`.
        """
        if is_shifted(self.samples.loss):  # the best intercept needs all predictions first
            found = self.point(self.predict(w), before)
            return found, self.gradient(found.alpha)
        z, losses, alpha = np.empty(self.samples.shape), np.empty(len(self.samples.weights)), self.samples.table()

        def task(block: Block) -> tuple:
            part, (rows, targets, weights, loss) = block
            z[part] = rows.dot_all(w)
            value = evaluate_losses(targets, weights, loss, z[part], losses[part], alpha[part])
            return value, np.asarray(rows.add_all(alpha[part], self.size), np.float64)  # while the rows are in cache

        value, gradient = self.each(task)
        return Point(z.ravel(), losses, alpha.ravel(), float(value)), gradient

    def point(self, z: np.ndarray, before: Point | Guess | ZeroModel | None = None, way: Way | None = None) -> Point:
        """Evaluate the objective where the predictions are ``z``, with the best intercept if there is one.

        ``before`` is another point, close by if possible: its intercept is where the search for the best one starts.
        ``way`` is where the slope will be asked for; here it is as well asked for later.
        """
        samples, z = self.samples, z.reshape(self.samples.shape)
        if is_shifted(samples.loss) and not samples.loss.smooth:
            return kinked_point(samples, z)
        if is_shifted(samples.loss):
            sums = PredictionSums(samples, samples.loss.base, self.over, z)
            search = InterceptSearch(sums, sums.loss)
            shift, curve = search.best(before)
            at, stationary = search.sums(shift), search.is_level(shift)
            return Point(z.ravel(), sums.losses, sums.alpha.ravel(), at.value, shift, stationary, sums.mean, curve)
        losses, alpha = np.empty(len(samples.weights)), np.empty(samples.shape)
        targets, weights, loss = samples.targets, samples.weights, samples.loss

        def task(part: slice) -> tuple:
            return (evaluate_losses(targets[part], weights[part], loss, z[part], losses[part], alpha[part]),)

        return Point(z.ravel(), losses, alpha.ravel(), float(self.over(task)[0]))

    def sum_of(self, z: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return the sum of predictions."""
        return z + other

    def only_differences(self, at: Point) -> bool:
        """Whether the slopes of each sample sum to zero over the outputs: the loss minds only differences."""
        alpha = at.alpha.reshape(self.samples.shape)
        return bool((np.abs(alpha.sum(axis=1)) <= 1e-12 * np.abs(alpha).sum(axis=1)).all())

    def way(self, at: Point, images: np.ndarray) -> Way:
        """Return the way from a point to where predictions are told."""
        return Way(at.z, images)

    def rise(self, there: Point, here: Point) -> float:
        """Return how much higher the objective is at one point than at another, summed sample by sample."""
        return float(self.samples.weights @ (there.losses - here.losses))

    def slope_sums(self, alpha: np.ndarray) -> tuple[bool, np.ndarray, float]:
        """Return whether slopes are finite, their sums over all samples, and the sum of their sizes."""
        if not np.isfinite(alpha).all():
            return False, np.zeros(0), np.inf
        return True, np.atleast_1d(alpha.sum(axis=0)), float(np.abs(alpha).sum())

    def rounding_columns(self, shift: np.ndarray) -> np.ndarray:
        """Return, for each weight, the size of what slopes at the zero model are summed up from, times its column.

        Of an objective with an intercept ``shift`` at the zero model: see `Problem.tolerance`.
        """
        loss, samples, zero = self.base_loss, self.samples, self.without_intercept()
        pulls = np.abs(zero.alpha.reshape(len(samples.weights), -1)).sum(axis=1)
        if loss.smooth:  # elsewhere slopes do not depend on the intercept but by jumps
            pulls += samples.weights * self.curvature_scale * np.abs(shift).max()
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows shows in the objective
            return self.column_norms(pulls) * np.sqrt(pulls.sum())

    def without_intercept(self) -> Point:
        """Evaluate the zero model whose intercept is zero too. No row is read."""
        samples = self.samples._replace(loss=self.base_loss)
        return Objective(samples, self.size, self.executor).point(samples.table())

    @cached_property
    def curvature_scale(self) -> float:
        """Size of the loss's curvatures: its smoothness or, where that is infinite, the largest one at the zero model.

        Models use a small part of it as the least curvature of a sample. No row is read.
        """
        smoothness = float(self.base_loss.smoothness())
        if np.isfinite(smoothness):
            return smoothness
        weights = self.samples.weights.reshape(-1, *[1] * (len(self.samples.shape) - 1))
        found = self.curvatures(self.point(self.samples.table()), 0.0, 0.0).reshape(self.samples.shape)
        largest = float(np.max(np.divide(found, weights, out=np.zeros_like(found), where=weights > 0.0)))
        return largest if 0.0 < largest < np.inf else 1.0

    def zero_model(self) -> ZeroModel:
        """Evaluate the zero model. No row is read: all its predictions are zero."""
        at = self.point(self.samples.table())
        return ZeroModel(at.value, at.shift, at.mean, at.curve)

    @property
    def base_loss(self) -> Any:
        """The loss of predictions to which the intercept, if there is one, has been added."""
        loss = self.samples.loss
        return loss.base if is_shifted(loss) else loss

    def residuals(self, at: Point, alpha: np.ndarray) -> float:
        """Return ``sum_i p_i (f_i(z_i) + f_i*(alpha_i / p_i) - alpha_i z_i / p_i)`` at a point: no term is negative.

        It is infinite where a slope is outside of the domain of its conjugate. No row is read.
        """
        samples, loss, z = self.samples, self.base_loss, at.shifted().reshape(self.samples.shape)
        targets, weights = samples.targets, samples.weights

        def task(part: slice) -> tuple:
            return (sum_residuals(targets[part], weights[part], loss, z[part], alpha[part]),)

        return float(self.over(task)[0])

    def conjugates(self, alpha: np.ndarray) -> tuple[float, float]:
        """Return ``sum_i p_i f_i*(alpha_i / p_i)`` and the sum of its terms' sizes; infinite outside of the domain."""
        samples, loss = self.samples, self.base_loss
        targets, weights = samples.targets, samples.weights

        def task(part: slice) -> tuple:
            return sum_conjugates(targets[part], weights[part], loss, alpha[part])

        total, size = self.over(task)
        return float(total), float(size)

    def nearest_slopes(self, alpha: np.ndarray) -> np.ndarray:
        """Return slopes near ``alpha`` that are in the domains of their conjugates; the same where they are already."""
        samples, loss, nearest = self.samples, self.base_loss, np.empty(self.samples.shape)
        targets, weights = samples.targets, samples.weights

        def task(part: slice) -> tuple:
            project_slopes(targets[part], weights[part], loss, alpha[part], nearest[part])
            return ()

        self.over(task)
        return nearest

    def column_norms(self, weights: np.ndarray) -> np.ndarray:
        """Return the Euclidean norms of all columns, row ``i`` counted ``weights[i]`` times, one for each weight."""

        def task(block: Block) -> tuple:
            return (block.samples.rows.column_norms(weights[block.part], self.size) ** 2,)

        with np.errstate(over="ignore", invalid="ignore"):  # what overflows shows in the objective
            return np.sqrt(self.each(task)[0])

    def curvatures(self, at: Point, care: float, floor: float) -> np.ndarray:
        """Return weighted curvatures at a point, one for each prediction, none of them less than ``floor`` in size.

        ``care`` is explained in `frankwolfe.objective.sums.fill_curvatures`.
        """
        samples, z = self.samples, at.shifted().reshape(self.samples.shape)
        found, alpha, losses = np.empty(samples.shape), at.alpha.reshape(samples.shape), at.losses
        targets, weights, loss = samples.targets, samples.weights, samples.loss
        loss = loss if at.shift is None else loss.base

        def task(part: slice) -> tuple:
            if found.ndim == 1:
                fill_curvatures(
                    targets[part], weights[part], loss, z[part], losses[part], alpha[part], care, floor, found[part]
                )
            else:
                fill_output_curvatures(targets[part], weights[part], loss, z[part], floor, found[part])
            return ()

        self.over(task)
        return found.ravel()
