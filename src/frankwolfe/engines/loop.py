"""The only loop, and the dealing of batches for it."""

from math import isfinite

from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import apply, choose, fetch_row, follow, length, max_step, refresh


@kernel
def advance(samples, constraint, method, gradient, iterate, order, batch_size, clock, steps):
    """Make ``steps`` steps in place. ``clock[0]`` counts them, so that the count and the iterate cannot come apart."""
    estimate, direction, step = method
    rows, meter = samples.rows, gradient.meter
    for k in range(steps):
        t = clock[0] + 1
        batch = order[k * batch_size : (k + 1) * batch_size]
        if (k + 1) * batch_size < len(order):
            fetch_row(rows, order[(k + 1) * batch_size])
        refresh(estimate, samples, iterate, gradient, batch, t)
        move = choose(direction, constraint, gradient, iterate)
        follow(estimate, samples, move, gradient, batch, t)
        if not isfinite(meter[0]):
            return  # the iterate has not moved: it is still the last good one
        gamma = length(step, move, samples, gradient, iterate, t)
        if not isfinite(gamma):
            return
        apply(move, iterate, min(gamma, max_step(move)))  # no rule, not even a user's, may leave the set
        clock[0] = t


@kernel
def deal(uniform, deck, order):
    """Turn uniform numbers into batches without repeats: a few steps of a Fisher-Yates shuffle for each batch."""
    steps, batch_size = uniform.shape
    for k in range(steps):
        for at in range(batch_size):
            other = at + int(uniform[k, at] * (len(deck) - at))
            deck[at], deck[other] = deck[other], deck[at]
            order[k * batch_size + at] = deck[at]
