"""Which worker each part of the data is on: calls go there, and no worker has two parts while another has none."""

from collections import Counter
from collections.abc import Sequence
from time import monotonic
from typing import Any
from uuid import uuid4

from dask.distributed import Future

from frankwolfe.cluster.connection import Connection

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
