"""The connection to a Dask scheduler, and the placement of the parts of the data on workers."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import CancelledError, wait
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any
from uuid import uuid4

from dask.distributed import Client, Future, KilledWorker
from distributed.client import ClosedClientError

from frankwolfe.exceptions import ClusterError

PATIENCE = 120.0
"""Seconds to wait for workers, for a lost connection, or for a reply of the scheduler."""

POLL = 1.0
"""Seconds between two queries of the scheduler during a long call."""

STALLED = 60.0
"""Seconds without activity on any worker after which a call is repeated."""


IDLE = "no worker is at work"


class Moved(Exception):
    """A worker was lost while it held the only copy of a part or of a pending task."""


LOST = (Moved, KilledWorker, CancelledError, ClosedClientError, OSError)
"""Errors after which a call may be repeated because its work was lost. `CommClosedError` and timeouts are `OSError`."""


class TaskError(Exception):
    """The function of a task raised an error. No work was lost, so the call is not repeated.

    Parameters
    ----------
    cause : Exception
        The error.
    """

    def __init__(self, cause: Exception):
        super().__init__(str(cause))
        self.cause = cause


class Connection:
    """A Dask client, with queries of its scheduler that detect lost and stalled work.

    Parameters
    ----------
    client : Client
        Connected to a scheduler.
    """

    def __init__(self, client: Client):
        self.client = client

    def gathered(self, futures: list[Future], homes: set[str]) -> list[Any]:
        """Wait for tasks and return their results. Some of the tasks can run on the workers ``homes`` only.

        The caller releases the futures afterwards, which cancels unfinished tasks.

        Raises
        ------
        TaskError
            If a task raised an error.
        ClusterError
            If the tasks made no progress for `PATIENCE` seconds.
        Exception
            One of `LOST` if the call may be repeated.
        """
        answers = self._started(lambda: self.client.gather(futures, asynchronous=True))
        last_well = monotonic()
        try:
            while not wait([answers], POLL).done:
                reason = self._reason_for_stall(futures, homes)
                last_well = last_well if reason else monotonic()
                if reason == IDLE and monotonic() - last_well > STALLED:
                    raise Moved(IDLE)
                if monotonic() - last_well > PATIENCE:
                    raise ClusterError(
                        f"{reason} for {PATIENCE:g} seconds: once the cluster is well again, go on with fw.resume if "
                        "the run kept a checkpoint"
                    )
            return answers.result()
        except (KilledWorker, ClusterError):
            raise
        except Exception as error:
            if any(future.status == "error" for future in futures):
                raise TaskError(error) from error
            raise

    def broadcast(self, homes: set[str], function: Callable[..., Awaitable], *args: Any) -> dict[str, Any]:
        """Run a coroutine on workers, without tasks. Return its result, or its error, by the address of the worker.

        Raises
        ------
        ClusterError
            If the scheduler no longer replies.
        Exception
            One of `LOST` if a worker, the message or a reply was lost.
        """
        answers = self._started(
            lambda: self.client.run(function, *args, workers=[*homes], on_error="return", asynchronous=True)
        )
        try:
            while not wait([answers], POLL).done:
                self._require_workers(homes, self._workers())
            return answers.result()
        except (ClusterError, *LOST):
            raise
        except Exception as error:
            raise Moved(f"a message could not be passed on: {describe(error)}") from error
        finally:
            answers.cancel()  # has no effect on a finished message

    def _workers(self) -> dict[str, Any]:
        """Return the scheduler's information about each worker, by address."""
        if self.client.status != "running":
            raise ConnectionError("the connection to the scheduler was lost")
        return self.query("identity")["workers"]

    @staticmethod
    def _require_workers(homes: set[str], workers: dict[str, Any]) -> None:
        """Raise `Moved` if a worker of ``homes`` has left the cluster."""
        if not homes <= workers.keys():
            raise Moved(f"a worker is gone: {', '.join(sorted(homes - workers.keys()))}")

    def _reason_for_stall(self, futures: list[Future], homes: set[str]) -> str:
        """Return why tasks make no progress, as text, or an empty string if they do."""
        workers = self._workers()
        if not workers:
            return "the cluster has had no workers"
        self._require_workers(homes, workers)
        busy = self.query("processing", workers=None)  # None for all: a worker given by name may have left by now
        pending = {future.key for future in futures if not future.done()}
        paused = [address for address, about in workers.items() if is_stuck(about)]
        if len(paused) == len(workers) or any(not pending.isdisjoint(busy.get(address, ())) for address in paused):
            return "workers have been paused for want of memory (give them more, or start more of them)"
        return IDLE if pending and not any(busy.values()) else ""

    def forget(self, futures: list[Future]) -> None:
        """Release tasks and wait until the scheduler has dropped them, so that it does not reuse their old state."""
        keys = [future.key for future in futures]
        for future in futures:
            future.release()
        until = monotonic() + 5.0  # a healthy scheduler processes a message sooner
        while keys and monotonic() < until and any(self.query("get_task_status", keys=keys).values()):
            sleep(0.02)

    def workers(self) -> list[str]:
        """Return the addresses of all workers, in order."""
        return sorted(self.query("ncores", workers=None))

    def holders(self, futures: list[Future]) -> list[tuple[str, ...]]:
        """Return the addresses of the workers that hold each result: an empty tuple for a result that is lost."""
        keys = [future.key for future in futures]
        found = self.query("who_has", keys=keys) if keys else {}
        return [tuple(found.get(key, ())) for key in keys]

    def erred(self, keys: list[Any]) -> list[Any]:
        """Return the keys, among ``keys``, of the tasks that ended with an error."""
        return [key for key, state in self.query("get_task_status", keys=keys).items() if state == "erred"]

    def query(self, name: str, **given: Any) -> Any:
        """Call a method of the scheduler and return its reply. Raise `ClusterError` after `PATIENCE` seconds.

        Those used are not documented, but the public methods of a client call them. Tried on Dask 2026.8.0.
        """
        try:
            return self._started(lambda: getattr(self.client.scheduler, name)(**given)).result(timeout=PATIENCE)
        except TimeoutError:
            if self.client.status != "running":
                raise
            raise ClusterError(f"the scheduler has not answered for {PATIENCE:g} seconds") from None

    def _started(self, function: Callable[[], Awaitable]) -> Any:
        """Start a coroutine in the event loop of the client and return its future."""

        async def answer() -> Any:
            return await function()

        if self.client.status in ("closed", "closing"):
            raise ClosedClientError("the client is closed")
        loop: Any = self.client.loop
        return asyncio.run_coroutine_threadsafe(answer(), loop.asyncio_loop)

    def wait_until_back(self, error: BaseException) -> None:
        """Wait until the client, which reconnects in another thread, is connected; else raise `ClusterError`."""
        begun = monotonic()
        while self.client.status != "running":
            if self.client.status in ("closed", "closing") or monotonic() - begun > PATIENCE:
                raise ClusterError(
                    f"the connection to the cluster was lost, and has not come back ({describe(error)}): connect "
                    "again, make the problem anew, and go on with fw.resume if the run kept a checkpoint"
                ) from error
            sleep(0.1)


def is_stuck(about: dict[str, Any]) -> bool:
    """Return whether a worker is paused and runs no task, by the scheduler's information about it."""
    counts = about.get("metrics", {}).get("task_counts", {})
    return about.get("status") == "paused" and not counts.get("executing")


def describe(error: BaseException | None) -> str:
    """Return the type and the message of an error as one line.

    Examples
    --------
    >>> describe(KeyError("a"))
    "KeyError: 'a'"
    """
    return f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")


LOOK_AGAIN = 5.0
"""Seconds between two searches for idle workers while a worker has several parts."""


@dataclass
class PlacedPart:
    """A part of the data, as the client knows it.

    Attributes
    ----------
    number : int
        Index of the part.
    chunks : list of int
        Indices of its chunks. They never change, so that sums are added in the same order after a reload.
    home : str or None
        Address of the worker that holds or loads it. None if any worker may load it.
    future : Future or None
        The part on its worker. None if it has to be loaded.
    digest : str or None
        Hash of its rows, as they were when they were loaded first.
    """

    number: int
    chunks: list[int]
    home: str | None
    future: Future | None = None
    digest: str | None = None


class Placement:
    """Placement of the parts on the workers.

    Workers may leave and join. The parts of a lost worker are loaded on the remaining workers, and move to new workers
    when these join.

    Parameters
    ----------
    connection : Connection
        Connection to the scheduler.

    Attributes
    ----------
    parts : list of PlacedPart
        The parts.
    moves : int
        Number of times that a part moved.
    """

    def __init__(self, connection: Connection):
        self.connection, self.moves = connection, 0
        self.parts: list[PlacedPart] = []
        self._workers: list[str] = []
        self._next_query = 0.0

    @property
    def homes(self) -> list[str | None]:
        """Address of the worker of each part."""
        return [part.home for part in self.parts]

    def invalidate(self) -> None:
        """Force the next `update` to query the scheduler: workers may have changed."""
        self._next_query = 0.0

    def addresses(self) -> set[str]:
        """Return the addresses of all workers that have a part."""
        return {home for home in self.homes if home is not None}

    def update(self) -> list[PlacedPart]:
        """Query where the parts are, if a query is due, and move parts so that the workers have equally many.

        Return the lost parts. Dask loads them again itself if a worker is left. If none was left when a part was lost,
        Dask waits for the part's own worker, so the caller must load the part again.
        """
        states = {None if part.future is None else part.future.status for part in self.parts}
        if monotonic() < self._next_query and states <= {"pending", "finished"}:
            return []
        workers, lost = self.connection.workers(), []
        gone = ("cancelled", "error")  # Dask will not compute them again
        futures = {part.number: part.future for part in self.parts if part.future and part.future.status not in gone}
        holders = dict(zip(futures, self.connection.holders([*futures.values()]), strict=True))
        for part in self.parts:
            holder = next((one for one in holders.get(part.number, ()) if one in workers), None)
            if part.number not in holders or (holder is None and part.home not in workers):
                lost.append(part)
                part.home = None
            else:
                part.home = holder or part.home
        for k, address in moves_between(self.homes, workers).items():
            part = self.parts[k]
            if part.future is not None and part.future.status == "finished":
                part.future, part.home = self._moved(part.future, address), address
                self.moves += 1
        self._workers = workers
        self.schedule_query()
        return lost

    def schedule_query(self) -> None:
        """Set the time of the next query: never if every part has its own worker, else after `LOOK_AGAIN` seconds."""
        spread = None not in self.homes and len({*self.homes}) == len(self.homes)
        self._next_query = float("inf") if spread else monotonic() + LOOK_AGAIN

    def place(self, part: PlacedPart) -> None:
        """Choose the worker with the fewest parts to load a lost part, if there are workers."""
        loads = Counter(dict.fromkeys(self._workers, 0))
        loads.update(home for home in self.homes if home in self._workers)
        part.home = min(self._workers, key=loads.__getitem__, default=None)

    def _moved(self, part: Future, address: str) -> Future:
        """Return a future of a copy of the part on another worker."""
        key = f"frankwolfe-move-{uuid4().hex[:8]}"
        return self.connection.client.submit(same, part, key=key, workers=[address], allow_other_workers=True)


def same(value: Any) -> Any:
    """Return the argument."""
    return value


def moves_between(homes: Sequence[str | None], workers: Sequence[str]) -> dict[int, str]:
    """Return the parts to move, with their new workers, so that the numbers of parts per worker differ by at most one.

    Examples
    --------
    >>> moves_between(["a", "a"], ["a", "b"])
    {1: 'b'}
    >>> moves_between(["a", "a", None], ["a", "b"])
    {1: 'b'}
    >>> moves_between(["a", "b", "b"], ["a", "b"])
    {}
    """
    moves: dict[int, str] = {}
    places = list(homes)
    while True:
        loads = Counter(dict.fromkeys(workers, 0))
        loads.update(place for place in places if place is not None)
        most, least = max(workers, key=loads.__getitem__, default=""), min(workers, key=loads.__getitem__, default="")
        if loads[most] < loads[least] + 2:
            return moves
        number = max(k for k, place in enumerate(places) if place == most)
        places[number] = moves[number] = least
