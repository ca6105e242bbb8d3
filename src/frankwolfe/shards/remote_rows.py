"""Rows that are on a cluster, as everybody but the workers sees them: what they are like, and none of them."""

from typing import Any, NamedTuple

import numpy as np


class RemoteRows(NamedTuple):
    """What is known of rows on a cluster.

    Attributes
    ----------
    entries : int
        Stored entries.
    is_sparse : bool
        Whether only some entries are stored.
    outputs : int
        Number of entries of a prediction; 0 where it is a number.
    means : array or None
        What is taken off the columns of dense rows, where there is an intercept.
    """

    entries: int
    is_sparse: bool
    outputs: int
    means: np.ndarray | None = None

    def stored(self) -> int:
        """Return the number of stored entries, each counted once for each output."""
        return self.entries * max(1, self.outputs)

    def vectors(self, d: int) -> tuple[np.ndarray, np.ndarray]:
        """Room for an iterate and a gradient."""
        return np.empty(d), np.empty(d)

    def mean_prediction(self, w: np.ndarray) -> np.ndarray | float:
        """Return what centring has taken from all predictions: a number, or one for each output."""
        if self.means is None:
            return np.zeros(self.outputs) if self.outputs else 0.0
        return self.means @ (w.reshape(-1, self.outputs) if self.outputs else w)


class RemoteSamples(NamedTuple):
    """What stands for `frankwolfe.rows.samples.Samples` where rows are on a cluster: what is known of them.

    Attributes
    ----------
    rows : RemoteRows
        What is known of the rows.
    n : int
        How many there are.
    loss : loss
        With a shift, where there is an intercept.
    """

    rows: RemoteRows
    n: int
    loss: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of all predictions: a number a sample, or a row for several outputs."""
        return (self.n, self.rows.outputs) if self.rows.outputs else (self.n,)

    @property
    def targets(self) -> np.ndarray:
        """Raise ValueError: the targets are on the cluster too."""
        raise ValueError("the targets are on the workers of the cluster, and stay there: keep the y that you passed")
