"""What commands print: weights by name, probabilities, errors in one line, a full or narrow standard output."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import frankwolfe as fw
from frankwolfe.cli import main
from frankwolfe.cli import output as answers
from tests.cli.test_columns import CITIES, ROUGH, SIGNAL, WORDS, X, rows_of
from tests.cli.test_commands import call, complaint, predicted
from tests.tables import frame, labels, svmlight, write

pytestmark = pytest.mark.usefixtures("interpreted")


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
