"""The connection to a scheduler, and on which worker each part of the data is."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import CancelledError, wait
from time import monotonic, sleep
from typing import Any
from uuid import uuid4

from dask.distributed import Client, Future
from distributed.client import ClosedClientError
from distributed.scheduler import KilledWorker

from frankwolfe.exceptions import ClusterError

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


GONE = ("cancelled", "error")
"""What Dask says of parts that it will not make again."""

AS_THEY_SHOULD_BE = ("pending", "finished")
"""What Dask says of parts whose workers are there, as far as it knows."""

LOOK_AGAIN = 5.0
"""Seconds between two looks for another worker, while one has two parts."""


class Placement:
    """The workers that parts are on.

    Workers come and go. What a lost one had is loaded on those that are left, and moves on once there are others again.

    Parameters
    ----------
    connection : Connection
        To the scheduler.

    Attributes
    ----------
    homes : list of str or None
        The worker of each part, where it is loaded or is being loaded; None where any may do it.
    moves : int
        How often a part moved.
    """

    def __init__(self, connection: Connection):
        self.connection, self.moves = connection, 0
        self.homes: list[str | None] = []
        self._workers: list[str] = []
        self._next_look = 0.0

    def begin(self, homes: list[str | None]) -> None:
        """Take note of where parts are to be loaded. There is nothing to look at yet."""
        self.homes = homes
        self._plan_next_look()

    def keep(self, kept: list[int]) -> None:
        """Let go of all parts but some."""
        self.homes = [self.homes[k] for k in kept]

    def disturbed(self) -> None:
        """Have a look before the next call: workers may have changed."""
        self._next_look = 0.0

    def known(self) -> set[str]:
        """Return the workers that are known to have parts."""
        return {home for home in self.homes if home is not None}

    def settle(self, parts: list[Future | None]) -> set[int]:
        """Have a look where parts are, if it is time for one, and move those that should be elsewhere.

        Returns those that are lost. Dask makes them again by itself if a worker is left, but waits for their own
        workers if none was there at the time.
        """
        if monotonic() < self._next_look:
            return set()
        workers = self._workers = self.connection.workers()
        there = {k: part for k, part in enumerate(parts) if part is not None and part.status not in GONE}
        holders = dict(zip(there, self.connection.holders([*there.values()]), strict=True))
        lost = set()
        for k in range(len(parts)):
            holder = next((one for one in holders.get(k, ()) if one in workers), None)
            if k not in holders or (holder is None and self.homes[k] not in workers):
                lost.add(k)
            self.homes[k] = None if k in lost else holder or self.homes[k]
        for k, address in moves_between(self.homes, workers).items():
            part = parts[k]
            if part is not None and part.status == "finished":
                parts[k], self.homes[k] = self._moved(part, address), address
                self.moves += 1
        self._plan_next_look()
        return lost

    def _plan_next_look(self) -> None:
        """Say when to have a look again, if nothing happens."""
        spread = None not in self.homes and len({*self.homes}) == len(self.homes)
        self._next_look = float("inf") if spread else monotonic() + LOOK_AGAIN

    def place(self, k: int) -> str | None:
        """Choose a worker for a part that is to be loaded, where there is one."""
        loads = Counter(dict.fromkeys(self._workers, 0))
        loads.update(home for number, home in enumerate(self.homes) if home in self._workers and number != k)
        self.homes[k] = min(self._workers, key=loads.__getitem__, default=None)
        return self.homes[k]

    def _moved(self, part: Future, address: str) -> Future:
        """Return a part on another worker; it is copied from where it is."""
        key = f"frankwolfe-move-{uuid4().hex[:8]}"
        return self.connection.client.submit(same, part, key=key, workers=[address], allow_other_workers=True)


def same(value: Any) -> Any:
    """Return what is given."""
    return value


def moves_between(homes: Sequence[str | None], workers: Sequence[str]) -> dict[int, str]:
    """Return the parts that are to move, and where to, so that no worker has two more than another.

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
