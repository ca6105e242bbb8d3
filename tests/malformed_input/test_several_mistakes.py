"""Several mistakes at once, in tables, models and options: one line that says why, or a prediction for each row.

One mistake at a time, with the right answer worked out: test_mistakes.py.
"""

import csv
import io

import numpy as np
import pytest

from tests.malformed_input.test_mistakes import complaint, run
from tests.tables import frame, labels, numbers, write

RUNS = 150
X, SIGNAL = numbers(n=24)
CELLS = [
    *(
        "",
        "NA",
        "nan",
        "inf",
        "-inf",
        "1e400",
        "1e308",
        "x",
        '"',
        "1,2",
        "007",
        "=1+1",
        "9" * 30,
        "true",
        " ",
        "é",
        "1_0",
    ),
    *("0x1F", "a" * 300, "\x00", "1;2", "\t", "null", "?"),
]
OPTIONS = [
    *("--standardize", "--no-intercept", "--categorical", "--categorical city", "--categorical x1", "--missing mean"),
    *("--folds 3", "--holdout 0.3", "--loss squared", "--loss logistic", "--loss tukey", "--set linf", "--set simplex"),
    *("--set trace", "--set l2", "--radius 0", "--radius 1e-300", "--radius 1e300", "--radius nan", "--weights x0"),
    *(
        "--weights y",
        "--ignore city",
        "--ignore nope",
        "--seed -1",
        "--tol 0",
        "--tol nan",
        "--max-passes 0",
        "-t city",
    ),
    *("--method sfw", "--method fw"),
    *("--bound x0<=0", "--bound x*>=-1", "--bound x1<=nan", "--bound x2==1e308", "--bound 1<=2", "--no-radius"),
    *("--condition x0+x1==1", "--condition x0*x1<=1", "--condition x0>=city", "--monotone x*:increasing"),
]


@pytest.fixture(scope="module")
def table():
    """Return the lines of a table with words."""
    city = np.array(["Oslo", "Paris", "Rome"])[np.arange(24) % 3]
    return frame(X, city=city, y=labels(SIGNAL)).write_csv().splitlines()


def damaged(lines, rng):
    """Return a table with up to three mistakes."""
    lines = list(lines)
    for _ in range(rng.integers(0, 4)):
        at, cell = int(rng.integers(len(lines))), str(rng.choice(CELLS))
        fields = lines[at].split(",")
        place = int(rng.integers(len(fields)))
        match rng.integers(7):
            case 0:
                lines[at] = ",".join([*fields[:place], cell, *fields[place + 1 :]])
            case 1:
                lines[at] = f"{lines[at]},{cell}"
            case 2:
                lines[at] = lines[at][: rng.integers(len(lines[at]) + 1)]
            case 3:
                lines.insert(at, str(rng.choice(["", ",,,,,", "#", cell])))
            case 4:
                lines = lines[: at + 1]
            case 5:
                lines[1:] = [",".join([cell, *line.split(",")[1:]]) for line in lines[1:]]
            case 6:
                lines[0] = ",".join([*fields[:place], cell, *fields[place + 1 :]])
    content = bytearray("\n".join(lines).encode() + b"\n")
    if rng.random() < 0.2:
        content[rng.integers(len(content))] = rng.integers(256)
    return bytes(content)


def told(arguments):
    """Run a command, hold it to one line for a mistake, and return its outcome."""
    outcome = run(*arguments)
    assert complaint(outcome) is None, arguments
    assert outcome.exit_code in (0, 2, 3), arguments
    if outcome.exit_code == 2:
        assert outcome.stdout == "", arguments
    return outcome


@pytest.mark.filterwarnings(
    "ignore:.*encountered in:RuntimeWarning"
)  # numbers that overflow, which compiled code does not tell
def test_commands_on_malformed_files(table, tmp_path, monkeypatch, interpreted):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    assert (
        told(["fit", str(write(tmp_path / "whole.csv", "\n".join(table))), "-t", "y", "--categorical"]).exit_code == 0
    )
    model = (tmp_path / "model.npz").read_bytes()
    codes = []
    for _ in range(RUNS):
        (tmp_path / "a.csv").write_bytes(damaged(table, rng))
        if rng.random() < 0.4:
            codes.append(_predict(model, tmp_path, rng))
            continue
        chosen = rng.choice(OPTIONS, rng.integers(4), replace=False)
        command = [str(rng.choice(["fit", "info"])), "a.csv", "-t", "y", *" ".join(chosen).split()]
        limits = ["--max-passes", "6", "--out", "other.npz"] if command[0] == "fit" else []
        (tmp_path / "other.npz").unlink(missing_ok=True)
        codes.append(told([*command[:2], *limits, *command[2:]]).exit_code)
        assert (tmp_path / "other.npz").exists() == (command[0] == "fit" and codes[-1] != 2)
    assert {0, 2} <= set(codes)


def _predict(model, folder, rng):
    """Predict with a model, which may be damaged too; return the exit code."""
    content = bytearray(model)
    if rng.random() < 0.3:
        content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
    (folder / "model.npz").write_bytes(content)
    options = [option for option in ("--probabilities", "--decision", "--missing=blank") if rng.random() < 0.4]
    outcome = told(["predict", "model.npz", "a.csv", *options])
    if outcome.exit_code == 0:
        text = (folder / "a.csv").read_bytes().decode()
        rows = [fields for fields in csv.reader(io.StringIO(text, newline="")) if fields]
        assert len(list(csv.reader(io.StringIO(outcome.stdout)))) == len(rows)
    return outcome.exit_code
