"""Models with at most k features: never more, all conditions kept, and bounds that brute force confirms."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import scale

import frankwolfe as fw
from frankwolfe.best_subset import Search, best_subset, rounded_up
from tests import cases

D = 5

WIDTHS = np.linspace(0.3, 2.0, D)

SETS = {
    "L1Ball": fw.L1Ball(1.2),
    "Simplex": fw.Simplex(1.5),
    "NonNegativeL1Ball": fw.sets.NonNegativeL1Ball(1.2),
    "L2Ball": fw.L2Ball(1.0),
    "Box": fw.Box(-0.5, 0.7),
    "Box-uneven": fw.Box(-WIDTHS, WIDTHS[::-1]),
    "Box-without-zero": fw.Box(np.r_[0.1, -np.ones(D - 1)], 1.0),
    "Budget": fw.Budget(-WIDTHS, WIDTHS, 1.7),
    "CappedSimplex": fw.CappedSimplex(0.6, 1.0),
    "LpBall-1.5": fw.sets.LpBall(1.5, 1.0),
    "LpBall-4": fw.sets.LpBall(4, 1.0),
    "KSupportBall": fw.sets.KSupportBall(3, 1.0),
    "KSupportBall-inf": fw.sets.KSupportBall(3, 0.5, np.inf),
    "OWLBall": fw.sets.OWLBall(np.linspace(2.0, 0.5, D), 1.5),
    "Ellipsoid": fw.sets.Ellipsoid(WIDTHS, 0.8),
    "Ellipsoid-matrix": fw.sets.Ellipsoid(np.diag(WIDTHS) + 0.2, 0.8),
    "GroupBall": fw.GroupBall(np.arange(D) // 3, 1.5),
    "LatentGroupBall": fw.sets.LatentGroupBall([range(j, min(j + 3, D)) for j in range(0, D, 2)], 1.5),
    "Product": fw.sets.Product([fw.L1Ball(1.0), fw.Box(-0.5, 1.0)], [4, D - 4]),
    "Scaled": fw.sets.Scaled(fw.L2Ball(1.0), 0.7),
    "Translated": fw.sets.Translated(fw.L1Ball(1.0), np.zeros(D)),
    "Counted": fw.sets.Counted(fw.L2Ball(1.0)),
    "Polytope": fw.sets.Polytope(np.vstack([np.eye(D), -np.eye(D), np.ones((1, D))]), np.r_[np.full(2 * D, 0.5), 0.6]),
}


def _data(seed=0, n=50, d=D):
    """Return correlated columns of different sizes, and targets."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, d)) + rng.normal(size=(n, 1))) * rng.uniform(0.5, 2.0, size=d)
    y = X @ rng.normal(size=d) + rng.normal(size=n)
    return X, y / y.std()


def _brute_force(problem, k):
    """Return the least objective over all choices of k columns."""
    search = Search(problem, k, 1e-8, 1000.0, 0, {})
    found = [search.fit(columns) for columns in combinations(range(problem.d), k)]
    return min((each.fun for each in found if each is not None), default=np.inf)


def _check(problem, k, result, best, rounding=1e-7):
    used = np.count_nonzero(result.x.reshape(problem.d, -1).any(axis=1))
    assert used <= k
    assert problem.constraint.contains(result.x.ravel())
    assert problem.violation(result.x) <= 1e-9
    assert problem.value(result.x) == pytest.approx(result.fun, rel=1e-12)
    assert result.lower_bound <= best + rounding * problem.zero_value
    assert best <= result.fun + rounding * problem.zero_value
    assert result.success == (result.gap <= result.tolerance)
    assert result.status in ("converged", "subset")
    assert f"of the best possible with {k} feature" in result.message


@pytest.mark.parametrize("name", SETS)
def test_bounds_hold_and_branch_and_bound_finds_the_best(name):
    X, y = _data()
    turn = list(SETS).index(name)  # losses, layouts and intercepts take turns
    rows, k = (sparse.csr_array(X) if turn % 3 == 0 else X), 2 + turn % 2
    loss = "logistic" if turn % 2 else "squared"
    problem = fw.Problem(rows, np.sign(y) if turn % 2 else y, loss, SETS[name], intercept=turn % 4 < 2)
    best = _brute_force(problem, k)
    first = best_subset(problem, k, max_nodes=0)
    _check(problem, k, first, best)
    result = best_subset(problem, k, max_passes=1000)
    _check(problem, k, result, best)
    assert result.success, result.message
    assert result.fun <= best + result.tolerance


SIDES = {
    "inequalities": fw.LinearBounds(np.random.default_rng(1).normal(size=(2, D)), -0.1, 0.1),
    "equation": fw.LinearBounds(np.ones((1, D)), 0.4, 0.4),
    "two-needed": fw.LinearBounds(np.eye(D)[:2], 0.05),
}


@pytest.mark.parametrize("constraint", [fw.L1Ball(2.0), fw.Box(-WIDTHS, 0.6)], ids=["L1Ball", "Box"])
@pytest.mark.parametrize("side", SIDES)
def test_side_conditions_are_kept(side, constraint):
    X, y = _data()
    problem = fw.Problem(X, y, "squared", constraint, intercept=True, side=SIDES[side])
    for k in (2, 3):
        result = best_subset(problem, k, tol=1e-5, max_passes=1000)
        _check(problem, k, result, _brute_force(problem, k))
        assert result.violation <= 1e-9
        assert len(result.prices["side"]) == problem.side.m


def test_an_error_that_is_no_contradiction_is_raised_as_it_is():
    X, y = _data()
    problem = fw.Problem(X, y, "squared", fw.L1Ball(2.0), side=SIDES["equation"])
    with pytest.raises(ValueError, match="method 'sfw' needs a problem without side constraints"):
        best_subset(problem, 2, method="sfw")


def test_too_few_features_for_the_conditions_are_refused():
    X, y = _data()
    problem = fw.Problem(X, y, "squared", fw.L1Ball(2.0), side=SIDES["two-needed"])
    with pytest.raises(ValueError, match="no model with at most 1 feature was found"):
        best_subset(problem, 1)
    problem = fw.Problem(X, y, "squared", fw.Box(np.r_[0.1, 0.1, -np.ones(D - 2)], 1.0))
    with pytest.raises(ValueError, match="not zero for 2 features"):
        best_subset(problem, 1)


@pytest.mark.parametrize(
    "constraint", [fw.L2Ball(3.0), fw.TraceBall(4.0), fw.GroupBall(np.repeat(range(4), 3), 5.0)], ids=str
)
def test_a_feature_has_a_weight_for_each_output(constraint):
    X, y = load_iris(return_X_y=True)
    problem = fw.Problem(scale(X), y, "multinomial", constraint, intercept=True)
    result = best_subset(problem, 2, max_passes=1000)
    _check(problem, 2, result, _brute_force(problem, 2))


def _generated():
    rng = np.random.default_rng(0)
    X = scale(rng.normal(size=(500, 6)) @ rng.normal(size=(6, 20)) + rng.normal(size=(500, 20)))
    return X, scale(X @ np.r_[np.linspace(1.0, -1.0, 8), np.zeros(12)] + 2.0 * rng.normal(size=500))


def _tables(name):
    if name == "generated":
        return (*_generated(), "squared")
    if name == "breast_cancer":
        X, y = load_breast_cancer(return_X_y=True)
        return scale(X), 2.0 * y - 1.0, "logistic"
    X, y = cases.data("california_housing")
    return scale(X), scale(y), "squared"


@pytest.mark.parametrize("constraint", [fw.L1Ball(3.0), fw.L2Ball(1.5), fw.Box(-0.7, 0.7)], ids=str)
@pytest.mark.parametrize("table", ["generated", "breast_cancer", "california_housing"])
def test_tables(table, constraint):
    X, y, loss = _tables(table)
    rows, side = np.eye(X.shape[1])[:2], None
    if isinstance(constraint, fw.L1Ball):
        side = fw.LinearBounds(np.vstack([rows[0] - rows[1], np.ones(X.shape[1])]), [0.0, 0.3], [np.inf, 0.3])
    problem = fw.Problem(X, y, loss, constraint, intercept=True, side=side)
    for k in (1, 5, 20):
        result = best_subset(problem, k, max_passes=150, tol=1e-3)
        assert result.violation is None or result.violation <= 1e-12
        assert np.count_nonzero(result.x) <= k
        assert constraint.contains(result.x)
        assert result.gap <= 0.05 * result.fun
        if k == 1:  # compare with every single column
            _check(problem, k, result, _brute_force(problem, k))
            assert result.success


def test_pairs_of_20_correlated_columns():
    problem = fw.Problem(*_generated(), "squared", fw.L1Ball(2.0), intercept=True)
    _check(problem, 2, best_subset(problem, 2, max_passes=1000), _brute_force(problem, 2))


# --- what a result says -----------------------------------------------------------------------------------------------


def test_a_result_claims_no_more_than_is_proven():
    X, y = _generated()
    problem = fw.Problem(X, y, "squared", fw.L2Ball(1.5))
    result = best_subset(problem, 5, max_nodes=0)
    assert result.status is fw.Status.SUBSET
    assert not result.success
    assert "within 6.7% of the best possible with 5 features" in result.message
    assert result.gap <= 0.067 * result.lower_bound
    assert result.max_features == 5
    assert "subset (not certified to tolerance)" in repr(result)
    np.testing.assert_allclose(result.trace.gap[-1], result.gap, rtol=1e-9)
    with pytest.raises(ValueError, match="max_features must be a positive int"):
        best_subset(problem, 0)


def test_a_run_over_all_features_takes_the_weights_of_a_result_but_not_its_gap():
    problem = fw.Problem(*_generated(), "squared", fw.L2Ball(1.5))
    few = best_subset(problem, 1)
    assert few.success
    free = fw.minimize(problem, x0=few)
    assert free.success
    assert free.fun < 0.8 * few.lower_bound


def test_a_loss_that_is_not_convex_has_no_bound():
    X, y = _data()
    result = best_subset(fw.Problem(X, np.sign(y), "sigmoid", fw.L2Ball(1.0)), 2)
    assert (result.gap, result.lower_bound, result.status) == (np.inf, -np.inf, fw.Status.SUBSET)
    assert "Nothing is proven of other models with 2 features" in result.message
    assert np.count_nonzero(result.x) <= 2


@pytest.mark.parametrize(
    "constraint",
    [
        fw.sets.MonotoneBox(-1.0, 1.0),
        fw.sets.Translated(fw.L1Ball(1.0), 0.1),
        fw.sets.Ellipsoid(WIDTHS, centre=0.1),
        fw.TraceBall(1.0, (1, D)),
    ],
    ids=lambda made: type(made).__name__,
)
def test_sets_that_do_not_know_their_points_of_some_features_are_refused(constraint):
    X, y = _data()
    with pytest.raises(ValueError, match=f"does not go with the set {type(constraint).__name__}: it is not known"):
        best_subset(fw.Problem(X, y, "squared", constraint), 2)


def test_a_set_is_zero_where_it_has_no_group():
    X, y = _data()
    problem = fw.Problem(X, y, "squared", fw.sets.LatentGroupBall([[0, 1]], 1.0))
    _check(problem, 2, best_subset(problem, 2, tol=1e-6), _brute_force(problem, 2))


def test_all_features_are_the_problem_itself():
    X, y = _data()
    problem = fw.Problem(X, y, "squared", fw.L2Ball(1.0))
    np.testing.assert_array_equal(best_subset(problem, 50).x, fw.minimize(problem).x)


def test_the_same_bits_again():
    problem = fw.Problem(*_generated(), "squared", fw.L2Ball(1.0), intercept=True)
    one, two = best_subset(problem, 3), best_subset(problem, 3, n_threads=2)
    np.testing.assert_array_equal(one.x, two.x)
    assert (one.fun, one.gap, one.passes) == (two.fun, two.gap, two.passes)


def test_percentages_are_rounded_up():
    assert [rounded_up(number) for number in (0.0, 3.01, 3.1, 99.5, 1234.0, 0.00321)] == [
        "0",
        "3.1",
        "3.1",
        "100",
        "1300",
        "0.0033",
    ]


# --- estimators and paths ---------------------------------------------------------------------------------------------


def test_estimators_keep_to_max_features():
    X, y = _generated()
    model = fw.FrankWolfeRegressor(constraint="l2", radius=1.5, max_features=3).fit(X, y)
    assert np.count_nonzero(model.coef_) == 3
    assert model.result_.max_features == 3
    assert model.gap_ == model.result_.gap
    labels = np.digitize(y, [-0.5, 0.5])
    together = fw.FrankWolfeClassifier(radius=5.0, max_features=2).fit(X, labels)
    assert np.count_nonzero(together.coef_.any(axis=0)) == 2
    apart = fw.FrankWolfeClassifier(radius=5.0, max_features=2, multi_class="ovr").fit(X, labels)
    assert (np.count_nonzero(apart.coef_, axis=1) <= 2).all()
    signed = fw.FrankWolfeRegressor(radius=2.0, signs=1, max_features=3).fit(X, y)
    assert np.count_nonzero(signed.coef_) <= 3
    assert signed.coef_.min() >= 0.0


def test_a_choice_that_is_not_certified_is_no_reason_for_a_warning():
    X, y = _generated()
    model = fw.FrankWolfeRegressor(constraint="l2", radius=1.5, max_features=5, max_passes=50).fit(X, y)
    assert model.result_.status is fw.Status.SUBSET
    assert model.gap_ > model.result_.tolerance


def test_estimators_refuse_what_max_features_cannot_do(tmp_path):
    X, y = _data()
    model = fw.FrankWolfeRegressor(max_features=2)
    with pytest.raises(ValueError, match="partial_fit has only a chunk"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match="max_features makes many"):
        model.fit(X, y, checkpoint=tmp_path / "run.ckpt")


def test_rules_by_name_hold_with_few_features():
    X, y = _generated()
    rules = {"bounds": {0: (0.1, None), 3: (None, 0)}, "conditions": "x1 <= x2"}
    for radius in (2.0, None):
        model = fw.FrankWolfeRegressor(radius=radius, max_features=4, max_passes=60, **rules).fit(X, y)
        assert np.count_nonzero(model.coef_) <= 4
        assert model.coef_[0] >= 0.1 * (1.0 - 1e-9)
        assert model.coef_[3] <= 0.0
        assert model.coef_[1] <= model.coef_[2] + 1e-9
        assert set(model.prices_) >= {"x0 >= 0.1", "x1 <= x2"}
        assert "of the best possible with 4 features" in str(model.summary())
    assert "among all weights whose absolute values" in model.result_.message
    with pytest.raises(ValueError, match="not zero for 2 features"):
        fw.FrankWolfeRegressor(max_features=1, bounds={0: (0.1, None), 1: (0.1, None)}).fit(X, y)


def test_folds_choose_the_radius_of_sparse_models():
    X, y = _generated()
    model = fw.FrankWolfeRegressorCV(radii=[0.2, 1.0, 50.0], cv=2, max_features=3).fit(X[:100], y[:100])
    assert np.count_nonzero(model.coef_) <= 3
    assert model.result_.max_features == 3


def test_a_path_has_few_features_at_every_radius():
    X, y = _generated()
    path = fw.radius_path(X, y, loss="squared", constraint="l2", radii=[0.3, 1.0, 3.0], max_nonzeros=3, tol=1e-3)
    assert (np.diff(path.coefs.indptr) <= 3).all()
    problem = fw.Problem(X, y, "squared", fw.L2Ball(1.0))
    alone = best_subset(problem, 3, tol=1e-3, max_passes=1000)
    assert abs(path.funs[1] - alone.fun) <= max(path.gaps[1], alone.gap)
