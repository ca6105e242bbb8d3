"""Domains of conjugates, and the relative entropy that those of the logistic and multinomial losses are made of."""

from math import inf, log

from frankwolfe.compile.verbs import routine

CLOSE = 1e-3
"""Relative difference below which a series takes the place of a logarithm, whose digits would cancel."""

LARGE = 1e300
"""Quotients below this do not overflow."""

EDGE = 1e-15
"""Relative distance by which a slope may lie beyond the edge of a domain and count as on it.

A slope is a table's entry divided by a weight, so rounding may put a slope on the edge a unit beyond. The distance is
relative to the edge: an absolute one would be wider than the whole domain of a loss in small units. An edge at zero has
no room beyond it, for no quotient changes its sign by rounding.
"""


@routine
def within(a, low, high):
    """Return ``a``, moved to the edge if rounding put it beyond; infinity if it is outside of ``[low, high]``."""
    if a < low:
        return low if a >= low - EDGE * abs(low) else inf
    if a > high:
        return high if a <= high + EDGE * abs(high) else inf
    return a


@routine
def entropy(q):
    """Return ``q log q``, zero at zero; infinite for a negative ``q``."""
    if q <= 0.0:
        return 0.0 if q == 0.0 else inf
    return q * log(q)


@routine
def entropy_term(q, p, difference):
    """Return ``q log(q / p) - q + p``, which is never negative; infinite for a negative ``q``.

    ``difference`` is ``q - p``, which a caller may know to more digits than the two numbers tell.
    """
    if q < 0.0:
        return inf
    if p <= 0.0:
        return inf if q > 0.0 else 0.0
    if abs(difference) < CLOSE * p:
        t = difference / p
        return p * t * t * (0.5 - t * (1.0 / 6.0 - t * (1.0 / 12.0 - t * (0.05 - t / 30.0))))
    if q == 0.0:
        return p
    ratio = log(q / p) if q < LARGE * p else log(q) - log(p)  # the quotient may overflow
    return max(0.0, q * ratio - difference)
