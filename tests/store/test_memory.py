"""What runs on row stores hold in memory, at most."""

import tracemalloc

import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.store.reader import PROGRAM_BYTES


@pytest.mark.parametrize("method", ["auto", "corrective", "sfw"])
def test_memory_bounds_what_a_run_holds(method, tmp_path):
    """Copies of columns and slopes of traced points count, too."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 60))
    y = X[:, :3].sum(1) + 0.1 * rng.normal(size=20_000)
    fw.write_rows(tmp_path / "rows", X, y, shard=200_000)
    store = fw.open_rows(tmp_path / "rows", memory="1MB")
    problem = fw.Problem(store, loss="squared", constraint=fw.L1Ball(2.0))
    fw.minimize(problem, method, tol=1e-4, max_passes=20, random_state=0)  # compiles, which takes memory of its own
    tracemalloc.start()
    try:
        result = fw.minimize(problem, method, tol=1e-4, max_passes=20, random_state=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.count_nonzero(result.x) < 10
    assert peak < store.run_memory - PROGRAM_BYTES
