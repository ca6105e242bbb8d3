"""The estimators that choose their radius on held-out rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import scale
from sklearn.utils.class_weight import compute_class_weight

import frankwolfe as fw


def _imbalanced():
    """Return rows of which 6% are positive, told apart by one column of six."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    return X, (rng.random(400) < 1.0 / (1.0 + np.exp(3.5 - 1.5 * X[:, 0]))).astype(int)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


def test_an_interrupted_search_chooses_nothing(cancer, ctrl_c):
    ctrl_c(run=3)
    with pytest.raises(KeyboardInterrupt):
        fw.FrankWolfeClassifierCV(radii=[1.0, 2.0, 3.0, 4.0], cv=3).fit(*cancer)


@pytest.mark.parametrize("class_weight", [None, "balanced", {1: 5.0}], ids=["plain", "balanced", "given"])
def test_radii_are_compared_by_the_loss_that_is_minimised(class_weight):
    X, y = _imbalanced()
    assert 0.03 < y.mean() < 0.09
    radii, folds = [0.01, 0.1, 1.0, 3.0, 100.0], list(StratifiedKFold(4).split(X, y))
    model = fw.FrankWolfeClassifierCV(radii=radii, cv=folds, class_weight=class_weight, tol=1e-9).fit(X, y)
    assert 0 < model.best_index_ < 4  # by accuracy, the first is as good as any
    train, test = folds[1]
    direct = fw.FrankWolfeClassifier(radius=1.0, class_weight=class_weight, tol=1e-9).fit(X[train], y[train])
    by_class = (
        np.ones(2) if class_weight is None else compute_class_weight(class_weight, classes=np.r_[0, 1], y=y[train])
    )
    wanted = log_loss(y[test], direct.predict_proba(X[test]), sample_weight=by_class[y[test]])
    assert model.scores_[1, 2] == pytest.approx(-wanted, rel=1e-6)
    assert model.score(X, y) == np.mean(model.predict(X) == y)


@pytest.mark.filterwarnings("ignore:.*is the largest of the 3")
def test_classes_that_a_fold_lacks_are_left_out_of_its_loss():
    X, y = load_iris(return_X_y=True)
    rows = np.r_[:100, 100:103]
    folds = [(np.r_[:90], np.r_[90:103]), (np.r_[10:103], np.r_[:10])]
    model = fw.FrankWolfeClassifierCV(radii=[0.1, 1.0, 100.0], cv=folds).fit(scale(X)[rows], y[rows])
    assert np.isfinite(model.scores_).all()
    folds[0] = (np.r_[:100], np.r_[100:103])
    with pytest.raises(ValueError, match="a fold holds out all rows of the class 2, and nothing else"):
        fw.FrankWolfeClassifierCV(radii=[0.1, 1.0], cv=folds).fit(scale(X)[rows], y[rows])


@pytest.mark.parametrize("rule", ["best", "1se"])
def test_the_radius_is_the_one_the_folds_ask_for(cancer, rule):
    X, y = cancer
    model = fw.FrankWolfeClassifierCV(radii=8, cv=4, rule=rule, scoring="neg_log_loss", tol=1e-6).fit(X, y)
    means = model.scores_.mean(axis=0)
    best = means.argmax()
    error = model.scores_[:, best].std(ddof=1) / 2.0
    within = means >= means[best] - (error if rule == "1se" else 0.0)
    assert model.radius_ == model.radii_[np.flatnonzero(within)[0]]
    direct = fw.FrankWolfeClassifier(radius=model.radius_, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(model.coef_, direct.coef_, atol=1e-8)
    # what a fold sees is what a search that fits from scratch sees
    search = GridSearchCV(direct, {"radius": model.radii_}, cv=4, scoring="neg_log_loss").fit(X, y)
    np.testing.assert_allclose(means, search.cv_results_["mean_test_score"], atol=1e-4)
    assert model.cv_results_["rank_test_score"][best] == 1
    assert model.plot().get_xlabel() == "radius"


def test_regressor_cv_takes_signs_and_several_outputs():
    X, y = load_diabetes(return_X_y=True)
    model = fw.FrankWolfeRegressorCV(radii=6, signs={2: -1}).fit(X, y)
    assert model.coef_[2] <= 0.0
    assert model.score(X, y) > 0.3
    by_name = fw.FrankWolfeRegressorCV(radii=6, signs={"x2": -1}).fit(pd.DataFrame(X).add_prefix("x"), y)
    np.testing.assert_array_equal(by_name.coef_, model.coef_)
    both = fw.FrankWolfeRegressorCV(radii=4, cv=3).fit(X, np.column_stack([y, -y]))
    assert both.coef_.shape == (2, 10)
    one_vs_rest = fw.FrankWolfeClassifierCV(radii=4, cv=3, multi_class="ovr").fit(*load_iris(return_X_y=True))
    assert one_vs_rest.coef_.shape == (3, 4)
