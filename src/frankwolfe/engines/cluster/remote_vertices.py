"""Active atoms that are vertices of any set, for data on a cluster: their predictions stay with the rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from frankwolfe.engines.cluster.remote_matrix import RemoteMatrix, vertex_images
from frankwolfe.engines.corrective.active_atoms import Vertices
from frankwolfe.engines.state import copied
from frankwolfe.shards.interface import Kept


class RemoteVertices(Vertices):
    """The vertices that an oracle named, and their predictions, which stay with the rows."""

    def _images(self, point: np.ndarray) -> Any:
        """Return the predictions of a point: a vertex is sent once."""
        return self.problem.objective.predict(point)

    def _matrix_of(self, images: list[Kept]) -> RemoteMatrix:  # type: ignore[override]
        """Return the predictions of all atoms as a matrix."""
        objective = self.problem.objective
        return RemoteMatrix(objective, objective.shards.keep(vertex_images, tuple(images)))

    def state(self) -> dict[str, Any]:
        """Return the atoms and their weights: predictions are made again from them."""
        found = {"atoms.u": self.u, "atoms.points": self.points}
        return found if self.hessian is None else found | self.hessian.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over all that a state holds."""
        self.u, self.points = (copied(state[f"atoms.{name}"]) for name in ("u", "points"))
        self.matrix = self._matrix_of([self._images(point) for point in self.points])
        if "hessian.H" in state:
            self.hessian = self.matrix.hessian()
            self.hessian.restore(state)
