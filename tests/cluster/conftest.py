"""A cluster for the tests: two worker processes of one thread each, for all tests of a process."""

import pytest


@pytest.fixture(scope="session")
def client():
    """A client of two worker processes."""
    dask = pytest.importorskip("dask.distributed")
    with (
        dask.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            memory_limit=0,
            silence_logs=50,
        ) as cluster,
        dask.Client(cluster) as found,
    ):
        yield found
