"""Columns on the command line: scales, categories and gaps; offsets."""

import csv
import io

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import frankwolfe as fw
from tests.cli.test_commands import call, complaint, predicted
from tests.tables import frame, labels, numbers, svmlight, write

X, SIGNAL = numbers(n=80)
SCALES = np.array([1.0, 1e3, 1.0, 1e-2])
WORDS = labels(SIGNAL)
ROUGH = ["--method", "fw", "--max-passes", 5, "--tol", 1e-9]  # not certified, and quick
CITIES = np.array(["Oslo", "Paris", "Rome"])[np.arange(80) % 3]

pytestmark = pytest.mark.usefixtures("interpreted")


def rows_of(table):
    """Return the lines of the table of weights."""
    lines = table.split("\n\n")[1].splitlines()
    return [line.split() for line in lines[2:]]


# --- scales -----------------------------------------------------------------------------------------------------


def test_standardised_weights_are_those_of_scaled_columns_and_told_on_both_scales(desk):
    write(desk / "a.csv", frame(X * SCALES + 5.0, y=WORDS))
    said = call("fit", "a.csv", "-t", "y", "--standardize", "--radius", 2, "--tol", 1e-8).stdout
    assert "standardised" in said
    model = fw.load_model("model.npz")
    scaler = StandardScaler().fit(X * SCALES + 5.0)
    y = np.where(WORDS == "malignant", 1, -1)
    problem = fw.Problem(scaler.transform(X * SCALES + 5.0), y, "logistic", fw.L1Ball(2.0), intercept=True)
    assert problem.value(model.weights) <= fw.minimize(problem, tol=1e-8).fun + 2e-8
    weights, intercept = model.unscaled()
    np.testing.assert_allclose(weights, model.weights / scaler.scale_)
    raw = X * SCALES + 5.0
    np.testing.assert_allclose(raw @ weights + intercept, model.decision(raw), atol=1e-8)
    shown = {name: (float(own), float(scaled)) for name, own, scaled in rows_of(said)}
    for name, own, scaled in zip(model.features.names, weights, model.weights, strict=True):
        assert shown.get(name, (0.0, 0.0)) == pytest.approx((own, scaled), rel=1e-5)
    order = [abs(scaled) for _, scaled in shown.values()]
    assert order == sorted(order, reverse=True)


def test_advice_on_scales_is_printed_and_followed(desk):
    unlike = np.array([1e4, 1e4, 1.0, 1.0])
    write(desk / "a.csv", frame(X * unlike, y=SIGNAL))
    said = call("fit", "a.csv", "-t", "y", "--radius", 1e-3, "--tol", 1e-9).stdout
    assert "advice" in said
    assert "--standardize" in said
    assert "advice" not in call("fit", "a.csv", "-t", "y", "--radius", 3, "--standardize").stdout


def test_sparse_files_are_scaled_and_not_shifted(desk):
    dense = X * SCALES * (np.random.default_rng(1).random(X.shape) < 0.5)
    write(desk / "a.svm", svmlight(dense, SIGNAL))
    said = call("fit", "a.svm", "--standardize", "--radius", 2).stdout
    assert "divided by their standard deviation" in said
    model = fw.load_model("model.npz")
    np.testing.assert_allclose(model.preparation.scale, dense.std(axis=0))
    assert model.preparation.center is None
    told = [float(row["prediction"]) for row in predicted("model.npz", "a.svm")]
    np.testing.assert_allclose(told, dense / dense.std(axis=0) @ model.weights + model.intercept)
    assert {name for name, *_ in rows_of(said)} <= {"1", "2", "3", "4"}  # indices as in the file


def test_without_an_intercept_columns_are_not_shifted(desk):
    write(desk / "a.csv", frame(X + 5.0, y=SIGNAL))
    call("fit", "a.csv", "-t", "y", "--standardize", "--no-intercept")
    model = fw.load_model("model.npz")
    assert model.preparation.center is None
    assert model.unscaled()[1] == 0.0


# --- categories -------------------------------------------------------------------------------------------------


def test_categories_become_columns_of_their_own(desk):
    table = frame(X, city=CITIES, y=SIGNAL + (CITIES == "Rome"))
    write(desk / "a.csv", table)
    said = call("fit", "a.csv", "-t", "y", "--categorical", "city", "--radius", 9, "--tol", 1e-8).stdout
    assert "categories: city (3)" in said
    model = fw.load_model("model.npz")
    assert model.weight_names == ["x0", "x1", "x2", "x3", "city=Oslo", "city=Paris", "city=Rome"]
    encoded = np.hstack([X, OneHotEncoder(sparse_output=False).fit_transform(CITIES[:, None])])
    told = [float(row["prediction"]) for row in predicted("model.npz", "a.csv")]
    np.testing.assert_allclose(told, encoded @ model.weights + model.intercept)
    for kind in (pd.DataFrame, pl.DataFrame):
        data = kind({name: table[name].to_list() for name in reversed(table.columns)})
        np.testing.assert_allclose(model.predict(data), told)
    write(desk / "a.parquet", table)
    assert [float(row["prediction"]) for row in predicted("model.npz", "a.parquet")] == told


def test_all_columns_of_text_at_once(desk):
    write(desk / "a.csv", frame(X, city=CITIES, kind=WORDS, y=SIGNAL))
    call("fit", "a.csv", "-t", "y", "--categorical")
    assert sorted(fw.load_model("model.npz").preparation.categories) == [4, 5]


def test_words_among_numbers_are_no_text_unless_named(desk):
    typo = X[:, 0].astype(str).astype(object)
    typo[9] = "1O"
    write(desk / "a.csv", frame(X[:, 1:], code=typo.astype(str), y=SIGNAL))
    assert "line 11: column 'code' holds '1O'" in complaint("fit", "a.csv", "-t", "y", "--categorical")
    call("fit", "a.csv", "-t", "y", "--categorical", "code")


def test_categories_that_look_like_numbers_stay_as_written(desk):
    codes = np.where(np.arange(80) % 2 == 0, "007", "7")
    write(desk / "a.csv", frame(X, code=codes, y=SIGNAL))
    call("fit", "a.csv", "-t", "y", "--categorical", "code")
    assert fw.load_model("model.npz").preparation.categories == {4: ("007", "7")}
    lettered = np.where(np.arange(80) == 0, "x", codes)  # now the column does not look like numbers any more
    write(desk / "b.csv", frame(X, code=lettered))
    before, after = predicted("model.npz", "a.csv"), predicted("model.npz", "b.csv")
    assert before[1:] == after[1:]


def test_unseen_categories_are_told_and_count_as_none(desk):
    write(desk / "a.csv", frame(X, city=CITIES, y=SIGNAL))
    call("fit", "a.csv", "-t", "y", "--categorical", "city")
    write(desk / "new.csv", frame(X[:3], city=np.array(["Rome", "Lima", "Bonn"])))
    outcome = call("predict", "model.npz", "new.csv")
    assert outcome.stderr.startswith(
        "column 'city': 2 rows hold categories that no row of the fit had ('Lima', 'Bonn')"
    )
    told = [float(row["prediction"]) for row in csv.DictReader(io.StringIO(outcome.stdout))]
    model = fw.load_model("model.npz")
    np.testing.assert_allclose(told[1:], X[1:3] @ model.weights[:4] + model.intercept)


# --- missing values ---------------------------------------------------------------------------------------------


@pytest.fixture
def gaps(desk):
    """A table with gaps: two in x1, one in x3, one in city."""
    x1, x3, city = X[:, 1].tolist(), X[:, 3].tolist(), CITIES.tolist()
    x1[4] = x1[7] = x3[7] = city[9] = None
    table = frame(X, y=SIGNAL).with_columns(x1=pl.Series(x1), x3=pl.Series(x3), city=pl.Series(city))
    write(desk / "gaps.csv", table)
    write(desk / "whole.csv", frame(X, y=SIGNAL, city=CITIES))
    return table


def test_missing_values_are_counted_by_column_with_the_option_that_helps(gaps):
    said = complaint("fit", "gaps.csv", "-t", "y", "--categorical", "city")
    assert "line 6: column 'x1' is empty. Values are missing in 3 of 80 rows" in said
    assert "by column: 'x1' 2, 'x3' 1, 'city' 1. Fill them with --missing mean" in said


def test_missing_values_take_the_mean_of_the_fit(gaps):
    said = call("fit", "gaps.csv", "-t", "y", "--categorical", "--missing", "mean", "--standardize").stdout
    assert "3 missing numbers filled with the mean" in said
    model = fw.load_model("model.npz")
    np.testing.assert_allclose(model.preparation.fill[1], np.delete(X[:, 1], [4, 7]).mean())
    assert model.weight_names[-1] == "city=(missing)"
    rows = predicted("model.npz", "gaps.csv")
    assert len(rows) == 80
    np.testing.assert_allclose([float(row["prediction"]) for row in rows], model.predict(gaps))
    filled = X.copy()
    filled[[4, 7], 1], filled[7, 3] = model.preparation.fill[1], model.preparation.fill[3]
    whole = pd.DataFrame(filled, columns=["x0", "x1", "x2", "x3"]).assign(city=gaps["city"].to_list())
    np.testing.assert_allclose(model.predict(whole), model.predict(gaps))


def test_predictions_stay_lined_up_with_rows_that_have_none(gaps, desk):
    call("fit", "whole.csv", "-t", "y", "--categorical")
    said = complaint("predict", "model.npz", "gaps.csv")
    assert "'x1' 2, 'x3' 1, 'city' 1. Fill them in, leave their predictions empty with --missing blank" in said
    outcome = call("predict", "model.npz", "gaps.csv", "--missing", "blank")
    told = outcome.stdout.splitlines()[1:]
    assert [row for row, text in enumerate(told) if text in ("", '""')] == [4, 7, 9]
    rest = np.delete(np.arange(80), [4, 7, 9])
    whole = [float(row["prediction"]) for row in predicted("model.npz", "whole.csv")]
    np.testing.assert_allclose([float(told[row]) for row in rest], np.array(whole)[rest])
    assert outcome.stderr.startswith(
        "3 of 80 rows have missing values: no prediction\n77 rows, root mean squared error"
    )


# --- what is hardly a category ------------------------------------------------------------------------------------

DAYS = [f"2024-{1 + k % 12:02}-{1 + k % 28:02}" for k in range(80)]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (DAYS, "'when' (80 dates)" if len(set(DAYS)) == 80 else f"'when' ({len(set(DAYS))} dates)"),
        (["3/1/24", "14.12.2023"] * 40, "'when' (2 dates)"),
        (["3 Mar 2024", "2024-03-01T12:30:00Z"] * 40, "'when' (2 dates)"),
        ([f"p{k // 2 if k > 60 else k}" for k in range(80)], "different cells in 80 rows)"),
    ],
)
def test_dates_and_names_of_rows_are_no_categories_unless_they_are_named(cells, words, desk):
    colours = np.where(X[:, 0] > 0.0, "red", "blue")
    write(desk / "a.csv", frame(X, when=cells, colour=colours, y=SIGNAL))
    said = complaint("fit", "a.csv", "-t", "y", "--categorical")
    assert words in said
    assert "'colour'" not in said
    assert "--ignore 'when'" in said
    assert "--categorical 'when'" in said
    assert "colour (2)" in call("fit", "a.csv", "-t", "y", "--ignore", "when", "--categorical").stdout
    said = call("fit", "a.csv", "-t", "y", "--categorical", "when", "--categorical").stdout  # named, and all others
    assert f"when ({len(set(cells))}), colour (2)" in said


def test_categories_that_are_few_or_often_the_same_are_taken(desk):
    letters = [chr(97 + k % 20) for k in range(80)]
    few = ["a", "b", "c"]
    write(desk / "a.csv", frame(X, letter=letters, y=SIGNAL))
    assert "letter (20)" in call("fit", "a.csv", "-t", "y", "--categorical").stdout
    write(desk / "b.csv", frame(X[:3], letter=few, y=SIGNAL[:3]))
    assert "letter (3)" in call("fit", "b.csv", "-t", "y", "--categorical").stdout


# --- offsets and exposure -----------------------------------------------------------------------------------------


def test_offset_and_exposure_are_columns(desk):
    rng = np.random.default_rng(0)
    years, base = rng.uniform(0.2, 2.0, 80), 0.3 * rng.normal(size=80)
    y = rng.poisson(years * np.exp(0.5 * X[:, 0] + base)).astype(float)
    write(desk / "claims.csv", frame(X, years=years, base=base, y=y))
    columns = ["--exposure", "years", "--offset", "base"]
    shown = call(
        "fit", "claims.csv", "-t", "y", "--loss", "poisson", "--radius", 1, *columns, "-o", "m.npz", "--folds", 2
    )
    assert "poisson loss" in shown.stderr + shown.stdout
    expected = fw.FrankWolfeRegressor("poisson", radius=1.0).fit(X, y, offset=base, exposure=years)
    model = fw.load_model(desk / "m.npz")
    np.testing.assert_allclose(model.weights, expected.coef_, atol=1e-3)
    rows = predicted("m.npz", "claims.csv", *columns)
    np.testing.assert_allclose([float(row["prediction"]) for row in rows], model.predict(X, base, years), rtol=1e-12)
    with pytest.raises(ValueError, match="offset has 3 entries, but there are 80 rows in X"):
        model.predict(X, offset=base[:3])
    assert "exposure goes with the losses 'poisson'" in complaint("fit", "claims.csv", "-t", "y", "--exposure", "years")
    assert "no column 'year'; did you mean 'years'" in complaint("fit", "claims.csv", "-t", "y", "--exposure", "year")
