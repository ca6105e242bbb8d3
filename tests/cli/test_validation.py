"""Rows held out on the command line: splits, scores, weights of classes, and the radius that they choose."""

import csv
import io
import warnings

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import frankwolfe as fw
from frankwolfe.cli.options import Options
from frankwolfe.cli.problems import specify
from frankwolfe.cli.validation import splits_of
from tests.cli.test_columns import SCALES, SIGNAL, WORDS, X
from tests.cli.test_commands import call, complaint
from tests.tables import frame, write

pytestmark = pytest.mark.usefixtures("interpreted")


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
