"""Functions of predictions, which are numbers or short arrays: written twice, chosen by the compiler.

A prediction is a number or, where there are several outputs (one weight column a class), a short array; ``alpha[i]``
is then a row. Parts therefore only add, subtract and scale what `prediction` and `derivative` return, assign to
``alpha[i]`` whole, and leave the rest to the *twofold* functions here, compiled for the one or the other.
"""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

import numpy as np

Function = TypeVar("Function", bound=Callable)

TWOFOLD: dict[Callable, tuple[Callable, Callable]] = {}


def twofold(several: Callable) -> Callable[[Function], Function]:
    """Mark a function of a number, with its twin for arrays: compiled, its last argument decides between the two."""

    def mark(single):
        @wraps(single)
        def choose(*args):
            return (several if isinstance(args[-1], np.ndarray) else single)(*args)

        TWOFOLD[choose] = (single, several)
        return choose

    return mark


def _sizes(z):
    total = 0.0
    for c in range(len(z)):
        total += abs(z[c])
    return total


@twofold(_sizes)
def magnitude(z):
    """Sum of absolute values."""
    return abs(z)


def _contracted(p, q):
    total = 0.0
    for c in range(len(p)):
        total += p[c] * q[c]
    return total


@twofold(_contracted)
def contract(p, q):
    """Inner product of what belongs to two predictions."""
    return p * q
