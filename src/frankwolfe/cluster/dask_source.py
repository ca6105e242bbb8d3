"""`DaskSource`: dask collections, whose rows stay on the workers of a cluster."""

from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.arguments.arrays import column_names
from frankwolfe.arguments.types import Loss, RowNumbers, TargetValues
from frankwolfe.shards.sources import ONE_PROCESS, DataSource, LoadedData, Refusal

_NO_KINK = "a smooth loss, with rows in several processes"
_COMPUTE = "load the data into memory (X.compute())"


class DaskSource(DataSource):
    """A dask array or data frame before it is loaded. Once it is loaded its source is a `RemoteData`.

    Dask is imported when the data is loaded.
    """

    name, in_memory, is_lazy = "a dask collection", "X.compute()", True
    needs = (_NO_KINK,)
    refusals = (
        Refusal(
            ONE_PROCESS,
            lambda facts: True,
            "they are on a cluster",
            f"use 'auto', 'sfw', 'fw' or 'pairwise', or {_COMPUTE}",
        ),
        Refusal(_NO_KINK, lambda facts: not facts.loss.smooth, "{loss} has a kink", f"{_COMPUTE}{{neighbours}}"),
    )

    default_batch = 0.01
    """Every step is a round trip to the workers."""

    def with_offset(self, y: TargetValues, offset: RowNumbers, loss: Loss) -> Any:
        """Return targets and offsets as a dask array of complex numbers, which the workers check."""
        from frankwolfe.cluster.loading import column_array

        if y is None:
            raise TypeError("y is missing: pass the targets, one for each row of X")
        return column_array(y) + 1j * column_array(offset)

    def load(self, y: TargetValues, sample_weight: RowNumbers, loss: Loss, centre: bool) -> LoadedData:
        """Load the chunks of the collection on the workers, and check them there."""
        if find_spec("distributed") is None:
            raise ImportError("X is a dask collection, and this needs dask.distributed: pip install 'frankwolfe[dask]'")
        from frankwolfe.cluster.remote_data import RemoteData

        data = RemoteData.of(self.X, y, sample_weight, loss)
        loss = loss.for_targets(data.witness())
        means = data.means() if centre and not data.is_sparse else None
        rows = RemoteRows(data.nnz, data.is_sparse, loss.outputs, means)
        return LoadedData(data, RemoteSamples(rows, data.shape[0], loss), column_names(self.X))


# --- descriptions of what is on the workers ---------------------------------------------------------------------------


class RemoteRows(NamedTuple):
    """Description of rows on a cluster.

    Attributes
    ----------
    entries : int
        Number of stored entries.
    is_sparse : bool
        Whether rows are sparse.
    outputs : int
        Number of outputs of a prediction; 0 if predictions are scalars.
    means : array or None
        Column means, which are subtracted from dense rows if there is an intercept.
    """

    entries: int
    is_sparse: bool
    outputs: int
    means: np.ndarray | None = None

    def stored(self) -> int:
        """Return the number of stored entries, each counted once for each output."""
        return self.entries * max(1, self.outputs)

    def vectors(self, d: int) -> tuple[np.ndarray, np.ndarray]:
        """Return uninitialised arrays for an iterate and a gradient."""
        return np.empty(d), np.empty(d)

    def mean_prediction(self, w: np.ndarray) -> np.ndarray | float:
        """Return ``means' w``, which centring subtracts from every prediction: a number, or one for each output."""
        if self.means is None:
            return np.zeros(self.outputs) if self.outputs else 0.0
        return self.means @ (w.reshape(-1, self.outputs) if self.outputs else w)


class RemoteSamples(NamedTuple):
    """Description of samples on a cluster, with the attributes of `frankwolfe.rows.Samples` that it can have.

    Attributes
    ----------
    rows : RemoteRows
        Description of the rows.
    n : int
        Number of rows.
    loss : loss
        The loss, with a shift of the predictions if there is an intercept.
    """

    rows: RemoteRows
    n: int
    loss: Loss

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of all predictions: ``(n,)``, or ``(n, outputs)`` for several outputs."""
        return (self.n, self.rows.outputs) if self.rows.outputs else (self.n,)

    @property
    def targets(self) -> np.ndarray:
        """Raise ValueError: the targets are on the cluster, too."""
        raise ValueError("the targets are on the workers of the cluster, and stay there: keep the y that you passed")
