"""The columns of active atoms on a cluster: every part copies its own, and models are summed up from there."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from frankwolfe.linalg.matrices import eliminated
from frankwolfe.objective.tasks import combine
from frankwolfe.shards.interface import Kept
from frankwolfe.shards.local import Local

SUMS = ("H", "cross", "total")
"""What a model is summed up of: the Hessian and, where there is an intercept, the second derivatives with it."""


def project(local: Local, matrix: Any, v: np.ndarray) -> tuple:
    """Return ``A' v``."""
    return (matrix.project(v.ravel()),)


def model(local: Local, A: Any, D: np.ndarray, chosen: np.ndarray, shifts: int) -> tuple:
    """Return ``A' D A`` for some atoms and, for intercepts, the second derivatives in them and in both."""
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


def placed(objective: Any, matrix: Any) -> Any:
    """Return a matrix of active columns as it is or, where it stays on a cluster, what stands for it."""
    return RemoteMatrix(objective, matrix) if isinstance(matrix, Kept) else matrix


class RemoteMatrix:
    """The matrix ``A`` of the predictions of all active atoms, on a cluster.

    Parameters
    ----------
    objective : Objective
        Of the problem.
    matrix : Kept
        The matrix, on the workers.
    """

    sparse = False  # what decides between models on one machine: here the Hessian is always formed

    def __init__(self, objective: Any, matrix: Kept):
        self.objective, self.matrix = objective, matrix

    def predict(self, u: np.ndarray) -> Kept:
        """Return ``A u``."""
        return self.objective.shards.keep(combine, self.matrix, u)

    def project(self, v: Kept) -> np.ndarray:
        """Return ``A' v``: what came with a point, or a call."""
        found = self.objective.slopes_along(self.matrix, v)
        return self.objective.shards.run(project, self.matrix, v)[0] if found is None else found

    def hessian(self) -> "RemoteHessian":
        """Return the Hessian of its atoms."""
        return RemoteHessian(self)

    def chosen(self, kept: np.ndarray) -> list[Kept]:
        """Return the predictions of some of the vertices."""
        return [self.matrix.args[0][k] for k in np.flatnonzero(kept)]


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

    def at(self, curvatures: Kept, chosen: np.ndarray) -> np.ndarray:
        """Return the Hessian of the atoms ``chosen``, ascending; what an intercept needs comes with it."""
        if not (self.serves_on and self._sums and np.isin(chosen, self.chosen).all()):
            objective = self.matrix.objective
            shifts = 0 if objective.base_loss is objective.samples.loss else max(1, objective.outputs)
            self._sums = objective.shards.run(model, self.matrix.matrix, curvatures, chosen, shifts)
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
