"""`Cluster`: runs a function on every part of the data and adds up what it returns, whatever happens to workers."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import reduce
from itertools import count
from time import sleep
from typing import Any
from uuid import uuid4

import cloudpickle
import dask
import numpy as np
from dask.distributed import Client, Future

from frankwolfe.cluster.cluster_error import ClusterError
from frankwolfe.cluster.connection import LOST, Connection, TaskError, said
from frankwolfe.cluster.handles import Handle, Missing, Recipe, Sent, packing
from frankwolfe.cluster.part_loader import Chunks, Loader, Refused, named
from frankwolfe.cluster.placement import GONE, Placement, same

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
    reloads : int
        How often parts were loaded again because the connection had been lost, or Dask had given them up.
    """

    def __init__(self, client: Client, chunks: Chunks):
        self.client, self.connection, self.sent = client, Connection(client), Sent()
        self.loader, self.placement = Loader(chunks, self.connection), Placement(self.connection)
        self.calls = self.reloads = 0
        self._numbers = count()
        self._token = uuid4().hex[:8]
        self._digests: list[str] = []
        self.parts: list[Future | None] = []

    def __getstate__(self) -> Any:
        raise TypeError("a problem on a cluster cannot be pickled: make it anew from its dask collections")

    def __deepcopy__(self, memo: Any) -> "Cluster":
        return self

    def keep_parts(self, kept: list[int], digests: list[str]) -> None:
        """Let go of all parts but some: the others have no rows. These must never change, as their digests say."""
        self.loader.keep_groups(kept)
        self.parts = [self.parts[k] for k in kept]
        self._digests = digests
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
                return self._attempt(name, function, args, summed)
            except TaskError as error:
                raise error.cause  # noqa: B904 - as if the task had been done here
            except LOST as error:
                self._recover(error, attempt)
        raise AssertionError("unreachable: the last attempt raises")

    def _attempt(self, name: str, function: Callable[..., Any], args: tuple, summed: bool) -> list[Any]:
        """Make a call; with the recipes that parts have been sent before, if one has lost what they made."""
        self._get_ready()
        try:
            found = self._answers(name, self._packed(function, args), summed)
            if any(isinstance(answer, Missing) for answer in found):  # a part is new where it is
                self.placement.disturbed()
                found = self._answers(name, self._packed(function, args, whole=True), summed)
            for answer in found:
                if isinstance(answer, Refused):
                    raise TaskError(answer.error())
            return found
        except TaskError as error:
            chunks = self.loader.failed([part for part in self.parts if part is not None])
            if not chunks:
                raise
            cause = error.cause
            raise ClusterError(f"{chunks} of the data could not be loaded on a worker: {said(cause)}") from cause

    def _get_ready(self) -> None:
        """Load what is not loaded, and see to it that the parts are spread over the workers."""
        if not self.parts:
            self.parts, self.placement.homes = self.loader.parts()
        if any(part is None or part.status in GONE for part in self.parts):
            self.placement.disturbed()
        lost = self.placement.settle(self.parts)
        self.connection.forget([part for k, part in enumerate(self.parts) if k in lost and part is not None])
        self.parts = [None if k in lost else part for k, part in enumerate(self.parts)]
        if None in self.parts:
            self.loader.check_persisted()
            self.reloads += 1
            self.parts = [
                self.loader.part(k, self.placement.place(k)) if part is None else part
                for k, part in enumerate(self.parts)
            ]

    def _packed(self, function: Callable[..., Any], args: tuple, whole: bool = False) -> bytes:
        """Return a call as bytes, without what the parts have been sent before unless it is to be whole."""
        sent = Sent() if whole else self.sent
        with packing(sent):
            packed = cloudpickle.dumps((function, args))
        self.sent.keys |= sent.keys
        return packed

    def _answers(self, name: str, packed: bytes, summed: bool) -> list[Any]:
        """Return what the parts answer to a call; where it is to be summed, a list of one."""
        number = next(self._numbers)
        futures: list[Future] = []
        with self.sent.taken() as forget, ExitStack() as stack:
            stack.callback(lambda: [future.release() for future in futures])
            call = self._spread(packed, number) if len(packed) > LARGE and len(self.parts) > 1 else packed
            label = f"{name}-{self._token}-{number}"
            futures += [self._submitted(label, k, call, forget) for k in range(len(self.parts))]
            last = self._summed(futures.copy(), number) if summed else futures.copy()
            futures += last
            found = self.connection.gathered(last, self.placement.known())
        return [_added(found)] if summed else found

    def _summed(self, futures: list[Future], number: int) -> list[Future]:
        """Add up many answers on the workers, until they are few."""
        level = 0
        while len(futures) > FAN_IN:
            groups = [futures[k : k + FAN_IN] for k in range(0, len(futures), FAN_IN)]
            futures = [
                self.client.submit(_added, group, key=f"frankwolfe-sum-{self._token}-{number}-{level}-{k}")
                for k, group in enumerate(groups)
            ]
            level += 1
        return futures

    def _spread(self, packed: bytes, number: int) -> Future:
        """Send a large call once: workers get it from each other."""
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": 2 * len(packed) + 2**16}):
            return self.client.submit(same, packed, key=f"frankwolfe-call-{self._token}-{number}")

    def _submitted(self, label: str, k: int, call: Any, forget: list[str]) -> Future:
        """Ask one part: where it is, and nowhere else, for an idle worker would copy it and know nothing."""
        home = self.placement.homes[k]
        place = {} if home is None else {"workers": [home]}
        digest = self._digests[k] if self._digests else None
        key = f"frankwolfe-{label}-{k}"
        return self.client.submit(_work, self.parts[k], call, forget, digest, key=key, pure=False, **place)

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


def _work(part: Any, packed: bytes, forget: list[str], digest: str | None) -> Any:
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


def _added(answers: Sequence[Any]) -> Any:
    """Return the sums of tuples, in order; what is missing anywhere is missing of the sum."""
    for answer in answers:
        if isinstance(answer, Missing | Refused):
            return answer
    return reduce(_sum, answers)


def _sum(mine: tuple, other: tuple) -> tuple:
    return tuple(np.add(one, two) for one, two in zip(mine, other, strict=True))
