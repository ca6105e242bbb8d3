"""The lazy argmax over groups against a look at every group."""

import numpy as np
import pytest
from scipy import sparse

import frankwolfe as fw
from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import add_row, leader
from frankwolfe.rows import as_rows
from frankwolfe.rows.csr import CSR
from frankwolfe.rows.dense import Dense

D = 60
RNG = np.random.default_rng(0)
BALLS = {
    "l2": fw.GroupBall(np.arange(D) // 7, 1.0),
    "l2-weighted": fw.GroupBall(RNG.permutation(D) % 11, 1.0, weights=RNG.uniform(0.3, 3.0, size=11)),
    "inf": fw.GroupBall(RNG.permutation(D) % 11, 1.0, norm=np.inf),
    "single": fw.GroupBall(np.zeros(D, dtype=int), 1.0),
    "coordinates": fw.GroupBall(np.arange(D), 1.0),
    "overlapping": fw.LatentGroupBall([range(k, min(k + 6, D)) for k in range(0, D - 4, 2)], 1.0),
}
EVERY_BALL = pytest.mark.parametrize("name", BALLS)
ROW_KINDS = pytest.mark.parametrize("kind", [CSR, Dense])


def exact_keys(tracker, r):
    """Norms times shares, each group looked at."""
    ends = zip(tracker.starts[:-1], tracker.starts[1:], strict=True)
    norms = [np.linalg.norm(r[tracker.members[low:high]], 1 if tracker.flat else 2) for low, high in ends]
    return tracker.shares * norms


def assert_leads(tracker, r):
    keys = exact_keys(tracker, r)
    assert keys[leader(tracker, r)] >= keys.max() * (1.0 - 1e-13)


def assert_bounds_hold(tracker, r):
    keys = exact_keys(tracker, r)
    assert (tracker.keys >= keys * (1.0 - 1e-15)).all()
    assert (tracker.tree.bounds[np.arange(len(keys)) >> 5] >= keys * (1.0 - 1e-15)).all()


def sparse_rows(count, d, rng, density=0.1):
    X = rng.normal(size=(count, d))
    X[rng.random((count, d)) > density] = 0.0
    return X


@EVERY_BALL
@ROW_KINDS
def test_follows_a_long_run_of_changes(name, kind):
    rng = np.random.default_rng(1)
    X = sparse_rows(12, D, rng)
    rows = as_rows(X if kind is Dense else sparse.csr_array(X))
    tracker, r = BALLS[name].tracker(D), np.zeros(D)
    assert 0 <= leader(tracker, r) < len(tracker.keys)
    for step in range(400):
        add_row(tracker, rows, rng.integers(12), rng.normal(), r)
        if kind is CSR:
            assert_bounds_hold(tracker, r)
        if step % 3 == 0:  # between questions, changes pile up
            assert_leads(tracker, r)


@EVERY_BALL
def test_all_norms_shrinking_together(name):
    # Every bound is too high at once, or every entry returns to what is left of it by rounding.
    rng = np.random.default_rng(2)
    rows = as_rows(sparse.csr_array(rng.normal(size=(1, D))))
    tracker, r = BALLS[name].tracker(D), np.zeros(D)
    for weight in (4.0, -3.0, -0.999, 1e-9, -0.001, -1.0):
        add_row(tracker, rows, 0, weight, r)
        assert_bounds_hold(tracker, r)
        assert_leads(tracker, r)


@pytest.mark.parametrize("size", [1e-310, 1e-160, 1e160, 1e300])
def test_sizes_whose_squares_vanish_or_overflow(size):
    rng = np.random.default_rng(3)
    rows = as_rows(sparse.csr_array(size * rng.uniform(0.1, 1.0, size=(4, D))))
    for name in ("l2", "overlapping"):
        tracker, r = BALLS[name].tracker(D), np.zeros(D)
        for i in range(4):
            add_row(tracker, rows, i, 1.0, r)
            lifted = r / np.abs(r).max()
            norms = exact_keys(tracker, lifted)
            assert norms[leader(tracker, r)] >= norms.max() * (1.0 - (1e-9 if size > 1e-300 else 1e-3))


@EVERY_BALL
@pytest.mark.parametrize("place", [0, D // 2, slice(None)], ids=["first", "middle", "everywhere"])
@pytest.mark.parametrize("rebuilt", [True, False])
def test_nan_ends_the_search(name, place, rebuilt):
    tracker, r = BALLS[name].tracker(D), np.random.default_rng(4).normal(size=D)
    tracker.rebuild(r)
    r[place] = np.nan
    if rebuilt:
        tracker.rebuild(r)
    assert 0 <= leader(tracker, r) < len(tracker.keys)


@kernel
def churn(tracker, rows, order, weights, r, leaders):
    """Add rows one after the other and note the leader after each."""
    for k in range(len(order)):
        add_row(tracker, rows, order[k], weights[k], r)
        leaders[k] = leader(tracker, r)


@pytest.mark.parametrize("overlap", [False, True], ids=["disjoint", "overlapping"])
def test_compiled_over_many_groups(overlap):
    d, count, steps = 20_000, 200, 2000
    rng = np.random.default_rng(5)
    X = sparse.random_array((count, d), density=20.0 / d, rng=rng, data_sampler=rng.normal).tocsr()
    if overlap:
        ball = fw.LatentGroupBall([range(k, min(k + 8, d)) for k in range(0, d - 4, 4)], 1.0)
    else:
        ball = fw.GroupBall(rng.permutation(d) % 3000, 1.0)
    order, weights = rng.integers(count, size=steps), rng.normal(size=steps)
    tracker, r, leaders = ball.tracker(d), np.zeros(d), np.full(steps, -1)
    churn(tracker, as_rows(X), order, weights, r, leaders)
    assert_bounds_hold(tracker, r)
    replayed, dense = np.zeros(d), X.toarray()
    for k in range(steps):
        replayed += weights[k] * dense[order[k]]
        if k % 50 == 0:
            keys = exact_keys(tracker, replayed)
            assert keys[leaders[k]] >= keys.max() * (1.0 - 1e-12)
    assert len(set(leaders)) > 5  # the lead did change hands


def test_bounds_stay_close_over_many_changes():
    # Bounds that only ever rose would send every search through all groups: these follow both ways.
    rng = np.random.default_rng(6)
    X = sparse_rows(30, D, rng)
    tracker, r, rows = BALLS["l2"].tracker(D), np.zeros(D), as_rows(sparse.csr_array(X))
    for _ in range(3000):
        add_row(tracker, rows, rng.integers(30), rng.choice([-1.0, 1.0]), r)
        leader(tracker, r)
    truth = exact_keys(tracker, r)
    assert (tracker.keys >= truth * (1.0 - 1e-15)).all()
    assert tracker.keys.max() <= truth.max() * (1.0 + 1e-12)


def test_rounding_in_a_coordinate_of_no_group_is_no_way_out():
    ball = fw.LatentGroupBall([[0, 2]], 2.0)
    moved = fw.sets.Translated(ball, [0.1, 0.7, 0.3])
    assert all(
        moved.contains(share * np.array([0.1, 0.7, 0.3]) + (1.0 - share) * moved.vertex([1.0, 1.0, 1.0]))
        for share in np.linspace(0.0, 1.0, 20)
    )
    assert ball.contains([1.0, 1e-9, 1.0])
    assert not ball.contains([1.0, 1e-8, 1.0])
    assert not ball.contains([1.0, np.nan, 1.0])
