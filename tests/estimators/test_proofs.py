"""Ranges and certificates of fitted estimators are those of their problems."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris

import frankwolfe as fw

N, NAMES = 60, ["price", "tv", "radio"]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3)) + 1.0
    return X, X @ [-1.0, 0.5, 0.0] + rng.normal(size=N), rng.random(N)


def same(found, expected):
    np.testing.assert_allclose(found.low_proven, expected.low_proven, rtol=1e-3)
    np.testing.assert_allclose(found.high_proven, expected.high_proven, rtol=1e-3)
    np.testing.assert_allclose(found.limit, expected.limit)


def test_ranges_of_a_regressor_are_those_of_its_problem(data):
    pd = pytest.importorskip("pandas")
    X, y, weights = data
    frame, before = pd.DataFrame(X, columns=NAMES), X.copy()
    model = fw.FrankWolfeRegressor(radius=1.2, tol=1e-9).fit(frame, y, weights)
    state = dict(vars(model))
    problem = fw.Problem(X, y, "squared", fw.L1Ball(1.2), weights, intercept=True)
    result = fw.minimize(problem, tol=1e-9)
    found = model.ranges(frame, y, of=["price", "t*"], sample_weight=weights)
    assert found.names == ["price", "tv"]
    same(found, fw.ranges(problem, result, of=[0, 1]))
    same(model.ranges(frame, y, sample_weight=weights, predict=frame[:2]), fw.ranges(problem, result, predict=X[:2]))
    assert vars(model) == state
    assert (before == X).all()
    report = fw.verify(model.certificate(frame, y, weights), frame, y, weights)
    assert report.proven, report.message


def test_signs_rules_and_offsets_are_part_of_what_is_proven(data):
    X, y, _ = data
    offset = np.linspace(-1.0, 1.0, N)
    model = fw.FrankWolfeRegressor(radius=1.2, signs={0: -1}, tol=1e-9, fit_intercept=False)
    model.fit(X, y, offset=offset)
    bounds = fw.Budget([-np.inf] * 3, [0.0, np.inf, np.inf], 1.2)
    problem = fw.Problem(X, y, "squared", bounds, offset=offset)
    expected = fw.ranges(problem, fw.minimize(problem, tol=1e-9))
    same(model.ranges(X, y, offset=offset), expected)
    assert fw.verify(model.certificate(X, y, offset=offset), X, y, offset=offset).proven
    ruled = fw.FrankWolfeRegressor(radius=1.2, bounds={0: (None, 0)}, conditions="x1 >= x2", tol=1e-9).fit(X, y)
    found = ruled.ranges(X, y, of=[[0.0, 1.0, -1.0]], names=["tv less radio"], within=0.05)
    assert -1e-3 <= found.low_proven[0] <= found.low_attained[0]
    assert found.low_attained[0] >= -1e-9
    assert fw.verify(ruled.certificate(X, y), X, y).proven


def test_the_radius_may_come_from_cross_validation(data):
    X, y, _ = data
    model = fw.FrankWolfeRegressorCV(radii=[0.5, 1.0, 20.0], cv=3, tol=1e-9).fit(X, y)
    problem = fw.Problem(X, y, "squared", fw.L1Ball(model.radius_), intercept=True)
    same(model.ranges(X, y, of=[0]), fw.ranges(problem, fw.minimize(problem, tol=1e-9), of=[0]))


def test_a_certificate_of_a_classifier_speaks_of_its_classes(data):
    X, y, weights = data
    labels = np.where(y > 0.0, "buys", "leaves")
    model = fw.FrankWolfeClassifier(radius=2.0, tol=1e-8).fit(X, labels, weights)
    claim = model.certificate(X, labels, weights)
    assert claim.arrays["classes"].tolist() == ["buys", "leaves"]
    assert fw.verify(claim, X, labels, weights).proven
    swapped = labels.copy()
    swapped[0] = "buys" if labels[0] == "leaves" else "leaves"
    assert not fw.verify(claim, X, swapped, weights).proven


def test_what_has_no_proof_is_refused_with_a_reason(data):
    X, y, _ = data
    flowers, kinds = load_iris(return_X_y=True)
    many = fw.FrankWolfeClassifier(multi_class="ovr").fit(flowers, kinds)
    with pytest.raises(ValueError, match="3 problems, one for each class"):
        many.ranges(flowers, kinds)
    model = fw.FrankWolfeRegressor(radius=1.0).fit(X, y)
    with pytest.raises(ValueError, match="not the rows, targets and weights of the fit"):
        model.ranges(X, y + 1e-3 * X[:, 0])
    with pytest.raises(ValueError, match="X has 2 columns, and the model 3 weights"):
        model.certificate(X[:, :2], y)
    few = fw.FrankWolfeRegressor(radius=1.0, max_features=1).fit(X, y)
    with pytest.raises(ValueError, match="max_features"):
        few.ranges(X, y)
    with pytest.raises(ValueError, match="stream"):
        fw.FrankWolfeRegressor().partial_fit(X, y).certificate(X, y)


# --- fits without a budget --------------------------------------------------------------------------------------------

RULES = {"bounds": {0: (None, 0), 2: (0, None)}, "conditions": "x1 >= x2"}


@pytest.mark.parametrize("matrix", [np.asarray, csr_array])
def test_ranges_without_a_budget_are_those_within_a_large_one(data, matrix):
    X, y, weights = data
    X = X * [1.0, 100.0, 0.01]
    free = fw.FrankWolfeRegressor(**RULES, tol=1e-9).fit(matrix(X), y, weights)
    large = fw.FrankWolfeRegressor(**RULES, radius=1e4, tol=1e-9).fit(matrix(X), y, weights)
    found = free.ranges(matrix(X), y, sample_weight=weights)
    same(found, large.ranges(matrix(X), y, sample_weight=weights))
    assert found.scope == ""  # the ranges of all weights show that no good model is beyond the last budget
    assert "models with an objective of at most" in repr(found)
    scores = free.ranges(matrix(X), y, sample_weight=weights, predict=matrix(X)[:2])
    same(scores, large.ranges(matrix(X), y, sample_weight=weights, predict=matrix(X)[:2]))
    assert "columns of norm one" in scores.scope
    w, b = found.low_models[1], found.low_intercepts[1]
    assert np.average(0.5 * (X @ w + b - y) ** 2, weights=weights) <= found.limit * (1.0 + 1e-9)
    np.testing.assert_allclose(w[1], found.low_attained[1], rtol=1e-9)


def test_weights_that_the_data_leave_open_are_bounded_by_the_last_budget_only(data):
    X, y, _ = data
    twice = np.column_stack([X, X[:, 1]])
    free = fw.FrankWolfeRegressor(bounds={0: (None, 0)}, tol=1e-9).fit(twice, y)
    found = free.ranges(twice, y)
    assert "columns of norm one" in found.scope
    assert found.scope in repr(found)
    assert found.high_attained[1] > 10.0  # the two columns cancel


def test_certificates_without_a_budget_are_about_the_columns_as_given(data):
    X, y, weights = data
    X = X * [1.0, 1e6, 1e-6]
    claim = fw.FrankWolfeRegressor(**RULES, tol=1e-9).fit(X, y, weights).certificate(X, y, weights)
    assert fw.verify(claim, X, y, weights).proven
    units = claim.arrays["set_units"]
    looser = fw.certificates.verifier.Certificate(claim.facts, {**claim.arrays, "set_units": units / 1e6})
    assert not fw.verify(looser, X, y, weights).proven  # another set: the slopes prove less
    labels = y > 0.0
    model = fw.FrankWolfeClassifier(bounds={"x0": (None, 0)}, tol=1e-8).fit(X, labels)
    assert fw.verify(model.certificate(X, labels), X, labels).proven
    boxed = fw.FrankWolfeRegressor(bounds=(-1, 1), tol=1e-9).fit(X, y)  # bounds on all weights: no budget at all
    assert fw.verify(boxed.certificate(X, y), X, y).proven


def test_the_smallest_of_many_solutions_has_a_certificate(data):
    y = data[1]
    levels = np.eye(4)[np.arange(N) % 4]  # with an intercept, solutions of any size
    model = fw.FrankWolfeRegressor(bounds={0: (None, 10)}, tol=1e-9).fit(levels, y)
    assert fw.verify(model.certificate(levels, y), levels, y).proven
