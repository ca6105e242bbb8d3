"""The only loop."""

from math import isfinite

from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import apply, choose, fetch_row, follow, gradient_point, length, max_step, refresh
from frankwolfe.methods.corrections import take_back
from frankwolfe.methods.gradient import AHEAD, FAILED, ROWS_READ, TABLE_CHANGE
from frankwolfe.methods.residual_samples import EVERY, sample_residuals


@kernel
def advance(samples, constraint, method, gradient, iterate, table, surplus, order, offsets, ahead, least, clock, steps):
    """Make ``steps`` steps in place, with the batches ``order[offsets[k]:offsets[k + 1]]``.

    ``clock`` counts the steps and the rows that they read, so that counts and iterate cannot come apart. A step is
    charged ``least`` rows at least: all of them, where its step rule reads all. Unless ``ahead`` is None, which is
    known when this is compiled and costs nothing then, the batch of the next step is shown as well. Unless ``table`` is
    None, its residuals are sampled. Unless ``surplus`` is None, it is what the estimate adds to ``r`` for one step.
    """
    estimate, direction, step = method
    rows, counters = samples.rows, gradient.counters
    upcoming = order[:0]
    for k in range(steps):
        t = clock[0] + 1
        end = offsets[k + 1]
        batch = order[offsets[k] : end]
        if ahead is not None:
            upcoming = order[end : offsets[k + 2]]
        counters[ROWS_READ] = len(batch)
        # ask for the first rows of the next batch, or for those of the batches after it
        for at in range(end + max(0, AHEAD - len(batch)), min(end + AHEAD, len(order))):
            fetch_row(rows, order[at])
        if table is not None and -t % EVERY < len(batch):  # most small batches are left alone
            sample_residuals(samples, iterate, counters, table, batch, -t % EVERY, t)
        point = gradient_point(direction, iterate, t)
        refresh(estimate, samples, point, gradient, batch, upcoming, t)
        move = choose(direction, constraint, gradient, iterate)
        follow(estimate, samples, point, move, gradient, batch, upcoming, t)
        if not isfinite(counters[TABLE_CHANGE]) or counters[FAILED] != 0.0:
            return  # the iterate has not moved: it is still the last good one
        gamma = length(step, move, samples, gradient, iterate, t)
        if not isfinite(gamma):
            return
        apply(move, iterate, min(gamma, max_step(move)))  # no rule, not even a user's, may leave the set
        clock[0] = t
        clock[1] += max(least, int(counters[ROWS_READ]))
        if surplus is not None:
            take_back(gradient, surplus, rows)
