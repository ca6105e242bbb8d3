"""`Cluster`: runs a function on every part of the data and adds up what it returns, whatever happens to workers."""

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import count
from time import monotonic, sleep
from typing import Any
from uuid import uuid4

import cloudpickle
import numpy as np
from dask.distributed import Client, Future, wait
from distributed.client import FutureCancelledError, FuturesCancelledError
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker

from frankwolfe.cluster.cluster_error import ClusterError
from frankwolfe.cluster.handles import Handle, Missing, Recipe, Sent, packing
from frankwolfe.cluster.part_loader import Loader, Refused

FAN_IN = 8
"""Answers that are added up at a time, on a worker; fewer parts than that send theirs to the client directly."""

LARGE = 2**16
"""Bytes of arguments from which on they are sent once, and passed on from worker to worker."""

MOST_ATTEMPTS = 6
"""How often a call is tried before it is given up: workers died under it, or the connection was lost."""

PATIENCE = 120.0
"""Seconds to wait for a worker, or for the connection to come back, where there is none."""

POLL = 5.0
"""Seconds between two looks whether there are workers, while a call takes long."""

LOST = (KilledWorker, FutureCancelledError, FuturesCancelledError, CommClosedError)
"""What Dask raises where work was lost and may be done again."""


class Cluster:
    """Parts of the data on the workers of a Dask cluster, and calls to all of them.

    Parameters
    ----------
    client : Client
        Connected to a scheduler.
    loader : Loader
        Makes the parts, and makes them again.

    Attributes
    ----------
    calls : int
        Calls made so far; each is a round trip.
    reloads : int
        How often the data was loaded again because the connection had been lost.
    """

    def __init__(self, client: Client, loader: Loader):
        self.client, self.loader, self.sent = client, loader, Sent()
        self.calls = self.reloads = 0
        self._numbers = count()
        self._token = uuid4().hex[:8]
        self.parts: list[Future] = loader.parts(client)

    def __getstate__(self) -> Any:
        raise TypeError("a problem on a cluster cannot be pickled: make it anew from its dask collections")

    def __deepcopy__(self, memo: Any) -> "Cluster":
        return self

    def keep_parts(self, kept: list[int]) -> None:
        """Let go of all parts but some: the others have no rows."""
        self.loader.keep_groups(kept)
        self.parts = [self.parts[k] for k in kept]

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
                found = self._answers(name, self._pack(function, args), summed)
                if any(isinstance(answer, Missing) for answer in found):  # a part is new where it is
                    self.sent.keys.clear()
                    found = self._answers(name, self._pack(function, args), summed)
                return found
            except LOST as error:
                self._recover(error, attempt)
        raise AssertionError("unreachable: the last attempt raises")

    def _pack(self, function: Callable[..., Any], args: tuple) -> bytes:
        """Return a call as bytes, without what the parts have been sent before."""
        with packing(self.sent):
            return cloudpickle.dumps((function, args))

    def _answers(self, name: str, packed: bytes, summed: bool) -> list[Any]:
        """Return what the parts answer to a call; where it is to be summed, a list of one."""
        number, forget = next(self._numbers), self.sent.dropped.copy()
        del self.sent.dropped[: len(forget)]
        label = f"frankwolfe-{name}-{self._token}-{number}"
        call: Any = packed
        if len(packed) > LARGE and len(self.parts) > 1:
            call = self.client.submit(_itself, packed, key=f"frankwolfe-call-{self._token}-{number}")
        futures = [
            self.client.submit(_work, part, call, forget, key=f"{label}-{k}", pure=False)
            for k, part in enumerate(self.parts)
        ]
        level = 0
        while summed and len(futures) > FAN_IN:
            groups = [futures[k : k + FAN_IN] for k in range(0, len(futures), FAN_IN)]
            futures = [
                self.client.submit(_added, group, key=f"frankwolfe-sum-{self._token}-{number}-{level}-{k}")
                for k, group in enumerate(groups)
            ]
            level += 1
        found = self._gathered(futures)
        return [_added(found)] if summed else found

    def _gathered(self, futures: list[Future]) -> list[Any]:
        """Return the results of tasks; raise what went wrong, or that there is no worker to do them."""
        last_seen = monotonic()
        while True:
            try:
                with self.client.as_current():  # there may be no default client
                    wait(futures, timeout=POLL)
                break
            except TimeoutError:
                if self.client.status != "running":
                    raise CommClosedError("the connection to the scheduler was lost") from None
                if self.client.nthreads():
                    last_seen = monotonic()
                elif monotonic() - last_seen > PATIENCE:
                    raise ClusterError(
                        f"the cluster has had no workers for {PATIENCE:g} seconds: start some, and go on with "
                        "fw.resume if the run kept a checkpoint"
                    ) from None
        try:
            return self.client.gather(futures)
        except LOST:
            raise
        except Exception as error:
            self._explain(error)
            raise

    def _explain(self, error: Exception) -> None:
        """Raise an error that says so if a part of the data could not be loaded."""
        if any(part.status == "error" for part in self.parts):
            raise ClusterError(
                f"a chunk of the data could not be loaded on a worker: {type(error).__name__}: {error}"
            ) from error

    def _recover(self, error: Exception, attempt: int) -> None:
        """Get ready for another attempt: wait for the connection, and load the data again where it is lost."""
        if attempt == MOST_ATTEMPTS - 1:
            raise ClusterError(
                f"a call was given up after {MOST_ATTEMPTS} attempts, the last of which ended with "
                f"{type(error).__name__}: {error}. If workers run out of memory, give them more, or more of them"
            ) from error
        begun = monotonic()
        while self.client.status != "running":
            if self.client.status == "closed" or monotonic() - begun > PATIENCE:
                raise ClusterError(f"the connection to the cluster was lost, and has not come back: {error}") from error
            sleep(0.1)  # other threads bring it back
        self.sent.keys.clear()
        if isinstance(error, KilledWorker) or any(part.status != "finished" for part in self.parts):
            self.reloads += 1
            self.parts = self._reloaded()

    def _reloaded(self) -> list[Future]:
        """Load the data again."""
        try:
            return self.loader.parts(self.client, again=True)
        except LOST:
            return self.parts  # the next attempt tries again


def _itself(value: Any) -> Any:
    return value


def _work(part: Any, packed: bytes, forget: list[str]) -> Any:
    """Answer a call on a worker."""
    if isinstance(part, Refused):
        raise part.error()
    part.forget(forget)
    function, args = cloudpickle.loads(packed)
    try:
        return function(part, *args)
    except Missing as missing:
        return missing


def _added(answers: Sequence[Any]) -> Any:
    """Return the sums of tuples, in order; what is missing anywhere is missing of the sum."""
    for answer in answers:
        if isinstance(answer, Missing):
            return answer
    return reduce(_sum, answers)


def _sum(mine: tuple, other: tuple) -> tuple:
    return tuple(np.add(one, two) for one, two in zip(mine, other, strict=True))
