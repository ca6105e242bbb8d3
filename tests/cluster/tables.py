"""Small tables, in memory and as dask collections."""

import numpy as np
from scipy import sparse

ROWS, COLUMNS = 90, 6


def table(shift=0.0, seed=0):
    """Return rows and labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, COLUMNS)) + shift
    return X, np.sign((X - shift) @ rng.normal(size=COLUMNS) + rng.normal(size=ROWS))


def chunked(array, size=25):
    """Return an array, dense or sparse, as a dask array."""
    import dask.array as da

    if sparse.issparse(array):
        rows = da.from_array(array.toarray(), chunks=(size, -1))
        return rows.map_blocks(sparse.csr_array, dtype=float, meta=sparse.csr_array((0, 0)))
    return da.from_array(array, chunks=(size, *array.shape[1:]))
