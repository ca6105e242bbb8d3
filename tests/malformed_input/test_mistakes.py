"""Malformed files and options on the command line, made from a seed: one line that says why, or the right answer.

What is accepted is read again here, by Python's own csv module, and the objective worked out from that.
"""

import csv
import gzip
import io

import numpy as np
import pytest
from click.testing import CliRunner

import frankwolfe as fw
from frankwolfe.cli import main
from tests.tables import frame, svmlight, write

SEED = 0
ROWS = 10
RNG = np.random.default_rng(SEED)
X = RNG.normal(size=(ROWS, 3)).round(2)
WORDS = np.where(X[:, 0] + 0.3 * RNG.normal(size=ROWS) > 0.0, "yes", "no")
TEXT = frame(X, y=WORDS).write_csv()
LINES = svmlight(X, np.where(WORDS == "yes", 1.0, -1.0))
OPTIONS = ["--max-passes", "20", "--tol", "1e-2"]


@pytest.fixture(autouse=True)
def interpreted():
    limit = csv.field_size_limit(10**6)  # of the reader that checks, not of the one that is checked
    with fw.python_mode():
        yield
    csv.field_size_limit(limit)


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def complaint(outcome):
    """Return what is wrong with how a command ended, or None: it must succeed, or say why not in one line."""
    if outcome.exception is not None and not isinstance(outcome.exception, SystemExit):
        return f"{type(outcome.exception).__name__}: {outcome.exception}"
    if outcome.exit_code not in (0, 2, 3, 4):
        return f"exit code {outcome.exit_code}: {outcome.output}"
    if outcome.exit_code in (2, 4):
        last = outcome.stderr.strip().splitlines()[-1]
        if not last.startswith("Error: ") or len(last) < 20 or "Traceback" in outcome.output:
            return f"no reason: {outcome.stderr}"
    return None


# --- files --------------------------------------------------------------------------------------------------------


def cells(rng):
    """Return tables with one cell that is another, and what stands in it."""
    for odd in (
        *("", " ", "NA", "nan", "NaN", "inf", "-inf", "null", "None", "?", "1,5", "1.5.5", "1e999", "-1e999", "1e400"),
        *(
            "0x10",
            "1_000",
            "--1",
            "+1",
            " 1.5 ",
            "1e5",
            "\x00",
            "é",
            "\udcff",
            "1d",
            "1;2",
            "TRUE",
            "12:30",
            "2020-01-01",
        ),
        *(
            '"',
            '"1.5"',
            "'1.5'",
            "=1+1",
            "9" * 400,
            "a" * 200_000,
            "1\t2",
            "1/2",
            "5%",
            "$5",
            "١٢",
            "½",
            "1e-400",
            "-0",
        ),
    ):
        rows = TEXT.splitlines()
        at = 1 + int(rng.integers(ROWS))
        fields = rows[at].split(",")
        column = int(rng.integers(3)) if rng.random() < 0.75 else 3
        fields[column] = odd
        rows[at] = ",".join(fields)
        yield f"cell-{odd[:8]!r}-{column}", "\n".join(rows) + "\n"


def tables(rng):
    """Return tables whose shape is wrong."""
    rows = TEXT.splitlines()
    yield "empty", ""
    yield "newlines", "\n\n\n"
    yield "header", rows[0] + "\n"
    yield "one-row", "\n".join(rows[:2]) + "\n"
    yield "no-header", "\n".join(rows[1:]) + "\n"
    yield "doubled-header", "\n".join([rows[0], *rows]) + "\n"
    yield "same-names", "\n".join(["a,a,a,y", *rows[1:]]) + "\n"
    yield "blank-names", "\n".join([",,,y", *rows[1:]]) + "\n"
    yield "semicolons", TEXT.replace(",", ";")
    yield "tabs", TEXT.replace(",", "\t")
    yield "returns", TEXT.replace("\n", "\r\n")
    yield "old-returns", TEXT.replace("\n", "\r")
    yield "no-end", TEXT.rstrip("\n")
    yield "blank-row", "\n".join([*rows[:4], "", *rows[4:]]) + "\n"
    yield "blank-cells", "\n".join([*rows[:4], ",,,", *rows[4:]]) + "\n"
    yield "marked", "\ufeff" + TEXT
    yield "one-class", "\n".join([rows[0], *(row.rsplit(",", 1)[0] + ",yes" for row in rows[1:])]) + "\n"
    yield "constant", "\n".join([rows[0], *["1,1,1,yes", "1,1,1,no"] * 3]) + "\n"
    yield "comment", "# a table\n" + TEXT
    yield "binary", "".join(chr(code) for code in rng.integers(0, 256, 300))
    yield "html", "<html><body>404</body></html>\n"
    yield "json", '{"x0": [1, 2], "y": [0, 1]}\n'
    for k in range(6):
        at = 1 + int(rng.integers(ROWS))
        yield f"long-row-{k}", "\n".join([*rows[:at], rows[at] + ",1" * (k + 1), *rows[at + 1 :]]) + "\n"
        yield f"short-row-{k}", "\n".join([*rows[:at], ",".join(rows[at].split(",")[: k % 4]), *rows[at + 1 :]]) + "\n"


def damaged(content, rng, count):
    """Return bytes that are cut short, or have some others among them."""
    for k in range(count):
        bad = bytearray(content)
        if k % 3 == 0:
            del bad[int(rng.integers(1, len(bad))) :]
        else:
            for _ in range(1 + k % 4):
                bad[int(rng.integers(len(bad)))] = int(rng.integers(256))
        yield f"damaged-{k}", bytes(bad)


SVMLIGHT = [
    *("1 1:1 2:2", "1 2:1 1:2", "1 1:1 1:2", "1 0:1", "1 -1:1", "1 1:", "1 :1", "1 1", "1 1:a", "a 1:1", "1 1:nan"),
    *("1 1:inf", "nan 1:1", "1 99999999999:1", "1 2147483648:1", "1 1.5:1", "1 1:1,2", "1,2 1:1", "1 qid:3 1:1"),
    *(
        "1 1:1 # note",
        "# note",
        "",
        "1",
        "1 1:1e999",
        "1 1:0x1p3",
        "1 1:1_0",
        "1\t1:1",
        "+1 1:+1",
        "1 1: 1",
        "1 1 :1",
        "2 1:1",
    ),
]


def expected(text):
    """Return rows, targets and the classes of a table, read by Python alone; None where that cannot be."""
    text = text.removeprefix("\ufeff")
    split = max(",;\t", key=text.splitlines()[0].count)
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=split))
    head, *body = [row for row in rows if row]  # a line with nothing in it is no row
    target = head.index("y")
    if any(len(row) != len(head) for row in body) or len(set(head)) < len(head):
        return None
    numbers = np.array([[float(row[j]) for j in range(len(head)) if j != target] for row in body])
    return numbers, np.array([row[target] for row in body])


def wrong_fit(outcome, path, text):
    """Return what is wrong with a fit that was accepted: another number of rows, or another objective."""
    if outcome.exit_code not in (0, 3):
        return None
    model = fw.load_model(path)
    try:
        found = expected(text)
    except (ValueError, csv.Error) as error:
        return f"accepted, but Python cannot read it: {error}"
    if found is None:
        return "accepted, although rows differ in length or names are not told apart"
    numbers, words = found
    if model.run.rows != len(numbers):
        return f"accepted with {model.run.rows} rows, but there are {len(numbers)}"
    scores = numbers @ model.weights + model.intercept
    if isinstance(model.loss, fw.Squared):
        value = 0.5 * np.mean((scores - words.astype(float)) ** 2)
    elif isinstance(model.loss, fw.Logistic):
        if sorted(set(words)) != sorted(map(str, model.classes)):
            return f"accepted with the classes {model.classes}"
        value = np.mean(np.logaddexp(0.0, -np.where(words == str(model.classes[1]), 1.0, -1.0) * scores))
    else:
        at = np.searchsorted(np.array(model.classes, dtype=str), words)
        top = scores.max(axis=1)
        value = np.mean(np.log(np.exp(scores - top[:, None]).sum(axis=1)) + top - scores[np.arange(len(at)), at])
    return None if abs(value - model.run.fun) <= 1e-6 * (1.0 + value) else f"objective {model.run.fun}, but {value}"


def report(wrong):
    assert not wrong, "\n" + "\n".join(wrong)


@pytest.mark.parametrize("make", [cells, tables])
def test_tables(make, tmp_path):
    wrong = []
    for name, text in make(np.random.default_rng([SEED, 1])):
        data, model = tmp_path / "data.csv", tmp_path / "model.npz"
        data.write_bytes(text.encode("utf-8", "surrogateescape"))
        before = data.read_bytes()
        model.unlink(missing_ok=True)
        outcome = run("fit", data, "-t", "y", "--out", model, *OPTIONS)
        found = complaint(outcome) or wrong_fit(outcome, model, text)
        found = found or ("data was changed" if data.read_bytes() != before else None)
        if found:
            wrong.append(f"{name}: {found[:300]}")
    report(wrong)


def test_svmlight(tmp_path):
    wrong = []
    for number, line in enumerate(SVMLIGHT):
        lines = LINES.splitlines()
        lines[3] = line
        data = tmp_path / "data.svm"
        data.write_text("\n".join(lines) + "\n")
        outcome = run("fit", data, "--out", tmp_path / "model.npz", *OPTIONS)
        found = complaint(outcome)
        if not found and outcome.exit_code in (0, 3) and line.strip() and not line.startswith("#"):
            rows = fw.load_model(tmp_path / "model.npz").run.rows
            found = None if rows == ROWS else f"{rows} rows"
        if found:
            wrong.append(f"{number} {line!r}: {found[:300]}")
    report(wrong)


@pytest.mark.parametrize("kind", ["csv.gz", "parquet", "svm"])
def test_damaged_files(kind, tmp_path):
    good = write(tmp_path / f"good.{kind}", LINES if kind == "svm" else frame(X, y=WORDS)).read_bytes()
    wrong = []
    for name, content in damaged(good, np.random.default_rng([SEED, 2]), 30):
        data = tmp_path / f"data.{kind}"
        data.write_bytes(content)
        outcome = run("fit", data, *([] if kind == "svm" else ["-t", "y"]), "--out", tmp_path / "model.npz", *OPTIONS)
        found = complaint(outcome)
        if not found and outcome.exit_code in (0, 3) and kind == "csv.gz":
            found = wrong_fit(outcome, tmp_path / "model.npz", gzip.decompress(content).decode())
        if found:
            wrong.append(f"{name}: {found[:300]}")
    report(wrong)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Return a model and the data it was fitted to."""
    folder = tmp_path_factory.mktemp("saved")
    data = write(folder / "data.csv", frame(X, y=WORDS))
    with fw.python_mode():
        assert run("fit", data, "-t", "y", "--out", folder / "model.npz", *OPTIONS).exit_code == 0
    return folder / "model.npz", data


def test_damaged_models(saved, tmp_path):
    model, data = saved
    good = fw.load_model(model)
    wrong = []
    for name, content in damaged(model.read_bytes(), np.random.default_rng([SEED, 3]), 90):
        path = tmp_path / "model.npz"
        path.write_bytes(content)
        try:
            found = fw.load_model(path)
        except ValueError as error:
            if str(path) not in str(error):
                wrong.append(f"{name}: the file is not named: {error}")
        except Exception as error:
            wrong.append(f"{name}: {type(error).__name__}: {error}")
        else:
            if not np.array_equal(found.weights, good.weights) or not np.array_equal(found.classes, good.classes):
                wrong.append(f"{name}: another model")
        if found := complaint(run("predict", path, data)):
            wrong.append(f"predict, {name}: {found[:300]}")
    report(wrong)


def test_predicting_on_malformed_tables(saved, tmp_path):
    model, _ = saved
    wrong = []
    for name, text in (*cells(np.random.default_rng([SEED, 4])), *tables(np.random.default_rng([SEED, 5]))):
        data, out = tmp_path / "data.csv", tmp_path / "out.csv"
        data.write_bytes(text.encode("utf-8", "surrogateescape"))
        out.unlink(missing_ok=True)
        outcome = run("predict", model, data, "--out", out)
        found = complaint(outcome)
        if not found and outcome.exit_code == 0:
            rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
            told = len(out.read_text().splitlines())
            found = None if told == len(rows) else f"{told - 1} predictions of {len(rows) - 1} rows"
        if found:
            wrong.append(f"{name}: {found[:300]}")
    report(wrong)


# --- options ------------------------------------------------------------------------------------------------------

VALUES = ["", " ", "nan", "inf", "-inf", "-1", "0", "abc", "1e400", "1,5", "0x1", "9" * 400, "é", "--"]
NUMERIC = ["--radius", "--tol", "--max-passes", "--seed", "--holdout", "--folds", "--top"]
NAMES = ["--loss", "--set", "--method", "--target", "--weights", "--ignore", "--missing"]


@pytest.mark.parametrize("command", ["fit", "path", "info"])
def test_options(command, saved, tmp_path):
    _, data = saved
    wrong = []
    for option in NUMERIC + NAMES:
        for value in VALUES:
            to = [] if command == "info" else ["--out", tmp_path / ("model.npz" if command == "fit" else "path.csv")]
            few = ["--n-radii", "2"] if command == "path" else []
            given = [] if option == "--target" else ["-t", "y"]
            outcome = run(command, data, *given, *to, *few, f"{option}={value}")
            if found := complaint(outcome):
                wrong.append(f"{command} {option}={value[:10]!r}: {found[:300]}")
    report(wrong)


def test_arguments(saved, tmp_path):
    model, data = saved
    missing, folder = tmp_path / "none.csv", tmp_path
    empty = tmp_path / "empty.csv"
    empty.write_bytes(b"")
    wrong = []
    for arguments in (
        ["fit"],
        ["fit", missing, "-t", "y"],
        ["fit", folder, "-t", "y"],
        ["fit", data],
        ["fit", model, "-t", "y"],
        ["fit", data, data, "-t", "y"],
        ["fit", data, "-t", "y", "--nonsense"],
        ["fit", data, "-t", "y", "--out", folder],
        ["fit", data, "-t", "y", "--out", folder / "no" / "such" / "folder.npz"],
        ["predict"],
        ["predict", data, model],
        ["predict", model, missing],
        ["predict", missing, data],
        ["predict", folder, data],
        ["predict", model, folder],
        ["predict", model, model],
        ["predict", data, data],
        ["predict", empty, data],
        ["predict", model, empty],
        ["predict", model, data, "--out", folder],
        ["path", data],
        ["info"],
        ["info", empty, "-t", "y"],
        ["nonsense"],
    ):
        outcome = run(*arguments)
        if found := complaint(outcome) or (None if outcome.exit_code else "accepted"):
            wrong.append(f"{' '.join(map(str, arguments))[-60:]}: {found[:300]}")
    report(wrong)


def test_there_are_enough():
    rng = np.random.default_rng(SEED)
    made = len([*cells(rng), *tables(rng)]) * 2 + len(SVMLIGHT) + 3 * 30 + 90 + 3 * len(NUMERIC + NAMES) * len(VALUES)
    assert made >= 500
