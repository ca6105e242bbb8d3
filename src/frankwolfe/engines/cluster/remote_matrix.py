"""The columns of active atoms on a cluster: every part copies its own, and models are summed up from there."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.cluster.handles import Handle, Recipe
from frankwolfe.cluster.parts import Part
from frankwolfe.cluster.recipes import Combination
from frankwolfe.engines.corrective.columns import DenseColumns
from frankwolfe.engines.corrective.row_blocks import active_matrix
from frankwolfe.linalg.matrices import eliminated

SUMS = ("H", "cross", "total")
"""What a model is summed up of: the Hessian and, where there is an intercept, the second derivatives with it."""


class ActiveColumns(NamedTuple):
    """Recipe of a copy of some columns of the data."""

    posed: Handle
    active: np.ndarray

    def make(self, part: Part) -> Any:
        """Return the copy."""
        return active_matrix(part.get(self.posed), self.active)


class VertexImages(NamedTuple):
    """Recipe of the predictions of some vertices, as columns."""

    images: tuple[Handle, ...]

    def make(self, part: Part) -> DenseColumns:
        """Return them."""
        return DenseColumns(np.vstack([part.get(image).reshape(1, -1) for image in self.images]))


def project(part: Part, matrix: Handle, v: Handle) -> tuple:
    """Return ``A' v``."""
    return (part.get(matrix).project(part.get(v).ravel()),)


def model(part: Part, matrix: Handle, curvatures: Handle, chosen: np.ndarray, shifts: int) -> tuple:
    """Return ``A' D A`` for some atoms and, for intercepts, the second derivatives in them and in both."""
    A, D = part.get(matrix), part.get(curvatures)
    H = A.gram(D, chosen)
    if not shifts:
        return (H,)
    if D.ndim == 3:
        cross = np.array([A.project(D[:, output].ravel())[chosen] for output in range(shifts)])
        return H, cross, D.sum(axis=0)
    diagonal, cross = D.reshape(-1, shifts), np.empty((shifts, len(chosen)))
    for output in range(shifts):
        own = np.zeros_like(diagonal)
        own[:, output] = diagonal[:, output]
        cross[output] = A.project(own.ravel())[chosen]
    return H, cross, np.diag(diagonal.sum(axis=0))


class RemoteMatrix:
    """The matrix ``A`` of the predictions of all active atoms, on a cluster.

    Parameters
    ----------
    objective : RemoteObjective
        Of the problem.
    recipe : Recipe
        How parts make their rows of it.
    """

    sparse = False  # what decides between models on one machine: here the Hessian is always formed

    def __init__(self, objective: Any, recipe: Recipe):
        self.objective, self.recipe = objective, recipe
        self.matrix: Handle = objective.cluster.handle(recipe)

    def predict(self, u: np.ndarray) -> Handle:
        """Return a handle to ``A u``."""
        return self.objective.vector(Combination(self.objective.posed, self.matrix, u.copy()))

    def project(self, v: Handle) -> np.ndarray:
        """Return ``A' v``: what came with a point, or a call."""
        found = self.objective.slopes_along(self.matrix, v)
        return self.objective.cluster.run("project", project, self.matrix, v)[0] if found is None else found

    def hessian(self) -> "RemoteHessian":
        """Return the Hessian of its atoms."""
        return RemoteHessian(self)

    def chosen(self, kept: np.ndarray) -> list[Handle]:
        """Return the predictions of some of the vertices."""
        assert isinstance(self.recipe, VertexImages)
        return [self.recipe.images[k] for k in np.flatnonzero(kept)]


class RemoteHessian:
    """The Hessian ``A' D A`` of some atoms: summed up anew for a model, unless the last one serves on.

    Attributes
    ----------
    serves_on : bool
        Whether the next model may have the Hessian of the last one.
    """

    def __init__(self, matrix: RemoteMatrix):
        self.matrix, self.serves_on = matrix, False
        self.chosen = np.empty(0, np.intp)
        self._sums: tuple = ()

    def at(self, curvatures: Handle, chosen: np.ndarray) -> np.ndarray:
        """Return the Hessian of the atoms ``chosen``, ascending; what an intercept needs comes with it."""
        if not (self.serves_on and self._sums and np.isin(chosen, self.chosen).all()):
            objective = self.matrix.objective
            shifts = 0 if objective.base_loss is objective.samples.loss else max(1, objective.outputs)
            self._sums = objective.cluster.run("model", model, self.matrix.matrix, curvatures, chosen, shifts)
        elif len(chosen) < len(self.chosen):
            place = np.searchsorted(self.chosen, chosen)
            H, *rest = self._sums
            self._sums = H[np.ix_(place, place)], *([rest[0][:, place], rest[1]] if rest else [])
        self.chosen = chosen
        return self._sums[0]

    def with_best_shifts(self, shifts: int) -> np.ndarray:
        """Return the Hessian of the model in which intercepts follow the weights."""
        H, cross, total = self._sums
        return eliminated(H, cross, total)

    def state(self) -> dict[str, Any]:
        """Return the sums, and of which atoms they are."""
        names = dict(zip(SUMS, self._sums, strict=False)) or {SUMS[0]: np.empty((0, 0))}
        return {f"hessian.{name}": value for name, value in names.items()} | {"hessian.chosen": self.chosen}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over the sums of a state."""
        self.chosen = state["hessian.chosen"].copy()
        kept = [state[f"hessian.{name}"].copy(order="K") for name in SUMS if f"hessian.{name}" in state]
        self._sums = tuple(kept) if kept[0].size else ()
