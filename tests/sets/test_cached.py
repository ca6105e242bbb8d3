"""Runs in several threads share sets and problems: each must end as if it were alone, bit for bit."""

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.sets import outside
from frankwolfe.sets.cached import Counts
from tests import cases

RUNS, D = 32, 9


class Corner:
    """A simplex in plain Python."""

    def vertex(self, r):
        return np.eye(len(r))[np.argmin(r)]

    def contains(self, w, tolerance):
        return bool(np.min(w) >= -tolerance and abs(np.sum(w) - 1.0) <= tolerance)


SHARED = {
    "cached": lambda: fw.sets.Cached(fw.Birkhoff(3), 2),
    "cached-coordinates": lambda: fw.sets.Cached(fw.L1Ball(1.5), 2),
    "cached-outside": lambda: fw.sets.Counted(fw.sets.Cached(outside(Corner()), 2)),
    "nested": lambda: fw.sets.Translated(fw.sets.Scaled(fw.sets.Cached(fw.sets.Counted(fw.Simplex(1.0)), 2), 2.0), 0.1),
    "product": lambda: fw.Product([fw.sets.Cached(fw.Birkhoff(2), 2), fw.sets.Counted(fw.L2Ball(1.0))], [4, 5]),
}


def everywhere(work, jobs):
    """Do all the work at once, interpreted if the caller is."""
    contexts = [copy_context() for _ in jobs]
    with ThreadPoolExecutor(RUNS) as pool:
        return list(pool.map(lambda context, job: context.run(work, job), contexts, jobs))


def assert_same_bits(one, other):
    np.testing.assert_array_equal(one.x, other.x)
    assert (one.fun, one.gap, one.passes) == (other.fun, other.gap, other.passes)


def test_compiled_runs_at_once_end_as_one_after_the_other_and_count_everything():
    counted = fw.sets.Counted(fw.Simplex(1.0))
    cached, steps = fw.sets.Cached(counted, 2), 2000
    constraint = fw.sets.Translated(fw.sets.Scaled(cached, 2.0), 0.1)
    problem = cases.problem(fw.Logistic(), constraint, layout="csr64", n=50, d=D)

    def run(seed):
        return fw.minimize(problem, "sfw", tol=0.0, max_passes=steps / 50, batch_size=1, random_state=seed, trace=0)

    alone = [run(seed) for seed in range(RUNS)]
    calls, asked = counted.calls, cached.hits + cached.misses
    assert calls <= asked >= RUNS * steps
    for one, other in zip(alone, everywhere(run, range(RUNS)), strict=True):
        assert problem.constraint.contains(other.x)
        assert_same_bits(one, other)
    assert (counted.calls, cached.hits + cached.misses) == (2 * calls, 2 * asked)


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.usefixtures("interpreted")
def test_interpreted_runs_at_once_end_as_one_after_the_other(name):
    X, y = cases.table(fw.Logistic(), n=20, d=D)
    problem = fw.Problem(X, y, constraint=SHARED[name](), intercept=True)
    jobs = [(method, seed) for method in ("auto", "sfw", "pairwise") for seed in range(3)]

    def run(job):
        return fw.minimize(problem, job[0], tol=1e-6, max_passes=6, batch_size=4, random_state=job[1], trace=0)

    for one, other in zip([run(job) for job in jobs], everywhere(run, jobs), strict=True):
        assert problem.constraint.contains(other.x)
        assert_same_bits(one, other)
        assert one.intercept == other.intercept


def test_a_cache_that_is_asked_from_many_threads_answers_each():
    cached, plain = fw.sets.Cached(fw.Birkhoff(3), 2), fw.Birkhoff(3)
    directions = np.random.default_rng(0).normal(size=(RUNS, D))

    def ask(r):
        return [(cached.vertex(r), cached.support(-r)) for _ in range(20)]

    for r, answers in zip(directions, everywhere(ask, directions), strict=True):
        for vertex, support in answers:
            np.testing.assert_array_equal(vertex, plain.vertex(r))
            assert support == plain.support(-r)


def test_counts_outlive_the_runs_that_made_them():
    counts = Counts.starting([1, 2])
    for _ in range(3):
        own = counts.another()
        own[0] += 10
    assert counts.totals.tolist() == [31, 2]
    del own
    assert counts.totals.tolist() == [31, 2]
