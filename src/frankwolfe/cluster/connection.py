"""The connection to a scheduler: answers waited for as long as there is hope, and no longer."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, wait
from time import monotonic, sleep
from typing import Any

from dask.distributed import Client, Future
from distributed.client import ClosedClientError
from distributed.scheduler import KilledWorker

from frankwolfe.cluster.cluster_error import ClusterError

PATIENCE = 120.0
"""Seconds to wait for workers, for the connection to come back, or for the scheduler to say anything."""

POLL = 1.0
"""Seconds between two looks at the scheduler, while a call takes long."""

STALLED = 60.0
"""Seconds in which no worker does anything until a call is made again."""


SOON = 5.0
"""Seconds in which a scheduler that is well does what it was told."""

IDLE = "no worker is at work"


class Moved(Exception):
    """Nobody does what is to be done: a worker is gone that was to do it, and only that one."""


LOST = (Moved, KilledWorker, CancelledError, ClosedClientError, OSError)
"""What Dask raises where work was lost and may be done again; `CommClosedError` and timeouts are an `OSError`."""


class TaskError(Exception):
    """A task raised an error, and nothing was lost.

    Parameters
    ----------
    cause : Exception
        The error.
    """

    def __init__(self, cause: Exception):
        super().__init__(str(cause))
        self.cause = cause


class Connection:
    """A client, and what is asked of its scheduler.

    Parameters
    ----------
    client : Client
        Connected to a scheduler.
    """

    def __init__(self, client: Client):
        self.client = client

    def gathered(self, futures: list[Future], homes: set[str]) -> list[Any]:
        """Return the results of tasks, some of which only the workers ``homes`` may do.

        They are to be released afterwards: then nobody waits for what was not done.

        Raises
        ------
        TaskError
            With the error of a task.
        ClusterError
            If nobody does the work.
        Exception
            One of `LOST` if the work may be done again.
        """
        answers = self._started(lambda: self.client.gather(futures, asynchronous=True))
        last_well = monotonic()
        try:
            while not wait([answers], POLL).done:
                trouble = self._trouble(futures, homes)
                last_well = last_well if trouble else monotonic()
                if trouble == IDLE and monotonic() - last_well > STALLED:
                    raise Moved(IDLE)
                if monotonic() - last_well > PATIENCE:
                    raise ClusterError(
                        f"{trouble} for {PATIENCE:g} seconds: once the cluster is well again, go on with fw.resume if "
                        "the run kept a checkpoint"
                    )
            return answers.result()
        except (KilledWorker, ClusterError):
            raise
        except Exception as error:
            if any(future.status == "error" for future in futures):
                raise TaskError(error) from error
            raise

    def told(self, homes: set[str], function: Callable[..., Awaitable], *args: Any) -> dict[str, Any]:
        """Return what workers answer to a message, by their addresses: what a coroutine returns there, or its error.

        Raises
        ------
        ClusterError
            If the scheduler no longer answers.
        Exception
            One of `LOST` where the message or the answers were lost, a worker among them.
        """
        answers = self._started(
            lambda: self.client.run(function, *args, workers=[*homes], on_error="return", asynchronous=True)
        )
        try:
            while not wait([answers], POLL).done:
                self._check_there(homes, self._workers())
            return answers.result()
        except (ClusterError, *LOST):
            raise
        except Exception as error:
            raise Moved(f"a message could not be passed on: {said(error)}") from error
        finally:
            answers.cancel()  # where it is not over: nobody waits for it any more

    def _workers(self) -> dict[str, Any]:
        """Return what the scheduler says of all workers."""
        if self.client.status != "running":
            raise ConnectionError("the connection to the scheduler was lost")
        return self.ask("identity")["workers"]

    @staticmethod
    def _check_there(homes: set[str], workers: dict[str, Any]) -> None:
        """Raise an error if one of some workers is gone."""
        if not homes <= workers.keys():
            raise Moved(f"a worker is gone: {', '.join(sorted(homes - workers.keys()))}")

    def _trouble(self, futures: list[Future], homes: set[str]) -> str:
        """Return what keeps tasks from being done, if anything."""
        workers = self._workers()
        if not workers:
            return "the cluster has had no workers"
        self._check_there(homes, workers)
        busy = self.ask("processing", workers=None)  # a worker that is named may be gone by now
        pending = {future.key for future in futures if not future.done()}
        paused = [address for address, about in workers.items() if is_stuck(about)]
        if len(paused) == len(workers) or any(not pending.isdisjoint(busy.get(address, ())) for address in paused):
            return "workers have been paused for want of memory (give them more, or start more of them)"
        return IDLE if pending and not any(busy.values()) else ""

    def forget(self, futures: list[Future]) -> None:
        """Let go of tasks, and wait until the scheduler has: what it knows of tasks of the same name, it keeps."""
        keys = [future.key for future in futures]
        for future in futures:
            future.release()
        until = monotonic() + SOON
        while keys and monotonic() < until and any(self.ask("get_task_status", keys=keys).values()):
            sleep(0.02)

    def workers(self) -> list[str]:
        """Return the addresses of all workers, in order."""
        return sorted(self.ask("ncores", workers=None))

    def holders(self, futures: list[Future]) -> list[tuple[str, ...]]:
        """Return the workers that hold each result; none for what is not there."""
        keys = [future.key for future in futures]
        found = self.ask("who_has", keys=keys) if keys else {}
        return [tuple(found.get(key, ())) for key in keys]

    def erred(self, keys: list[Any]) -> list[Any]:
        """Return those of some tasks that ended with an error."""
        return [key for key, state in self.ask("get_task_status", keys=keys).items() if state == "erred"]

    def ask(self, name: str, **given: Any) -> Any:
        """Return what the scheduler answers to a question."""
        try:
            return self._started(lambda: getattr(self.client.scheduler, name)(**given)).result(timeout=PATIENCE)
        except TimeoutError:
            if self.client.status != "running":
                raise
            raise ClusterError(f"the scheduler has not answered for {PATIENCE:g} seconds") from None

    def _started(self, function: Callable[[], Awaitable]) -> Any:
        """Start what is to be waited for in the client's thread."""

        async def answer() -> Any:
            return await function()

        if self.client.status in ("closed", "closing"):
            raise ClosedClientError("the client is closed")
        loop: Any = self.client.loop
        return asyncio.run_coroutine_threadsafe(answer(), loop.asyncio_loop)

    def wait_until_back(self, error: BaseException) -> None:
        """Wait for the connection, where it was lost: other threads bring it back."""
        begun = monotonic()
        while self.client.status != "running":
            if self.client.status in ("closed", "closing") or monotonic() - begun > PATIENCE:
                raise ClusterError(
                    f"the connection to the cluster was lost, and has not come back ({said(error)}): connect again, "
                    "make the problem anew, and go on with fw.resume if the run kept a checkpoint"
                ) from error
            sleep(0.1)


def is_stuck(about: dict[str, Any]) -> bool:
    """Whether a worker, by what the scheduler says of it, is paused and does nothing."""
    counts = about.get("metrics", {}).get("task_counts", {})
    return about.get("status") == "paused" and not counts.get("executing")


def said(error: BaseException | None) -> str:
    """Return an error as a line of text, with its type.

    Examples
    --------
    >>> said(KeyError("a"))
    "KeyError: 'a'"
    """
    return f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")
