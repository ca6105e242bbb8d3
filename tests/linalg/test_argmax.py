"""The lazy argmax against a look at every entry."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import add_row, leader
from frankwolfe.linalg.argmax import BITS, LazyArgmax
from frankwolfe.rows import as_rows
from frankwolfe.rows.csr import CSR
from frankwolfe.rows.dense import Dense

FLIPS = pytest.mark.parametrize("flip", [1.0, -1.0])
ROW_KINDS = pytest.mark.parametrize("kind", [CSR, Dense])


def keys_of(r, flip):
    """What is compared: ``|r|`` or ``-r``."""
    return np.abs(r) if flip > 0.0 else -r


def whole_numbers(count, d, rng, density):
    """Rows of small whole numbers: their sums are exact, so ties are real ties and no rounding can excuse an error."""
    X = rng.integers(-4, 5, size=(count, d)).astype(np.float64)
    X[rng.random((count, d)) > density] = 0.0
    return X


def stored_as(kind, X):
    return as_rows(X if kind is Dense else sparse.csr_array(X))


def assert_bounds_hold(tracker, r):
    """Every node's bound is at least every key below it, and at least the bounds of its children."""
    keys = keys_of(r, tracker.flip)
    for level in range(len(tracker.starts) - 1):
        start, stop = tracker.starts[level], tracker.starts[level + 1]
        reach = 1 << BITS * (level + 1)
        assert (stop - start - 1) * reach < len(r) <= (stop - start) * reach
        for node in range(stop - start):
            below = keys[node * reach : (node + 1) * reach]
            assert tracker.bounds[start + node] >= below.max()


def assert_leads(tracker, r):
    """The leader is the first of the largest keys, like NumPy's."""
    assert leader(tracker, r) == np.argmax(keys_of(r, tracker.flip))


@FLIPS
@ROW_KINDS
@pytest.mark.parametrize("d", [1, 31, 32, 33, 1000, 1025])
def test_follows_a_long_run_of_changes(d, kind, flip):
    rng = np.random.default_rng(d)
    rows = stored_as(kind, whole_numbers(12, d, rng, density=min(1.0, 10.0 / d)))
    tracker, r = LazyArgmax.over(d, flip), np.zeros(d)
    assert_leads(tracker, r)
    for step in range(60 if kind is Dense else 400):
        add_row(tracker, rows, rng.integers(12), float(rng.integers(-3, 4)), r)
        if step % 3 == 0:  # between questions, changes pile up
            assert_leads(tracker, r)
        if step % 20 == 0:
            assert_bounds_hold(tracker, r)
    assert np.count_nonzero(r) > 0


@FLIPS
def test_all_keys_shrinking_together(flip):
    # Every bound is too high at once: the search must correct its way down to the truth.
    d = 5000
    rng = np.random.default_rng(0)
    start = rng.integers(1, 1000, size=d).astype(np.float64) * -1.0
    rows = as_rows(start[np.newaxis])
    tracker, r = LazyArgmax.over(d, flip), np.zeros(d)
    for weight in (4.0, -3.0, -0.5, -0.5, -1.0):
        add_row(tracker, rows, 0, weight, r)
        assert_leads(tracker, r)
        assert_bounds_hold(tracker, r)
    assert (r > 0.0).all()  # the last change turned every sign: for flip = -1 every key is negative


@FLIPS
@pytest.mark.parametrize("d", [1, 31, 32, 33, 1024, 1025, 3000])
def test_rebuild_sets_the_tightest_bounds(d, flip):
    r = np.random.default_rng(d).normal(size=d)
    tracker = LazyArgmax.over(d, flip)
    tracker.bounds[:] = np.nan  # nothing of what was there may remain
    tracker.rebuild(r)
    keys = keys_of(r, flip)
    for level in range(len(tracker.starts) - 1):
        reach = 1 << BITS * (level + 1)
        expected = [keys[low : low + reach].max() for low in range(0, d, reach)]
        np.testing.assert_array_equal(tracker.bounds[tracker.starts[level] : tracker.starts[level + 1]], expected)
    assert_leads(tracker, r)


@FLIPS
@given(
    d=st.integers(1, 80),
    changes=st.lists(
        st.tuples(
            st.lists(st.tuples(st.integers(0, 79), st.integers(-3, 3)), max_size=4),
            st.integers(-2, 2),
            st.booleans(),
        ),
        max_size=25,
    ),
)
def test_follows_any_changes(flip, d, changes):
    tracker, r = LazyArgmax.over(d, flip), np.zeros(d)
    for entries, weight, ask in changes:
        columns = sorted({j % d: x for j, x in entries}.items())
        row = CSR(
            np.array([float(x) for _, x in columns]),
            np.array([j for j, _ in columns], dtype=np.int32),
            np.array([0, len(columns)], dtype=np.int32),
        )
        add_row(tracker, row, 0, float(weight), r)
        if ask:
            assert_leads(tracker, r)
    assert_bounds_hold(tracker, r)
    assert_leads(tracker, r)


@FLIPS
@given(values=st.lists(st.floats(allow_nan=False), min_size=1, max_size=70))
def test_any_values_at_all(flip, values):
    # Infinite, subnormal and signed-zero entries are numbers like others.
    r = np.array(values)
    tracker = LazyArgmax.over(len(r), flip)
    tracker.rebuild(r)
    assert_leads(tracker, r)


# --- NaN ---------------------------------------------------------------------------------------------------------


class PatienceLostError(Exception):
    """A search has read more than it can need."""


class Counted:
    """Array that counts its reads, so that a search without end becomes an error instead of a hang."""

    def __init__(self, values, patience):
        self.values, self.patience = values, patience

    def __getitem__(self, at):
        self.patience -= 1
        if self.patience < 0:
            raise PatienceLostError
        return self.values[at]

    def __setitem__(self, at, value):
        self.values[at] = value


def test_the_count_of_reads_works():
    counted = Counted(np.zeros(3), patience=2)
    assert counted[0] == counted[1] == 0.0
    with pytest.raises(PatienceLostError):
        counted[2]


@FLIPS
@pytest.mark.parametrize("rebuilt", [True, False])
@pytest.mark.parametrize("d", [1, 33, 1100])
@pytest.mark.parametrize("place", ["first", "middle", "last", "leader", "everywhere"])
def test_nan_ends_the_search(place, d, rebuilt, flip):
    rng = np.random.default_rng(d)
    r = rng.normal(size=d)
    tracker = LazyArgmax.over(d, flip)
    tracker.rebuild(r)
    best = int(np.argmax(keys_of(r, flip)))
    r[{"first": 0, "middle": d // 2, "last": d - 1, "leader": best, "everywhere": slice(None)}[place]] = np.nan
    if rebuilt:
        tracker.rebuild(r)
    patient = tracker._replace(bounds=Counted(tracker.bounds, patience=100 * len(tracker.bounds) + 1000))
    assert 0 <= patient.leader(r) < d


@FLIPS
@ROW_KINDS
def test_nan_that_arrives_with_a_row_ends_the_search(kind, flip):
    d = 40
    X = np.zeros((2, d))
    X[0, ::3], X[1, 5] = 1.0, np.nan
    rows = stored_as(kind, X)
    tracker, r = LazyArgmax.over(d, flip), np.zeros(d)
    for i, weight in ((0, -2.0), (1, 1.0), (0, 1.0)):
        add_row(tracker, rows, i, weight, r)
        patient = tracker._replace(bounds=Counted(tracker.bounds, patience=10_000))
        assert 0 <= patient.leader(r) < d
    assert np.isnan(r[5])


# --- compiled ----------------------------------------------------------------------------------------------------


@kernel
def churn(tracker, rows, order, weights, r, leaders):
    """Add rows one after the other and note the leader after each."""
    for k in range(len(order)):
        add_row(tracker, rows, order[k], weights[k], r)
        leaders[k] = leader(tracker, r)


@ROW_KINDS
def test_compiled_over_many_entries(kind):
    d, count = 40_000, 30
    steps = 1500 if kind is CSR else 150
    rng = np.random.default_rng(1)
    X = whole_numbers(count, d, rng, density=20.0 / d if kind is CSR else 1.0)
    rows = stored_as(kind, X)
    order, weights = rng.integers(count, size=steps), rng.integers(-3, 4, size=steps).astype(np.float64)
    for flip in (1.0, -1.0):
        tracker, r, leaders = LazyArgmax.over(d, flip), np.zeros(d), np.full(steps, -1)
        assert len(tracker.starts) == 4  # three levels
        churn(tracker, rows, order, weights, r, leaders)
        replayed = np.zeros(d)
        for k in range(steps):
            replayed += weights[k] * X[order[k]]
            assert leaders[k] == np.argmax(keys_of(replayed, flip))
        np.testing.assert_array_equal(r, replayed)
        assert_bounds_hold(tracker, r)
        assert len(set(leaders)) > 5  # the lead did change hands
