"""Directions brought to ordinary size: squares and powers of their entries then neither overflow nor vanish."""

from math import sqrt

from frankwolfe.compile.verbs import routine


@routine
def normalise(r, room):
    """Fill ``room`` with ``r`` divided by its largest size, which becomes 1; say whether it has a non-zero at all."""
    largest = 0.0
    for j in range(len(r)):
        largest = max(largest, abs(r[j]))
    if largest == 0.0:
        room[:] = 0.0
        return False
    lift = 1e200 if largest < 1e-200 else 1.0  # subnormal entries are lifted first, or 1 / largest would overflow
    largest *= lift
    for j in range(len(r)):
        room[j] = lift * r[j] / largest
    return True


@routine
def oppose(r, size, room):
    """Fill ``room`` with the vector of Euclidean norm ``size`` that points against ``r``."""
    if not normalise(r, room):  # every direction is as good: take one
        room[0] = size
        return
    squares = 0.0
    for j in range(len(room)):
        squares += room[j] * room[j]
    stretch = -size / sqrt(squares)
    for j in range(len(room)):
        room[j] *= stretch
