"""The command line on data of one's own: each command on each format, its errors and its exit codes."""

import csv
import errno
import io
import os
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import frankwolfe as fw
from frankwolfe.cli import main
from frankwolfe.cli.output import progress_bar
from frankwolfe.compile import kernels
from frankwolfe.losses import LOSSES
from frankwolfe.methods.registry import METHODS
from frankwolfe.path import radius_path
from frankwolfe.sets.named import DEFAULT_RADIUS, SETS, as_constraint
from frankwolfe.store import files as atomic
from tests.tables import frame, labels, numbers, svmlight, write

X, SIGNAL = numbers()
FORMATS = ("csv", "csv.gz", "csv.bz2", "parquet", "svm", "svm.bz2")


def call(*arguments, code=0):
    """Run a command and hold it to its exit code."""
    outcome = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert outcome.exit_code == code, outcome.output
    return outcome


def complaint(*arguments, code=2):
    """Run a command that fails, and return the one line it says."""
    outcome = call(*arguments, code=code)
    assert outcome.stdout == ""
    assert outcome.stderr.startswith("Error: ")
    assert outcome.stderr.count("\n") == 1
    return outcome.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return two classes, three classes and numbers in every format."""
    folder = tmp_path_factory.mktemp("data")
    for kind in FORMATS:
        for name, y in {"two": labels(SIGNAL), "three": labels(SIGNAL, 3), "real": SIGNAL}.items():
            codes = np.unique(y, return_inverse=True)[1] if y.dtype.kind == "U" else y
            content = svmlight(X, codes) if "svm" in kind else frame(X, y=y)
            write(folder / f"{name}.{kind}", content)
    return folder


def named(path):
    """Return the arguments that name the target of a file, or say that its numbers are classes."""
    if ".svm" in path.name:
        return ["--loss", "multinomial"] if path.name.startswith("three") else []
    return ["--target", "y"]


def predicted(*arguments):
    return list(csv.DictReader(io.StringIO(call("predict", *arguments).stdout)))


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("name", ["two", "three", "real"])
def test_fit_and_predict_say_what_python_says(name, kind, folder, tmp_path, interpreted):
    data, saved = folder / f"{name}.{kind}", tmp_path / "model.npz"
    outcome = call("fit", data, *named(data), "--radius", 2, "--out", saved)
    assert "Certified. Proven: no weights in the set have an objective more than" in outcome.stdout
    model = fw.load_model(saved)

    words = {"two": labels(SIGNAL), "three": labels(SIGNAL, 3), "real": SIGNAL}[name]
    classes, codes = np.unique(words, return_inverse=True)
    loss, y = {"two": ("logistic", 2 * codes - 1), "three": ("multinomial", codes), "real": ("squared", SIGNAL)}[name]
    problem = fw.Problem(X, y, loss, fw.L1Ball(2.0), intercept=True)
    result = fw.minimize(problem, random_state=0)
    assert model.run.success
    assert abs(model.run.fun - result.fun) <= model.run.gap + result.gap
    assert type(model.loss) is type(problem.loss)

    rows = predicted(saved, data, "--decision")
    scores = X @ model.weights + model.intercept
    told = [row["prediction"] for row in rows]
    if name == "real":
        np.testing.assert_allclose([float(text) for text in told], scores, rtol=1e-12)
        return
    chosen = scores.argmax(axis=1) if name == "three" else (scores > 0.0).astype(int)
    assert told == (classes[chosen].tolist() if ".svm" not in data.name else chosen.astype(str).tolist())
    assert len(rows[0]) == (2 if name == "two" else 4)


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_from_file_to_predictions(loss, folder, tmp_path, interpreted):
    source = {"multinomial": "three", "multitask-squared": "real"}.get(loss)
    source = source or ("two" if LOSSES[loss]().targets == "labels" else "real")
    data, target = folder / f"{source}.csv", ["-t", "y"]
    if LOSSES[loss]().log_link:
        data = write(tmp_path / "amounts.csv", frame(X, y=np.exp(SIGNAL)))
    if loss == "multitask-squared":
        data = write(tmp_path / "tasks.csv", frame(X, y=SIGNAL, z=-SIGNAL))
        target += ["-t", "z"]
    saved = tmp_path / "model.npz"
    method = "fw" if LOSSES[loss]().smooth else "auto"
    call("fit", data, *target, "--loss", loss, "--radius", 2, "--out", saved, "--method", method, "--max-passes", 9,
         "--tol", 1.0)  # fmt: skip
    model = fw.load_model(saved)
    assert type(model.loss) is LOSSES[loss]
    rows = predicted(saved, data)
    assert [list(row.values()) for row in rows] == model.predict(X).reshape(60, -1).astype(str).tolist()


@pytest.mark.parametrize("name", SETS)
def test_every_set_from_the_command_line(name, folder, tmp_path, interpreted):
    source = "three" if name in ("trace", "group") else "two"
    saved = tmp_path / "model.npz"
    call("fit", folder / f"{source}.csv", "-t", "y", "--set", name, "--radius", 3, "--out", saved)
    model = fw.load_model(saved)
    assert model.run.success
    assert model.constraint.contains(model.weights.ravel())


def test_options_reach_the_problem(folder, tmp_path, interpreted):
    data = write(tmp_path / "a.csv", frame(X, y=SIGNAL, w=np.r_[np.ones(30), np.zeros(30)], id=np.array(["r"] * 60)))
    saved = tmp_path / "model.npz"
    options = ["--weights", "w", "--ignore", "id", "--no-intercept", "--tol", 1e-8, "--seed", 7, "--radius", 9]
    call("fit", data, "-t", "y", "--method", "away", *options, "--out", saved)
    model = fw.load_model(saved)
    half = fw.minimize(fw.Problem(X[:30], SIGNAL[:30], "squared", fw.L1Ball(9.0)), tol=1e-10)
    np.testing.assert_allclose(model.weights, half.x, atol=1e-3)
    assert model.intercept == 0.0
    assert (model.run.method, model.run.seed, model.run.rows) == ("away", 7, 60)
    assert model.features.names == ["x0", "x1", "x2", "x3"]
    assert (model.target, model.versions["frankwolfe"]) == (["y"], fw.__version__)


def test_a_run_without_a_certificate_is_written_and_says_so(folder, tmp_path, interpreted):
    saved = tmp_path / "model.npz"
    arguments = ["--method", "sfw", "--tol", 1e-12, "--max-passes", 2, "--out", saved]
    outcome = call("fit", folder / "two.csv", "-t", "y", *arguments, code=3)
    assert "Not certified to the tolerance. The budget of 2 passes ended" in outcome.stdout
    assert not fw.load_model(saved).run.success


def test_an_interrupted_fit_writes_the_point_it_has_come_to(folder, tmp_path, interpreted, ctrl_c):
    saved = tmp_path / "model.npz"
    ctrl_c(run=1, look=2)
    outcome = call("fit", folder / "two.csv", "-t", "y", "--method", "fw", "--tol", 1e-12, "--out", saved, code=3)
    assert "Interrupted from the keyboard; the exact gap is" in outcome.stdout
    assert fw.load_model(saved).run.status == "interrupted"


def test_an_interrupted_path_shows_the_radii_it_has_come_to(folder, tmp_path, interpreted, ctrl_c):
    table = tmp_path / "path.csv"
    ctrl_c(run=2)
    outcome = call("path", folder / "two.csv", "-t", "y", "--radii", "1,2,3,4", "--csv", table, code=1)
    assert outcome.stderr == "Error: interrupted: only the first 2 of 4 radii\n"
    rows = list(csv.DictReader(io.StringIO(table.read_text())))
    assert [(float(row["radius"]), row["certified"]) for row in rows] == [(1.0, "True"), (2.0, "False")]


def test_a_loss_that_is_not_convex_promises_no_bound(folder, tmp_path, interpreted):
    outcome = call("fit", folder / "real.csv", "-t", "y", "--loss", "cauchy", "--out", tmp_path / "model.npz")
    assert "Stationary" in outcome.stdout
    assert "better weights may exist elsewhere" in outcome.stdout


@pytest.mark.parametrize("options", [["--no-intercept", "--method", "fw"], []], ids=["bare", "default"])
def test_numbers_that_overflow_are_not_written(options, tmp_path):
    data = write(tmp_path / "a.csv", "a,b,y\n1e300,2,1e300\n-1e300,1,3\n1,2,4\n")
    said = complaint("fit", data, "-t", "y", *options, "--out", tmp_path / "model.npz")
    assert "not finite" in said
    assert not (tmp_path / "model.npz").exists()


@pytest.mark.parametrize("command", ["path", "info"])
def test_numbers_that_overflow_have_no_grid(command, tmp_path):
    data = write(tmp_path / "a.csv", "a,b,y\n1e300,2,1e300\n-1e300,1,3\n1,2,4\n")
    assert "rescale X or y" in complaint(command, data, "-t", "y")


@pytest.mark.parametrize("kind", ["csv", "parquet", "svm"])
def test_path_prints_writes_and_draws(kind, folder, tmp_path, interpreted):
    data, table, picture = folder / f"two.{kind}", tmp_path / "path.csv", tmp_path / "path.png"
    outcome = call("path", data, *named(data), "--radii", "0.5,2,1", "--csv", table, "--picture", picture)
    assert "certified gap" in outcome.stdout
    rows = list(csv.DictReader(io.StringIO(table.read_text())))
    assert [float(row["radius"]) for row in rows] == [0.5, 1.0, 2.0]
    codes = np.unique(labels(SIGNAL), return_inverse=True)[1]
    found = radius_path(X, 2 * codes - 1, radii=[0.5, 1.0, 2.0], intercept=True)
    np.testing.assert_allclose([float(row["objective"]) for row in rows], found.funs, atol=1e-4)
    assert all(row["certified"] == "True" for row in rows)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_path_makes_its_own_grid_and_says_what_was_not_certified(folder, interpreted):
    outcome = call("path", folder / "real.csv", "-t", "y", "--n-radii", 4, "--tol", 1e-14, "--max-passes", 1,
                   "--method", "fw", code=3)  # fmt: skip
    assert outcome.stdout.count("not certified") >= 3


@pytest.mark.parametrize("kind", ["csv", "parquet", "svm"])
def test_info_says_what_there_is(kind, folder, interpreted):
    data = folder / f"two.{kind}"
    said = call("info", data, *named(data)).stdout
    for words in ("60 rows, 4 columns", "2 classes:", "(30 rows)", "logistic", "density  1", "kappa / n", "radii"):
        assert words in said
    radii = [float(text) for text in said.split("radii to try")[1].split("(")[0].split(",")]
    assert radii == sorted(radii)
    assert 0.0 < radii[0] < radii[-1]


def test_predictions_are_scored_and_written(folder, tmp_path):
    saved, out = tmp_path / "model.npz", tmp_path / "predictions.csv"
    call("fit", folder / "two.csv", "-t", "y", "--out", saved)
    outcome = call("predict", saved, folder / "two.parquet", "--out", out)
    told = [row["prediction"] for row in csv.DictReader(io.StringIO(out.read_text()))]
    share = np.mean(np.array(told) == labels(SIGNAL))
    assert f"60 rows, accuracy {share:.4g}" in outcome.stderr
    assert outcome.stdout == ""
    unlabelled = write(tmp_path / "new.csv", frame(X[:5]))
    assert call("predict", saved, unlabelled).stderr == ""


ERRORS = {
    "no such file": (["fit", "gone.csv", "-t", "y"], "gone.csv does not exist"),
    "no such column": (["fit", "two.csv", "-t", "x9"], "has no target column 'x9'; did you mean 'x3'?"),
    "no target": (["fit", "two.csv"], "--target is missing: which column"),
    "no such loss": (
        ["fit", "two.csv", "-t", "y", "--loss", "logistc"],
        "'logistc'; did you mean 'logistic'?",
    ),
    "no such set": (["fit", "two.csv", "-t", "y", "--set", "simplx"], "'simplx'; did you mean 'simplex'?"),
    "no such method": (["fit", "two.csv", "-t", "y", "--method", "sfv"], "'sfv'; did you mean 'sfw'?"),
    "three classes": (
        ["fit", "three.csv", "-t", "y", "--loss", "logistic"],
        "3 classes (benign, malignant, unknown)",
    ),
    "words for numbers": (["fit", "two.csv", "-t", "y", "--loss", "squared"], "target in line 2 is"),
    "words for columns": (["fit", "two.csv", "-t", "x0"], "column 'y' holds no numbers"),
    "radius": (["fit", "two.csv", "-t", "y", "--radius", "-1"], "radius must be positive"),
    "radii": (["path", "two.csv", "-t", "y", "--radii", "1,x"], "--radii takes numbers separated by commas"),
    "negative radii": (["path", "two.csv", "-t", "y", "--radii", "-1"], "radii must be positive"),
    "tolerance": (["fit", "two.csv", "-t", "y", "--tol", "-1"], "tol must be at least 0"),
    "two targets": (["fit", "two.csv", "-t", "y", "-t", "x0", "--loss", "squared"], "takes one target column, not 2"),
    "svmlight by name": (["info", "two.svm", "-t", "y"], "is an svmlight file"),
    "no such model": (["predict", "gone.npz", "two.csv"], "gone.npz does not exist"),
    "no model": (["predict", "two.csv", "two.csv"], "cannot be read as a model"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_one_line(name, folder, monkeypatch):
    monkeypatch.chdir(folder)
    arguments, words = ERRORS[name]
    assert words in complaint(*arguments)
    assert not (folder / "model.npz").exists()


def test_columns_a_model_misses_are_named(folder, tmp_path, interpreted):
    saved = tmp_path / "model.npz"
    call("fit", folder / "two.csv", "-t", "y", "--out", saved)
    other = write(tmp_path / "other.csv", frame(X[:, :2]))
    assert "has no column 'x2'; did you mean 'x1'?" in complaint("predict", saved, other)
    assert "without column names" in complaint("predict", saved, folder / "two.svm")
    call("fit", folder / "two.svm", "--out", saved)
    assert "named columns" in complaint("predict", saved, folder / "two.csv")


def test_a_full_disk_is_told_in_one_line(folder, tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    saved, out = tmp_path / "model.npz", tmp_path / "new" / "out.csv"
    call("fit", folder / "two.csv", "-t", "y", "--out", saved)
    out.parent.mkdir()
    monkeypatch.setattr(atomic.os, "fsync", full)
    words = "could not be written: No space left on device"
    assert words in complaint("fit", folder / "two.csv", "-t", "y", "--out", out, code=4)
    assert words in complaint("predict", saved, folder / "two.csv", "--out", out, code=4)
    assert list(out.parent.iterdir()) == []
    outcome = call("path", folder / "two.csv", "-t", "y", "--radii", 1, "--csv", out, code=4)
    assert words in outcome.stderr
    outcome = call("path", folder / "two.csv", "-t", "y", "--radii", 1, "--picture", out.with_suffix(".svg"), code=4)
    assert words in outcome.stderr
    assert list(out.parent.iterdir()) == []


def test_folders_that_are_not_there_are_told(folder, tmp_path):
    said = complaint("fit", folder / "two.csv", "-t", "y", "--out", tmp_path / "no" / "model.npz", code=4)
    assert "could not be written: No such file or directory" in said


def test_help_names_all_there_is():
    said = " ".join(call("fit", "--help").stdout.replace("-\n", "-").split()).replace("- ", "-")
    for name in [
        *LOSSES,
        *SETS,
        *METHODS,
        f"[default: {DEFAULT_RADIUS:g}; simplex: {as_constraint('simplex', None, 1, 0).radius:g}]",
    ]:
        assert name in said
    for command in ("fit", "predict", "path", "info", "reproduce"):
        assert command in call("--help").stdout
    assert f"frankwolfe, version {fw.__version__}" in call("--version").stdout


@pytest.mark.parametrize(
    ("words", "choices"),
    [("fit a.csv --loss mult", ["multinomial", "multitask-squared"]), ("fit a.csv --set l", ["l1", "l2", "linf"])],
)
def test_the_shell_completes_names(words, choices):
    from click.shell_completion import ShellComplete

    *before, incomplete = words.split()
    found = ShellComplete(main, {}, "frankwolfe", "_FRANKWOLFE_COMPLETE").get_completions(before, incomplete)
    assert [item.value for item in found] == choices
    assert "sfw" in METHODS


def test_help_imports_nothing_heavy():
    code = "import sys, frankwolfe.cli as c; c.main(['--help'], standalone_mode=False); "
    code += "print([name for name in ('numba', 'numpy', 'matplotlib', 'polars') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")
    assert "reproduce" in done.stdout


def test_as_a_program(folder, tmp_path):
    """The real thing once: exit codes, streams and a pipe."""

    def program(*arguments):
        command = [sys.executable, "-m", "frankwolfe", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    fitted = program("fit", folder / "two.csv", "--target", "y")
    assert (fitted.returncode, fitted.stderr) == (0, "")
    told = program("predict", "model.npz", folder / "two.csv")
    assert told.returncode == 0
    assert told.stdout.splitlines()[0] == "prediction"
    assert len(told.stdout.splitlines()) == 61
    failed = program("fit", "gone.csv", "--target", "y")
    assert (failed.returncode, failed.stdout, failed.stderr) == (2, "", "Error: gone.csv does not exist\n")


def test_a_fit_that_was_broken_off_goes_on(folder, tmp_path, ctrl_c, monkeypatch):
    model, path = tmp_path / "model.npz", tmp_path / "run.ckpt"
    fit = ["fit", folder / "two.csv", "--target", "y", "--method", "sfw", "--radius", 3, "--tol", 1e-2, "--out", model]
    kept = [*fit, "--checkpoint", path]
    with fw.python_mode():
        call(*fit)
        whole = fw.load_model(model)
        ctrl_c(run=1, look=9)
        call(*kept, "--resume", code=3)  # nothing to go on from yet: it starts
        monkeypatch.undo()
        assert not np.array_equal(fw.load_model(model).weights, whole.weights)
        assert f"{path.name} exists: go on from it with --resume, or remove it" in complaint(*kept)
        call(*kept, "--resume")
        assert "another problem" in complaint(*kept, "--resume", "--radius", 4)
        assert "is a run of 'sfw'" in complaint(*kept, "--resume", "--method", "momentum")
    np.testing.assert_array_equal(fw.load_model(model).weights, whole.weights)
    assert "--resume needs --checkpoint" in complaint(*fit, "--resume")


# --- progress ---------------------------------------------------------------------------------------------------


def on_a_terminal(monkeypatch, *arguments):
    """Return what a command writes to stderr where that is a terminal."""
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda stream: True, raising=False)
    with fw.python_mode():
        return call(*arguments).stderr


def test_long_commands_show_progress_unless_quiet(folder, tmp_path, monkeypatch):
    fit = ("fit", folder / "two.csv", "--target", "y", "--tol", "1e-2", "--out", tmp_path / "m.npz", "--holdout", "0.3")
    path = ("path", folder / "two.csv", "--target", "y", "--radii", "0.1,0.2", "--tol", "1e-2", "--folds", "2")
    warm_up = ("warm-up", "--loss", "squared", "--method", "fw")
    for command, words in (
        (fit, "/1000 passes"),
        (path, "2/2 radii"),
        (path, "fold 2 of 2"),
        (warm_up, "fw Squared"),
    ):
        assert words in on_a_terminal(monkeypatch, *command)
        assert on_a_terminal(monkeypatch, *command, "--quiet") == ""


def test_notices_are_shown_behind_the_bar_and_above_it(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with progress_bar("this", 10.0, "radii"):
        kernels._listener.get()("compiling this: once")
    shown = capsys.readouterr().err
    assert "frankwolfe: compiling this: once" in shown
    assert shown.count("compiling this") > 1


def test_commands_end_after_so_many_seconds(folder, tmp_path):
    limits = ("--max-seconds", "1e-9", "--tol", "1e-12")
    with fw.python_mode():
        call("fit", folder / "two.csv", "--target", "y", *limits, "--out", tmp_path / "model.npz", code=3)
        said = call("path", folder / "two.csv", "--target", "y", "--n-radii", "2", *limits, code=3).stdout
    assert "not certified" in said
