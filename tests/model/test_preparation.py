"""Columns made ready: gaps, words and scales, learned from the rows of a fit and kept with the model."""

import sys
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import frankwolfe as fw
from frankwolfe.io.tables import Table, as_table, as_words
from frankwolfe.model.preparation import SPARSE_BELOW, Preparation

RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(40, 3)) * [1.0, 1e4, 1e-3] + [0.0, 1e5, 7.0]
COLOURS = np.array(["red", "green", "blue"], dtype=object)[RNG.integers(0, 3, 40)]
NAMES = ["a", "b", "c"]


def plain(numbers):
    return Table(numbers, {})


def test_standardised_columns_are_those_of_scikit_learn():
    ready = Preparation.learned(plain(NUMBERS), NAMES, standardize=True)
    np.testing.assert_allclose(ready.apply(plain(NUMBERS), NAMES).X, StandardScaler().fit_transform(NUMBERS), atol=1e-9)
    weights = np.arange(1.0, 41.0)
    ready = Preparation.learned(plain(NUMBERS), NAMES, standardize=True, sample_weight=weights)
    expected = StandardScaler().fit(NUMBERS, sample_weight=weights).transform(NUMBERS)
    np.testing.assert_allclose(ready.apply(plain(NUMBERS), NAMES).X, expected, atol=1e-9)


def test_sparse_columns_are_scaled_and_not_shifted():
    dense = NUMBERS * (RNG.random(NUMBERS.shape) < 0.3)
    X = sparse.csr_array(dense)
    weights = RNG.random(40)
    ready = Preparation.learned(plain(X), None, standardize=True, sample_weight=weights)
    assert ready.center is None
    found = ready.apply(plain(X), None).X
    assert found.nnz == X.nnz
    expected = StandardScaler(with_mean=False).fit(dense, sample_weight=weights).transform(dense)
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-12)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e300, 1e-300])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_constant_columns_are_left_alone(value, layout):
    table = plain(layout(np.full((30, 1), value)))
    ready = Preparation.learned(table, None, standardize=True)
    assert ready.scale.tolist() == [1.0]
    left = ready.apply(table, None).X
    assert abs(left).max() == (0.0 if layout is np.asarray else value)


def test_columns_of_any_size_are_scaled():
    X = np.array([[1e300, 1e-300], [-1e300, 3e-300], [5e299, 0.0]])
    for layout in (np.asarray, sparse.csr_array):
        table = plain(layout(X))
        scaled = Preparation.learned(table, None, standardize=True).apply(table, None).X
        scaled = scaled if isinstance(scaled, np.ndarray) else scaled.toarray()
        np.testing.assert_allclose(scaled.std(axis=0), 1.0)


def test_without_an_intercept_nothing_is_shifted():
    ready = Preparation.learned(plain(NUMBERS), NAMES, standardize=True, center=False)
    np.testing.assert_allclose(ready.apply(plain(NUMBERS), NAMES).X, NUMBERS / NUMBERS.std(axis=0))


def test_missing_numbers_take_the_mean_of_those_there_are():
    holes = NUMBERS.copy()
    holes[RNG.random(holes.shape) < 0.2] = np.nan
    ready = Preparation.learned(plain(holes), NAMES, fill=True, standardize=True)
    filled = SimpleImputer().fit_transform(holes)
    np.testing.assert_allclose(ready.apply(plain(holes), NAMES).X, StandardScaler().fit_transform(filled), atol=1e-9)
    new = np.full((1, 3), np.nan)  # the means of the fit, not those of the rows at hand
    np.testing.assert_allclose(ready.apply(plain(new), NAMES).X, 0.0, atol=1e-9)


def test_means_and_scales_of_missing_numbers_are_weighted():
    holes = np.array([[1.0, 1e200], [np.nan, 3e200], [4.0, np.nan]])
    weights = np.array([1.0, 2.0, 3.0])
    ready = Preparation.learned(plain(holes), None, fill=True, standardize=True, sample_weight=weights)
    np.testing.assert_allclose(ready.fill, [(1.0 + 12.0) / 4.0, (1e200 + 6e200) / 3.0])
    found = ready.apply(plain(holes), None).X
    np.testing.assert_allclose(weights @ found, 0.0, atol=1e-14)
    np.testing.assert_allclose(weights @ found**2, weights.sum())


def test_a_column_without_any_value_is_named():
    empty = NUMBERS.copy()
    empty[:, 1] = np.nan
    with pytest.raises(ValueError, match="column 'b' holds no value at all"):
        Preparation.learned(plain(empty), NAMES, fill=True)


def test_words_become_indicators_as_in_scikit_learn():
    table = Table(NUMBERS, {1: COLOURS})
    names = ["a", "colour", "b", "c"]
    ready = Preparation.learned(table, names)
    encoder = OneHotEncoder(sparse_output=False).fit(COLOURS[:, None])
    found, notes = ready.apply(table, names)
    assert notes == []
    np.testing.assert_array_equal(found, np.hstack([NUMBERS, encoder.transform(COLOURS[:, None])]))
    assert ready.names(names) == ["a", "b", "c", *[f"colour={word}" for word in encoder.categories_[0]]]


def test_many_categories_make_a_sparse_matrix_of_the_same_numbers():
    codes = np.array([f"k{k}" for k in range(40)], dtype=object)
    table = Table(NUMBERS, {3: codes})
    found = Preparation.learned(table, None).apply(table, None).X
    assert sparse.issparse(found)
    assert found.nnz <= SPARSE_BELOW * found.shape[0] * found.shape[1]
    np.testing.assert_array_equal(found.toarray(), np.hstack([NUMBERS, np.eye(40)[np.argsort(np.argsort(codes))]]))


def test_unseen_categories_have_no_indicator_and_are_told():
    ready = Preparation.learned(Table(NUMBERS, {3: COLOURS}), [*NAMES, "colour"])
    new = Table(NUMBERS[:3], {3: np.array(["red", "violet", "grey"], dtype=object)})
    found, notes = ready.apply(new, [*NAMES, "colour"])
    np.testing.assert_array_equal(found[:, 3:], [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert notes == [
        "column 'colour': 2 rows hold categories that no row of the fit had ('violet', 'grey'); all indicators of "
        "the column are zero there"
    ]


def test_missing_words_are_refused_or_a_category():
    words = np.where(np.arange(40) % 7 == 0, None, COLOURS)
    table = Table(NUMBERS, {3: words})
    with pytest.raises(ValueError, match=r"'colour' 6 \(rows 0, 7, 14, ...\)"):
        Preparation.learned(table, [*NAMES, "colour"])
    ready = Preparation.learned(table, [*NAMES, "colour"], fill=True)
    assert ready.names([*NAMES, "colour"])[-1] == "colour=(missing)"
    np.testing.assert_array_equal(ready.apply(table, None).X[:, -1], np.arange(40) % 7 == 0)


@pytest.mark.parametrize("outputs", [(), (2,)])
def test_weights_on_the_users_scale_predict_the_same(outputs):
    table = Table(NUMBERS, {3: COLOURS})
    ready = Preparation.learned(table, None, standardize=True)
    weights, intercept = RNG.normal(size=(6, *outputs)), RNG.normal(size=outputs)
    own, shift = ready.unscaled(weights, intercept)
    as_is = Preparation(ready.categories).apply(table, None).X
    np.testing.assert_allclose(as_is @ own + shift, ready.apply(table, None).X @ weights + intercept, atol=1e-8)


# --- tables -----------------------------------------------------------------------------------------------------

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}


@pytest.mark.parametrize("kind", FRAMES)
def test_columns_are_found_by_name(kind):
    frame = FRAMES[kind]({"other": ["x", "y"], "b": [3, 4], "colour": ["red", None], "a": [1.5, None]})
    found = as_table(frame, ["a", "b"], 2).numbers
    np.testing.assert_array_equal(found, [[1.5, 3.0], [np.nan, 4.0]])
    table = as_table(frame, ["a", "colour", "b"], 3, words=[1])
    np.testing.assert_array_equal(table.numbers, [[1.5, 3.0], [np.nan, 4.0]])
    assert table.words[1].tolist() == ["red", None]


@pytest.mark.parametrize("kind", FRAMES)
def test_columns_that_are_not_there_are_listed_with_near_spellings(kind):
    frame = FRAMES[kind]({"a": [1.0], "weigth": [1.0], "z": [2.0]})
    with pytest.raises(ValueError, match="X lacks 2 of the 3 columns of the model") as caught:
        as_table(frame, ["a", "weight", "age_of_patient"], 3)
    assert "'weight' (did you mean 'weigth'?), 'age_of_patient'. It has 'a', 'weigth', 'z'" in str(caught.value)


def test_a_name_twice_and_words_for_numbers_are_refused():
    with pytest.raises(ValueError, match="X has 2 columns 'a'"):
        as_table(pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), ["a"], 1)
    with pytest.raises(TypeError, match="column b not numeric"):
        as_table(pd.DataFrame({"a": [1.0], "b": ["x"]}), ["a", "b"], 2)
    with pytest.raises(TypeError, match="must hold numbers"):
        as_table([["x"]], None, 1)
    with pytest.raises(TypeError, match="pass a data frame"):
        as_table(sparse.csr_array(np.eye(2)), None, 2, words=[0])
    with pytest.raises(ValueError, match="X must have 2 columns, as the model has"):
        as_table(np.eye(3), ["a", "b"], 2)


def test_arrays_and_frames_without_names_go_by_place():
    np.testing.assert_array_equal(as_table([[1, 2]], ["a", "b"], 2).numbers, [[1.0, 2.0]])
    np.testing.assert_array_equal(as_table(pd.DataFrame([[1, 2]]), ["a", "b"], 2).numbers, [[1.0, 2.0]])
    np.testing.assert_array_equal(as_table(pd.DataFrame({"x": [1], "y": [2]}), None, 2).numbers, [[1.0, 2.0]])
    table = as_table([[1, "red"], [2, None]], None, 2, words=[1])
    np.testing.assert_array_equal(table.numbers, [[1.0], [2.0]])
    assert table.words[1].tolist() == ["red", None]


def test_the_same_category_whatever_holds_it():
    assert as_words([7, 7.0, np.int8(7), "7"]).tolist() == ["7"] * 4
    assert as_words([True, "NA", pd.NA, float("nan"), " ", 2.5]).tolist() == ["true", None, None, None, None, "2.5"]
    with pytest.raises(TypeError, match="a list cannot be a category"):
        as_words([[1]])


# --- models -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def frame():
    return pd.DataFrame(NUMBERS, columns=NAMES)


def model_of(X, y, **options):
    problem = fw.Problem(X, y, "logistic", fw.L1Ball(5.0), intercept=True)
    with fw.python_mode():
        return fw.FittedModel.of(problem, fw.minimize(problem, "fw", tol=0, max_passes=20), **options)


@pytest.fixture(scope="module")
def labels():
    return np.where(NUMBERS[:, 0] + (NUMBERS[:, 1] - 1e5) / 1e4 > 0.0, 1, -1)


@pytest.mark.parametrize("kind", FRAMES)
def test_models_match_columns_by_name(kind, frame, labels, tmp_path):
    standard = pd.DataFrame(StandardScaler().fit_transform(frame), columns=NAMES)
    model = model_of(standard, labels)
    assert model.features.names == NAMES
    model.save(tmp_path / "model.npz")
    for found in (model, fw.load_model(tmp_path / "model.npz")):
        mixed = FRAMES[kind]({name: standard[name].to_list() for name in reversed(NAMES)} | {"more": ["?"] * 40})
        np.testing.assert_array_equal(found.predict(mixed), model.predict(standard.to_numpy()))
        np.testing.assert_array_equal(found.decision(mixed), model.decision(standard))


def test_missing_values_are_refused_with_rows_and_columns(frame, labels):
    model = model_of(frame, labels)
    holes = frame.copy()
    holes.iloc[[3, 9], 1] = np.nan
    with pytest.raises(ValueError, match=r"2 missing values, by column: 'b' 2 \(rows 3, 9\)"):
        model.predict(holes)
    with pytest.raises(ValueError, match=r"column: 'b' 2 \(rows 3, 9\)"):
        model.predict(sparse.csr_array(holes.to_numpy()))
    with pytest.raises(ValueError, match="X holds infinity"):
        model.predict(holes.fillna(np.inf))
    with pytest.raises(ValueError, match="score of row 2 is not finite"):
        replace(model, weights=np.full(3, 5.0)).predict(np.where(np.arange(40)[:, None] == 2, 1.7e308, NUMBERS))


def test_a_prepared_model_comes_back_and_predicts_from_raw_columns(frame, labels, tmp_path):
    raw = frame.assign(colour=COLOURS)
    raw.iloc[4, 0] = np.nan
    names = list(raw.columns)
    table = as_table(raw, names, 4, words=[3])
    ready = Preparation.learned(table, names, fill=True, standardize=True)
    X = ready.apply(table, names).X
    model = model_of(X, labels, features=names, preparation=ready)
    model.save(tmp_path / "model.npz")
    again = fw.load_model(tmp_path / "model.npz")
    assert again.weight_names == ["a", "b", "c", "colour=blue", "colour=green", "colour=red"]
    np.testing.assert_allclose(again.decision(raw), X @ model.weights + model.intercept)
    np.testing.assert_array_equal(again.predict(raw[names[::-1]]), model.predict(raw))
    with pytest.warns(UserWarning, match="column 'colour': 1 row holds a category that no row of the fit had") as told:
        again.predict(raw.iloc[:1].assign(colour="mauve"))
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again.predict(raw)


def test_a_prepared_model_predicts_without_scikit_learn(frame, labels, tmp_path, monkeypatch):
    raw = frame.assign(colour=COLOURS)
    table = as_table(raw, list(raw.columns), 4, words=[3])
    ready = Preparation.learned(table, list(raw.columns), fill=True, standardize=True)
    X = ready.apply(table, None).X
    model_of(X, labels, features=list(raw.columns), preparation=ready).save(tmp_path / "model.npz")
    monkeypatch.setitem(sys.modules, "sklearn.preprocessing", None)  # an import fails
    again = fw.load_model(tmp_path / "model.npz")
    np.testing.assert_allclose(again.decision(raw), X @ again.weights + again.intercept)


def test_probabilities_are_those_of_the_loss(frame, labels):
    frame = pd.DataFrame(StandardScaler().fit_transform(frame), columns=NAMES)
    model = model_of(frame, labels)
    scores = model.decision(frame)
    expected = 1.0 / (1.0 + np.exp(-scores))
    np.testing.assert_allclose(model.probabilities(frame), np.column_stack([1.0 - expected, expected]), atol=1e-12)
    problem = fw.Problem(NUMBERS, np.arange(40) % 3, "multinomial", fw.L1Ball(1e-3))
    with fw.python_mode():
        several = fw.FittedModel.of(problem, fw.minimize(problem, "fw", tol=0, max_passes=9))
    z = NUMBERS @ several.weights
    np.testing.assert_allclose(several.probabilities(NUMBERS), np.exp(z) / np.exp(z).sum(axis=1, keepdims=True))
    with fw.python_mode():
        hinge = fw.Problem(NUMBERS, labels, "squared-hinge", fw.L1Ball(1.0))
        result = fw.minimize(hinge, "fw", tol=0, max_passes=2)
    with pytest.raises(ValueError, match="probabilities come with the losses 'logistic'"):
        fw.FittedModel.of(hinge, result).probabilities(NUMBERS)
