"""Estimators on dask collections: the answers of data in memory, lazy predictions, and clear refusals."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import frankwolfe as fw

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

pytestmark = pytest.mark.usefixtures("interpreted")  # here; the workers compile what they need

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 4))
SIGNAL = X @ [1.0, -1.0, 0.5, 0.0] + 0.5 * RNG.logistic(size=240)
WORDS = np.where(SIGNAL > 0.0, "yes", "no")
THREE = np.digitize(SIGNAL, [-1.0, 1.0])
WEIGHTS = RNG.uniform(0.5, 2.0, 240)
ROWS = da.from_array(X, chunks=(60, 3))  # columns are cut too
CSR = da.from_array(X, chunks=(60, 4)).map_blocks(sparse.csr_array)
TABLE = pd.DataFrame(X, columns=["age", "dose", "size", "rest"])
FRAME = dd.from_pandas(TABLE.assign(outcome=WORDS, signal=SIGNAL, weight=WEIGHTS, place=np.arange(240)), npartitions=4)
FEATURES = FRAME[["age", "dose", "size", "rest"]]


def cut(values, size=60):
    return da.from_array(values, chunks=size)


def alike(found, expected, accuracy=1e-5):
    assert found.coef_ == pytest.approx(expected.coef_, abs=accuracy)
    assert found.intercept_ == pytest.approx(expected.intercept_, abs=accuracy)
    assert found.result_.success
    assert found.n_features_in_ == 4


@pytest.mark.parametrize(
    ("y", "options"),
    [
        (WORDS, {"class_weight": "balanced"}),
        (THREE, {"class_weight": {0: 1.0, 1: 2.0, 2: 0.5}}),
    ],
    ids=["balanced", "weights"],
)
def test_a_classifier_is_the_one_of_data_in_memory(client, y, options):
    here = fw.FrankWolfeClassifier(radius=3.0, tol=1e-8, **options).fit(X, y, WEIGHTS)
    there = fw.FrankWolfeClassifier(radius=3.0, tol=1e-8, **options).fit(ROWS, cut(y, 100), cut(WEIGHTS, 80))
    alike(there, here)
    assert np.array_equal(there.classes_, here.classes_)
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        expected = getattr(there, method)(X)
        for rows in (ROWS, CSR):
            lazy = getattr(there, method)(rows)
            assert isinstance(lazy, da.Array)
            assert (lazy.shape, lazy.dtype) == (expected.shape, expected.dtype)
            found = lazy.compute(scheduler="synchronous")
            assert np.array_equal(found, expected) if method == "predict" else np.allclose(found, expected, atol=1e-12)
    assert there.score(CSR, cut(y), cut(WEIGHTS)) == pytest.approx(there.score(X, y, WEIGHTS), abs=1e-12)
    assert pickle.loads(pickle.dumps(there)).score(X, y) == there.score(X, y)


def test_a_frame_keeps_its_names(client, tmp_path):
    here = fw.FrankWolfeClassifier(radius=3.0, tol=1e-8).fit(TABLE, WORDS, WEIGHTS)
    path = tmp_path / "run.ckpt"
    there = fw.FrankWolfeClassifier(radius=3.0, tol=1e-8)
    there.fit(FEATURES, FRAME.outcome, FRAME.weight, checkpoint=path)
    alike(there, here)
    assert there.feature_names_in_.tolist() == list(TABLE.columns)
    again = fw.FrankWolfeClassifier(radius=3.0, tol=1e-8).fit(FEATURES, FRAME.outcome, FRAME.weight, checkpoint=path)
    assert np.array_equal(again.coef_, there.coef_)
    lazy = there.predict(FEATURES)
    assert isinstance(lazy, da.Array)
    assert np.array_equal(lazy.compute(), there.predict(TABLE))
    assert there.predict_proba(FEATURES).compute() == pytest.approx(there.predict_proba(TABLE))
    assert there.score(FEATURES, FRAME.outcome) == pytest.approx(there.score(TABLE, WORDS))
    with pytest.raises(ValueError, match="feature names"):
        there.predict(FEATURES[["dose", "age", "size", "rest"]])
    with pytest.warns(UserWarning, match="feature names"), pytest.raises(ValueError, match="4 features"):
        there.predict(da.ones((10, 3), chunks=5))


def test_partitions_without_rows_do_no_harm(client):
    some = FRAME[FRAME.place >= 70]  # nothing is left of the first partition
    rows = some[list(TABLE.columns)]
    model = fw.FrankWolfeClassifier(radius=3.0).fit(rows, some.outcome)
    expected = model.predict(TABLE[70:])
    assert np.array_equal(model.predict(rows).compute(), expected)
    assert model.score(rows, some.outcome) == pytest.approx(np.mean(expected == WORDS[70:]))


RULES = {
    "budget": {"bounds": {"age": (0, 0.3)}, "conditions": "age + dose == rest", "radius": 1.5},
    "no budget": {"bounds": {"*e": (0, None)}, "conditions": ["age >= dose", "size + rest <= 0.1"]},
    "box": {"bounds": (-0.5, 0.2), "conditions": "age + dose + size >= -0.2"},
    "monotone": {"monotone": {("dose", "size", "age"): "increasing"}, "constraint": "l2", "radius": 0.8},
    "groups": {"groups": [["age", "dose"]], "conditions": "dose >= -0.2", "constraint": "group", "radius": 0.9},
}


@pytest.mark.parametrize("how", RULES)
def test_rules_mean_the_same_wherever_rows_are(client, tmp_path, how):
    codes = (WORDS == "yes").astype(int)
    store = fw.write_rows(tmp_path / "rows", TABLE, codes, WEIGHTS, shard=X.nbytes // 8, memory=X.nbytes // 2)
    frame = FRAME.assign(code=dd.from_pandas(pd.Series(codes), npartitions=4))
    assert not store.fits
    here, disk, there = (fw.FrankWolfeClassifier(tol=1e-8, max_passes=3000, **RULES[how]) for _ in range(3))
    here.fit(TABLE, codes, WEIGHTS)
    alike(disk.fit(store), here)
    alike(there.fit(frame[list(TABLE.columns)], frame.code, frame.weight), here)
    assert any(price > 1e-3 for price in here.prices_.values())
    for model in (disk, there):
        assert model.prices_ == pytest.approx(here.prices_, abs=1e-5)
        assert model.result_.violation is None or model.result_.violation <= 1e-12
        assert "of norm one" not in model.result_.message  # columns that are not in memory keep their units


TARGETS = np.column_stack([SIGNAL, 3.0 - 2.0 * SIGNAL, RNG.normal(size=240)])


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (fw.FrankWolfeRegressor(radius=2.0, signs=[1, 0, 0, 0], tol=1e-8), SIGNAL + 1e4),
        (fw.LowRankRegressor(radius=1.0, tol=1e-8), TARGETS),
        (fw.SimplexRegressor(), SIGNAL[:, None]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_regressors_are_those_of_data_in_memory(client, model, y):
    from sklearn.base import clone

    here = clone(model).fit(X, y[:, 0] if y.shape[1:] == (1,) else y, WEIGHTS)
    there = clone(model).fit(CSR, cut(y, (100, *y.shape[1:])), WEIGHTS)
    alike(there, here)
    assert there.predict(ROWS).compute() == pytest.approx(there.predict(X))
    expected = there.score(X, y, WEIGHTS)
    assert there.score(ROWS, cut(y, (80, *y.shape[1:])), WEIGHTS) == pytest.approx(expected, rel=1e-9)


def test_a_stream_goes_on_from_a_fit(client):
    model = fw.FrankWolfeClassifier(radius=3.0).fit(ROWS, cut(WORDS))
    before = model.score(X, WORDS)
    assert model.partial_fit(X[:50], WORDS[:50]).n_samples_seen_ == len(X) + 50
    assert model.score(X, WORDS) > before - 0.05


def test_a_path_of_radii(client):
    y = np.where(SIGNAL > 0.0, 1.0, -1.0)
    here = fw.radius_path(X, y, radii=[0.5, 2.0], intercept=True, tol=1e-7)
    there = fw.radius_path(CSR, cut(y), radii=[0.5, 2.0], intercept=True, tol=1e-7)
    assert there.success.all()
    assert there.funs == pytest.approx(here.funs, rel=1e-6)


# --- what is refused --------------------------------------------------------------------------------------------------


def failing():
    raise AssertionError("nothing may be loaded")


UNREADABLE = da.from_array(X, chunks=(60, 4)).map_blocks(lambda block: failing(), dtype=float, meta=np.empty((0, 0)))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (fw.FrankWolfeClassifierCV(), "estimator without CV"),
        (fw.MatrixCompletion(), "needs rows in memory"),
        (fw.FrankWolfeClassifier(method="momentum"), "they are on a cluster: use 'auto'"),
        (fw.FrankWolfeClassifier(loss="hinge"), "has a kink"),
        (fw.FrankWolfeClassifier(bounds=(0, None), max_features=2), "max_features needs rows in memory"),
        (fw.FrankWolfeClassifier(multi_class="ovr"), "would load the rows 3 times: use the loss 'logistic'"),
        (fw.FrankWolfeClassifier(loss="squared-hinge"), "would load the rows 3 times"),
    ],
    ids=["cv", "completion", "method", "kink", "features", "ovr", "squared-hinge"],
)
def test_what_cannot_work_is_said_before_anything_is_loaded(client, model, words):
    with pytest.raises((TypeError, ValueError), match=words):
        model.fit(UNREADABLE, cut(THREE))


def test_partial_fit_says_what_to_do(client):
    with pytest.raises(TypeError, match="for each chunk in turn"):
        fw.FrankWolfeClassifier().partial_fit(UNREADABLE, cut(THREE), classes=[0, 1, 2])
    with pytest.raises(TypeError, match="for each chunk in turn"):
        fw.SimplexRegressor().partial_fit(UNREADABLE, cut(SIGNAL))


@pytest.mark.parametrize(
    ("y", "weights", "words"),
    [
        (None, None, "y is missing"),
        (cut(np.ones(240)), None, "at least two classes"),
        (cut(SIGNAL), None, "continuous"),
        (cut(np.where(np.arange(240) == 70, None, WORDS)), None, r"chunk 1: y is missing, NaN or infinite in 1 row:"),
        (cut(TARGETS, (60, 3)), None, "must be a vector"),
        (WORDS[:100], None, "100 entries, but there are 240 rows"),
        (cut(WORDS), cut(WEIGHTS[:100], 50), "100 entries, but there are 240 rows"),
        (cut(WORDS), cut(-WEIGHTS), "negative"),
    ],
    ids=["none", "one", "numbers", "gaps", "matrix", "short", "short-weights", "negative"],
)
def test_targets_and_weights_that_make_no_sense(client, y, weights, words):
    with pytest.raises(ValueError, match=words):
        fw.FrankWolfeClassifier().fit(CSR, y, weights)


def test_rows_that_make_no_sense(client):
    with pytest.raises(TypeError, match="column outcome not numeric"):
        fw.FrankWolfeClassifier().fit(FRAME, FRAME.outcome)
    with pytest.raises(ValueError, match="two dimensions"):
        fw.FrankWolfeClassifier().fit(cut(SIGNAL), cut(WORDS))
    with pytest.raises(TypeError, match="the sizes of X's chunks are not known"):
        fw.FrankWolfeClassifier().fit(FEATURES, WORDS)
    with pytest.raises(TypeError, match="dask array or data frame"):
        fw.FrankWolfeClassifier().fit(FEATURES.to_bag(), FRAME.outcome)


def test_dask_is_not_imported_for_data_in_memory():
    program = """
import sys, numpy as np, frankwolfe as fw
X = np.random.default_rng(0).normal(size=(30, 2))
with fw.python_mode():
    model = fw.FrankWolfeClassifier(radius=2.0).fit(X, X[:, 0] > 0.1)
model.predict_proba(X), model.score(X, X[:, 0] > 0.1)
assert not {"dask", "distributed"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_counts_with_exposure_and_offsets_are_fitted_there_as_here(client):
    exposure, offset = RNG.uniform(0.2, 2.0, 240), 0.3 * RNG.normal(size=240)
    y = RNG.poisson(exposure * np.exp(0.3 * SIGNAL + offset)).astype(float)
    model = fw.FrankWolfeRegressor("poisson", radius=0.5, tol=1e-8)
    here, scored = model.fit(X, y, offset=offset, exposure=exposure), {}
    for rows in (X, ROWS):
        lazy = rows is ROWS
        given = {"offset": cut(offset) if lazy else offset, "exposure": cut(exposure) if lazy else exposure}
        scored[lazy] = model.score(rows, cut(y) if lazy else y, **given)
    assert scored[True] == pytest.approx(scored[False], rel=1e-9)
    expected = here.predict(X, exposure=exposure)
    np.testing.assert_allclose(model.predict(ROWS, exposure=cut(exposure)).compute(), expected, rtol=1e-12)
    coef = here.coef_.copy()
    there = model.fit(ROWS, cut(y), offset=cut(offset), exposure=cut(exposure))
    assert there.coef_ == pytest.approx(coef, abs=1e-5)
