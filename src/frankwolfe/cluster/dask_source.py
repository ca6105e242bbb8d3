"""`DaskSource`: dask collections, whose rows stay on the workers of a cluster."""

from importlib.util import find_spec
from typing import Any

from frankwolfe.arguments.arrays import column_names
from frankwolfe.shards.interface import RemoteRows, RemoteSamples
from frankwolfe.shards.sources import ONE_PROCESS, DataSource, LoadedData, Refusal

_NO_KINK = "a smooth loss, with rows in several processes"
_COMPUTE = "load the data into memory (X.compute())"


class DaskSource(DataSource):
    """A dask array or data frame before it is loaded. Once it is loaded its source is a `RemoteData`.

    Dask is imported when the data is loaded.
    """

    name, is_lazy = "a dask collection", True
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

    def require_memory(self, who: str, instead: str = "") -> None:
        """Raise ValueError."""
        more = f", or {instead}" if instead else ""
        raise ValueError(f"{who} needs rows in memory, but X is {self.name}: pass X.compute(){more}")

    def with_offset(self, y: Any, offset: Any, loss: Any) -> Any:
        """Return targets and offsets as a dask array of complex numbers, which the workers check."""
        from frankwolfe.cluster.loading import column_array

        if y is None:
            raise TypeError("y is missing: pass the targets, one for each row of X")
        return column_array(y) + 1j * column_array(offset)

    def load(self, y: Any, sample_weight: Any, loss: Any, centre: bool) -> LoadedData:
        """Load the chunks of the collection on the workers, and check them there."""
        if find_spec("distributed") is None:
            raise ImportError("X is a dask collection, and this needs dask.distributed: pip install 'frankwolfe[dask]'")
        from frankwolfe.cluster.remote_data import RemoteData

        data = RemoteData.of(self.X, y, sample_weight, loss)
        loss = loss.for_targets(data.witness())
        means = data.means() if centre and not data.is_sparse else None
        rows = RemoteRows(data.nnz, data.is_sparse, loss.outputs, means)
        return LoadedData(data, RemoteSamples(rows, data.shape[0], loss), column_names(self.X))
