"""`DaskSource`: dask collections, whose rows stay on the workers of a cluster."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from frankwolfe.arguments.arrays import column_names
from frankwolfe.shards.interface import RemoteSamples, Shards
from frankwolfe.shards.sources import ONE_PROCESS, DataSource, LoadedData, Refusal

if TYPE_CHECKING:
    from frankwolfe.cluster.remote_data import RemoteData

_NO_KINK = "a smooth loss, with rows in several processes"
_COMPUTE = "load the data into memory (X.compute())"


class DaskSource(DataSource):
    """A dask array or data frame: ``X`` is the collection at first, and `RemoteData` once it is loaded.

    Dask is imported when the data is loaded.
    """

    name, is_lazy, has_row_arrays = "a dask collection", True, False
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

    _shards: Shards | None = None

    def require_memory(self, who: str, instead: str = "") -> None:
        """Raise ValueError."""
        more = f", or {instead}" if instead else ""
        raise ValueError(f"{who} needs rows in memory, but X is {self.name}: pass X.compute(){more}")

    def load(self, y: Any, sample_weight: Any, loss: Any, centre: bool) -> LoadedData:
        """Load the chunks of the collection on the workers, and check them there."""
        if find_spec("distributed") is None:
            raise ImportError("X is a dask collection, and this needs dask.distributed: pip install 'frankwolfe[dask]'")
        from frankwolfe.cluster.remote_data import RemoteData

        data = RemoteData.load(self.X, y, sample_weight, loss)
        loss = loss.for_targets(data.witness())
        samples = RemoteSamples(data.rows(loss.outputs, centre), data.shape[0], loss)
        return LoadedData(DaskSource(data), samples, column_names(self.X))

    def shards(self, samples: RemoteSamples, size: int, executor: Any = None) -> Shards:
        """Return what runs tasks on the workers: one object for all runs, which finds what earlier ones left there."""
        data: RemoteData = self.X
        self._shards = self._shards or data.shards(samples, size)
        return self._shards

    @property
    def in_reach(self) -> bool:  # type: ignore[override]
        """Whether the client is connected to the cluster."""
        return self.X.in_reach

    @property
    def pieces(self) -> int:  # type: ignore[override]
        """Number of parts, one for each worker."""
        return len(self.X.cluster.parts)

    def head(self, count: int) -> Any:
        """Return some rows: the first ones are no nearer than others."""
        return self.some_rows(count)

    def some_rows(self, count: int) -> Any:
        """Return about ``count`` evenly spaced rows, as an array or a CSR array."""
        return self.X.some_rows(count)

    def matrix(self) -> Any:
        """Raise ValueError."""
        raise ValueError("this needs all rows in memory, and they are on the workers of a cluster")

    def products(self, weights: Any) -> Any:
        """Raise ValueError."""
        return self.matrix()

    def identity(self, samples: Any) -> dict[str, Any]:
        """Return a hash of the rows, the targets and the weights, which the workers have computed."""
        return {"data": self.X.fingerprint}

    def summary(self) -> list[tuple[str, str]]:
        """Return the number of workers, and the size of the rows."""
        workers = self.pieces
        return [("cluster", f"{workers} worker{'s' * (workers > 1)} with rows, {self.X.bytes:,} bytes")]
