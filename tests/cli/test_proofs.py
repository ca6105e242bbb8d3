"""`fit --certificate`, `verify` and `ranges`: what they say is what Python says, on columns as the file has them."""

import csv

import numpy as np
import polars as pl
import pytest

import frankwolfe as fw
from tests.cli.test_commands import call, complaint
from tests.tables import frame, labels, numbers, write

X, SIGNAL = numbers()


@pytest.fixture
def table(tmp_path):
    """Return a file with columns of unlike units, words, gaps, weights and two classes."""
    weights = np.random.default_rng(0).random(len(X)) + 0.1
    found = frame(X * [1.0, 1e3, 1e-2, 1.0], ward=np.array(["north", "south"])[np.arange(len(X)) % 2])
    gap = pl.when(pl.int_range(pl.len()) % 11 == 0).then(None).otherwise(pl.col("x1")).alias("x1")
    write(tmp_path / "table.csv", found.with_columns(gap, y=labels(SIGNAL), w=weights, shift=0.1 * SIGNAL))
    return tmp_path / "table.csv"


PREPARED = ("--standardize", "--missing", "mean", "--categorical", "ward")
BESIDE = ("--weights", "w", "--offset", "shift", "--class-weight", "balanced")


def test_a_certificate_of_prepared_columns_is_verified_with_the_model_or_the_options_of_the_fit(table, tmp_path):
    proof, model = tmp_path / "proof", tmp_path / "model.npz"
    call("fit", table, "--target", "y", *PREPARED, *BESIDE, "--radius", 3, "--out", model, "--certificate", proof)
    outcome = call("verify", proof, table, "--model", model, *BESIDE)
    assert "Proven: no model that is allowed is better by more than" in outcome.stdout
    call("verify", proof, table, "--target", "y", *PREPARED, *BESIDE)
    unweighted = call("verify", proof, table, "--target", "y", *PREPARED, *BESIDE[2:], "--ignore", "w", code=3)
    assert "Not proven" in unweighted.stdout
    other = pl.read_csv(table).with_columns(x0=pl.when(pl.int_range(pl.len()) == 5).then(9.0).otherwise(pl.col("x0")))
    other = other.with_columns(more=1.0)  # the model does not read it
    other.write_csv(tmp_path / "other.csv")
    assert "not the data" in call("verify", proof, tmp_path / "other.csv", "--model", model, *BESIDE, code=3).stdout
    assert "--standardize" in complaint("verify", proof, table, "--model", model, "--standardize")
    assert "is not a certificate" in complaint("verify", table, table, "--model", model)


def test_a_certificate_is_refused_before_the_fit_if_none_can_be_written(table, tmp_path):
    model, proof = tmp_path / "model.npz", tmp_path / "proof"
    asked = ("fit", table, "--target", "x0", *PREPARED, "--ignore", "y", "--loss", "cauchy", "--out", model)
    assert "verify knows" in complaint(*asked, "--certificate", proof)
    assert not model.exists()


def test_ranges_are_on_the_scale_of_the_file(table, tmp_path):
    pytest.importorskip("matplotlib")
    clean = pl.read_csv(table).with_columns(y=SIGNAL).drop_nulls().drop("ward", "w", "shift")
    write(tmp_path / "clean.csv", clean)
    data = ("--target", "y", "--standardize", "--radius", 2, "--tol", 1e-9)
    shown = call(
        *("ranges", tmp_path / "clean.csv", *data, "--of", "x[12]", "--within", 0.05),
        *("--csv", tmp_path / "ranges.csv", "--picture", tmp_path / "ranges.png"),
    )
    assert "x1" in shown.stdout
    assert (tmp_path / "ranges.png").read_bytes().startswith(b"\x89PNG")
    with (tmp_path / "ranges.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [row["weight"] for row in rows] == ["x1", "x2"]
    columns = clean.drop("y").to_numpy()
    scale = columns.std(axis=0)
    problem = fw.Problem(columns / scale, clean["y"].to_numpy(), "squared", fw.L1Ball(2.0), intercept=True)
    expected = fw.ranges(problem, fw.minimize(problem, tol=1e-9), of=[1, 2], within=0.05)
    for end in ("low_proven", "high_proven"):
        np.testing.assert_allclose([float(row[end]) for row in rows], getattr(expected, end) / scale[1:3], rtol=2e-3)


def test_ranges_name_columns_as_the_file_does(table, tmp_path, interpreted):
    data = pl.read_csv(table).drop_nulls().drop("w", "shift").rename({"x0": "age (years)"})
    write(tmp_path / "named.csv", data)
    options = ("--target", "y", "--categorical", "ward", "--of", "age (years)", "--of", "ward=*")
    call("ranges", tmp_path / "named.csv", *options, "--csv", tmp_path / "ranges.csv")
    with (tmp_path / "ranges.csv").open() as stream:
        assert [row["weight"] for row in csv.DictReader(stream)] == ["age (years)", "ward=north", "ward=south"]
