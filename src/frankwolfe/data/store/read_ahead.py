"""Shards read by a thread of its own, ahead of those who work on them."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Lock
from typing import Any

from frankwolfe.data.store.row_store import Room, RowStore

MOST_ROOMS = 4
"""Shards in memory at most, while all of them are read in turn: two that are worked on, two that are read ahead."""


class Reading:
    """One read of some shards in order.

    A room is memory for one shard. The thread that reads waits for one to be free, so no more shards are in memory than
    there are rooms. Work is done in the order of the shards, so the first ones are always let go of.

    Parameters
    ----------
    store : RowStore
        What is read.
    numbers : sequence of int
        Which shards, in order.
    uses : sequence of int
        How often each will be asked for, before its room is free again.
    rooms : list of Room
        Memory to read into.
    read : callable
        Told the number of each shard that has been read.
    """

    def __init__(
        self,
        store: RowStore,
        numbers: Sequence[int],
        uses: Sequence[int],
        rooms: list[Room],
        read: Callable[[int], None],
    ):
        self._store, self._left, self._told = store, dict(zip(numbers, uses, strict=True)), read
        self._free: SimpleQueue[Room | None] = SimpleQueue()
        for room in rooms:
            self._free.put(room)
        self._lock = Lock()
        self._rooms: dict[int, Room] = {}
        self._stopped = False
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="frankwolfe-read")
        self._rows: dict[int, Future] = {number: self._pool.submit(self._read, number) for number in numbers}

    def _read(self, number: int) -> Any:
        room = self._free.get()
        if room is None or self._stopped:
            return None
        self._rooms[number] = room
        rows = self._store.read([number], room)
        self._told(number)
        return rows

    @contextmanager
    def shard(self, number: int) -> Iterator[Any]:
        """Have the rows of a shard while the block runs; nothing that looks at them may be kept."""
        yield self._rows[number].result()
        with self._lock:
            self._left[number] -= 1
            if self._left[number] == 0:
                del self._rows[number]
                self._free.put(self._rooms.pop(number))

    def close(self) -> None:
        """Stop reading."""
        self._stopped = True
        for future in list(self._rows.values()):
            future.cancel()
        self._free.put(None)  # for the one that waits
        self._pool.shutdown(wait=True)


@contextmanager
def reading(
    store: RowStore, numbers: Sequence[int], uses: Sequence[int], read: Callable[[int], None]
) -> Iterator[Reading]:
    """Read shards in order while the block runs, ahead of those who ask for them."""
    rooms = store.lend_rooms(min(MOST_ROOMS, len(numbers), store.memory // max(store.largest_shard, 1)))
    stream = Reading(store, numbers, uses, rooms, read)
    try:
        yield stream
    finally:
        stream.close()
        store.return_rooms(rooms)
