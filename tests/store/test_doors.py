"""Row stores through the estimators and the command line: the same models as from the data itself."""

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import frankwolfe as fw
from frankwolfe.cli import main
from tests.tables import frame, labels, numbers, write

X, SIGNAL = numbers()
WORDS = labels(SIGNAL)


@pytest.fixture(autouse=True)
def interpreted():
    with fw.python_mode():
        yield


@pytest.mark.parametrize("memory", ["1GB", X.nbytes // 2])
def test_estimators(tmp_path, memory):
    classes = fw.write_rows(tmp_path / "classes", frame(X), WORDS, shard=X.nbytes // 12, memory=memory)
    model, same = fw.FrankWolfeClassifier(radius=2.0, tol=1e-8), fw.FrankWolfeClassifier(radius=2.0, tol=1e-8)
    model.fit(classes)
    same.fit(frame(X), WORDS)
    np.testing.assert_allclose(model.coef_, same.coef_, atol=1e-4)
    assert model.classes_.tolist() == same.classes_.tolist()
    assert model.feature_names_in_.tolist() == same.feature_names_in_.tolist()
    np.testing.assert_allclose(model.predict_proba(classes), model.predict_proba(frame(X)), atol=1e-12)
    assert (model.predict(classes) == model.predict(frame(X))).all()
    weights = np.arange(1.0, 1.0 + len(X))
    values = fw.write_rows(tmp_path / "values", X, SIGNAL, weights, shard=X.nbytes // 12, memory=memory)
    model, same = fw.FrankWolfeRegressor(tol=1e-8).fit(values), fw.FrankWolfeRegressor(tol=1e-8).fit(X, SIGNAL, weights)
    np.testing.assert_allclose(model.coef_, same.coef_, atol=1e-3)
    with pytest.raises(TypeError, match="fits to parts of the rows"):
        fw.FrankWolfeRegressorCV().fit(values)
    with pytest.raises(ValueError, match="holds no targets"):
        fw.FrankWolfeRegressor().fit(fw.write_rows(tmp_path / "none", X))


def run(*arguments):
    outcome = CliRunner().invoke(main, [str(argument) for argument in arguments])
    return outcome.exit_code, outcome.output


def test_commands(tmp_path):
    data, store = tmp_path / "data.csv", tmp_path / "rows"
    write(data, frame(X, outcome=WORDS))
    code, told = run("convert", data, "--target", "outcome", "--out", store, "--shard", X.nbytes // 12)
    assert code == 0, told
    assert f"{len(X):,} rows, 4 columns" in told
    assert "2 classes" in told
    memory = X.nbytes // 2
    code, told = run("fit", store, "--radius", 2, "--tol", 1e-8, "--out", tmp_path / "a.npz", "--memory", memory)
    assert code == 0, told
    assert "reads" in told
    assert run("fit", data, "--target", "outcome", "--radius", 2, "--tol", 1e-8, "--out", tmp_path / "b.npz")[0] == 0
    one, other = (fw.load_model(tmp_path / name) for name in ("a.npz", "b.npz"))
    np.testing.assert_allclose(one.weights, other.weights, atol=1e-4)
    assert (one.classes == other.classes).all()
    assert one.features == other.features
    found = {}
    for name, where in (("store", store), ("file", data)):
        code, told = run("predict", tmp_path / "a.npz", where, "--out", tmp_path / f"{name}.csv", "--probabilities")
        assert code == 0, told
        found[name] = pl.read_csv(tmp_path / f"{name}.csv")
        assert name == "file" or "accuracy" in told
    assert found["store"]["prediction"].to_list() == found["file"]["prediction"].to_list()
    assert run("fit", store, "--target", "outcome")[0] == 2
    assert run("fit", store, "--holdout", 0.2, "--out", tmp_path / "c.npz")[0] == 2
    code, told = run("convert", data, "--target", "outcome", "--out", store)
    assert (code, "exists already" in told) == (2, True)
