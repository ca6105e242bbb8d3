"""The estimators as citizens of scikit-learn: searches, pipelines, frames, clones, routing, threads; its own checks."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_backend
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import StackingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, scale
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import frankwolfe as fw


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


def test_an_interrupted_fit_is_not_told_to_take_more_passes(cancer, ctrl_c):
    ctrl_c(run=1)
    with pytest.warns(ConvergenceWarning, match="Interrupted from the keyboard; .* Fit again") as told:
        fw.FrankWolfeClassifier(radius=5.0, tol=1e-9).fit(*cancer)
    assert "max_passes" not in str(told[0].message)


@pytest.mark.parametrize("wrapped", [False, True], ids=["alone", "in a pipeline"])
def test_warnings_point_at_the_line_that_called(cancer, wrapped):
    model = fw.FrankWolfeClassifier(radius=5.0, tol=1e-9, max_passes=1)
    model = make_pipeline(StandardScaler(), model) if wrapped else model
    with pytest.warns(ConvergenceWarning, match="Raise max_passes") as told:
        model.fit(*cancer)
    assert [warning.filename for warning in told] == [__file__]


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA], ids=["None", "NaN", "NA"])
def test_labels_that_are_missing_are_told_by_their_row(missing):
    X, y = np.ones((4, 2)), np.array(["a", "b", missing, "a"], dtype=object)
    for labels in (y, list(y), pd.Series(y)):
        with pytest.raises(ValueError, match=r"y has no label in 1 of 4 rows \(the first is row 2\): remove"):
            fw.FrankWolfeClassifier().fit(X, labels)
    with pytest.raises(ValueError, match="y has no label in 1 of 4 rows"):
        fw.FrankWolfeClassifierCV().fit(X, y)
    with pytest.raises(ValueError, match="y has no label in 1 of 4 rows"):
        fw.FrankWolfeClassifier().partial_fit(X, y, classes=["a", "b"])
    with pytest.raises(ValueError, match="classes has no label in 1 of 2 rows"):
        fw.FrankWolfeClassifier().partial_fit(X, ["a"] * 4, classes=["a", missing])


def test_labels_that_cannot_be_sorted_are_told():
    with pytest.raises(TypeError, match="y holds labels of the types int, str, which cannot be sorted"):
        fw.FrankWolfeClassifier().fit(np.ones((3, 2)), np.array(["a", 1, "b"], dtype=object))


def test_fields_of_parts_are_parameters(cancer):
    model = fw.FrankWolfeClassifier(constraint=fw.L1Ball(5.0))
    assert model.get_params()["constraint__radius"] == 5.0
    search = GridSearchCV(model, {"constraint__radius": [0.1, 5.0], "constraint": [fw.L1Ball(1.0), fw.L2Ball(1.0)]})
    search.fit(*cancer)
    assert search.best_params_["constraint__radius"] == 5.0
    assert search.best_estimator_.constraint.radius == 5.0
    assert search.best_score_ > 0.95
    nested = fw.FrankWolfeRegressor(fw.Huber(2.0), fw.sets.Scaled(fw.L1Ball(1.0), 3.0))
    nested.set_params(loss__delta=0.5, constraint__set__radius=4.0)
    assert nested.loss == fw.Huber(0.5)
    assert nested.constraint.set == fw.L1Ball(4.0)
    assert clone(nested).get_params() == nested.get_params()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"constraint__raduis": 1.0}, "no field 'raduis'; did you mean 'radius'"),
        ({"constraint__radius": -1.0}, "radius must be positive"),
        ({"loss__delta": 1.0}, "loss is 'logistic', which has no parameters"),
        ({"radus": 1.0}, "Invalid parameter 'radus'"),
    ],
)
def test_fields_that_do_not_fit_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        fw.FrankWolfeClassifier(constraint=fw.L1Ball(5.0)).set_params(**params)


def test_frames_pipelines_and_sparse_columns():
    frame = pd.DataFrame({"town": list("aabbccab") * 10, "age": np.arange(80.0), "grade": list("xyxyyxxy") * 10})
    y = np.where((frame.town == "a") | (frame.age > 60), "yes", "no")
    columns = make_column_transformer(
        (OneHotEncoder(), ["town", "grade"]), (StandardScaler(), ["age"]), sparse_threshold=1.0
    )
    model = make_pipeline(columns, fw.FrankWolfeClassifier(radius=20.0)).fit(frame, y)
    assert sparse.issparse(model[0].transform(frame))
    assert model.score(frame, y) > 0.8
    alone = fw.FrankWolfeRegressor(signs={"age": 1}).fit(frame[["age"]], frame.age * 2.0)
    assert list(alone.feature_names_in_) == ["age"]
    assert alone.coef_[0] == pytest.approx(2.0, abs=0.1)
    with pytest.raises(ValueError, match="feature names"):
        alone.predict(frame[["age"]].rename(columns={"age": "size"}))


def test_pickles_do_not_carry_the_data(cancer):
    X, y = np.tile(cancer[0], (20, 1)), np.tile(cancer[1], 20)
    model = fw.FrankWolfeClassifier().fit(X, y)
    packed = pickle.dumps(model)
    assert len(packed) < 0.2 * X.nbytes
    np.testing.assert_array_equal(pickle.loads(packed).predict_proba(X), model.predict_proba(X))


def test_sparsify_and_back(cancer):
    X, y = cancer
    model = fw.FrankWolfeClassifier(radius=1.0).fit(X, y)
    before, coef = model.decision_function(X), model.coef_
    assert sparse.issparse(model.sparsify().coef_)
    np.testing.assert_allclose(model.decision_function(X), before)
    np.testing.assert_array_equal(model.densify().coef_, coef)
    regressor = fw.FrankWolfeRegressor().fit(X, X[:, 0])
    shape = regressor.coef_.shape
    assert regressor.sparsify().predict(X).shape == (len(X),)
    assert regressor.densify().coef_.shape == shape


def test_threads_do_not_get_into_each_others_way(cancer):
    X, y = cancer
    model = fw.FrankWolfeClassifier(radius=5.0, tol=1e-8)
    alone = cross_val_score(model, X, y)
    with parallel_backend("threading", n_jobs=4):
        np.testing.assert_array_equal(cross_val_score(model, X, y), alone)
    one = fw.FrankWolfeClassifierCV(radii=5, cv=3).fit(X, y)
    four = fw.FrankWolfeClassifierCV(radii=5, cv=3, n_jobs=4).fit(X, y)
    np.testing.assert_array_equal(four.scores_, one.scores_)


def test_stacking_by_a_simplex():
    X, y = load_diabetes(return_X_y=True)
    members = [("line", LinearRegression()), ("ridge", Ridge()), ("tree", DecisionTreeRegressor(random_state=0))]
    stack = StackingRegressor(members, final_estimator=fw.SimplexRegressor()).fit(X, y)
    weights = stack.final_estimator_.coef_
    assert weights.sum() == pytest.approx(1.0)
    assert weights.min() >= 0.0
    assert weights[2] < 0.5 < weights[:2].sum()  # a tree that has learnt by heart is worth little
    assert stack.score(X, y) > 0.4


def test_weights_are_routed(cancer):
    X, y = cancer
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    with config_context(enable_metadata_routing=True):
        model = fw.FrankWolfeClassifier().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"radius": [5.0]}).fit(X, y, sample_weight=weights)
        direct = fw.FrankWolfeClassifier(radius=5.0).fit(X, y, sample_weight=weights)
        np.testing.assert_allclose(search.best_estimator_.coef_, direct.coef_)
        groups = np.arange(len(y)) % 7
        folds = fw.FrankWolfeClassifierCV(radii=3, cv=GroupKFold(7)).fit(X, y, groups=groups)
        assert folds.scores_.shape == (7, 3)
    with pytest.raises(ValueError, match="routing"):
        fw.FrankWolfeClassifierCV(radii=3, cv=GroupKFold(7)).fit(X, y, groups=groups)


# --- scikit-learn's own checks, on every estimator, with no expected failures -------------------------------------

# One check compares predictions to seven digits, of fits whose rows are weighted and repeated: hence the tolerances of
# those that end short of them by default.
ESTIMATORS = [
    fw.FrankWolfeClassifier(tol=1e-12),
    fw.FrankWolfeClassifierCV(radii=[0.1, 1.0], cv=2, tol=1e-12),
    fw.FrankWolfeRegressor(tol=1e-12),
    fw.FrankWolfeRegressorCV(radii=[0.1, 1.0], cv=2, tol=1e-12),
    fw.SimplexRegressor(),
    fw.NonNegativeRegressor(radius=10.0, tol=1e-12),
    fw.LowRankClassifier(tol=1e-12),
    fw.LowRankRegressor(radius=1.0, tol=1e-12),
    fw.MatrixCompletion(),
]


@pytest.mark.usefixtures("interpreted")
# as in scikit-learn's own run of the checks: some hand in data on which nothing converges
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings(
    "ignore::frankwolfe.exceptions.ScaleWarning"
)  # and a radius small enough for one answer only
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_importing_the_package_does_not_import_scikit_learn():
    code = (
        "import sys, frankwolfe as fw; fw.L1Ball(1.0); fw.radius_path; assert 'sklearn' not in sys.modules;"
        "sys.modules['sklearn'] = None\n"
        "try: fw.FrankWolfeClassifier\n"
        "except ImportError as error: assert \"pip install 'frankwolfe[sklearn]'\" in str(error)\n"
        "else: raise AssertionError"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
