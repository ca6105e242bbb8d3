"""Columns on the command line: scales, categories and gaps; weights by name, scores on rows held out, probabilities."""

import csv
import io
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import frankwolfe as fw
from frankwolfe.cli import main
from frankwolfe.cli import output as answers
from frankwolfe.cli.options import Options
from frankwolfe.cli.problems import specify
from frankwolfe.cli.validation import splits_of
from tests.cli.test_commands import call, complaint, predicted
from tests.tables import frame, labels, numbers, svmlight, write

X, SIGNAL = numbers(n=80)
SCALES = np.array([1.0, 1e3, 1.0, 1e-2])
WORDS = labels(SIGNAL)
ROUGH = ["--method", "fw", "--max-passes", 5, "--tol", 1e-9]  # not certified, and quick
CITIES = np.array(["Oslo", "Paris", "Rome"])[np.arange(80) % 3]

pytestmark = pytest.mark.usefixtures("interpreted")


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


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


# --- scores on rows held out ------------------------------------------------------------------------------------


def question(path):
    return specify(path, Options(target=("y",), standardize=True, radius=3.0))


@pytest.fixture
def two(desk):
    rare = np.where(np.arange(80) % 4 == 0, "rare", "common")
    return write(desk / "two.csv", frame(X, y=rare))


def test_splits_are_seeded_cover_all_rows_and_keep_the_shares_of_classes(two):
    asked = question(two)
    folds = splits_of(asked, Options(folds=5, seed=3))
    held = np.concatenate([split.test for split in folds])
    np.testing.assert_array_equal(np.sort(held), np.arange(80))
    for train, test in folds:
        np.testing.assert_array_equal(np.sort(np.r_[train, test]), np.arange(80))
        assert np.count_nonzero(asked.y[test] == 1.0) == 4
    again = splits_of(asked, Options(folds=5, seed=3))
    assert all((one.test == other.test).all() for one, other in zip(folds, again, strict=True))
    (other,) = splits_of(asked, Options(holdout=0.25, seed=4))
    assert (len(other.train), np.count_nonzero(asked.y[other.test] == 1.0)) == (60, 5)
    assert not np.array_equal(np.sort(splits_of(asked, Options(holdout=0.25, seed=5))[0].test), other.test)


@pytest.mark.parametrize("options", [["--holdout", "0.25"], ["--folds", "4"]], ids=["holdout", "folds"])
@pytest.mark.parametrize("target", ["words", "numbers"])
def test_scores_are_those_of_models_that_never_saw_the_rows(options, target, desk):
    y = WORDS if target == "words" else SIGNAL
    path = write(desk / "a.csv", frame(X * SCALES, y=y))
    said = call("fit", path, "-t", "y", "--standardize", "--radius", 3, "--seed", 2, "--tol", 1e-7, *options).stdout
    asked = question(path)
    fraction, folds = (0.25, None) if "--holdout" in options else (None, 4)
    found = []
    for train, test in splits_of(asked, Options(holdout=fraction, folds=folds, seed=2)):
        scaler = StandardScaler().fit((X * SCALES)[train])
        loss = "logistic" if target == "words" else "squared"
        problem = fw.Problem(
            scaler.transform((X * SCALES)[train]), asked.y[train], loss, fw.L1Ball(3.0), intercept=True
        )
        result = fw.minimize(problem, tol=1e-7)
        scores = scaler.transform((X * SCALES)[test]) @ result.x + result.intercept
        right = np.where(scores > 0.0, 1.0, -1.0) == asked.y[test]
        found.append(right.mean() if target == "words" else np.sqrt(np.mean((scores - asked.y[test]) ** 2)))
    name = "accuracy" if target == "words" else "root mean squared error"
    shown = float(said.split(name)[1].split()[0].strip(","))
    assert shown == pytest.approx(np.mean(found), rel=2e-3)
    assert fw.load_model("model.npz").run.rows == 80  # the model itself is of all rows


@pytest.fixture
def imbalanced(desk):
    """Write a file with 6% of positive rows, told apart by one column of six; return labels and columns."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 6))
    y = np.where(rng.random(400) < 1.0 / (1.0 + np.exp(3.5 - 1.5 * rows[:, 0])), "ill", "well")
    write(desk / "rare.csv", frame(rows, y=y))
    return rows, y


def test_radii_are_compared_by_the_loss_and_not_by_the_majority(imbalanced, desk):
    rows, y = imbalanced
    assert 0.03 < np.mean(y == "ill") < 0.09
    said = call("path", "rare.csv", "-t", "y", "--folds", 4, "--csv", "path.csv").stdout
    table = list(csv.DictReader(io.StringIO((desk / "path.csv").read_text())))
    losses = np.array([float(row["held-out log-loss"]) for row in table])
    assert f"best held-out log-loss: {losses.min():.4g} at radius {float(table[losses.argmin()]['radius']):.4g}" in said
    assert losses.argmin() > 0
    assert "held-out accuracy" in said
    # the same as the estimator's
    radii = [float(row["radius"]) for row in table]
    spec = question(desk / "rare.csv")
    folds = [tuple(split) for split in splits_of(spec, Options(folds=4, seed=0))]
    search = fw.FrankWolfeClassifierCV(radii=radii, cv=folds).fit(rows, y)
    np.testing.assert_allclose(-search.scores_.mean(axis=0), losses, rtol=1e-3)


@pytest.mark.parametrize("name", ["accuracy", "balanced-accuracy", "roc-auc"])
def test_scores_are_those_of_scikit_learn(name, imbalanced, desk):
    rows, y = imbalanced
    shown = name.replace("-", " ").replace("roc auc", "ROC AUC")
    said = call("path", "rare.csv", "-t", "y", "--folds", 3, "--scoring", name, "--radii", "0.5,2,5", "--csv", "p.csv")
    table = list(csv.DictReader(io.StringIO((desk / "p.csv").read_text())))
    found = [float(row[f"held-out {shown}"]) for row in table]
    assert f"best held-out {shown}: {max(found):.4g}" in said.stdout
    folds = [tuple(split) for split in splits_of(question(desk / "rare.csv"), Options(folds=3, seed=0))]
    scoring = name.replace("-", "_")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fw.exceptions.ScaleWarning)  # the best one may be the first
        search = fw.FrankWolfeClassifierCV(radii=[0.5, 2.0, 5.0], cv=folds, scoring=scoring).fit(rows, y)
    np.testing.assert_allclose(search.scores_.mean(axis=0), found, atol=2e-3)


def test_scores_of_numbers(desk):
    write(desk / "a.csv", frame(X, y=SIGNAL))
    for name, shown in (("mae", "mean absolute error"), ("r2", "R2"), ("loss", "squared loss"), ("rmse", "root mean")):
        said = call("path", "a.csv", "-t", "y", "--radii", "0.1,1,6", "--folds", 3, "--scoring", name).stdout
        assert f"best held-out {shown}" in said
        assert "at radius 6" in said


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--scoring", "accuracy"], "add --folds or --holdout"),
        (["--scoring", "rmse", "--folds", 2], "the target is 2 classes, whose scores are loss, accuracy, balanced-acc"),
        (["--class-weight", "il=3"], "there is no class 'il'; did you mean 'ill'?"),
        (["--class-weight", "sick=3"], "there is no class 'sick'. Classes: 'ill', 'well'"),
        (["--class-weight", "ill"], "takes CLASS=WEIGHT with a positive number, or balanced; got 'ill'"),
        (["--class-weight", "ill=-1"], "with a positive number"),
    ],
)
def test_what_is_wrong_with_scores_and_weights_of_classes_is_told(options, words, imbalanced):
    assert words in complaint("path", "rare.csv", "-t", "y", *map(str, options))


def test_classes_of_numbers_have_no_weights(desk):
    write(desk / "a.csv", frame(X, y=SIGNAL))
    assert "the target is numbers" in complaint("fit", "a.csv", "-t", "y", "--class-weight", "balanced")


@pytest.mark.parametrize(
    ("options", "class_weight"),
    [
        (["--class-weight", "balanced"], "balanced"),
        (["--class-weight", "ill=5", "--class-weight", "well=0.5"], {"ill": 5.0, "well": 0.5}),
        (["--class-weight", "ill=5"], {"ill": 5.0}),
    ],
)
def test_weights_of_classes_mean_what_they_do_in_scikit_learn(options, class_weight, imbalanced):
    rows, y = imbalanced
    said = call("fit", "rare.csv", "-t", "y", "--radius", 2, "--tol", 1e-9, "--folds", 2, *options).stdout
    assert "class weights" in said
    direct = fw.FrankWolfeClassifier(radius=2.0, tol=1e-9, class_weight=class_weight).fit(rows, y)
    model = fw.load_model("model.npz")
    np.testing.assert_allclose(model.weights, direct.coef_[0], atol=1e-6)
    assert model.run.fun == pytest.approx(direct.result_.fun)
    if class_weight == "balanced":
        assert np.mean(model.predict(rows) == "ill") > 0.1  # and not always the majority


def test_a_radius_at_the_edge_of_the_grid_is_told(imbalanced):
    said = call("path", "rare.csv", "-t", "y", "--folds", 3, "--radii", "0.01,0.02").stdout
    assert "largest of the 2 that were tried: the best one may be larger. Extend the grid upwards" in said
    said = call("path", "rare.csv", "-t", "y", "--folds", 3, "--radii", "0.1,1.5,1000").stdout
    assert "Extend" not in said


def test_a_path_with_scores_names_the_best_radius(desk):
    write(desk / "a.csv", frame(X, y=SIGNAL))
    said = call("path", "a.csv", "-t", "y", "--radii", "0.1,1,4", "--folds", 3, "--csv", "path.csv").stdout
    rows = list(csv.DictReader(io.StringIO((desk / "path.csv").read_text())))
    values = [float(row["held-out root mean squared error"]) for row in rows]
    assert values == sorted(values, reverse=True)
    assert [float(row["held-out R2"]) for row in rows][-1] > 0.98
    assert "best held-out root mean squared error" in said
    assert "at radius 4" in said


HELD_OUT_ERRORS = {
    "both": (["--holdout", "0.2", "--folds", "3"], "exclude each other"),
    "more folds than rows": (["--folds", "81"], "--folds 81 is more than the 80 rows"),
    "nothing left": (["--holdout", "0.999"], "none would be left to fit to"),
    "nothing held out": (["--holdout", "0.001"], "none would be held out"),
}


@pytest.mark.parametrize("name", HELD_OUT_ERRORS)
def test_splits_that_cannot_be_are_told(name, desk):
    write(desk / "a.csv", frame(X, y=SIGNAL))
    options, words = HELD_OUT_ERRORS[name]
    assert words in complaint("fit", "a.csv", "-t", "y", *options)
    assert not (desk / "model.npz").exists()


def test_a_class_that_cannot_be_held_out_is_named(desk):
    once = np.where(np.arange(80) == 3, "once", WORDS)
    write(desk / "a.csv", frame(X, y=once))
    assert "class once has too few rows" in complaint("fit", "a.csv", "-t", "y", "--folds", "4")


# --- weights, probabilities, arguments --------------------------------------------------------------------------


def test_weights_are_told_by_name_largest_first(desk):
    write(desk / "a.csv", frame(X, y=SIGNAL))
    said = call("fit", "a.csv", "-t", "y", "--radius", 2.5, "--tol", 1e-8).stdout
    weights = fw.load_model("model.npz").weights
    assert f"4 weights, {np.count_nonzero(weights == 0.0)} of them zero" in said
    assert [name for name, _ in rows_of(said)] == [f"x{j}" for j in np.argsort(-np.abs(weights)) if weights[j]]
    assert "the 1 largest" in call("fit", "a.csv", "-t", "y", "--top", 1).stdout
    assert "weights," not in call("fit", "a.csv", "-t", "y", "--top", 0).stdout


def test_weights_of_several_outputs_name_both(desk):
    write(desk / "a.csv", frame(X, y=labels(SIGNAL, 3)))
    said = call("fit", "a.csv", "-t", "y", "--radius", 3, *ROUGH, code=3).stdout
    model = fw.load_model("model.npz")
    assert len(rows_of(said)) == np.count_nonzero(model.weights) > 1
    for name, output, value in rows_of(said):
        j, c = model.features.names.index(name), model.classes.tolist().index(output)
        assert float(value) == pytest.approx(model.weights[j, c], rel=1e-5)


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_have_a_column_for_each_class(classes, desk):
    y = labels(SIGNAL, classes)
    write(desk / "a.csv", frame(X, y=y))
    call("fit", "a.csv", "-t", "y", *ROUGH, code=3)
    rows = predicted("model.npz", "a.csv", "--probabilities")
    heads = [f"probability_{name}" for name in np.unique(y)]
    assert list(rows[0]) == ["prediction", *heads]
    found = np.array([[float(row[head]) for head in heads] for row in rows])
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_allclose(found, fw.load_model("model.npz").probabilities(X))
    assert [f"probability_{row['prediction']}" for row in rows] == [heads[k] for k in found.argmax(axis=1)]


def test_losses_without_probabilities_say_which_have_them(desk):
    write(desk / "a.csv", frame(X, y=WORDS))
    call("fit", "a.csv", "-t", "y", "--loss", "squared-hinge")
    said = complaint("predict", "model.npz", "a.csv", "--probabilities")
    assert "probabilities come with the losses 'logistic', 'multinomial' and 'modified-huber'" in said


@pytest.mark.parametrize("kind", ["csv", "parquet", "svm"])
def test_models_are_no_data_and_data_no_model(kind, desk):
    data = write(desk / f"a.{kind}", svmlight(X, SIGNAL) if kind == "svm" else frame(X, y=SIGNAL))
    call("fit", data, *([] if kind == "svm" else ["-t", "y"]))
    assert "is a zip archive, such as a model" in complaint("predict", "model.npz", "model.npz")
    assert "cannot be read as a model" in complaint("predict", data, data)


COLUMN_ERRORS = {
    "no such category": (["-t", "y", "--categorical", "town"], "has no column 'town'"),
    "the target as category": (["-t", "y", "--categorical", "y"], "'y' is a category to learn from, and the target"),
    "text": (["-t", "y"], "take it as categories with --categorical, or leave it out with --ignore"),
}


@pytest.mark.parametrize("name", COLUMN_ERRORS)
def test_mistakes_with_columns_are_one_line(name, desk):
    write(desk / "a.csv", frame(X, city=CITIES, y=SIGNAL))
    arguments, words = COLUMN_ERRORS[name]
    assert words in complaint("fit", "a.csv", *arguments)


def test_svmlight_files_have_no_categories_by_name(desk):
    write(desk / "a.svm", svmlight(X, SIGNAL))
    assert "its columns have no names" in complaint("fit", "a.svm", "--categorical", "city")


@pytest.mark.parametrize("command", ["fit", "info"])
def test_facts_are_wrapped_in_a_narrow_window(command, desk, monkeypatch):
    monkeypatch.setattr(answers, "WIDTH", 40)
    write(desk / "a.csv", frame(X, a_column_with_a_rather_long_name_indeed=X[:, 0], y=SIGNAL))
    said = call(command, "a.csv", "-t", "y", "--standardize", *([] if command == "info" else ["--folds", 2])).stdout
    assert max(map(len, said.partition("\n\n")[0].splitlines())) <= 40


# --- standard output --------------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize("command", [["--help"], ["predict", "model.npz", "a.csv"]], ids=["help", "predict"])
def test_a_full_standard_output_is_told_in_one_line(command, desk):
    write(desk / "a.csv", frame(X, y=WORDS))
    call("fit", "a.csv", "-t", "y", *ROUGH, code=3)
    program = [sys.executable, "-m", "frankwolfe", *command]
    with open("/dev/full", "w") as full:
        done = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 4
    assert done.stderr == "Error: standard output could not be written: No space left on device\n"


def test_letters_that_standard_output_lacks_are_spelt_out_but_not_in_data(desk):
    write(desk / "a.csv", frame(X, y=np.char.replace(WORDS, "b", "é")))
    ascii_only = CliRunner(charset="ascii")
    outcome = ascii_only.invoke(main, ["fit", "a.csv", "-t", "y", "--folds", "2"])
    assert outcome.exit_code == 0, outcome.output
    assert "2 classes: malignant (40 rows), \\xe9enign (40 rows)" in outcome.stdout
    outcome = ascii_only.invoke(main, ["predict", "model.npz", "a.csv"])
    assert outcome.exit_code == 4
    assert outcome.stderr == "Error: standard output, in ascii, has no letter '\\xe9': write to a file with --out\n"


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
