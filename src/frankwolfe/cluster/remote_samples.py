"""Rows, targets, weights and loss on a cluster, as engines see them: what they are like, and handles."""

from typing import Any, NamedTuple

from frankwolfe.cluster.cluster import Cluster
from frankwolfe.cluster.handles import Handle
from frankwolfe.cluster.recipes import Zeros
from frankwolfe.shards.remote_rows import RemoteRows


class RemoteSamples(NamedTuple):
    """What stands for `frankwolfe.rows.samples.Samples` where rows are on a cluster.

    Attributes
    ----------
    rows : RemoteRows
        What is known of the rows.
    n : int
        How many there are.
    loss : loss
        With a shift, where there is an intercept.
    posed : Handle
        The objective of each part.
    cluster : Cluster
        The parts.
    """

    rows: RemoteRows
    n: int
    loss: Any
    posed: Handle
    cluster: Cluster

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of all predictions: a number a sample, or a row for several outputs."""
        return (self.n, self.rows.outputs) if self.rows.outputs else (self.n,)

    def table(self) -> Handle:
        """Zeros, one for each prediction."""
        return self.cluster.handle(Zeros(self.posed), self.shape)
