"""Active atoms that are vertices of any set, for data on a cluster: their predictions stay with the rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from frankwolfe.cluster.handles import Handle
from frankwolfe.engines.cluster.remote_matrix import RemoteMatrix, VertexImages
from frankwolfe.engines.corrective.active_atoms import Vertices
from frankwolfe.engines.state import copied


class RemoteVertices(Vertices):
    """The vertices that an oracle named, and handles to their predictions."""

    def _images(self, point: np.ndarray) -> Any:
        """Return a handle to the predictions of a point: a vertex is sent once."""
        return self.problem.objective.predict(point)

    def _matrix_of(self, images: list[Handle]) -> RemoteMatrix:  # type: ignore[override]
        """Return the predictions of all atoms as a matrix."""
        return RemoteMatrix(self.problem.objective, VertexImages(tuple(images)))

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
