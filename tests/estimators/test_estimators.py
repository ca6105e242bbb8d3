"""The estimators' answers: against scikit-learn's at the equivalent penalty, and against convex programs."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_linnerud
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

import frankwolfe as fw
from tests import cases

EXACT = {"tol": 1e-12, "max_passes": 1e5}


def _binary():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), np.where(y == 1, "benign", "malignant")


def _several():
    X, y = load_iris(return_X_y=True)
    return scale(X), y


def _wisconsin():
    return cases.data("breast_cancer")


def _penalty(model, X, y, weights):
    """Return scikit-learn's C for which the penalised answer is the constrained one."""
    codes = np.searchsorted(model.classes_, y)
    loss = "logistic" if len(model.classes_) == 2 else "multinomial"
    targets = 2 * codes - 1 if loss == "logistic" else codes
    problem = fw.Problem(X, targets, loss, fw.L1Ball(model.radius), weights, intercept=model.fit_intercept)
    level = np.abs(problem.gradient(model.result_.x)).max()
    return 1.0 / (weights.sum() * level)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("fit_intercept", [False, True], ids=["through-zero", "intercept"])
@pytest.mark.parametrize(
    ("load", "radius"), [(_binary, 5.0), (_several, 3.0), (_wisconsin, 5.0)], ids=["binary", "several", "wisconsin"]
)
def test_classifier_is_scikit_learns_at_the_equivalent_penalty(load, radius, fit_intercept, weighted):
    X, y = load()
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    weights, by_class = np.ones(len(y)), None
    if weighted:
        weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
        by_class = {name: 1.0 + k for k, name in enumerate(np.unique(y))}
    model = fw.FrankWolfeClassifier(
        radius=radius, fit_intercept=fit_intercept, class_weight=by_class, tol=1e-8, max_passes=1e5
    )
    model.fit(X, y, sample_weight=weights if weighted else None)
    total = weights * (np.array([by_class[name] for name in y]) if weighted else 1.0)
    old = getattr(LogisticRegression(), "penalty", None) == "l2"  # the default until scikit-learn 1.7
    l1 = {"penalty": "l1"} if old else {"l1_ratio": 1.0}
    reference = LogisticRegression(
        **l1,
        solver="saga",
        C=_penalty(model, X, y, total),
        fit_intercept=fit_intercept,
        class_weight=by_class,
        tol=1e-9,
        max_iter=100_000,
        random_state=0,
    ).fit(X, y, sample_weight=weights if weighted else None)
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-4)
    if len(model.classes_) == 2:
        np.testing.assert_allclose(model.intercept_, reference.intercept_, atol=1e-4)
    assert abs(model.score(X_test, y_test) - reference.score(X_test, y_test)) <= 0.003
    np.testing.assert_allclose(model.predict_proba(X_test), reference.predict_proba(X_test), atol=1e-3)


def _solved(objective, *constraints):
    program = cp.Problem(cp.Minimize(objective), list(constraints))
    program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)


@pytest.mark.parametrize("fit_intercept", [False, True], ids=["through-zero", "intercept"])
def test_simplex_regressor_is_the_convex_programs(fit_intercept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8)) + 3.0
    y = X @ rng.dirichlet(np.ones(8)) + 0.5 * rng.normal(size=60) + 10.0
    w, b = cp.Variable(8), cp.Variable()
    shift = b if fit_intercept else 0.0
    _solved(cp.sum_squares(X @ w + shift - y) / 60, w >= 0, cp.sum(w) == 1)
    model = fw.SimplexRegressor(fit_intercept=fit_intercept, **EXACT).fit(X, y)
    np.testing.assert_allclose(model.coef_, w.value, atol=1e-6)
    assert model.coef_.min() >= 0.0
    assert model.coef_.sum() == pytest.approx(1.0, abs=1e-12)
    assert model.intercept_ == pytest.approx(b.value if fit_intercept else 0.0, abs=1e-5)


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_the_intercept_is_a_free_column(loss):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 6)) * [1.0, 2.0, 1.0, 3.0, 1.0, 1.0] + [50.0, 0.0, -20.0, 0.0, 5.0, 0.0]
    y = X @ [1.0, -2.0, 0.0, 0.5, 0.0, 1.0] - 300.0 + rng.standard_t(3, size=80)
    w, b = cp.Variable(6), cp.Variable()
    errors = X @ w + b - y
    total = cp.sum_squares(errors) / 2 if loss == "squared" else cp.sum(cp.huber(errors, 1.0)) / 2
    _solved(total / 80, cp.norm1(w) <= 3.0)
    model = fw.FrankWolfeRegressor(loss, radius=3.0, tol=1e-10, max_passes=1e5).fit(X, y)
    np.testing.assert_allclose(model.coef_, w.value, atol=1e-4)
    assert model.intercept_ == pytest.approx(b.value, rel=1e-5)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", ["fw", "sfw", "pairwise", "stochastic-pairwise", "corrective"])
def test_every_method_returns_the_best_intercept(method):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50, 4)) + 5.0
    y = X.sum(axis=1) + 100.0 + rng.normal(size=50)
    model = fw.FrankWolfeRegressor(radius=2.0, method=method, max_passes=4, random_state=0).fit(X, y)
    assert model.intercept_ == pytest.approx((y - X @ model.coef_).mean(), rel=1e-10)


def test_the_intercept_of_a_classifier_is_a_free_column():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(90, 5)) + [10.0, 0.0, -10.0, 0.0, 0.0]
    y = np.where(X @ [1.0, 1.0, 0.0, -1.0, 0.0] + rng.logistic(size=90) > 11.0, 1, 0)
    w, b = cp.Variable(5), cp.Variable()
    _solved(cp.sum(cp.logistic(-cp.multiply(2 * y - 1, X @ w + b))) / 90, cp.norm1(w) <= 1.5)
    model = fw.FrankWolfeClassifier(radius=1.5, tol=1e-10, max_passes=1e5).fit(X, y)
    np.testing.assert_allclose(model.coef_[0], w.value, atol=1e-4)
    assert model.intercept_[0] == pytest.approx(b.value, abs=1e-3)


def test_signs_are_kept_and_optimal():
    X, y = load_diabetes(return_X_y=True)
    X, y = scale(X), (y - y.mean()) / y.std()
    signs = np.array([0, 1, 1, -1, 0, 0, 1, -1, 0, 1])
    w, b = cp.Variable(10), cp.Variable()
    limits = [cp.norm1(w) <= 1.2, cp.multiply(signs, w) >= 0]
    _solved(cp.sum_squares(X @ w + b - y) / len(y), *limits)
    for data in (X, sparse.csr_array(X)):
        model = fw.FrankWolfeRegressor(radius=1.2, signs=signs, **EXACT).fit(data, y)
        np.testing.assert_allclose(model.coef_, w.value, atol=1e-5)
        assert (model.coef_ * signs >= 0.0).all()
    by_number = fw.FrankWolfeRegressor(radius=1.2, signs=dict(enumerate(signs)), **EXACT).fit(X, y)
    np.testing.assert_allclose(by_number.coef_, model.coef_, atol=1e-8)
    every = fw.FrankWolfeRegressor(radius=1.2, signs=1, **EXACT).fit(X, y).coef_
    np.testing.assert_allclose(every, fw.NonNegativeRegressor(radius=1.2, **EXACT).fit(X, y).coef_, atol=1e-8)


@pytest.mark.parametrize(
    ("signs", "message"),
    [([1, 2], "one for each of 3"), ([1, 2, 0], "got 2"), ({"height": 1}, "signs: there is no column 'height'")],
)
def test_signs_that_do_not_fit_are_refused(signs, message):
    with pytest.raises(ValueError, match=message):
        fw.FrankWolfeRegressor(signs=signs).fit(np.eye(3), np.arange(3.0))
    with pytest.raises(ValueError, match=r"not with L2Ball.*fw\.Box\.signed"):
        fw.FrankWolfeRegressor(constraint="l2", signs=1).fit(np.eye(3), np.arange(3.0))


def test_several_outputs_share_one_budget():
    X, Y = (scale(part) for part in load_linnerud(return_X_y=True))
    W = cp.Variable((3, 3))
    _solved(cp.sum_squares(X @ W - Y) / 20, cp.norm1(cp.vec(W, order="C")) <= 0.7)
    model = fw.FrankWolfeRegressor(radius=0.7, **EXACT).fit(X, Y)
    np.testing.assert_allclose(model.coef_, W.value.T, atol=1e-5)
    assert model.predict(X).shape == Y.shape
    _solved(cp.sum_squares(X @ W - Y) / 20, cp.norm(W, "nuc") <= 0.5)
    low = fw.LowRankRegressor(radius=0.5, tol=1e-10).fit(X, Y)
    np.testing.assert_allclose(low.coef_, W.value.T, atol=1e-4)
    assert low.rank_ == np.linalg.matrix_rank(W.value, tol=1e-5)
    _solved(cp.sum_squares(X @ W - Y) / 20, cp.sum(cp.norm(W, 2, axis=1)) <= 0.5)
    group = fw.FrankWolfeRegressor(constraint="group", radius=0.5, tol=1e-9, max_passes=1e5).fit(X, Y)
    np.testing.assert_allclose(group.coef_, W.value.T, atol=1e-3)


def test_low_rank_classifier_keeps_its_budget_and_finds_few_directions():
    X, y = _several()
    model = fw.LowRankClassifier(radius=3.0, tol=1e-8).fit(X, y)
    sizes = np.linalg.svd(model.coef_, compute_uv=False)
    assert sizes.sum() == pytest.approx(3.0, rel=1e-6)
    assert np.count_nonzero(sizes > 1e-6) == model.rank_ < 3
    assert model.score(X, y) > 0.9
    pair = fw.LowRankClassifier(radius=3.0).fit(X[y > 0], y[y > 0])  # two classes: one direction
    assert pair.coef_.shape == (1, 4)
    np.testing.assert_allclose(pair.predict_proba(X).sum(axis=1), 1.0)
    np.testing.assert_array_equal(pair.predict(X) == 2, pair.decision_function(X) > 0.0)


def test_one_vs_rest_solves_each_class_for_itself():
    X, y = _several()
    model = fw.FrankWolfeClassifier(radius=3.0, multi_class="ovr", n_jobs=2, **EXACT).fit(X, y)
    for c in range(3):
        alone = fw.FrankWolfeClassifier(radius=3.0, **EXACT).fit(X, y == c)
        np.testing.assert_allclose(model.coef_[c], alone.coef_[0], atol=1e-6)
    assert len(model.result_) == 3
    assert model.gap_ == max(found.gap for found in model.result_)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_probabilities_come_with_the_losses_that_have_them():
    X, y = _binary()
    huber = fw.FrankWolfeClassifier("modified-huber").fit(X, y)
    expected = (np.clip(huber.decision_function(X), -1.0, 1.0) + 1.0) / 2.0
    np.testing.assert_allclose(huber.predict_proba(X)[:, 1], expected)
    hinge = fw.FrankWolfeClassifier("squared-hinge").fit(X, y)
    assert not hasattr(hinge, "predict_proba")
    assert hinge.score(X, y) > 0.95
    with pytest.raises(AttributeError) as caught:
        _ = hinge.predict_proba
    assert "'modified-huber', not 'squared-hinge'" in str(caught.value.__cause__)


def test_a_budget_that_ends_first_is_said_with_the_gap():
    X, y = _binary()
    model = fw.FrankWolfeClassifier(method="fw", max_passes=3, tol=1e-8)
    said = r"budget of 3 passes ended; the distance to a lower bound on the optimum is [\d.e-]+, the tolerance"
    with pytest.warns(ConvergenceWarning, match=said):
        model.fit(X, y)
    assert model.gap_ > 1e-8


def test_a_warm_start_goes_on_from_the_last_weights():
    X, y = _binary()
    model = fw.FrankWolfeClassifier(radius=5.0, warm_start=True, tol=1e-8).fit(X, y)
    first, coef = model.passes_, model.coef_
    assert model.fit(X, y).passes_ < 0.2 * first
    np.testing.assert_allclose(model.coef_, coef, atol=1e-4)
    model.set_params(radius=4.0).fit(X, y)  # the old weights are outside: they are scaled
    assert np.abs(model.coef_).sum() <= 4.0 * (1 + 1e-9)
    assert model.fit(X[:, :3], y).coef_.shape == (1, 3)  # and where they do not fit, left alone


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (fw.FrankWolfeClassifier(constraint="l3"), "unknown constraint 'l3'.*'l1'"),
        (fw.FrankWolfeClassifier(constraint=fw.Box(0.0, 1.0), radius=2.0), "Box has no radius"),
        (fw.FrankWolfeClassifier(multi_class="one-vs-rest"), "unknown multi_class"),
        (fw.FrankWolfeClassifier("squared-hinge", multi_class="multinomial"), "use multi_class='ovr'"),
        (fw.FrankWolfeClassifier("multinomial", multi_class="ovr"), "a loss of one output"),
        (fw.FrankWolfeClassifier("multitask-squared"), "needs a loss of labels"),
        (fw.FrankWolfeRegressor("logistic"), "use FrankWolfeClassifier"),
        (fw.FrankWolfeRegressor(constraint="group"), r"pass fw\.GroupBall"),
        (fw.FrankWolfeClassifierCV(rule="2se"), "unknown rule '2se'"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_parameters_that_do_not_fit_are_refused(model, message):
    X, y = _several()
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    with pytest.raises(ValueError, match="MultiOutputRegressor"):
        fw.FrankWolfeRegressor("huber").fit(X, np.column_stack([y, y]).astype(float))


def test_a_fit_that_was_broken_off_goes_on_from_its_checkpoint(tmp_path):
    X, y = (part[:60] for part in load_breast_cancer(return_X_y=True))
    X = scale(X[:, :8])
    model = fw.FrankWolfeClassifier(radius=2.0, method="sfw", tol=1e-3, max_passes=400, random_state=0)
    whole = fw.FrankWolfeClassifier(**model.get_params()).fit(X, y)
    model.set_params(max_passes=5)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y, checkpoint=tmp_path / "fit.ckpt")
    model.set_params(max_passes=400)
    model.fit(X, y, checkpoint=tmp_path / "fit.ckpt")
    np.testing.assert_array_equal(model.coef_, whole.coef_)
    assert model.result_.nit == whole.result_.nit
    with pytest.raises(ValueError, match="differs in its data"):
        model.fit(2.0 * X, y, checkpoint=tmp_path / "fit.ckpt")
    classes = np.arange(60) % 3
    with pytest.raises(ValueError, match="one run, and this one is 3"):
        model.set_params(multi_class="ovr").fit(X, classes, checkpoint=tmp_path / "other.ckpt")
