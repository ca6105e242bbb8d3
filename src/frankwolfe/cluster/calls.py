"""`Cluster`: run a function on every part of the data, sum the results, and recover from lost workers.

There are two kinds of calls. A call by Dask tasks goes from the client to the scheduler, to a worker and back, and
queues at each hop: about 10 ms. A *direct* call is one message to each worker and takes a few milliseconds, but Dask
does not repeat it after a failure. If anything unexpected happens to a direct call, the call is repeated by tasks.
"""

import asyncio
import logging
from collections.abc import Sequence
from functools import reduce
from itertools import count
from math import inf
from operator import add
from time import monotonic, sleep
from typing import Any, NamedTuple
from uuid import uuid4

import cloudpickle
from dask.distributed import Client, Status
from dask.task_spec import TaskRef
from tblib import pickling_support

from frankwolfe.cluster.connection import LOST, Connection, Moved, Placement, TaskError, describe, same
from frankwolfe.cluster.kept import Call, Handle, Missing, Sent, pack, worker_threads
from frankwolfe.cluster.loading import Chunks, Loader, Submission, listed, named
from frankwolfe.exceptions import ClusterError
from frankwolfe.linalg.threads import single_threaded
from frankwolfe.shards.local import Task


@single_threaded
def answer(part: Any, packed: bytes, forget: list[str], digest: str | None) -> Any:
    """Run a pickled call on a part, on its worker, after deleting the results named in ``forget``."""
    if isinstance(part, Exception):  # a chunk was refused
        return part  # the client raises it: an error raised here would be logged as a failure of the worker
    if digest is not None and part.digest != digest:
        raise ClusterError(
            f"{named(part.numbers)} had other rows when it was loaded again than at first: its source has changed, or "
            "does not always return the same. Store the data before it is used"
        )
    call, kept = cloudpickle.loads(packed)
    with part.lock:
        part.forget(forget)
        try:
            return part.done(call, kept)
        except Missing as missing:
            return missing


def added(answers: Sequence[Any]) -> Any:
    """Return the entrywise sum of tuples, in order; concatenate lists. Return the first error if there is one.

    Examples
    --------
    >>> added([(1, [2.0]), (3, [4.0])])
    (4, [2.0, 4.0])
    """
    for one in answers:
        if isinstance(one, Exception):
            return one
    return reduce(lambda mine, other: tuple(map(add, mine, other)), answers)


DIRECT_BYTES = 2**28
"""Calls are direct only if no part has more bytes than this. For larger parts the latency of tasks is negligible."""

UNSEEN_FOR = 30.0
"""Seconds after the last call by tasks until the next one: a scheduler without tasks considers the cluster idle."""


class PartCall(NamedTuple):
    """The recipient of a direct call: the key of a part, the address of its worker, and the digest of its rows."""

    key: Any
    home: str
    digest: str | None


def answers_of(connection: Connection, recipients: Sequence[PartCall], packed: bytes, forget: list[str]) -> list[Any]:
    """Make a direct call and return the result of each part, or the error that the function raised, in order.

    Raise one of `frankwolfe.cluster.connection.LOST` if a message, a part or a worker was lost.
    """
    replies = connection.broadcast({part.home for part in recipients}, answer_here, [*recipients], packed, forget)
    found = []
    for part in recipients:
        reply = replies.get(part.home)
        if not isinstance(reply, dict) or part.key not in reply:
            raise Moved(f"a part is not where it was, on {part.home}")
        found.append(reply[part.key])
    return found


async def answer_here(recipients: list[PartCall], packed: bytes, forget: list[str], dask_worker: Any) -> dict[str, Any]:
    """Run a direct call on all parts of this worker. Return an empty dict if a part is not in its memory."""
    logging.getLogger("distributed.worker").addFilter(_is_no_direct_call)
    mine = [part for part in recipients if part.home == dask_worker.contact_address]
    if dask_worker.status != Status.running or any(part.key not in dask_worker.data for part in mine):
        return {}  # a worker that is paused because it is short of memory must not get more work
    loop, threads = asyncio.get_running_loop(), dask_worker.executors["default"]
    work = [
        loop.run_in_executor(
            threads, _run_in_thread, dask_worker.data[part.key], packed, forget, part.digest, dask_worker.state.nthreads
        )
        for part in mine
    ]
    return dict(zip((part.key for part in mine), await asyncio.gather(*work), strict=True))


def _run_in_thread(part: Any, packed: bytes, forget: list[str], digest: str | None, threads: int) -> Any:
    """Run a call in a thread of a worker. Return an error rather than raise it: the worker would log it."""
    token = worker_threads.set(threads)
    try:
        return answer(part, packed, forget, digest)
    except Exception as error:
        return sendable(error)
    finally:
        worker_threads.reset(token)


def sendable(error: Exception) -> Exception:
    """Return an error that keeps its traceback when it is pickled, or its text if it cannot be pickled."""
    try:
        pickling_support.install(error)
        return cloudpickle.loads(cloudpickle.dumps(error))
    except Exception:
        return Exception(repr(error))


def _is_no_direct_call(record: logging.LogRecord) -> bool:
    """Return False for the log lines that Dask writes for each direct call."""
    return record.args != (answer_here.__name__,)


FAN_IN = 8
"""Number of results that one task sums on a worker. With no more parts than this, the client sums the results."""

LARGE = 2**16
"""Bytes of arguments above which the client sends them once, and workers copy them from each other."""

MOST_ATTEMPTS = 6
"""Attempts to make a call, if workers die or the connection is lost, before `ClusterError` is raised."""

PAUSE = 0.05
"""Seconds before the second attempt of a call; the pause doubles with each further attempt."""


class Cluster:
    """Parts of the data on the workers of a Dask cluster, and calls to all of them.

    Parameters
    ----------
    client : Client
        Connected to a scheduler.
    chunks : Chunks
        The data, which the first call loads.

    Attributes
    ----------
    calls : int
        Number of calls so far; each is a round trip.
    direct : int
        Number of direct calls, see `frankwolfe.cluster.calls`.
    reloads : int
        How often parts were loaded again because the connection was lost or Dask had cancelled them.
    """

    def __init__(self, client: Client, chunks: Chunks):
        self.client, self.connection, self.sent = client, Connection(client), Sent()
        self.loader, self.placement = Loader(chunks, self.connection), Placement(self.connection)
        self.calls = self.direct = self.reloads = 0
        self._numbers = count()
        self._token = uuid4().hex[:8]
        self._largest = inf
        self._seen = 0.0
        self.parts = self.placement.parts

    def __getstate__(self) -> Any:
        raise TypeError("a problem on a cluster cannot be pickled: make it anew from its dask collections")

    def __deepcopy__(self, memo: Any) -> "Cluster":
        return self

    def drop_empty(self, answers: list[dict[str, Any]]) -> None:
        """Drop the parts that have no rows. Every later call compares the rows of a part with its digest.

        ``answers`` are facts about each part: its number of ``rows``, its ``digest``, and its size in ``bytes``.
        """
        for part, answer in zip(self.parts, answers, strict=True):
            part.digest = answer["digest"]
        self.parts[:] = [part for part, answer in zip(self.parts, answers, strict=True) if answer["rows"]]
        self._largest = max(answer["bytes"] for answer in answers)

    def handle(self, call: Call, shape: tuple[int, ...] = ()) -> Handle:
        """Return a handle to the result of a task, which each part computes when a call first needs it."""
        return Handle(call, self.sent, shape)

    def run(self, task: Task, *args: Any) -> tuple:
        """Run ``task(part, *args)`` on every part and return the sum of the results, added in the order of parts."""
        return self.sums(Call(task, args))

    def each(self, task: Task, *args: Any) -> list[Any]:
        """Run ``task(part, *args)`` on every part and return the list of results."""
        return self._call(Call(task, args), (), summed=False)

    def sums(self, call: Call, kept: tuple[Handle, ...] = ()) -> tuple:
        """Make a call. Parts store the first results under the handles ``kept``; return the sums of the others."""
        return self._call(call, kept, summed=True)[0]

    def _call(self, call: Call, kept: tuple[Handle, ...], summed: bool) -> list[Any]:
        """Make a call, and repeat it if work is lost. Return the results, or a list that holds only their sum."""
        self.calls += 1
        for attempt in range(MOST_ATTEMPTS):
            try:
                return self._attempt(call, kept, summed, direct=attempt == 0)
            except TaskError as error:
                raise error.cause  # noqa: B904 - as if the function had run in this process
            except LOST as error:
                self._recover(error, attempt)
        raise AssertionError("unreachable: the last attempt raises")

    def _attempt(self, call: Call, kept: tuple[Handle, ...], summed: bool, direct: bool) -> list[Any]:
        """Make a call once. If a part lacks a value, make it again and send all recipes, also those sent before."""
        self._place_parts()
        try:
            found = self._answers(call.name, self._packed(call, kept), summed, direct)
            if any(isinstance(one, Missing) for one in found):  # a part was moved or reloaded, without its values
                self.placement.invalidate()
                found = self._answers(call.name, self._packed(call, kept, whole=True), summed, direct)
            for one in found:
                if isinstance(one, Exception):
                    raise one if isinstance(one, ClusterError) else TaskError(one)
            return found
        except TaskError as error:
            chunks = self.loader.failed(self.parts)
            if not chunks:
                raise
            cause = error.cause
            raise ClusterError(f"{chunks} of the data could not be loaded on a worker: {describe(cause)}") from cause

    def _place_parts(self) -> None:
        """Spread the parts over the workers, and choose a worker for each part that has to be loaded."""
        if not self.parts:
            self.parts += self.loader.plan()
            self.placement.schedule_query()
            return
        lost = self.placement.update()
        self.connection.forget([part.future for part in lost if part.future is not None])
        for part in lost:
            part.future = None
        if lost:
            self.loader.check_persisted()
            self.reloads += 1
        for part in lost:
            self.placement.place(part)

    def _packed(self, call: Call, kept: tuple[Handle, ...], whole: bool = False) -> bytes:
        """Pickle a call. Leave out the recipes that the parts already have, unless ``whole``."""
        known = set[str]() if whole else self.sent.keys
        packed = pack((call, kept), known)
        self.sent.keys |= known
        return packed

    def _answers(self, name: str, packed: bytes, summed: bool, direct: bool) -> list[Any]:
        """Send a pickled call and return the results of the parts; if ``summed``, a list that holds only their sum."""
        label = f"{self._token}-{next(self._numbers)}"
        with self.sent.taken() as forget:
            recipients = self._within_reach(packed) if direct else []
            if recipients:
                found = answers_of(self.connection, recipients, packed, forget)
                self.direct += 1
            else:
                found = self._by_tasks(name, label, packed, forget, summed)
                self._seen = monotonic()
        return [added(found)] if summed else found

    def _within_reach(self, packed: bytes) -> list[PartCall]:
        """Return the recipients of a direct call, or an empty list if the call must be made by tasks.

        A call is direct if parts are small enough for latency to matter, if the message and the number of parts are
        small (tasks distribute large ones better), and if all parts are loaded on known workers.
        """
        if self._largest > DIRECT_BYTES or len(packed) > LARGE or len(self.parts) > FAN_IN:
            return []
        if monotonic() > self._seen + UNSEEN_FOR:
            return []
        found = [
            PartCall(part.future.key, part.home, part.digest)
            for part in self.parts
            if part.future is not None and part.future.status == "finished" and part.home is not None
        ]
        if len(found) == len(self.parts):
            return found
        self.placement.invalidate()
        return []

    def _by_tasks(self, name: str, label: str, packed: bytes, forget: list[str], summed: bool) -> list[Any]:
        """Make a call by Dask tasks. Load missing parts first. With many parts, workers sum the results in a tree."""
        tasks = Submission()
        missing = [part for part in self.parts if part.future is None]
        loads = [self.loader.add(part, tasks) for part in missing]
        call: Any = packed
        if len(packed) > LARGE and len(self.parts) > 1:  # the client sends it once; workers copy it from each other
            call = tasks.add(f"frankwolfe-call-{label}", same, packed)
            tasks.room += 2 * len(packed) + 2**16
        answers, loading = [], iter(loads)
        for part in self.parts:
            # only on the worker that holds the part: an idle worker would copy the rows, without the values kept there
            place = {} if part.home is None else {"workers": [part.home]}
            here = TaskRef(next(loading) if part.future is None else part.future.key)
            label_of_part = f"frankwolfe-{name}-{label}-{part.number}"
            answers.append(tasks.add(label_of_part, answer, here, call, forget, part.digest, **place))
        last = _summed_on_workers(tasks, answers, label) if summed else answers
        futures = tasks.submit(self.client, [*loads, *(task.key for task in last)])
        for part in missing:
            part.future = futures.pop(0)
        try:
            return self.connection.gathered(futures, self.placement.addresses())
        finally:
            for future in futures:
                future.release()

    def _recover(self, error: BaseException, attempt: int) -> None:
        """Prepare another attempt: wait for the connection, and assume that parts have lost all recipes."""
        if attempt == MOST_ATTEMPTS - 1:
            raise ClusterError(
                f"a call was given up after {MOST_ATTEMPTS} attempts, the last of which ended with {describe(error)}. "
                "If workers run out of memory, give them more, or start more of them"
            ) from error
        sleep(PAUSE * 2**attempt)
        self.connection.wait_until_back(error)
        self.sent.keys.clear()
        self.placement.invalidate()


def _summed_on_workers(tasks: Submission, answers: list[TaskRef], label: str) -> list[TaskRef]:
    """Add tasks that sum results on the workers, level by level, until at most `FAN_IN` are left."""
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
