"""Stores of real tables, compiled: how often they are read, and threads."""

import gc
from threading import enumerate as running

import numpy as np
import pytest

import frankwolfe as fw
from tests import cases


@pytest.mark.parametrize(("radius", "memory", "reads"), [(100.0, "4MB", 4.0), (1000.0, "12MB", 5.0)])
def test_reads_until_certified(tmp_path, radius, memory, reads):
    """At most as many as promised, to 1e-6 of F(0); the same bits with any number of threads."""
    X, y = cases.data("rcv1_subset")
    problem = fw.Problem(
        fw.write_rows(tmp_path / "rows", X, y, shard="500kB", memory=memory), constraint=fw.L1Ball(radius)
    )
    found = [fw.minimize(problem, tol=1e-6, random_state=0, n_threads=threads) for threads in (1, 3)]
    assert found[0].success
    assert found[0].reads <= reads
    assert np.array_equal(found[0].x, found[1].x)
    assert found[0].gap == found[1].gap
    same = fw.Problem(X, y, constraint=fw.L1Ball(radius))
    assert same.gap(found[0].x) <= 1e-6 * same.zero_value
    gc.collect()
    assert not [thread for thread in running() if thread.name.startswith("frankwolfe-read") and thread.is_alive()]
