"""What a worker does with a call, and how answers are added up."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import cloudpickle
import numpy as np

from frankwolfe.cluster.cluster_error import ClusterError
from frankwolfe.cluster.handles import Missing
from frankwolfe.cluster.part_loader import Refused, named
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
