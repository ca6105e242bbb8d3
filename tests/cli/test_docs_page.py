"""The commands that the documentation shows are run as they are shown, and so is the Python that follows them."""

import re
import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import frankwolfe as fw
from frankwolfe.cli import main
from tests.tables import frame, labels, numbers, write

ROOT = Path(__file__).parents[2]


def clinic(X, outcome):
    """Return a table with columns on different scales, words and gaps."""
    ward = np.array(["north", "south", "west"])[np.arange(len(X)) % 3]
    return frame(X * [1.0, 1e3, 1e-2, 1.0], ward=ward, outcome=outcome).with_columns(
        pl.when(pl.int_range(pl.len()) % 11 == 0).then(None).otherwise(pl.col("x1")).alias("x1")
    )


def sales(signal):
    """Return a table whose columns have the names that rules speak of."""
    names = ["price", "tv_a", "tv_b", "share_a", "share_b", "age_20", "age_40", "age_60"]
    X = np.random.default_rng(1).normal(size=(len(signal), len(names)))
    region = np.array(["north", "south"])[np.arange(len(signal)) % 2]
    columns = {name: X[:, j] for j, name in enumerate(names)}
    return pl.DataFrame(columns | {"region": region, "sales": signal + X @ np.linspace(-1.0, 1.0, len(names))})


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder with the files that the documentation speaks of."""
    X, signal = numbers()
    write(tmp_path / "patients.csv", frame(X, outcome=labels(signal)))
    write(tmp_path / "new.csv", frame(X[:7]))
    write(tmp_path / "clinic.csv", clinic(X, labels(signal)))
    write(tmp_path / "sales.csv", sales(signal))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", ["README.md", "docs/cli.md"])
def test_commands_run_as_shown(page, desk):
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.S | re.M)
    lines = [line for language, block in blocks if not language for line in block.splitlines()]
    commands = [line for line in lines if line.startswith("frankwolfe ")]
    assert len(commands) >= 3
    for line in commands:
        outcome = CliRunner().invoke(main, shlex.split(line)[1:])
        assert outcome.exit_code == 0, (line, outcome.output)
        out = re.search(r"--(?:out|csv) (\S+)", line)
        assert out is None or (desk / out[1]).exists()
    quoted = [block for language, block in blocks if language == "python" and "load_model" in block]
    names = {"fw": fw}
    exec(quoted[0], names)
    assert names["model"].classes.tolist() == ["benign", "malignant"]
    assert names["model"].run.success
    assert np.isin(names["model"].predict(np.ones((2, 4))), names["model"].classes).all()
