"""The relative entropy, term by term: what the conjugates of the logistic and multinomial losses are made of."""

from math import inf, log

from frankwolfe.compile.verbs import routine

CLOSE = 1e-3
"""Relative difference below which a series takes the place of a logarithm, whose digits would cancel."""

LARGE = 1e300
"""Quotients below this do not overflow."""

EDGE = 1e-14
"""Part by which a slope may be outside of a domain and count as on its edge.

A slope is a table's entry divided by a weight: where the derivative is on the edge, rounding may put it a unit beyond.
"""


@routine
def within(a, low, high):
    """Return ``a``, on the edge where rounding has put it beyond one; infinity where it is outside of an interval."""
    if a < low:
        return low if a >= low - EDGE * max(1.0, abs(low)) else inf
    if a > high:
        return high if a <= high + EDGE * max(1.0, abs(high)) else inf
    return a


@routine
def entropy(q):
    """Return ``q log q``, zero at zero; infinite for a negative ``q``."""
    if q <= 0.0:
        return 0.0 if q >= -EDGE else inf
    return q * log(q)


@routine
def entropy_term(q, p, difference):
    """Return ``q log(q / p) - q + p``, which is never negative; infinite for a negative ``q``.

    ``difference`` is ``q - p``, which a caller may know to more digits than the two numbers tell.
    """
    if q < 0.0:
        return p if q >= -EDGE else inf
    if p <= 0.0:
        return inf if q > 0.0 else 0.0
    if abs(difference) < CLOSE * p:
        t = difference / p
        return p * t * t * (0.5 - t * (1.0 / 6.0 - t * (1.0 / 12.0 - t * (0.05 - t / 30.0))))
    if q == 0.0:
        return p
    ratio = log(q / p) if q < LARGE * p else log(q) - log(p)  # the quotient may overflow
    return max(0.0, q * ratio - difference)
