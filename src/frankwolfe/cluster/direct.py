"""Direct calls: parts are asked by a message that the scheduler passes on to their workers, and no task is made.

A task goes from the client to the scheduler, to a worker and back, and at each hop it waits for others, so that a call
takes 10 ms. A message takes a few. But nobody looks after it: where anything is unexpected, the call is made by tasks.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

from distributed.core import Status, clean_exception, error_message

from frankwolfe.cluster.answers import answer
from frankwolfe.cluster.cluster_error import ClusterError
from frankwolfe.cluster.connection import Connection, Moved, TaskError
from frankwolfe.cluster.parts import worker_threads

DIRECT_BYTES = 2**28
"""Size of the largest part up to which calls are direct: with larger ones their work takes so long that it is all."""

UNSEEN_FOR = 30.0
"""Seconds after which a call is made by tasks: a scheduler that sees none for long takes the cluster to be idle."""


class Asked(NamedTuple):
    """A part that is asked: its name, the worker that it is on, and what tells its rows from others."""

    key: Any
    home: str
    digest: str


class Failed(NamedTuple):
    """An error that a function raised, on its way to the client."""

    error: bytes
    traceback: bytes | None

    @classmethod
    def of(cls, error: Exception) -> "Failed":
        """Pack an error that is being handled, as Dask does with those of tasks."""
        found: Any = error_message(error)
        return cls(found["exception"].data, found["traceback"] and found["traceback"].data)

    def unpacked(self) -> Exception:
        """Return what is to be raised for it, as it is for errors of tasks."""
        _, error, traceback = clean_exception(self.error, self.traceback)
        assert isinstance(error, Exception)
        error = error.with_traceback(traceback)
        return error if isinstance(error, ClusterError) else TaskError(error)


def answers_of(connection: Connection, asked: Sequence[Asked], packed: bytes, forget: list[str]) -> list[Any]:
    """Return what parts answer to a call, in order.

    Raises
    ------
    TaskError
        With the error of the function.
    Exception
        One of `frankwolfe.cluster.connection.LOST` where anything is not as it should be.
    """
    replies = connection.told({part.home for part in asked}, answer_here, [*asked], packed, forget)
    found = []
    for part in asked:
        reply = replies.get(part.home)
        if not isinstance(reply, dict) or part.key not in reply:
            raise Moved(f"a part is not where it was, on {part.home}")
        found.append(reply[part.key])
    for one in found:
        if isinstance(one, Failed):
            raise one.unpacked()
    return found


async def answer_here(asked: list[Asked], packed: bytes, forget: list[str], dask_worker: Any) -> dict[str, Any]:
    """Answer a call on a worker, for all parts that are to be there; for none if one is not."""
    logging.getLogger("distributed.worker").addFilter(_is_no_direct_call)
    mine = [part for part in asked if part.home == dask_worker.contact_address]
    if dask_worker.status != Status.running or any(part.key not in dask_worker.data for part in mine):
        return {}  # a worker that is paused, for want of memory, is to be left alone
    loop, threads = asyncio.get_running_loop(), dask_worker.executors["default"]
    work = [
        loop.run_in_executor(
            threads, _attempted, dask_worker.data[part.key], packed, forget, part.digest, dask_worker.state.nthreads
        )
        for part in mine
    ]
    return dict(zip((part.key for part in mine), await asyncio.gather(*work), strict=True))


def _attempted(part: Any, packed: bytes, forget: list[str], digest: str, threads: int) -> Any:
    """Answer a call in a thread of a worker; an error is an answer too, lest the worker log it as its own."""
    token = worker_threads.set(threads)
    try:
        return answer(part, packed, forget, digest)
    except Exception as error:
        return Failed.of(error)
    finally:
        worker_threads.reset(token)


def _is_no_direct_call(record: logging.LogRecord) -> bool:
    """Whether a line belongs into a worker's log. Dask writes one for each message that runs something."""
    return record.args != (answer_here.__name__,)
