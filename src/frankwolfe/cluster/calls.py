"""`Cluster`: runs a function on every part of the data and adds up what it returns, whatever happens to workers.

A task goes from the client to the scheduler, to a worker and back, and at each hop it waits for others, so that a call
takes 10 ms. A message takes a few. But nobody looks after it: where anything is unexpected, the call is made by tasks.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import count
from math import inf
from time import monotonic, sleep
from typing import Any, NamedTuple
from uuid import uuid4

import cloudpickle
import numpy as np
from dask._task_spec import TaskRef
from dask.distributed import Client, Future
from distributed.core import Status, clean_exception, error_message

from frankwolfe.cluster.connection import AS_THEY_SHOULD_BE, LOST, Connection, Moved, Placement, TaskError, said, same
from frankwolfe.cluster.kept import Handle, Missing, Recipe, Sent, pack, packing, worker_threads
from frankwolfe.cluster.loading import Chunks, Loader, Refused, Submission, listed, named
from frankwolfe.exceptions import ClusterError
from frankwolfe.linalg.threads import single_threaded


@single_threaded
def answer(part: Any, packed: bytes, forget: list[str], digest: str | None) -> Any:
    """Answer a call on a worker."""
    if isinstance(part, Refused):
        return part  # for the client to raise: what is raised here, the worker logs as a failure of its own
    if digest is not None and part.digest != digest:
        raise ClusterError(
            f"{named(part.numbers)} had other rows when it was loaded again than at first: its source has changed, or "
            "does not always return the same. Store the data before it is used"
        )
    function, args = cloudpickle.loads(packed)
    with part.lock:
        part.forget(forget)
        try:
            return function(part, *args)
        except Missing as missing:
            return missing


def added(answers: Sequence[Any]) -> Any:
    """Return the sums of tuples, in order; lists are concatenated. What is missing anywhere is missing of the sum.

    Examples
    --------
    >>> added([(1, [2.0]), (3, [4.0])])
    (np.int64(4), [2.0, 4.0])
    """
    for one in answers:
        if isinstance(one, Missing | Refused):
            return one
    return reduce(_sum, answers)


def _sum(mine: tuple, other: tuple) -> tuple:
    return tuple(one + two if isinstance(one, list) else np.add(one, two) for one, two in zip(mine, other, strict=True))


DIRECT_BYTES = 2**28
"""Size of the largest part up to which calls are direct: with larger ones their work takes so long that it is all."""

UNSEEN_FOR = 30.0
"""Seconds after which a call is made by tasks: a scheduler that sees none for long takes the cluster to be idle."""


class PartCall(NamedTuple):
    """A part of the data that a call goes to: its name, its worker, and a digest of its rows."""

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


def answers_of(connection: Connection, asked: Sequence[PartCall], packed: bytes, forget: list[str]) -> list[Any]:
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


async def answer_here(asked: list[PartCall], packed: bytes, forget: list[str], dask_worker: Any) -> dict[str, Any]:
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


FAN_IN = 8
"""Answers that are added up at a time, on a worker; fewer parts than that send theirs to the client directly."""

LARGE = 2**16
"""Bytes of arguments from which on they are sent once, and passed on from worker to worker."""

MOST_ATTEMPTS = 6
"""How often a call is tried before it is given up: workers died under it, or the connection was lost."""

PAUSE = 0.05
"""Seconds before a call is made again; twice as many before each further attempt."""


class Cluster:
    """Parts of the data on the workers of a Dask cluster, and calls to all of them.

    Parameters
    ----------
    client : Client
        Connected to a scheduler.
    chunks : Chunks
        What is loaded with the first call.

    Attributes
    ----------
    calls : int
        Calls made so far; each is a round trip.
    direct : int
        How many of them were answered directly, see `frankwolfe.cluster.calls`.
    reloads : int
        How often parts were loaded again because the connection had been lost, or Dask had given them up.
    """

    def __init__(self, client: Client, chunks: Chunks):
        self.client, self.connection, self.sent = client, Connection(client), Sent()
        self.loader, self.placement = Loader(chunks, self.connection), Placement(self.connection)
        self.calls = self.direct = self.reloads = 0
        self._numbers = count()
        self._token = uuid4().hex[:8]
        self._digests: list[str] = []
        self._largest = inf
        self._seen = 0.0
        self.parts: list[Future | None] = []

    def __getstate__(self) -> Any:
        raise TypeError("a problem on a cluster cannot be pickled: make it anew from its dask collections")

    def __deepcopy__(self, memo: Any) -> "Cluster":
        return self

    def keep_parts(self, kept: list[int], digests: list[str], sizes: list[int]) -> None:
        """Let go of all parts but some: the others have no rows. These must never change, as their digests say.

        Sizes are in bytes.
        """
        self.loader.keep_groups(kept)
        self.parts = [self.parts[k] for k in kept]
        self._digests, self._largest = digests, max(sizes)
        self.placement.keep(kept)

    def handle(self, recipe: Recipe, shape: tuple[int, ...] = ()) -> Handle:
        """Return a handle to what parts make by a recipe, when it is first asked for."""
        return Handle(recipe, self.sent, shape)

    def run(self, name: str, function: Callable[..., tuple], *args: Any) -> tuple:
        """Run ``function(part, *args)`` on every part; return the sums of what it returns, added in their order.

        ``name`` is what the dashboard calls it.
        """
        return self._call(name, function, args, summed=True)[0]

    def ask(self, name: str, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Run ``function(part, *args)`` on every part; return what each returns."""
        return self._call(name, function, args, summed=False)

    def _call(self, name: str, function: Callable[..., Any], args: tuple, summed: bool) -> list[Any]:
        """Make a call, again if work is lost; return the answers, or as a list of one their sum."""
        self.calls += 1
        for attempt in range(MOST_ATTEMPTS):
            try:
                return self._attempt(name, function, args, summed, direct=attempt == 0)
            except TaskError as error:
                raise error.cause  # noqa: B904 - as if the task had been done here
            except LOST as error:
                self._recover(error, attempt)
        raise AssertionError("unreachable: the last attempt raises")

    def _attempt(self, name: str, function: Callable[..., Any], args: tuple, summed: bool, direct: bool) -> list[Any]:
        """Make a call; with the recipes that parts have been sent before, if one has lost what they made."""
        self._get_ready()
        try:
            found = self._answers(name, self._packed(function, args), summed, direct)
            if any(isinstance(one, Missing) for one in found):  # a part is new where it is
                self.placement.disturbed()
                found = self._answers(name, self._packed(function, args, whole=True), summed, direct)
            for one in found:
                if isinstance(one, Refused):
                    raise TaskError(one.error())
            return found
        except TaskError as error:
            chunks = self.loader.failed([part for part in self.parts if part is not None])
            if not chunks:
                raise
            cause = error.cause
            raise ClusterError(f"{chunks} of the data could not be loaded on a worker: {said(cause)}") from cause

    def _get_ready(self) -> None:
        """See to it that the parts are spread over the workers, and say where those go that are not loaded."""
        if not self.parts:
            self.placement.begin(self.loader.plan())
            self.parts = [None] * len(self.placement.homes)
            return
        if any(part is None or part.status not in AS_THEY_SHOULD_BE for part in self.parts):
            self.placement.disturbed()
        lost = self.placement.settle(self.parts)
        self.connection.forget([part for k, part in enumerate(self.parts) if k in lost and part is not None])
        self.parts = [None if k in lost else part for k, part in enumerate(self.parts)]
        if lost:
            self.loader.check_persisted()
            self.reloads += 1
            for k in sorted(lost):
                self.placement.place(k)

    def _packed(self, function: Callable[..., Any], args: tuple, whole: bool = False) -> bytes:
        """Return a call as bytes, without what the parts have been sent before unless it is to be whole."""
        sent = Sent() if whole else self.sent
        with packing(sent):
            packed = pack((function, args))
        self.sent.keys |= sent.keys
        return packed

    def _answers(self, name: str, packed: bytes, summed: bool, direct: bool) -> list[Any]:
        """Return what the parts answer to a call; where it is to be summed, a list of one."""
        label = f"{self._token}-{next(self._numbers)}"
        with self.sent.taken() as forget:
            asked = self._within_reach(packed) if direct else []
            if asked:
                found = answers_of(self.connection, asked, packed, forget)
                self.direct += 1
            else:
                found = self._by_tasks(name, label, packed, forget, summed)
                self._seen = monotonic()
        return [added(found)] if summed else found

    def _within_reach(self, packed: bytes) -> list[PartCall]:
        """Return all parts, with where they are, if a call to them may be direct; else none.

        It may if that saves something, if tasks would not spread the work of sending, and if all is well.
        """
        if self._largest > DIRECT_BYTES or len(packed) > LARGE or len(self.parts) > FAN_IN:
            return []
        if monotonic() > self._seen + UNSEEN_FOR:
            return []
        found = [
            PartCall(part.key, home, digest)
            for part, home, digest in zip(self.parts, self.placement.homes, self._digests, strict=True)
            if part is not None and part.status == "finished" and home is not None
        ]
        if len(found) == len(self.parts):
            return found
        self.placement.disturbed()
        return []

    def _by_tasks(self, name: str, label: str, packed: bytes, forget: list[str], summed: bool) -> list[Any]:
        """Ask all parts by tasks, and have those loaded that are not; where there are many, they add up answers."""
        tasks = Submission()
        missing = [k for k, part in enumerate(self.parts) if part is None]
        loads = {k: self.loader.add(k, self.placement.homes[k], tasks) for k in missing}
        call: Any = packed
        if len(packed) > LARGE and len(self.parts) > 1:  # sent once: workers get it from each other
            call = tasks.add(f"frankwolfe-call-{label}", same, packed)
            tasks.room += 2 * len(packed) + 2**16
        asked = []
        for k, (part, home) in enumerate(zip(self.parts, self.placement.homes, strict=True)):
            # where it is, and nowhere else: an idle worker would copy it and know nothing
            place = {} if home is None else {"workers": [home]}
            digest = self._digests[k] if self._digests else None
            here = TaskRef(loads[k] if part is None else part.key)
            asked.append(tasks.add(f"frankwolfe-{name}-{label}-{k}", answer, here, call, forget, digest, **place))
        last = _few(tasks, asked, label) if summed else asked
        begun = tasks.begun(self.client, [*loads.values(), *(task.key for task in last)])
        for k, part in zip(loads, begun, strict=False):
            self.parts[k] = part
        futures = begun[len(loads) :]
        try:
            return self.connection.gathered(futures, self.placement.known())
        finally:
            for future in futures:
                future.release()

    def _recover(self, error: BaseException, attempt: int) -> None:
        """Get ready for another attempt: wait for the connection, and count on nothing that parts were sent."""
        if attempt == MOST_ATTEMPTS - 1:
            raise ClusterError(
                f"a call was given up after {MOST_ATTEMPTS} attempts, the last of which ended with {said(error)}. If "
                "workers run out of memory, give them more, or start more of them"
            ) from error
        sleep(PAUSE * 2**attempt)
        self.connection.wait_until_back(error)
        self.sent.keys.clear()
        self.placement.disturbed()


def _few(tasks: Submission, answers: list[TaskRef], label: str) -> list[TaskRef]:
    """Have many answers added up on the workers, until they are few."""
    level = 0
    while len(answers) > FAN_IN:
        groups = [answers[k : k + FAN_IN] for k in range(0, len(answers), FAN_IN)]
        names = [f"frankwolfe-sum-{label}-{level}-{k}" for k in range(len(groups))]
        answers = [
            tasks.add(name, added, listed([one.key for one in group]))
            for name, group in zip(names, groups, strict=True)
        ]
        level += 1
    return answers
