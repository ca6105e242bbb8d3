"""The estimators as citizens of scikit-learn: searches, pipelines, frames, clones, routing, threads; completion."""

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
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import StackingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, scale
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.class_weight import compute_class_weight

import frankwolfe as fw
from tests import cases


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


def test_an_interrupted_search_chooses_nothing(cancer, ctrl_c):
    ctrl_c(run=3)
    with pytest.raises(KeyboardInterrupt):
        fw.FrankWolfeClassifierCV(radii=[1.0, 2.0, 3.0, 4.0], cv=3).fit(*cancer)


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


def _imbalanced():
    """Return rows of which 6% are positive, told apart by one column of six."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    return X, (rng.random(400) < 1.0 / (1.0 + np.exp(3.5 - 1.5 * X[:, 0]))).astype(int)


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


# --- completion -------------------------------------------------------------------------------------------------


def _ratings(seed=0):
    rng = np.random.default_rng(seed)
    users, items = rng.normal(size=(40, 2)), rng.normal(size=(30, 2))
    table = users @ items.T + rng.normal(size=(40, 1)) + 3.0
    rows, columns = np.nonzero(rng.random(table.shape) < 0.5)
    return rows, columns, table[rows, columns], table


def test_completion_finds_what_it_has_not_seen():
    rows, columns, values, table = _ratings()
    pairs = np.column_stack([rows, columns])
    model = fw.MatrixCompletion(radius=80.0, damping=0.1).fit(pairs, values)
    everything = np.column_stack([index.ravel() for index in np.indices(table.shape)])
    assert np.sqrt(np.mean((model.predict(everything) - table.ravel()) ** 2)) < 0.5 * table.std()
    problem = fw.completion_problem(rows, columns, values, (40, 30), constraint=fw.TraceBall(80.0), damping=0.1)
    direct = fw.minimize(problem, tol=1e-4, max_passes=1000)
    np.testing.assert_allclose(model.predict(pairs), problem.predict(direct.x, rows, columns), atol=1e-3)


def test_completion_takes_ids_of_any_kind():
    rows, columns, values, _ = _ratings()
    plain = fw.MatrixCompletion(radius=50.0).fit(np.column_stack([rows, columns]), values)
    names = np.array([f"user {i:02d}" for i in range(40)])
    frame = pd.DataFrame({"when": np.arange(len(rows)), "who": names[rows], "what": columns * 10})
    by_name = fw.MatrixCompletion(radius=50.0, columns=("who", "what")).fit(frame, values)
    named = fw.MatrixCompletion(radius=50.0, columns=(1, 2)).fit(frame, values)
    np.testing.assert_allclose(named.predict(frame), plain.predict(np.column_stack([rows, columns])), atol=1e-8)
    np.testing.assert_array_equal(by_name.predict(frame), named.predict(frame))
    matrix = sparse.csr_array((values, (rows, columns)), shape=(41, 30))
    whole = fw.MatrixCompletion(radius=50.0).fit(matrix)
    np.testing.assert_allclose(whole.predict(np.column_stack([rows, columns])), named.predict(frame), atol=1e-8)
    assert whole.predict([[40, 30]]) == pytest.approx(values.mean())  # both unseen: the mean


def test_completion_falls_back_on_what_is_known():
    rows, columns, values, _ = _ratings()
    model = fw.MatrixCompletion(radius=50.0).fit(np.column_stack([rows, columns]), values)
    offsets = model.offsets_
    found = model.predict([[3, 999], [999, 4], [999, 999]])
    np.testing.assert_allclose(found, offsets.mean + np.array([offsets.rows[3], offsets.columns[4], 0.0]))
    factors = model.set_output(transform="pandas").transform([[3, 999], [999, 4]])
    assert list(factors.columns) == [f"matrixcompletion{k}" for k in range(model.rank_)]
    np.testing.assert_allclose(factors.to_numpy(), [model.row_factors_[3], np.zeros(model.rank_)])


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (sparse.eye_array(3, format="csr"), [1.0, 2.0, 3.0], "leave y out"),
        ([["ann", "tea"], ["bob", "tea"]], [1.0, 2.0], "use the same type"),
    ],
)
def test_completion_refuses_what_it_cannot_read(X, y, message):
    with pytest.raises(TypeError, match=message):
        fw.MatrixCompletion().fit(X, y).predict([[1, 2]])
    with pytest.raises(ValueError, match=r"columns=\(0, 2\): there is no column 2"):
        fw.MatrixCompletion(columns=(0, 2)).fit([[1, 2], [3, 4]], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"there is no column 'user'\. The columns are 'x0'"):
        fw.MatrixCompletion(columns=("user", "item")).fit([[1, 2], [3, 4]], [1.0, 2.0])
    with pytest.raises(ValueError, match="there is no column 'usr'; did you mean 'user'"):
        fw.MatrixCompletion(columns=("usr", "item")).fit(pd.DataFrame({"user": [1, 2], "item": [3, 4]}), [1.0, 2.0])
    for wrong in ("user", (0,), (0, 0), None):
        with pytest.raises(ValueError, match="columns must be two"):
            fw.MatrixCompletion(columns=wrong).fit([[1, 2], [3, 4]], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"there is no column 0\.5"):
        fw.MatrixCompletion(columns=(0, 0.5)).fit([[1, 2], [3, 4]], [1.0, 2.0])
    with pytest.raises(ValueError, match="given more than once"):
        fw.MatrixCompletion(loss="huber").fit([[1, 2], [1, 2]], [1.0, 2.0])


def test_completion_of_movielens():
    stored = cases.stored("movielens_100k")
    user, item, rating = stored["user"], stored["item"], stored["rating"].astype(float)
    pairs, part = np.column_stack([user, item]), np.random.default_rng(0).random(len(user))
    held_out, learn, validate = part < 0.1, part >= 0.2, (part >= 0.1) & (part < 0.2)
    search = GridSearchCV(
        fw.MatrixCompletion(tol=1e-2),
        {"radius": [250.0, 500.0]},
        scoring="neg_mean_squared_error",
        cv=[(np.flatnonzero(learn[~held_out]), np.flatnonzero(validate[~held_out]))],
    )
    model = search.fit(pairs[~held_out], rating[~held_out]).best_estimator_
    errors = model.predict(pairs[held_out]) - rating[held_out]
    assert np.sqrt(np.mean(errors**2)) < 0.92
    model.row_factors_ *= 0.0  # what the offsets alone would say
    alone = model.predict(pairs[held_out]) - rating[held_out]
    assert np.mean(errors**2) < 0.96 * np.mean(alone**2)


def test_importing_the_package_does_not_import_scikit_learn():
    code = (
        "import sys, frankwolfe as fw; fw.L1Ball(1.0); fw.radius_path; assert 'sklearn' not in sys.modules;"
        "sys.modules['sklearn'] = None\n"
        "try: fw.FrankWolfeClassifier\n"
        "except ImportError as error: assert \"pip install 'frankwolfe[sklearn]'\" in str(error)\n"
        "else: raise AssertionError"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
