"""The objective of a problem whose rows are on a cluster: the face of `Objective`, with handles for vectors."""

from typing import Any

import numpy as np

from frankwolfe.cluster import tasks
from frankwolfe.cluster.cluster import Cluster
from frankwolfe.cluster.handles import Handle
from frankwolfe.cluster.recipes import Combination, CurvaturesAt, Evaluated, Mixture, Prediction, Slopes, Sum, packed
from frankwolfe.cluster.remote_point import RemotePoint, RemoteWay
from frankwolfe.cluster.remote_samples import RemoteSamples
from frankwolfe.cluster.remote_sums import RemoteSums
from frankwolfe.objective.intercept import is_shifted
from frankwolfe.objective.intercept_search import InterceptSearch
from frankwolfe.objective.point import Guess, Point, ZeroModel

Before = RemotePoint | Point | Guess | ZeroModel | None


class RemoteObjective:
    """``F(w) = sum_i p_i f(x_i' w, y_i)`` over rows on a cluster.

    Predictions, slopes and curvatures are handles. To name one costs nothing: it is made when a call needs it. Every
    method that returns numbers or arrays is one call to all parts, or several where there is an intercept.

    Parameters
    ----------
    cluster : Cluster
        The parts of the data.
    samples : RemoteSamples
        What is known of them.
    size : int
        Number of weights.
    starts_at_zero : bool
        Whether runs start from the zero model. Then the call that evaluates it takes the first exact pass too.
    """

    reads = None

    def __init__(self, cluster: Cluster, samples: RemoteSamples, size: int, starts_at_zero: bool = False):
        self.cluster, self.samples, self.size = cluster, samples, size
        self._starts_at_zero = starts_at_zero and not is_shifted(samples.loss)
        self._pass_at_zero: tuple[RemotePoint, np.ndarray] | None = None
        self.posed, self.outputs = samples.posed, samples.rows.outputs
        self._atom_slopes: dict[tuple[str, str], np.ndarray] = {}

    @property
    def curvature_scale(self) -> float:
        """Size of the loss's curvatures: its smoothness, which must be finite on a cluster."""
        return float(self.base_loss.smoothness())

    @property
    def base_loss(self) -> Any:
        """The loss of predictions to which the intercept, if there is one, has been added."""
        loss = self.samples.loss
        return loss.base if is_shifted(loss) else loss

    # --- handles --------------------------------------------------------------------------------------------------

    def predict(self, w: np.ndarray) -> Handle:
        """Return a handle to all predictions without an intercept."""
        return self.vector(Prediction(self.posed, packed(w)))

    def vector(self, recipe: Any) -> Handle:
        """Return a handle to a vector in the shape of the predictions."""
        return self.cluster.handle(recipe, self.samples.shape)

    def mixture(self, here: Handle, there: Handle, gamma: float) -> Handle:
        """Return a handle to predictions on the way between others."""
        return self.vector(Mixture(here, there, gamma))

    def slopes_at(self, point: Handle) -> Handle:
        """Return a handle to the weighted derivatives at a point."""
        return self.vector(Slopes(self.posed, point))

    def curvatures(self, at: RemotePoint, care: float, floor: float) -> Handle:
        """Return a handle to curvatures at a point; see `frankwolfe.objective.objective.Objective.curvatures`."""
        return self.vector(CurvaturesAt(self.posed, at.point, care, floor))

    def sum_of(self, z: Handle, other: Handle) -> Handle:
        """Return a handle to the sum of predictions."""
        return self.vector(Sum(z, other))

    @staticmethod
    def matrix_of(z: Handle) -> Handle | None:
        """Return the matrix of active atoms that predictions are a combination of, if they are one."""
        return z.recipe.matrix if isinstance(z.recipe, Combination) else None

    def note_slopes(self, matrix: Handle | None, point: Handle, slopes: np.ndarray) -> None:
        """Keep the slopes at a point along active atoms, of the last two points: they will be asked for."""
        if matrix is not None:
            self._atom_slopes = {**dict([*self._atom_slopes.items()][-1:]), (matrix.key, point.key): slopes}

    def slopes_along(self, matrix: Handle, alpha: Handle) -> np.ndarray | None:
        """Return the slopes along active atoms, if they came with the point whose derivatives these are."""
        recipe = alpha.recipe
        return self._atom_slopes.get((matrix.key, recipe.point.key)) if isinstance(recipe, Slopes) else None

    def way(self, at: RemotePoint, images: Handle) -> RemoteWay:
        """Return the way from a point to where predictions are told."""
        return RemoteWay(self, at.z, images)

    # --- calls ----------------------------------------------------------------------------------------------------

    def gradient(self, alpha: Handle) -> np.ndarray:
        """Return ``X' alpha``, flat."""
        return self.cluster.run("gradient", tasks.gradient, self.posed, alpha)[0]

    def at(self, w: np.ndarray, before: Before = None, since: Handle | None = None) -> tuple[RemotePoint, np.ndarray]:
        """Return the point with the weights ``w``, and the gradient there: the exact pass.

        ``since`` are predictions, from which the way leads to the point: the slope along it comes with the pass.
        """
        known, self._pass_at_zero = self._pass_at_zero, None  # for the first pass only: it takes up room on workers
        if known is not None and not w.any():
            return known
        z = self.predict(w)
        if is_shifted(self.samples.loss):
            at = self.point(z, before, None if since is None else RemoteWay(self, since, z))
            return at, self.gradient(at.alpha)
        point = self.cluster.handle(Evaluated(self.posed, z, None))
        weights = z.recipe.weights  # type: ignore[union-attr]
        *found, gradient = self.cluster.run("pass", tasks.exact_pass, self.posed, weights, z, point, since)
        value, size, slope = map(float, found)
        slopes = {} if since is None else {RemoteWay(self, since, z).key: slope}
        return RemotePoint(self, z, point, value, size, slopes=slopes), gradient

    def point(self, z: Handle, before: Before = None, way: RemoteWay | None = None) -> RemotePoint:
        """Evaluate the objective where the predictions are ``z``, with the best intercept if there is one."""
        ends = None if way is None else (way.here, way.there)
        if is_shifted(self.samples.loss):
            return self._with_best_shift(z, before, way, ends)
        point = self.cluster.handle(Evaluated(self.posed, z, None))
        matrix = self.matrix_of(z)
        *found, atom_slopes = self.cluster.run("point", tasks.evaluate, point, z, ends, matrix)
        self.note_slopes(matrix, point, atom_slopes)
        value, size, slope = map(float, found)
        return RemotePoint(self, z, point, value, size, slopes={} if way is None else {way.key: slope})

    def _with_best_shift(self, z: Handle, before: Before, way: RemoteWay | None, ends: Any) -> RemotePoint:
        """Return the point with some predictions and the best intercept for them."""
        sums = RemoteSums(self, z, ends)
        search = InterceptSearch(sums, self.base_loss)
        shift, curve = search.best(before)  # type: ignore[arg-type]
        level = search.is_level(shift)  # which evaluates it, if that was not done before
        assert sums.last is not None
        point, value, size, slope = sums.last
        slopes = {} if way is None else {way.key: slope}
        return RemotePoint(self, z, point, value, size, shift, level, sums.mean, curve, slopes)

    def zero_model(self) -> ZeroModel:
        """Evaluate the zero model. Unless runs start there no row is read: all its predictions are zero."""
        if self._starts_at_zero:
            self._pass_at_zero = self.at(np.zeros(self.size))
            return ZeroModel(self._pass_at_zero[0].value, None, None, None)
        at = self.point(self.samples.table())
        return ZeroModel(at.value, at.shift, at.mean, at.curve)

    def slope_along(self, at: RemotePoint, way: RemoteWay) -> float:
        """Return the slope at a point along a way."""
        return float(self.cluster.run("slope", tasks.slope_along, at.point, way.here, way.there)[0])

    def rise(self, there: RemotePoint, here: RemotePoint) -> float:
        """Return how much higher the objective is at one point than at another, summed sample by sample."""
        return float(self.cluster.run("rise", tasks.rise, self.posed, there.point, here.point)[0])

    def reach_of(self, alpha: Handle, z: Handle) -> float:
        """Return ``sum_i |alpha_i z_i|``."""
        return float(self.cluster.run("reach", tasks.reach_of, alpha, z)[0])

    def residuals(self, at: RemotePoint, alpha: Handle) -> float:
        """Return the sum of Fenchel-Young residuals at a point."""
        return float(self.cluster.run("residuals", tasks.residuals, self.posed, at.point, alpha)[0])

    def conjugates(self, alpha: Handle) -> tuple[float, float]:
        """Return the sum of conjugates of slopes, and the sum of its terms' sizes."""
        total, size = self.cluster.run("conjugates", tasks.conjugates, self.posed, alpha)
        return float(total), float(size)

    def nearest_slopes(self, alpha: Handle) -> Handle:
        """Return the slopes as they are: on a cluster those outside of the conjugates' domains prove nothing."""
        return alpha

    def only_differences(self, at: RemotePoint) -> bool:
        """Whether the slopes of each sample sum to zero over the outputs: the loss minds only differences."""
        return not self.cluster.run("differences", tasks.uneven_slopes, self.posed, at.point)[0]

    def slope_sums(self, alpha: Handle) -> tuple[bool, np.ndarray, float]:
        """Return whether slopes are finite, their sums over all samples, and the sum of their sizes."""
        bad, sums, size = self.cluster.run("slopes", tasks.slope_sums, alpha)
        return not bad, sums, float(size)

    def rounding_columns(self, shift: np.ndarray) -> np.ndarray:
        """Return what slopes at the zero model are summed up from, for each weight; see `Objective`."""
        squares, pulls = self.cluster.run("columns", tasks.column_squares, self.posed, shift)
        return np.sqrt(squares * pulls)

    def column_lengths(self) -> np.ndarray:
        """Return the Euclidean norms of all columns, rows counted by their weights."""
        return np.sqrt(self.cluster.run("columns", tasks.column_squares, self.posed, None)[0])
