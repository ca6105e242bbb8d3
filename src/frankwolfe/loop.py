"""The only loop, and the only two kernels beside it: a pass over all data, and the dealing of batches.

Each kernel is built around a digest of the package's sources. The digest lands in a closure cell, which numba's
cache key covers: machine code cached for an older version of any part is not found again.
"""

from math import isfinite

from frankwolfe.compiled import kernel
from frankwolfe.gradients import sweep
from frankwolfe.verbs import choose, fetch_row, follow, length, longest, refresh, travel


@kernel
def advance(source_digest):
    """Make ``steps`` steps in place. ``clock[0]`` counts them, so that the count and the iterate cannot come apart."""

    def advance(samples, constraint, method, gradient, iterate, order, batch_size, clock, steps):
        source_digest  # noqa: B018 - named so that it becomes a closure cell
        estimate, direction, step = method
        rows, meter = samples.rows, gradient.meter
        for k in range(steps):
            t = clock[0] + 1
            batch = order[k * batch_size : (k + 1) * batch_size]
            if (k + 1) * batch_size < len(order):
                fetch_row(rows, order[(k + 1) * batch_size])
            refresh(estimate, samples, iterate, gradient, batch, t)
            leg = choose(direction, constraint, gradient, iterate)
            follow(estimate, samples, leg, gradient, batch, t)
            if not isfinite(meter[0]):
                return  # the iterate has not moved: it is still the last good one
            gamma = length(step, leg, samples, gradient, iterate, t)
            if not isfinite(gamma):
                return
            travel(leg, iterate, min(gamma, longest(leg)))  # no rule, not even a user's, may leave the set
            clock[0] = t

    return advance


@kernel
def exact_pass(source_digest):
    """Fill ``alpha`` and ``r`` with the exact gradient at a point; return the objective there."""

    def exact_pass(samples, point, alpha, r):
        source_digest  # noqa: B018
        return sweep(samples, point, alpha, r)

    return exact_pass


@kernel
def deal(source_digest):
    """Turn uniform numbers into batches without repeats: a few steps of a Fisher-Yates shuffle for each batch."""

    def deal(uniform, deck, order):
        source_digest  # noqa: B018
        steps, batch_size = uniform.shape
        for k in range(steps):
            for at in range(batch_size):
                other = at + int(uniform[k, at] * (len(deck) - at))
                deck[at], deck[other] = deck[other], deck[at]
                order[k * batch_size + at] = deck[at]

    return deal
