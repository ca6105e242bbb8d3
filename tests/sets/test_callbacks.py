"""Oracles in plain Python: called back from the compiled loop, alive as long as needed, their errors raised."""

import gc
import weakref

import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.sets import outside
from tests import cases

D = 6


class Ball:
    """The l2 ball of radius one, in three lines; it can be told to fail."""

    def __init__(self, fail_at=None, error=None, answer=None):
        self.asked, self.fail_at, self.error, self.answer = 0, fail_at, error, answer

    def vertex(self, r):
        self.asked += 1
        if self.asked == self.fail_at:
            if self.error is not None:
                raise self.error
            return self.answer
        return -r / np.linalg.norm(r) if r.any() else np.eye(len(r))[0]

    def support(self, direction):
        return np.linalg.norm(direction)

    def contains(self, w, tolerance):
        return np.linalg.norm(w) <= 1.0 + tolerance


def problem(constraint, layout="csr64"):
    return cases.problem(fw.Logistic(), constraint, layout=layout, n=20, d=D)


MODES = pytest.mark.parametrize("python", [False, True], ids=["compiled", "interpreted"])


def run(task, method, python, **options):
    options = {"tol": 0.0, "max_passes": 5, "random_state": 0, "batch_size": 1, **options}
    if python:
        with fw.python_mode():
            return fw.minimize(task, method, **options)
    return fw.minimize(task, method, **options)


@pytest.mark.parametrize(("layout", "python"), [("csr64", False), ("csr64", True), ("dense64", True)])
def test_runs_like_the_set_it_copies(layout, python):
    ball = Ball()
    ours = run(problem(outside(ball), layout), "sfw", python)
    theirs = run(problem(fw.L2Ball(1.0), layout), "sfw", python)
    np.testing.assert_allclose(ours.x, theirs.x, rtol=0.0, atol=1e-12)
    assert ours.gap == pytest.approx(theirs.gap, rel=1e-9)
    assert ball.asked >= ours.nit == 100


ERRORS = [ZeroDivisionError("in the oracle"), KeyError("in the oracle"), SystemExit("in the oracle")]


@MODES
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("method", ["sfw", "fw", "corrective"])
def test_errors_are_raised_as_they_are(method, error, python):
    with pytest.raises(type(error), match="in the oracle"):
        run(problem(outside(Ball(fail_at=2, error=error))), method, python)
    # and nothing of them is left behind
    assert run(problem(outside(Ball())), "sfw", python).nit == 100


@MODES
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.zeros(D + 1), r"6 finite numbers, got shape \(7,\)"),
        (np.full(D, np.nan), "6 finite numbers, got NaN or infinity"),
        (None, "6 finite numbers|float"),
        (np.r_[0.0, np.inf, np.zeros(D - 2)], "6 finite numbers, got NaN or infinity"),
    ],
    ids=["long", "nan", "none", "infinite"],
)
def test_answers_that_are_no_vertex_are_refused(answer, message, python):
    with pytest.raises((ValueError, TypeError), match=message):
        run(problem(outside(Ball(fail_at=7, answer=answer))), "sfw", python)


NESTED = ["plain", "product", "translated", "cached"]


@pytest.mark.parametrize(("inner", "python"), [("plain", False), *((inner, True) for inner in NESTED)])
def test_ctrl_c_in_an_oracle_ends_the_run_at_a_good_point(inner, python):
    ball = Ball(fail_at=31, error=KeyboardInterrupt())
    constraint = {
        "plain": lambda own: own,
        "product": lambda own: fw.Product([fw.L1Ball(1.0), own], [2, D - 2]),
        "translated": lambda own: fw.sets.Translated(fw.sets.Scaled(fw.sets.Counted(own), 2.0), 0.1),
        "cached": fw.sets.Cached,
    }[inner](outside(ball))
    task = problem(constraint)
    result = run(task, "sfw", python)
    assert result.status is fw.Status.INTERRUPTED
    assert 0 < result.nit < 100
    assert task.constraint.contains(result.x)
    assert result.gap == pytest.approx(task.gap(result.x))
    # what it remembers is good to go on from
    onward = run(task, "sfw", python, x0=result)
    assert onward.nit == 100
    assert onward.fun < task.zero_value


def test_the_oracle_lives_as_long_as_it_is_needed_and_no_longer():
    ball = Ball()
    seen = weakref.ref(ball)
    tracker = outside(ball).tracker(D)
    del ball
    gc.collect()
    assert seen() is not None  # the tracker alone keeps it
    del tracker
    gc.collect()
    assert seen() is None


def test_many_trackers_do_not_mix_their_oracles_up():
    sets = [outside(Ball()) for _ in range(50)]
    tasks = [problem(fw.sets.Scaled(own, 1.0 + k)) for k, own in enumerate(sets)]
    for k, task in enumerate(tasks):
        s = task.constraint.vertex(np.eye(D)[0])
        np.testing.assert_allclose(s, -(1.0 + k) * np.eye(D)[0])


def test_support_without_one_of_its_own_asks_for_a_vertex():
    class Bare:
        vertex, contains = Ball().vertex, Ball().contains

    direction = np.arange(D, dtype=np.float64)
    assert outside(Bare()).support(direction) == pytest.approx(np.linalg.norm(direction))
    task = problem(outside(Bare()))
    assert task.diameters().exact == (False, False, True)
    assert task.diameters().inf == pytest.approx(2.0 * np.linalg.norm(task.X.toarray(), axis=1).max())
    assert task.constraint.diameter(D) == pytest.approx(2.0 * np.sqrt(D))  # of the box around the ball
    assert fw.sets.Scaled(task.constraint, 3.0).diameter(D) == pytest.approx(6.0 * np.sqrt(D))


@pytest.mark.parametrize(
    ("thing", "message"),
    [(Ball, r"write Ball\(...\)"), (3, "int is no constraint set: it has no method vertex, contains")],
)
def test_what_is_no_set_is_refused(thing, message):
    with pytest.raises(TypeError, match=message):
        outside(thing)


# --- wrappers that count and remember ----------------------------------------------------------------------------


@MODES
def test_counted_counts_what_the_loop_asks(python):
    counted = fw.sets.Counted(fw.L1Ball(1.0))
    task = problem(counted)
    result = run(task, "sfw", python)
    assert counted.calls == result.nit == 100
    assert counted.supports > 0
    assert task.constraint.calls == counted.calls
    counted.reset()
    assert (task.constraint.calls, counted.supports) == (0, 0)


@pytest.mark.parametrize(
    ("method", "python"), [("corrective", False), ("corrective", True), ("fw", True), ("sfw", True)]
)
def test_a_cache_changes_nothing_but_the_number_of_questions(method, python):
    class Doubly:  # nothing is known of it but its oracle, which the corrective method then asks in every round
        vertex, contains = fw.Birkhoff(2).vertex, fw.Birkhoff(2).contains

    plain, inside = fw.sets.Counted(outside(Doubly())), fw.sets.Counted(outside(Doubly()))
    cached = fw.sets.Cached(inside, 3)
    one, other = (
        run(cases.problem(fw.Logistic(), constraint, n=20, d=4), method, python) for constraint in (plain, cached)
    )
    np.testing.assert_allclose(one.x, other.x, rtol=0.0, atol=1e-12)
    assert one.nit == other.nit
    assert inside.calls == cached.misses
    if method == "corrective":  # the gap and the next vertex ask about the same gradient
        assert cached.hits >= other.nit
        assert inside.calls + inside.supports < plain.calls + plain.supports


def test_a_cache_forgets_the_oldest():
    cached = fw.sets.Cached(fw.L1Ball(1.0), 2)
    directions = np.eye(3) + 0.1
    for r in directions:
        cached.vertex(r)
    for r in directions[1:]:
        np.testing.assert_array_equal(cached.vertex(r), fw.L1Ball(1.0).vertex(r))
    assert (cached.hits, cached.misses) == (2, 3)
    cached.vertex(directions[0])
    assert (cached.hits, cached.misses) == (2, 4)
