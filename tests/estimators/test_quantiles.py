"""Several quantiles in one estimator: against scikit-learn, against a solver where they may not cross, and by proof."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import QuantileRegressor
from sklearn.metrics import d2_pinball_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import frankwolfe as fw
from frankwolfe.solvers.corrective.quantile_bands import Bands

RNG = np.random.default_rng(0)
N, D = 70, 4
X = RNG.normal(size=(N, D))
Y = X @ [1.0, -1.0, 0.5, 0.0] + RNG.standard_t(2, size=N) * (0.2 + np.abs(X[:, 0])) + 3.0
WEIGHTS = RNG.integers(0, 4, N).astype(float)
OFFSET = RNG.normal(size=N)
QUANTILES = [0.1, 0.3, 0.5, 0.7, 0.9]


def losses(y, z, quantiles=QUANTILES, weights=None):
    """The mean pinball loss of each column of predictions."""
    off = y[:, None] - z
    return np.average(np.maximum(np.multiply(quantiles, off), np.subtract(quantiles, 1.0) * off), 0, weights)


def bands(**given):
    given = {"quantiles": QUANTILES, "crossing": False, "tol": 1e-9, "radius": 20.0, **given}
    return fw.FrankWolfeRegressor("pinball", **given)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
def test_without_a_budget_that_binds_each_quantile_is_that_of_scikit_learn(weights):
    model = bands(crossing=True, quantiles=[0.15, 0.5, 0.8], tol=1e-9, max_passes=5000).fit(X, Y, weights)
    assert model.coef_.shape == (3, D)
    assert model.intercept_.shape == (3,)
    assert [found.success for found in model.result_] == [True] * 3
    for k, q in enumerate(model.quantiles):
        theirs = QuantileRegressor(quantile=q, alpha=0.0).fit(X, Y, weights)
        np.testing.assert_allclose(model.predict(X)[:, k], theirs.predict(X), atol=1e-5)


def test_quantiles_that_do_not_cross_by_themselves_are_the_same_in_one_problem():
    apart, joint = bands(crossing=True, quantiles=[0.2, 0.8], max_passes=5000), bands(quantiles=[0.2, 0.8])
    apart.fit(X, Y)
    assert (np.diff(apart.predict(X)) > 0.0).all()
    np.testing.assert_allclose(joint.fit(X, Y).predict(X), apart.predict(X), atol=1e-5)
    assert joint.result_.fun == pytest.approx(np.mean([found.fun for found in apart.result_]), abs=2e-8)
    assert joint.result_.zero_value == pytest.approx(np.mean([found.zero_value for found in apart.result_]))


CASES = {
    "l1": ({"radius": 1.5}, lambda w: [cp.norm1(w) <= 1.5]),
    "bounds by name": (
        {"radius": 3.0, "bounds": {0: (None, 0.3), 1: (-0.2, None)}},
        lambda w: [cp.norm1(w) <= 3.0, w[0] <= 0.3, w[1] >= -0.2],
    ),
    "no budget": (
        {"radius": None, "bounds": {0: (None, 0.3)}, "conditions": ["x1 + x2 >= 0", "x2 == 2 * x3"]},
        lambda w: [w[0] <= 0.3, w[1] + w[2] >= 0.0, w[2] == 2.0 * w[3]],
    ),
    "signs": ({"radius": 2.0, "signs": {0: -1, 3: 1}}, lambda w: [cp.norm1(w) <= 2.0, w[0] <= 0.0, w[3] >= 0.0]),
    "simplex": ({"radius": "auto", "constraint": "simplex"}, lambda w: [w >= 0.0, cp.sum(w) == 1.0]),
    "linf": ({"radius": 0.4, "constraint": "linf"}, lambda w: [cp.norm_inf(w) <= 0.4]),
    "monotone": (
        {"radius": 4.0, "monotone": {("x0", "x1", "x2"): "increasing"}},
        lambda w: [cp.norm1(w) <= 4.0, w[0] <= w[1], w[1] <= w[2]],
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "none"])
def test_quantiles_that_may_not_cross_have_the_optimum_of_a_solver(case, intercept):
    given, rules = CASES[case]
    if case == "simplex" and not intercept:
        given, rules = {"bounds": (0, None), "radius": 5.0}, lambda w: [w >= 0.0, cp.sum(w) <= 5.0]
    X_here = X if intercept else np.abs(X) + 0.1  # without an intercept rows on both sides of zero leave no room
    rows = sparse.csr_array(X_here) if case == "linf" else X_here
    model = bands(fit_intercept=intercept, **given).fit(rows, Y, WEIGHTS, offset=OFFSET)
    z = model.predict(rows, offset=OFFSET)
    assert np.diff(z).min() >= -1e-13 * np.abs(z).max()
    W, b = cp.Variable((5, D)), cp.Variable(5)
    at = X_here @ W.T + np.ones((N, 1)) @ cp.reshape(b, (1, 5), order="C") + OFFSET[:, None]
    limits = [rule for k in range(5) for rule in rules(W[k])] + [at[:, :-1] <= at[:, 1:]]
    limits += [] if intercept else [b == 0.0]
    cost = sum(
        WEIGHTS @ cp.maximum(q * (Y - at[:, k]), (q - 1.0) * (Y - at[:, k])) for k, q in enumerate(QUANTILES)
    ) / (5.0 * WEIGHTS.sum())
    solver = cp.Problem(cp.Minimize(cost), limits)
    solver.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)
    value = losses(Y, z, weights=WEIGHTS).mean()
    assert model.result_.success
    assert model.result_.fun == pytest.approx(value, rel=1e-12)
    assert value == pytest.approx(solver.value, rel=1e-6)
    assert model.gap_ <= 1e-9 * model.result_.zero_value * (1.0 + 1e-12)
    assert model.result_.lower_bound <= solver.value * (1.0 + 1e-8)


def test_the_condition_binds_and_costs_something():
    apart = bands(crossing=True, tol=1e-6).fit(X, Y)
    assert (np.diff(apart.predict(X)) < -1e-3).any()
    joint = bands().fit(X, Y)
    assert losses(Y, joint.predict(X)).mean() > losses(Y, apart.predict(X)).mean() + 1e-5


def test_the_bound_holds_at_every_step_and_for_any_multipliers():
    problems = [fw.Problem(X, Y, fw.losses.Pinball(q), fw.L1Ball(1.5), intercept=True) for q in QUANTILES]
    least = 5 * N * bands(radius=1.5).fit(X, Y).result_.fun
    run, rng = Bands(problems, np.array(QUANTILES), True), np.random.default_rng(0)
    proven = []
    for _ in range(12):
        run.step()
        proven.append(run.bound(problems[0].constraint))
        kept = run.a, run.cross
        run.a = run.a + 0.3 * rng.normal(size=run.a.shape)
        run.cross = run.cross._replace(m=rng.exponential(size=run.cross.m.shape))
        proven.append(run.bound(problems[0].constraint))
        run.a, run.cross = kept
    assert max(proven) <= least * (1.0 + 1e-12)
    assert max(proven) >= least * (1.0 - 1e-6)


def test_score_is_the_mean_of_d2_and_offsets_move_all_quantiles():
    model = bands().fit(X, Y, offset=OFFSET)
    z = model.predict(X, offset=OFFSET)
    np.testing.assert_allclose(z, model.predict(X) + OFFSET[:, None])
    expected = np.mean([d2_pinball_score(Y, z[:, k], sample_weight=WEIGHTS, alpha=q) for k, q in enumerate(QUANTILES)])
    assert model.score(X, Y, WEIGHTS, offset=OFFSET) == pytest.approx(expected)


@pytest.mark.parametrize("crossing", [True, False])
def test_pipelines_searches_clones_and_names(crossing):
    import pandas as pd

    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = bands(crossing=crossing, bounds={"a": (0, None)}, quantiles=(0.25, 0.75), tol=1e-6)
    assert clone(model).get_params() == model.get_params()
    search = GridSearchCV(
        make_pipeline(StandardScaler().set_output(transform="pandas"), model),
        {"frankwolferegressor__radius": [0.01, 5.0]},
        cv=2,
    ).fit(frame, Y)
    assert search.best_params_ == {"frankwolferegressor__radius": 5.0}
    assert search.predict(frame).shape == (N, 2)
    assert (search.best_estimator_[-1].coef_[:, 0] >= 0.0).all()
    page = str(search.best_estimator_[-1].summary())
    assert "quantile 0.25" in page


SHAPES = ["check_regressors_train", "check_estimator_sparse_array", "check_estimator_sparse_matrix"]
"""Checks of scikit-learn that want one prediction for each row."""

TIES = ["check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"]
"""Checks that compare predictions of two optima: with few rows there are many."""


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::frankwolfe.exceptions.ScaleWarning")
@pytest.mark.parametrize("crossing", [True, False])
def test_scikit_learns_checks_but_for_the_shape_of_predictions(crossing):
    model = fw.FrankWolfeRegressor("pinball", quantiles=[0.4, 0.6], crossing=crossing)
    expected = dict.fromkeys([*SHAPES, *TIES], "predictions have a column for each quantile, and optima may be many")
    found = check_estimator(model, expected_failed_checks=expected, on_fail=None, on_skip=None)
    assert [(one["check_name"], str(one["exception"])) for one in found if one["status"] == "failed"] == []


def test_proofs_about_one_quantile():
    model = bands(crossing=True, quantiles=[0.25, 0.75], tol=1e-7).fit(X, Y)
    assert fw.verify(model.certificate(X, Y, quantile=0.75), X, Y).proven
    assert not fw.verify(model.certificate(X, Y, quantile=0.25), X[::-1], Y).proven
    with pytest.raises(ValueError, match=r"pass quantile=, one of \[0.25, 0.75\], got 0.5"):
        model.certificate(X, Y, quantile=0.5)
    with pytest.raises(ValueError, match="need a fit with crossing=True"):
        bands().fit(X, Y).certificate(X, Y, quantile=0.5)


def test_data_that_constants_fit_and_few_rows():
    assert bands().fit(X, np.full(N, 3.0)).gap_ == 0.0
    np.testing.assert_allclose(bands().fit(X[:1], Y[:1]).predict(X[:1]), np.full((1, 5), Y[0]))
    wide = RNG.normal(size=(15, 40))
    assert bands(radius=2.0).fit(wide, Y[:15]).result_.success
    assert bands().fit(np.hstack([X, X]), Y).result_.success


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_budget_of_passes_ends_with_a_proven_gap():
    short, least = bands(max_passes=20).fit(X, Y), bands().fit(X, Y).result_.fun
    assert short.result_.status == "max-passes"
    assert short.result_.passes <= 20
    assert short.result_.fun - short.gap_ <= least <= short.result_.fun


def test_a_default_radius_that_is_too_small_is_told():
    with pytest.warns(fw.exceptions.ScaleWarning, match="Radius 10 lowers the objective by only"):
        bands(radius="auto", tol=1e-6).fit(X, 100.0 * Y)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"quantiles": [0.5, 0.1]}, ValueError, r"must be increasing numbers between 0 and 1, got \[0.5, 0.1\]"),
        ({"quantiles": [0.5, 1.0]}, ValueError, "must be increasing numbers between 0 and 1"),
        ({"quantiles": 0.5}, ValueError, "must be increasing numbers between 0 and 1"),
        ({"quantiles": "all"}, TypeError, "quantiles must be"),
        ({"loss": "squared"}, ValueError, "quantiles go with loss='pinball', got 'squared'"),
        ({"quantiles": None}, ValueError, "crossing=False goes with quantiles: pass them"),
        ({"crossing": "no"}, TypeError, "crossing must be True or False, got 'no'"),
        ({"constraint": "l2"}, ValueError, "needs a set of bounds and budgets.* not L2Ball"),
        ({"method": "shcgm"}, ValueError, "goes with method='auto' and without max_features"),
    ],
)
def test_what_does_not_go_together_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        bands().set_params(**given).fit(X, Y)


def test_rows_around_zero_need_an_intercept():
    with pytest.raises(ValueError, match=r"no two models of which one predicts more.* Fit an intercept"):
        bands(fit_intercept=False).fit(X, Y)
    with pytest.raises(ValueError, match="no two models of which one predicts more"):
        bands(fit_intercept=False, constraint="simplex", radius="auto").fit(np.abs(X), Y)
    tilted = X - X @ np.outer([1.0, 1.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0])
    tilted += np.exp(X[:, [2]]) * [1.0, 1.0, 0.0, 0.0]  # no column has one sign, but the sum of two is positive
    assert bands(fit_intercept=False).fit(tilted, Y).result_.success


def test_one_target_all_rows_and_no_checkpoint(tmp_path):
    with pytest.raises(ValueError, match="quantiles go with one output, and y has 2 columns"):
        bands().fit(X, X[:, :2])
    assert not hasattr(bands(), "partial_fit")
    with pytest.raises(AttributeError, match="has no attribute 'partial_fit'"):
        bands().partial_fit(X, Y)
    with pytest.raises(ValueError, match="checkpoint goes with crossing=True"):
        bands().fit(X, Y, checkpoint=tmp_path / "run")
