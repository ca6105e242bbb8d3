"""Counts and amounts with offsets and exposure: against scikit-learn without a budget, against a solver with rules."""

import cvxpy as cp
import numpy as np
import pytest
import sklearn
from sklearn.linear_model import GammaRegressor, PoissonRegressor, TweedieRegressor
from sklearn.metrics import d2_tweedie_score
from sklearn.model_selection import KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import frankwolfe as fw

RNG = np.random.default_rng(0)
N, D = 300, 5
X = RNG.normal(size=(N, D))
EXPOSURE = RNG.uniform(0.2, 3.0, N)
OFFSET = 0.5 * RNG.normal(size=N)
WEIGHTS = RNG.uniform(0.5, 2.0, N)
MEAN = np.exp(X @ [0.4, -0.3, 0.2, 0.0, 0.1] + 0.3)
CASES = {
    "poisson": (fw.Poisson(), PoissonRegressor, RNG.poisson(MEAN).astype(float)),
    "gamma": (fw.Gamma(), GammaRegressor, RNG.gamma(2.0, MEAN / 2.0)),
    "tweedie": (fw.losses.Tweedie(1.4), TweedieRegressor, RNG.poisson(MEAN) * RNG.gamma(2.0, 1.0, N)),
}
EVERY = pytest.mark.parametrize("name", CASES)


@EVERY
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
def test_without_a_budget_that_binds_predictions_are_those_of_scikit_learn(name, weights):
    loss, kind, y = CASES[name]
    power = {"power": loss.power, "link": "log"} if name == "tweedie" else {}
    theirs = kind(alpha=0.0, tol=1e-9, max_iter=1000, **power).fit(X, y, sample_weight=weights)
    ours = fw.FrankWolfeRegressor(loss, radius=50.0, tol=1e-11).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-5)
    assert ours.score(X, y, weights) == pytest.approx(theirs.score(X, y, weights), rel=1e-9)


def program(loss, y, z, weights):
    """The objective as a convex program, without the part that only depends on the targets."""
    s, u = 2.0 - loss.power, loss.power - 1.0
    terms = (cp.exp(s * z) / s if s else z) + (cp.multiply(y, cp.exp(-u * z)) / u if u else -cp.multiply(y, z))
    return weights @ terms / weights.sum()


@EVERY
def test_with_rules_offsets_exposure_weights_and_an_intercept_the_optimum_is_that_of_a_solver(name):
    loss, _, y = CASES[name]
    bounds, offset = {0: (None, 0.2), 3: (0.05, None)}, OFFSET + np.log(EXPOSURE)
    model = fw.FrankWolfeRegressor(loss, radius=0.6, bounds=bounds, conditions="x1 + x2 >= 0", tol=1e-9)
    model.fit(X, y, WEIGHTS, offset=OFFSET, exposure=EXPOSURE)
    w, b = cp.Variable(D), cp.Variable()
    rules = [cp.norm1(w) <= 0.6, w[0] <= 0.2, w[3] >= 0.05, w[1] + w[2] >= 0.0]
    solver = cp.Problem(cp.Minimize(program(loss, y, X @ w + b + offset, WEIGHTS)), rules)
    solver.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)
    np.testing.assert_allclose(model.coef_, w.value, atol=2e-5)
    at = program(loss, y, X @ model.coef_ + model.intercept_ + offset, WEIGHTS).value
    assert at == pytest.approx(solver.value, rel=1e-6)
    assert model.result_.success
    assert model.result_.fun - model.gap_ <= model.result_.fun + solver.value - at + 1e-9
    expected = EXPOSURE * np.exp(X @ model.coef_ + model.intercept_ + OFFSET)
    np.testing.assert_allclose(model.predict(X, offset=OFFSET, exposure=EXPOSURE), expected, rtol=1e-12)
    scored = model.score(X, y, WEIGHTS, offset=OFFSET, exposure=EXPOSURE)
    assert scored == pytest.approx(d2_tweedie_score(y, expected, sample_weight=WEIGHTS, power=loss.power))


def test_counts_with_exposure_are_rates_with_weights():
    y = CASES["poisson"][2]
    model = fw.FrankWolfeRegressor("poisson", radius=0.5, tol=1e-10)
    counts = model.fit(X, y, exposure=EXPOSURE).coef_
    np.testing.assert_allclose(counts, model.fit(X, y / EXPOSURE, EXPOSURE).coef_, atol=1e-6)


@pytest.mark.parametrize("loss", ["squared", "huber", "tukey"])
def test_an_offset_of_a_loss_of_errors_is_taken_from_the_targets(loss):
    y = np.log(MEAN) + OFFSET + 0.1 * RNG.normal(size=N)
    model = fw.FrankWolfeRegressor(loss, radius=0.5, tol=1e-10)
    expected = model.fit(X, y - OFFSET).coef_
    np.testing.assert_allclose(model.fit(X, y, offset=OFFSET).coef_, expected, atol=1e-6)
    assert model.score(X, y, offset=OFFSET) > model.score(X, y)


@pytest.mark.filterwarnings("ignore::frankwolfe.exceptions.ScaleWarning")
def test_a_radius_is_chosen_with_exposure():
    y = RNG.poisson(EXPOSURE * MEAN).astype(float)
    model = fw.FrankWolfeRegressorCV("poisson", radii=[0.01, 1.0]).fit(X, y, exposure=EXPOSURE)
    assert model.radius_ == 1.0
    plain = fw.FrankWolfeRegressor("poisson", radius=1.0).fit(X, y, exposure=EXPOSURE)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-3)
    with pytest.raises(ValueError, match="offset and exposure go with scoring=None"):
        fw.FrankWolfeRegressorCV("poisson", scoring="r2").fit(X, y, exposure=EXPOSURE)


def test_metadata_routing_passes_offset_and_exposure_on():
    y = CASES["poisson"][2]
    with sklearn.config_context(enable_metadata_routing=True):
        model = fw.FrankWolfeRegressor("poisson", radius=0.5).set_fit_request(exposure=True, offset=True)
        search = sklearn.model_selection.GridSearchCV(
            model.set_score_request(exposure=True, offset=True), {"radius": [0.1, 0.5]}, cv=2
        )
        search.fit(X, y, exposure=EXPOSURE, offset=OFFSET)
    plain = fw.FrankWolfeRegressor("poisson", **search.best_params_).fit(X, y, exposure=EXPOSURE, offset=OFFSET)
    np.testing.assert_array_equal(search.best_estimator_.coef_, plain.coef_)


def test_offsets_and_exposure_pass_pipelines_and_cross_validation():
    y, given, folds = CASES["poisson"][2], {"exposure": EXPOSURE, "offset": OFFSET}, KFold(3)
    with sklearn.config_context(enable_metadata_routing=True):
        scale = StandardScaler().set_fit_request(sample_weight=False)
        model = fw.FrankWolfeRegressor("poisson", radius=0.5).set_predict_request(exposure=True, offset=True)
        for method in ("fit", "score"):
            getattr(model, f"set_{method}_request")(exposure=True, offset=True, sample_weight=True)
        pipeline = make_pipeline(scale, model)
        found = cross_validate(pipeline, X, y, params={**given, "sample_weight": WEIGHTS}, cv=folds)
        pipeline.fit(X, y, **given)
        predicted = pipeline.predict(X, **given)
    plain, expected = fw.FrankWolfeRegressor("poisson", radius=0.5), []
    np.testing.assert_array_equal(
        plain.fit(scale.fit_transform(X), y, **given).predict(scale.transform(X), **given), predicted
    )
    for train, test in folds.split(X):
        parts = [{name: values[rows] for name, values in given.items()} for rows in (train, test)]
        plain.fit(scale.fit_transform(X[train]), y[train], WEIGHTS[train], **parts[0])
        expected.append(plain.score(scale.transform(X[test]), y[test], WEIGHTS[test], **parts[1]))
    np.testing.assert_allclose(found["test_score"], expected)


@pytest.mark.filterwarnings("ignore::frankwolfe.exceptions.ScaleWarning")
def test_a_chosen_radius_is_scored_with_exposure_too():
    y = RNG.poisson(EXPOSURE * MEAN).astype(float)
    model = fw.FrankWolfeRegressorCV("poisson", radii=[0.1, 1.0], cv=2).fit(X, y, exposure=EXPOSURE)
    expected = d2_tweedie_score(y, model.predict(X, exposure=EXPOSURE), power=1)
    assert model.score(X, y, exposure=EXPOSURE) == pytest.approx(expected)
    with pytest.raises(ValueError, match="offset and exposure go with scoring=None"):
        model.set_params(scoring="r2").score(X, y, exposure=EXPOSURE)
    model.set_params(scoring=None)
    with sklearn.config_context(enable_metadata_routing=True):
        model.set_fit_request(exposure=True).set_score_request(exposure=True)
        found = cross_validate(model, X, y, params={"exposure": EXPOSURE}, cv=2)["test_score"]
    assert (found > 0.1).all()


@pytest.mark.parametrize("kind", [fw.SimplexRegressor, fw.NonNegativeRegressor])
def test_weights_of_a_sign_take_an_offset(kind):
    y = X @ [0.5, 0.3, 0.2, 0.0, 0.0]
    for targets in (y, y[:, None]):
        found = kind().fit(X, targets + OFFSET.reshape(targets.shape), offset=OFFSET)
        np.testing.assert_allclose(found.coef_, [0.5, 0.3, 0.2, 0.0, 0.0], atol=1e-3)


@pytest.mark.parametrize(
    ("loss", "given", "message"),
    [
        (
            "squared",
            {"exposure": EXPOSURE},
            "exposure goes with the losses 'poisson', .* not with Squared: pass offset",
        ),
        ("poisson", {"exposure": -EXPOSURE}, "exposure must be positive, got -.* leave such rows out"),
        ("poisson", {"offset": OFFSET[:3]}, f"offset has 3 entries, but there are {N} rows in X"),
        ("poisson", {"offset": np.full(N, np.nan)}, r"offset holds NaN or infinity \(first at entry 0\)"),
    ],
)
def test_offsets_that_mean_nothing_are_refused(loss, given, message):
    with pytest.raises(ValueError, match=message):
        fw.FrankWolfeRegressor(loss).fit(X, CASES["poisson"][2], **given)


def test_offsets_go_with_one_output():
    with pytest.raises(ValueError, match="offset goes with one output, and y has 2 columns"):
        fw.FrankWolfeRegressor().fit(X, X[:, :2], offset=OFFSET)
    with pytest.raises(ValueError, match="offset goes with losses of one output, not with Multinomial"):
        fw.Problem(X, np.arange(N) % 3, "multinomial", fw.L1Ball(1.0), offset=OFFSET)


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [
        ("poisson", [1.0, -2.0], "y must hold numbers of zero or more for Poisson, got -2 at entry 1"),
        ("gamma", [1.0, 0.0], "y must hold positive numbers for Gamma, got 0 at entry 1"),
        ("tweedie", [-1.0, 0.0], "y must hold numbers of zero or more for Tweedie, got -1 at entry 0"),
    ],
)
def test_targets_without_a_logarithm_are_refused(loss, y, message):
    with pytest.raises(ValueError, match=message):
        fw.Problem([[1.0], [2.0]], y, loss, fw.L1Ball(1.0))
