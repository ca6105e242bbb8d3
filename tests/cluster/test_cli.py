"""``frankwolfe fit`` on a cluster: the models of files in memory, and mistakes in plain words."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import frankwolfe as fw
from frankwolfe.cli import main
from frankwolfe.cli.options import Options

pl = pytest.importorskip("polars")
pytest.importorskip("dask.dataframe")

from frankwolfe.cli import remote_rows  # noqa: E402 - it needs dask

pytestmark = pytest.mark.usefixtures("interpreted")  # here; the workers compile what they need

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
SIGNAL = X @ [1.0, -1.0, 0.0] + 0.3 * RNG.logistic(size=200)
TABLE = pl.DataFrame(
    {
        "age": X[:, 0],
        "dose": X[:, 1],
        "size": X[:, 2],
        "outcome": np.where(SIGNAL > 0.0, "yes", "no"),
        "stage": np.digitize(SIGNAL, [-1.0, 1.0]),
        "signal": SIGNAL,
        "twice": 2.0 * SIGNAL,
        "weight": RNG.uniform(0.5, 2.0, 200),
    }
)


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder with one table: whole, in four Parquet files, and as a row store."""
    monkeypatch.chdir(tmp_path)
    TABLE.write_parquet("whole.parquet")
    TABLE.write_csv("table.csv")
    (tmp_path / "parts").mkdir()
    for k in range(4):
        TABLE[50 * k : 50 * (k + 1)].write_parquet(f"parts/{k}.parquet")
    return tmp_path


def told(*words):
    outcome = CliRunner().invoke(main, list(map(str, words)))
    return outcome.exit_code, outcome.output


def fit(*words):
    code, output = told("fit", *words, "--tol", "1e-7", "--radius", "2")
    assert code == 0, output
    return output


def same(one, other):
    one, other = fw.load_model(one), fw.load_model(other)
    assert one.weights == pytest.approx(other.weights, abs=1e-4)
    assert one.intercept == pytest.approx(other.intercept, abs=1e-4)
    assert one.features == other.features
    assert one.target == other.target
    assert (one.classes is None) == (other.classes is None)
    assert one.classes is None or one.classes.tolist() == other.classes.tolist()
    assert one.run.success
    assert one.run.rows == other.run.rows == 200


def without(*kept):
    ignored = {"outcome", "stage", "signal", "twice", "weight"} - set(kept)
    return [word for name in sorted(ignored) for word in ("--ignore", name)]


@pytest.mark.parametrize(
    ("target", "more"),
    [
        (["outcome"], ["--weights", "weight"]),
        (["signal", "twice"], []),
    ],
    ids=["words", "rows"],
)
def test_a_folder_of_parquet_files_gives_the_model_of_one(client, desk, target, more):
    columns = [word for name in target for word in ("--target", name)]
    columns += [*without(*target, *(["weight"] if more[:1] == ["--weights"] else [])), *more]
    here = fit("whole.parquet", *columns, "--out", "here.npz")
    there = fit("parts", *columns, "--out", "there.npz", "--cluster", client.scheduler.address)
    same("there.npz", "here.npz")
    assert [line for line in here.splitlines() if "target" in line or "loss" in line] == [
        line for line in there.splitlines() if "target" in line or "loss" in line
    ]
    assert "2 workers with rows" in there


@pytest.mark.parametrize(
    ("loss", "kind", "classes", "words"),
    [
        ("multinomial", "multinomial", [0, 1, 2], "3 classes: 0 ("),
        (None, "squared", None, "numbers from 0 to 2"),
    ],
)
def test_numbers_are_numbers_unless_the_loss_takes_classes(client, desk, loss, kind, classes, words):
    ignored = [name for name in TABLE.columns[3:] if name != "stage"]
    spec = remote_rows.specify_remotely(Path("parts"), Options(("stage",), loss=loss, ignore=tuple(ignored)), None)
    assert spec.loss_name == kind
    assert (None if spec.classes is None else spec.classes.tolist()) == classes
    assert spec.target_summary.startswith(words)
    assert np.array_equal(spec.y.compute(), TABLE["stage"].to_numpy())
    assert spec.data.features.names == ["age", "dose", "size"]


def test_a_row_store_and_a_checkpoint(client, desk):
    columns = ["--target", "outcome", *without("outcome")]
    assert told("convert", "table.csv", *columns, "--out", "rows", "--shard", "2000")[0] == 0
    fit("rows", "--out", "here.npz")
    words = ["--out", "there.npz", "--cluster", client.scheduler.address, "--checkpoint", "run.ckpt"]
    fit("rows", *words)
    same("there.npz", "here.npz")
    fit("rows", *words, "--resume")
    same("there.npz", "here.npz")


def test_workers_of_its_own_read_any_file(desk):
    columns = ["--target", "outcome", *without("outcome")]
    fit("table.csv", *columns, "--out", "here.npz")
    output = fit("table.csv", *columns, "--out", "there.npz", "--workers", "1")
    same("there.npz", "here.npz")
    assert "1 worker with rows" in output


# --- mistakes ---------------------------------------------------------------------------------------------------------

SOME = ["--target", "outcome", *without("outcome")]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["parts", *SOME, "--workers", "0"], "0 is not in the range"),
        (["parts", *SOME, "--workers", "2", "--cluster", "tcp://127.0.0.1:1"], "exclude each other"),
        (["parts", *SOME, "--workers", "2", "--method", "svrf"], "they are on a cluster"),
        (["parts", *SOME, "--workers", "2", "--loss", "hinge"], "has a kink"),
        (["parts", *SOME, "--workers", "2", "--standardize"], "--standardize needs the rows in this process"),
        (["parts", *SOME, "--workers", "2", "--folds", "3"], "--folds needs the rows in this process"),
    ],
)
def test_what_cannot_work_is_said_before_a_cluster_is_asked(desk, words, message, monkeypatch):
    monkeypatch.setattr(remote_rows, "client_of", lambda where: pytest.fail("a cluster was asked"))
    code, output = told("fit", *words)
    assert (code, message in output) == (2, True), output
    assert not (desk / "model.npz").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["parts", "--target", "outcom", *without("outcome")], "no column 'outcom'; did you mean 'outcome'?"),
        (["parts", "--target", "signal"], "column outcome not numeric"),
        (["parts"], "--target is missing"),
        (["nowhere", *SOME], "nowhere does not exist"),
        (["empty", *SOME], "neither a row store nor a folder"),
        (["table.csv", *SOME], "frankwolfe convert table.csv --out FOLDER"),
        (["parts", *SOME, "--loss", "squared"], "takes numbers, but the target in the data is 'no'"),
        (["gaps", *SOME], "holds 1 NaN"),
    ],
)
def test_mistakes_in_the_data(client, desk, words, message):
    (desk / "empty").mkdir()
    (desk / "gaps").mkdir()
    gap = pl.when(pl.int_range(pl.len()) == 7).then(None).otherwise(pl.col("age"))
    TABLE.with_columns(age=gap).write_parquet("gaps/0.parquet")
    code, output = told("fit", *words, "--cluster", client.scheduler.address)
    assert (code, message in " ".join(output.split())) == (2, True), output


@pytest.mark.parametrize(
    ("address", "message"),
    [("tcp://127.0.0.1:1", "no scheduler answers at tcp://127.0.0.1:1 within 0.5 seconds"), ("nonsense", "nonsense")],
)
def test_an_address_that_does_not_answer(desk, address, message, monkeypatch):
    monkeypatch.setattr(remote_rows, "SECONDS", 0.5)
    code, output = told("fit", "parts", *SOME, "--cluster", address)
    assert (code, message in output) == (2, True), output


def test_a_scheduler_without_workers(desk, monkeypatch):
    from dask.distributed import LocalCluster

    monkeypatch.setattr(remote_rows, "SECONDS", 0.5)
    with LocalCluster(n_workers=0, processes=False, dashboard_address=":0", silence_logs=50) as cluster:
        code, output = told("fit", "parts", *SOME, "--cluster", cluster.scheduler_address)
    assert (code, "has no workers: start some: dask worker" in output) == (2, True), output
