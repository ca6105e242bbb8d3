"""Euclidean lengths that neither overflow nor vanish."""

from math import sqrt

from frankwolfe.verbs import routine


@routine
def oppose(values, size):
    """Turn ``values`` around and give them the Euclidean norm ``size``, in place."""
    largest = 0.0
    for k in range(len(values)):
        largest = max(largest, abs(values[k]))
    if largest == 0.0:  # every direction is as good: take one
        values[:] = 0.0
        values[0] = size
        return
    # the squares of values / largest neither overflow nor vanish; subnormal ones are lifted, or 1 / largest would
    lift = 1e200 if largest < 1e-200 else 1.0
    largest *= lift
    squares = 0.0
    for k in range(len(values)):
        values[k] = lift * values[k] / largest
        squares += values[k] * values[k]
    stretch = -size / sqrt(squares)
    for k in range(len(values)):
        values[k] *= stretch
