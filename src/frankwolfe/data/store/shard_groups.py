"""Groups of shards that are in memory together: what stochastic methods sample from, one group after the other."""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.data.store.row_store import LIMIT, RowStore


class GroupPlan(NamedTuple):
    """How many groups there are, and what they hold at most and at least.

    One group is worked on while the next one is read, so each has half of the memory.

    Attributes
    ----------
    groups : int
        Their number.
    most_rows, most_entries : int
        What the largest can hold: room for any group.
    fewest_rows : int
        What the smallest can hold.
    """

    groups: int
    most_rows: int
    most_entries: int
    fewest_rows: int

    @classmethod
    def of(cls, store: RowStore) -> "GroupPlan":
        """Plan groups of equally many shards, or one less, for the memory of a store."""
        count, most = len(store.shards), max(shard.entries for shard in store.shards)
        together = max(1, min(count, (store.memory // 2) // store.largest_shard, LIMIT // max(most, 1)))
        groups = -(-count // together)
        rows = np.sort([shard.rows for shard in store.shards])
        entries = np.sort([shard.entries for shard in store.shards])
        large, small = -(-count // groups), count // groups
        return cls(groups, int(rows[-large:].sum()), int(entries[-large:].sum()), int(rows[:small].sum()))


class ShuffledGroups:
    """All shards in a new random order for each pass, in groups.

    Parameters
    ----------
    store : RowStore
        Whose shards.
    generator : numpy.random.Generator
        Of the orders, and of nothing else: the next ones are known whenever they are needed.
    """

    def __init__(self, store: RowStore, generator: np.random.Generator):
        self._store, self._generator = store, generator
        self.plan = GroupPlan.of(store)
        self._orders: list[np.ndarray] = []  # of this pass and the next
        self._at = 0  # group of this pass

    @property
    def shards(self) -> int:
        """Number of shards."""
        return len(self._store.shards)

    def group(self, ahead: int = 0) -> np.ndarray:
        """Return the shards of the present group, or of one that comes after it."""
        passes, at = divmod(self._at + ahead, self.plan.groups)
        while len(self._orders) <= passes:
            self._orders.append(self._generator.permutation(len(self._store.shards)))
        return np.array_split(self._orders[passes], self.plan.groups)[at]

    def steps(self, batch_size: int) -> int:
        """Return how many batches the present group is worth: its share of those of a pass."""
        self.group()
        groups = np.array_split(self._orders[0], self.plan.groups)
        before = sum(self._rows(group) for group in groups[: self._at])
        return (before + self._rows(groups[self._at])) // batch_size - before // batch_size

    def _rows(self, group: np.ndarray) -> int:
        return sum(self._store.shards[number].rows for number in group)

    def go_on(self) -> None:
        """Go on to the next group."""
        self._at += 1
        if self._at == self.plan.groups:
            self._at = 0
            self._orders.pop(0)

    def parts(self, group: np.ndarray) -> list[slice]:
        """Return where the rows of some shards are among all rows."""
        offsets = self._store.offsets
        return [slice(int(offsets[number]), int(offsets[number + 1])) for number in group]

    def state(self) -> dict[str, Any]:
        """Return the orders, the place in them, and the generator."""
        return {
            "orders": np.array(self._orders).reshape(len(self._orders), len(self._store.shards)),
            "group": self._at,
            "generator": self._generator.bit_generator.state,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where the one with this state was."""
        self._orders, self._at = list(np.array(state["orders"])), int(state["group"])
        self._generator.bit_generator.state = state["generator"]
