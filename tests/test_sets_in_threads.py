"""Runs in several threads share sets and problems: each must end as if it were alone, bit for bit."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.sets import outside
from frankwolfe.sets.counts import Counts
from tests import cases

RUNS, D = 32, 9


class Corner:
    """A simplex in plain Python."""

    def vertex(self, r):
        return np.eye(len(r))[np.argmin(r)]

    def contains(self, w, tolerance):
        return bool(np.min(w) >= -tolerance and abs(np.sum(w) - 1.0) <= tolerance)


SHARED = {
    "cached": lambda: fw.Cached(fw.Birkhoff(3), 2),
    "cached-coordinates": lambda: fw.Cached(fw.L1Ball(1.5), 2),
    "cached-outside": lambda: fw.Counted(fw.Cached(outside(Corner()), 2)),
    "nested": lambda: fw.Translated(fw.Scaled(fw.Cached(fw.Counted(fw.Simplex(1.0)), 2), 2.0), 0.1),
    "product": lambda: fw.Product([fw.Cached(fw.Birkhoff(2), 2), fw.Counted(fw.L2Ball(1.0))], [4, 5]),
}


def everywhere(work, jobs):
    """Do all the work at once."""
    with ThreadPoolExecutor(RUNS) as pool:
        return list(pool.map(work, jobs))


@pytest.mark.parametrize("name", SHARED)
def test_many_runs_at_once_end_as_one_after_the_other(name):
    problem = cases.problem(fw.Logistic(), SHARED[name](), layout="csr64", n=60, d=D)

    def run(seed):
        return fw.minimize(problem, "sfw", tol=0.0, max_passes=30, batch_size=1 + seed % 4, random_state=seed, trace=0)

    alone = [run(seed) for seed in range(RUNS)]
    together = everywhere(run, range(RUNS))
    for one, other in zip(alone, together, strict=True):
        assert problem.constraint.contains(other.x)
        np.testing.assert_array_equal(one.x, other.x)
        assert (one.fun, one.gap) == (other.fun, other.gap)


def test_runs_of_any_method_on_one_problem_do_not_meet():
    constraint = fw.Cached(fw.Counted(fw.L1Ball(1.5)), 3)
    X, y = cases.table(fw.Logistic(), n=60, d=D)
    problem = fw.Problem(X, y, constraint=constraint, intercept=True)
    jobs = [(method, seed) for method in ("auto", "sfw", "pairwise") for seed in range(8)]

    def run(job):
        return fw.minimize(problem, job[0], tol=1e-6, max_passes=20, random_state=job[1], trace=0)

    alone = [run(job) for job in jobs]
    for one, other in zip(alone, everywhere(run, jobs), strict=True):
        np.testing.assert_array_equal(one.x, other.x)
        assert (one.fun, one.gap, one.intercept) == (other.fun, other.gap, other.intercept)


def test_nothing_is_lost_from_the_counts():
    counted, steps = fw.Counted(fw.L1Ball(1.5)), 2000
    problem = cases.problem(fw.Logistic(), counted, layout="csr64", n=60, d=D)

    def run(seed):
        return fw.minimize(problem, "sfw", tol=0.0, max_passes=steps / 60, batch_size=1, random_state=seed, trace=0)

    run(0)
    assert counted.calls == steps
    counted.reset()
    everywhere(run, range(RUNS))
    assert counted.calls == RUNS * steps
    cached = fw.Cached(fw.L1Ball(1.5), 2)
    problem = cases.problem(fw.Logistic(), cached, layout="csr64", n=60, d=D)
    run(0)
    each = cached.hits + cached.misses
    everywhere(run, range(RUNS))
    assert cached.hits + cached.misses == (1 + RUNS) * each


def test_a_cache_that_is_asked_from_many_threads_answers_each():
    cached, plain = fw.Cached(fw.Birkhoff(3), 2), fw.Birkhoff(3)
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
    assert len(counts.value._open) == 1  # runs that are over take no room
    counts.value.reset()
    assert counts.totals.tolist() == [0, 0]
