"""What every tracker can be asked, and what it answers where it does not say otherwise.

A tracker is what a set keeps about ``r`` so that its oracle is cheap; the set's method ``tracker(d)`` makes it. Where
one enters, `tracker_of` gives its class the methods below that it does not have.
"""

from typing import Any

import numpy as np

from frankwolfe.compile.part import Part, lent
from frankwolfe.compile.verbs import row_add


class TrackerDefaults:
    """Answers of a tracker that keeps track of nothing: the set's oracle looks at all of ``r``."""

    @property
    def lazy(self) -> bool:
        """Whether an answer costs less than a look at all of ``r``."""
        return False

    def add_row(self, rows, i, c, r):
        """Add ``c`` times row ``i`` to ``r``."""
        row_add(rows, i, c, r)

    def rebuild(self, r):
        """Do nothing: the oracle looks at everything anyway."""

    def connected(self, failed: np.ndarray) -> Any:
        """Return the tracker with the flag that it raises when its oracle fails: here that cannot happen."""
        return self


def tracker(kind: type[Part]) -> type[Part]:
    """Class decorator of the package's trackers: what they do not say has a default."""
    return lent(TrackerDefaults)(kind)


def tracker_of(constraint: Any, d: int) -> Any:
    """Return a set's tracker for ``d`` weights, which answers all that trackers are asked."""
    made = constraint.tracker(d)
    tracker(type(made))
    return made
