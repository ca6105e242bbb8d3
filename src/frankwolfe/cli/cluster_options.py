"""Where a fit runs: in this process, on a cluster that is there, or on workers that are started for it."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from frankwolfe.cli.options import gathered

if TYPE_CHECKING:
    from dask.distributed import Client

SECONDS = 10.0
"""How long to wait for a scheduler to answer, and for its workers."""


class Where(NamedTuple):
    """The address of a scheduler, or how many workers to start; by default neither."""

    cluster: str | None
    workers: int | None

    @property
    def elsewhere(self) -> bool:
        """Whether the rows are to be on workers."""
        return self.cluster is not None or self.workers is not None

    def check(self) -> None:
        """Raise an error if there is no way to have a client."""
        if self.cluster is not None and self.workers is not None:
            raise ValueError("--cluster and --workers exclude each other: a cluster has its own workers")
        if find_spec("distributed") is None:
            raise ImportError("--cluster and --workers need dask: pip install 'frankwolfe[dask]'")

    @contextmanager
    def client(self) -> "Iterator[Client]":
        """Have a client while the block runs; raise ValueError, in plain words, where there is none to be had."""
        with _connected(self.cluster) if self.cluster is not None else _started(self.workers or 1) as found:
            yield found


@contextmanager
def _connected(address: str) -> "Iterator[Client]":
    """Have a client of a scheduler that runs already."""
    from dask.distributed import Client

    start = f"start some: dask worker {address}"
    try:
        client = Client(address, timeout=SECONDS)
    except (OSError, TimeoutError):
        raise ValueError(
            f"no scheduler answers at {address} within {SECONDS:g} seconds: is it running (dask scheduler), and is "
            "this the address that it prints?"
        ) from None
    except ValueError as error:
        raise ValueError(f"{address!r} is no address of a scheduler, such as tcp://10.0.0.1:8786: {error}") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=SECONDS)
        except TimeoutError:
            raise ValueError(f"the scheduler at {address} has no workers: {start}") from None
        yield client


@contextmanager
def _started(workers: int) -> "Iterator[Client]":
    """Have a client of so many worker processes on this machine, which end with the block."""
    import logging

    from dask.distributed import Client, LocalCluster

    from frankwolfe.linalg.threads import available_cores

    threads = max(1, available_cores() // workers)
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=threads,
            processes=True,
            dashboard_address=":0",  # any port that is free
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


WHERE: Any = gathered(
    "where",
    Where,
    click.option(
        "--cluster",
        metavar="ADDRESS",
        help="Leave the rows on the workers of a Dask cluster, such as tcp://10.0.0.1:8786; for row stores and "
        "Parquet, which they must reach.",
    ),
    click.option(
        "--workers",
        type=click.IntRange(1),
        metavar="N",
        help="The same on N worker processes of this machine, started for this run.",
    ),
)
