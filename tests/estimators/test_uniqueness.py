"""Whether weights of a simplex are unique: proven for independent donors, denied for those made to be exchanged."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import frankwolfe as fw

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 6)).cumsum(axis=0) + 10.0
Y = X @ [0.5, 0.3, 0.2, 0.0, 0.0, 0.0] + 0.1 * RNG.normal(size=30)
WEIGHTS = RNG.uniform(0.0, 2.0, 30)


def check(rows, y, weights=None, **given):
    """The diagnostic, after a recomputation of what it says about other weights."""
    model = fw.SimplexRegressor(**given).fit(rows, y, weights)
    found = model.uniqueness(rows, y, weights)
    if found.other is not None:
        assert found.other.min() >= 0.0
        assert found.other.sum() == pytest.approx(1.0)
        assert np.abs(found.other - model.coef_).sum() > 1e-3
        problem = fw.Problem(rows, y, "squared", fw.Simplex(1.0), weights, intercept=model.fit_intercept)
        assert problem.value(found.other) == pytest.approx(model.result_.fun, abs=1e-7 * problem.zero_value)
        assert problem.value(found.other) - found.other_gap <= model.result_.fun + 1e-15
    return found


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_independent_donors_have_unique_weights(intercept, weights, layout):
    found = check(layout(X), Y, weights, fit_intercept=intercept)
    assert found.unique is True
    assert found.groups == []
    assert found.other is None
    assert str(found) == "The weights are unique, which is proven."


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
def test_a_duplicate_can_take_the_weight_of_its_donor(intercept, weights):
    found = check(np.column_stack([X, X[:, 1]]), Y, weights, fit_intercept=intercept)
    assert found.unique is False
    assert found.groups == [[1, 6]] or found.groups == [[6, 1]]
    assert found.other_gap < 1e-10


def test_two_pairs_are_two_groups_and_a_duplicate_of_an_unused_donor_is_none():
    model = fw.SimplexRegressor().fit(X, Y)
    unused = int(np.flatnonzero(model.coef_ == 0.0)[0])
    found = check(np.column_stack([X, X[:, 0], X[:, 1], X[:, unused]]), Y)
    assert sorted(map(sorted, found.groups)) == [[0, 6], [1, 7]]
    alone = check(np.column_stack([X, X[:, unused]]), Y)
    assert alone.unique is True
    assert alone.never_used[[unused, 6]].all()


def test_a_donor_that_is_a_mean_of_others_can_be_exchanged_for_all_of_them():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["mean"] = 0.25 * frame["a"] + 0.75 * frame["b"]
    found = check(frame, Y)
    assert found.unique is False
    assert [set(group) for group in found.groups] == [{"a", "b", "mean"}]
    assert "exchanged between" in str(found)
    assert "<->" in str(found)


def test_with_an_intercept_donors_that_differ_by_a_constant_are_the_same():
    rows = np.column_stack([X, X[:, 1] + 7.0])
    assert check(rows, Y).unique is True
    assert sorted(check(rows, Y, fit_intercept=True).groups[0]) == [1, 6]


def test_a_dependence_that_needs_negative_weights_is_none():
    # the last donor lies beyond the first, on the line through it and the second: only the first two can be mixed
    beyond = X[:, 0] + 0.5 * (X[:, 0] - X[:, 1])
    rows = np.column_stack([X[:, :2], beyond])
    found = check(rows, X[:, 0] + RNG.normal(size=30) * 1e-3)
    assert found.unique is False  # the first donor is a mixture of the other two
    end = check(rows, beyond + (beyond - X[:, 1]))  # the answer is the last donor alone, a corner
    assert end.unique is True
    assert end.never_used.tolist() == [True, True, False]


def test_more_donors_than_periods_that_fit_exactly():
    wide = RNG.normal(size=(5, 40))
    found = check(wide, wide.mean(axis=1))
    assert found.unique is False
    assert len(found.groups[0]) > 6
    assert "others" in str(found)
    assert found.other_gap < 1e-12


def test_each_of_many_targets_has_its_own_answer():
    rows = np.column_stack([X, X[:, 1]])
    targets = np.column_stack([Y, X[:, 1], X[:, 1]])
    model = fw.SimplexRegressor().fit(rows, targets, exclude=[None, [1, 6], 1])
    assert sorted(model.uniqueness(rows, targets, target=0).groups[0]) == [1, 6]
    second, third = (model.uniqueness(rows, targets, target=k) for k in (1, 2))
    assert second.unique is True
    assert second.never_used[[1, 6]].all()
    assert third.unique is True  # its only twin is excluded
    assert third.never_used[1]


def test_weights_that_are_nearly_exchangeable_are_not_called_so():
    near = np.column_stack([X, X[:, 1] + 1e-4 * RNG.normal(size=30)])
    assert check(near, Y).unique is True


def test_what_it_cannot_answer_is_refused():
    for given in ({"loss": "huber"}, {"bounds": (0, 0.6)}):
        with pytest.raises(ValueError, match="uniqueness needs loss='squared' and weights without bounds"):
            fw.SimplexRegressor(**given).fit(X, Y).uniqueness(X, Y)
    with pytest.raises(ValueError, match="these are not the rows"):
        fw.SimplexRegressor().fit(X, Y).uniqueness(X, Y + 1.0)
