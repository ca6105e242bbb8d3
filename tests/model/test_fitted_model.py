"""Saved models: everything comes back, nothing is half written, and nobody's code is run."""

import errno
import json
import os
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import frankwolfe as fw
from frankwolfe.model.saved_models import described
from frankwolfe.store import files as atomic
from tests import cases

SIZE = 9


def plain(part):
    """A part as data that can be compared: sparse matrices and arrays by their numbers."""
    arrays = {}
    description = described(part, arrays)
    return description, {name: array.tolist() for name, array in arrays.items()}


def model_of(problem, **options):
    return fw.FittedModel.of(problem, fw.minimize(problem, "fw", tol=0, max_passes=3), **options)


def came_back(model, folder):
    model.save(folder / "model.npz")
    again = fw.load_model(folder / "model.npz")
    assert plain(again.loss) == plain(model.loss)
    assert plain(again.constraint) == plain(model.constraint)
    np.testing.assert_array_equal(again.weights, model.weights)
    np.testing.assert_array_equal(again.intercept, model.intercept)
    assert again.run == model.run
    assert (again.features, again.target, again.versions) == (model.features, model.target, model.versions)
    return again


@pytest.mark.parametrize("loss", cases.LOSSES, ids=cases.name_of)
def test_every_loss_comes_back(loss, tmp_path, interpreted):
    X, y = cases.table(loss, d=SIZE)
    problem = fw.Problem(X, y, loss, fw.L1Ball(1.5), intercept=True)
    model = model_of(problem, features=[f"x{j}" for j in range(SIZE)], target=["y"], seed=3)
    again = came_back(model, tmp_path)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.decision(sparse.csr_array(X)), model.decision(sparse.csr_array(X)))


def test_a_loaded_model_is_shown_in_a_line(tmp_path, interpreted):
    X, y = cases.table(fw.Logistic(), n=30, d=400)
    model = model_of(fw.Problem(X, y, "logistic", fw.L1Ball(1.5)), features=[f"x{j}" for j in range(400)])
    model.save(tmp_path / "model.npz")
    shown = repr(fw.load_model(tmp_path / "model.npz"))
    assert shown.startswith("<FittedModel: Logistic over L1Ball(radius=1.5), 3 of 400 weights")
    assert "\n" not in shown
    assert len(shown) < 200


@pytest.mark.parametrize("loss", cases.VECTOR_LOSSES, ids=cases.name_of)
def test_every_loss_of_several_outputs_comes_back(loss, tmp_path, interpreted):
    X, y = cases.vector_table(loss, d=SIZE)
    model = model_of(fw.Problem(X, y, loss, fw.TraceBall(1.5), intercept=True))
    again = came_back(model, tmp_path)
    assert again.weights.shape == (SIZE, 3)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.fixture(scope="module")
def any_result():
    with fw.python_mode():
        return fw.minimize(cases.problem(), "fw", tol=0, max_passes=1)


SETS = {str(made): made for made in cases.SETS} | {name: make(SIZE) for name, make in cases.SIZED_SETS.items()}


@pytest.mark.parametrize("name", SETS)
def test_every_set_comes_back(name, any_result, tmp_path):
    X, y = cases.table(fw.Squared(), d=SIZE)
    problem = fw.Problem(X, y, "squared", SETS[name])
    start = problem.default_start()
    result = replace(any_result, x=start)  # what a set is like does not depend on how it was met
    again = came_back(fw.FittedModel.of(problem, result), tmp_path)
    assert again.constraint.contains(start)
    assert not again.run.success


def test_predictions_are_those_of_the_weights(tmp_path):
    X, y = cases.table(fw.Logistic())
    problem = fw.Problem(X, y, "logistic", fw.L1Ball(3.0), intercept=True)
    result = fw.minimize(problem)
    model = fw.FittedModel.of(problem, result, classes=["no", "yes"])
    scores = X @ result.x + result.intercept
    np.testing.assert_allclose(model.decision(X), scores)
    np.testing.assert_array_equal(model.predict(X), np.where(scores > 0.0, "yes", "no"))
    assert came_back(model, tmp_path).predict(X).tolist() == model.predict(X).tolist()
    assert model.run.success
    assert model.run.gap == result.gap


def test_wrong_arguments_are_named():
    X, y = cases.table(fw.Squared(), d=2)
    problem = fw.Problem(X, y, "squared", fw.L1Ball(1.0))
    result = fw.minimize(problem)
    with pytest.raises(ValueError, match="features has 1 names, but there are 2 columns"):
        fw.FittedModel.of(problem, result, features=["a"])
    with pytest.raises(ValueError, match="Squared has no classes"):
        fw.FittedModel.of(problem, result, classes=[0, 1])
    with pytest.raises(ValueError, match="X must have 2 columns"):
        fw.FittedModel.of(problem, result).predict(np.ones((3, 5)))
    labelled = fw.Problem(X, np.sign(y), "logistic", fw.L1Ball(1.0))
    with pytest.raises(ValueError, match="classes must be 2 numbers or strings"):
        fw.FittedModel.of(labelled, fw.minimize(labelled), classes=["a", "b", "c"])


def test_parts_of_ones_own_are_refused(tmp_path):
    from tests.own_parts import LogCosh

    X, y = cases.table(fw.Squared())
    model = model_of(fw.Problem(X, y, LogCosh(), fw.L1Ball(1.0)))
    with pytest.raises(ValueError, match="LogCosh is not a loss or set of frankwolfe"):
        model.save(tmp_path / "model.npz")
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_model_is_told(tmp_path):
    path = tmp_path / "model.npz"
    with pytest.raises(FileNotFoundError, match="does not exist"):
        fw.load_model(path)
    path.write_bytes(b"no zip file at all")
    with pytest.raises(ValueError, match="cannot be read as a model"):
        fw.load_model(path)
    np.savez(path, X=np.ones(3))
    with pytest.raises(ValueError, match="cannot be read as a model"):
        fw.load_model(path)
    np.savez(path, about=np.array([{"pickled": "object"}], dtype=object))
    with pytest.raises(ValueError, match="cannot be read as a model"):
        fw.load_model(path)
    np.savez(path, about=np.array(json.dumps({"kind": "model", "version": 99, "frankwolfe": "9.9", "values": {}})))
    with pytest.raises(ValueError, match=r"version 99, written by frankwolfe 9\.9"):
        fw.load_model(path)


@pytest.fixture
def small_model():
    return model_of(cases.problem())


def test_a_write_that_fails_leaves_what_was_there(small_model, tmp_path, monkeypatch):
    path = tmp_path / "model.npz"
    path.write_bytes(b"an earlier model")

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(atomic.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        small_model.save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.npz"]
    assert path.read_bytes() == b"an earlier model"


def test_devices_and_folders_are_not_replaced(small_model, tmp_path):
    with pytest.raises(OSError, match="is not a file that could be replaced"):
        small_model.save("/dev/null")
    with pytest.raises(OSError, match="is not a file that could be replaced"):
        small_model.save(tmp_path)


def test_a_full_disk_leaves_no_half(tmp_path):
    mount = shutil.which("mount")
    disk = tmp_path / "disk"
    disk.mkdir()
    size = ["-t", "tmpfs", "-o", "size=16k", "tmpfs", str(disk)]
    if mount is None or subprocess.run([mount, *size], capture_output=True, check=False).returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        y = np.arange(5.0)
        rng = np.random.default_rng(0)
        problem = fw.Problem(rng.normal(size=(5, 20_000)), y, "squared", fw.L2Ball(1.0))
        with pytest.raises(OSError, match="No space left"):
            model_of(problem).save(disk / "model.npz")
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)
