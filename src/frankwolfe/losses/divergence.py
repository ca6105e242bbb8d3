"""The relative entropy, term by term: what the conjugates of the logistic and multinomial losses are made of."""

from math import inf, log

from frankwolfe.compile.verbs import routine

CLOSE = 1e-3
"""Relative difference below which a series takes the place of a logarithm, whose digits would cancel."""


@routine
def entropy_term(q, p, difference):
    """Return ``q log(q / p) - q + p``, which is never negative; infinite for a negative ``q``.

    ``difference`` is ``q - p``, which a caller may know to more digits than the two numbers tell.
    """
    if q < 0.0:
        return inf
    if p <= 0.0:
        return inf if q > 0.0 else 0.0
    t = difference / p
    if abs(t) < CLOSE:
        return p * t * t * (0.5 - t * (1.0 / 6.0 - t * (1.0 / 12.0 - t * (0.05 - t / 30.0))))
    return p if q == 0.0 else max(0.0, q * log(q / p) - difference)
