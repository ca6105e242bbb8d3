"""A cluster of two worker processes for all tests of the folder."""

import pytest


@pytest.fixture(scope="package")
def client():
    """A client of a cluster on this machine; skips where there is no dask."""
    distributed = pytest.importorskip("dask.distributed", reason="dask is not installed")
    import dask

    settings = {
        "distributed.deploy.lost-worker-timeout": "1 hour",  # else it gives up workers that are still starting
        "distributed.worker.profile.enabled": False,
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", memory_limit=0, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
