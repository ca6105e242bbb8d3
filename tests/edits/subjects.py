"""What is edited: stores, checkpoints and models, how their files are edited, and how they are used afterwards."""

import io
import json
import shutil
import tempfile
import zipfile
import zlib
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas
from scipy import sparse

import frankwolfe as fw
from frankwolfe.model.preparation import Preparation
from frankwolfe.store.format import _checksum
from tests.edits.edits import edited_array, edited_content, replaced_file

TOL = 1e-3
"""Tolerance of all runs."""


@cache
def folder():
    """A folder for the files that are copied and edited; it goes with the process."""
    made = tempfile.TemporaryDirectory(prefix="frankwolfe-edits-")
    return made, Path(made.name)


@cache
def table(kind):
    """Rows, targets and weights."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 12))
    if kind == "sparse":
        X = sparse.csr_array(X * (rng.random(X.shape) < 0.4))
    return X, X @ np.repeat([1.0, 0.0], [3, 9]) + 0.1 * rng.normal(size=60), rng.random(60)


# --- stores -----------------------------------------------------------------------------------------------------------


def _names(X):
    return pandas.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])


STORES = {
    "dense": lambda: (table("dense")[0], table("dense")[1], None),
    "sparse": lambda: (table("sparse")[0], np.sign(table("sparse")[1]), table("sparse")[2]),
    "outputs": lambda: (table("sparse")[0], np.stack([table("sparse")[1]] * 2, axis=1), None),
    "classes": lambda: (_names(table("dense")[0]), np.where(table("dense")[1] > 0.0, "yes", "no"), table("dense")[2]),
}

LOSSES = {"dense": "squared", "sparse": "logistic", "outputs": "multitask-squared", "classes": "logistic"}


@cache
def store(kind):
    """A store of several shards, and of two parts."""
    path = folder()[1] / f"store-{kind}"
    X, y, weights = STORES[kind]()
    for part in (slice(0, 40), slice(40, 60)):
        some = X.iloc[part] if hasattr(X, "iloc") else X[part]
        fw.write_rows(path, some, y[part], None if weights is None else weights[part], shard=1000, append=path.exists())
    return path


def edit_store(path, rng):
    """Edit the manifest, an array, or what is in the place of a file; the checksums fit."""
    manifest = path / "manifest.json"
    content = json.loads(manifest.read_text())
    content.pop("crc32")
    chance = rng.random()
    if chance < 0.1:
        file = path / rng.choice(sorted(file.name for file in path.iterdir()))
        return file.name, replaced_file(file, rng)
    if chance < 0.45:
        where, name = edited_content(content, rng)
        structural = True
    else:
        where, name, structural = _edit_shard(path, content, rng)
    text = json.dumps({**content, "crc32": _checksum(content)}) if _is_json(content) else json.dumps(content)
    manifest.write_text(text)
    return where, name if structural else f"{name} (a value)"


def _is_json(content):
    try:
        json.dumps(content, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _edit_shard(path, content, rng):
    """Edit the numbers of a file, and mend its checksum."""
    kinds = {"values": content["values"], "columns": "int32", "starts": "int32"}
    kinds |= {"targets": "float64", "weights": "float64", "counts": "int64", "squares": "float64"}
    part = content["parts"][rng.integers(len(content["parts"]))]
    shard = part["shards"][rng.integers(len(part["shards"]))]
    if rng.integers(2):
        holder, which = part["crc32"], str(rng.choice(sorted(part["crc32"])))
        file, at = path / f"part-{part['number']}-{which}.bin", which
    else:
        holder, at = shard["crc32"], int(rng.integers(len(shard["crc32"])))
        which = ("values", "columns", "starts")[at]
        file = path / f"{shard['number']:06}-{which}.bin"
    array = np.fromfile(file, np.dtype(kinds[which]))
    name, found = edited_array(array, rng, forms=rng.random() < 0.2)
    file.write_bytes(np.ascontiguousarray(found).tobytes())
    holder[at] = zlib.crc32(file.read_bytes())
    return f"{which} ({file.name})", name, which in ("columns", "starts", "counts")


def use_store(kind, path):
    """Open a store, solve a problem in memory and from disk, predict; return whether answers are true."""
    for memory in ("100MB", 5000):
        opened = fw.open_rows(path, memory=memory)
        problem = fw.Problem(opened, loss=LOSSES[kind], constraint=fw.L1Ball(2.0))
        for method, passes in (("sfw", 3), ("auto", 40)):
            fw.minimize(problem, method, tol=TOL, max_passes=passes, random_state=0)
    opened.matrix()
    _ = opened.head(3), opened.counts, opened.squares, opened.y, opened.sample_weight, opened.classes, repr(opened)
    if opened.feature_names is not None:
        assert len(opened.feature_names) == opened.shape[1]


# --- checkpoints ------------------------------------------------------------------------------------------------------


def _groups():
    return fw.GroupBall([[0, 1, 2], [3, 4], [5, 6, 7, 8], [9, 10, 11]], 2.0)


PROBLEMS = {
    "l1": lambda: fw.Problem(*table("dense")[:2], "squared", fw.L1Ball(2.0)),
    "sparse": lambda: fw.Problem(table("sparse")[0], np.sign(table("sparse")[1]), "logistic", fw.L1Ball(2.0)),
    "intercept": lambda: fw.Problem(*table("dense")[:2], "squared", fw.L1Ball(2.0), intercept=True),
    "groups": lambda: fw.Problem(*table("dense")[:2], "squared", _groups()),
    "l2": lambda: fw.Problem(*table("dense")[:2], "squared", fw.L2Ball(1.0)),
    "sides": lambda: fw.Problem(
        *table("dense")[:2], "squared", fw.L1Ball(2.0), side=fw.LinearBounds(np.ones((1, 12)), 0, 1)
    ),
    "matrices": lambda: fw.Problem(
        table("dense")[0], table("dense")[0][:, :3], "multitask-squared", fw.TraceBall(2.0, (12, 3))
    ),
    "store": lambda: fw.Problem(fw.open_rows(store("sparse"), memory=5000), loss="logistic", constraint=fw.L1Ball(2.0)),
}

RUNS = [
    ("sfw", "l1", 4.0),
    ("sfw", "sparse", 4.0),
    ("sfw", "intercept", 4.0),
    ("sfw", "groups", 4.0),
    ("sfw", "store", 4.0),
    ("auto", "sparse", 12.0),
    ("auto", "intercept", 8.0),
    ("auto", "l2", 8.0),
    ("auto", "groups", 8.0),
    ("auto", "store", 20.0),
    ("away", "l1", 6.0),
    ("pairwise", "groups", 6.0),
    ("stochastic-pairwise", "sparse", 4.0),
    ("saga", "l1", 4.0),
    ("svrf", "l1", 8.0),
    ("auto", "sides", 30.0),
    ("auto", "matrices", 4.0),
    ("sfw", "matrices", 4.0),
]


@cache
def problem(kind):
    """A problem, made once."""
    return PROBLEMS[kind]()


@cache
def optimum(kind):
    """The optimum of a problem, nearly."""
    found = fw.minimize(problem(kind), "auto", tol=1e-9, max_passes=3000)
    return found.fun - found.gap


@cache
def checkpoint(method, kind, passes):
    """The checkpoint of a run that was broken off, not certified."""
    path = folder()[1] / f"{method}-{kind}.ckpt"
    given = {"tol": 1e-14, "random_state": 0} | ({} if method in ("auto", "away", "pairwise") else {"batch_size": 5})
    fw.minimize(problem(kind), method, max_passes=passes, checkpoint=path, **given)
    return path


def edit_checkpoint(path, rng):
    """Edit an array or an entry of JSON; checksums are made anew."""
    if rng.random() < 0.03:
        return path.name, replaced_file(path, rng)
    arrays = _arrays_of(path)
    about = json.loads(str(arrays["about"]))
    where, name = _edit_archive(arrays, about, rng, about["values"], 0.5)
    _write_archive(path, arrays, about)
    return where, name


def _arrays_of(path):
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _edit_archive(arrays, about, rng, values, share):
    """Edit an entry of JSON or an array; small arrays of whole numbers are more often chosen than others."""
    if rng.random() < share:
        if rng.random() < 0.1:
            return edited_content(about, rng)
        return edited_content(values, rng)
    names = [name for name in arrays if name != "about"]
    whole = [name for name in names if arrays[name].dtype.kind in "iu"]
    if whole and rng.random() < 0.5:
        names = whole
    name = names[rng.integers(len(names))]
    chance = rng.random()
    if chance < 0.04:
        del arrays[name]
        about["arrays"].remove(name)
        return name, "left out"
    if chance < 0.06:
        arrays[f"{name}-2"] = arrays[name]
        about["arrays"].append(f"{name}-2")
        return name, "one more"
    told, arrays[name] = edited_array(arrays[name], rng)
    return name, told


def _write_archive(path, arrays, about):
    arrays["about"] = np.array(json.dumps(about))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, np.asanyarray(array), allow_pickle=False)
            archive.writestr(f"{name}.npy", content.getvalue())
    path.write_bytes(stream.getvalue())


def use_checkpoint(method, kind, passes, path):
    """Resume a run; whatever is called a success must be one."""
    here = problem(kind)
    found = fw.resume(path, here, tol=TOL, max_passes=40.0, max_seconds=20.0)
    _ = found.trace.fun, found.trace.gap
    if found.success:
        tolerance = TOL * here.zero_value
        x = np.asarray(found.x)
        assert here.constraint.contains(x), f"success at a point outside of the set: {x}"
        value = here.value(x)
        assert value - optimum(kind) <= tolerance * (1.0 + 1e-6), f"a false success: {value - optimum(kind):g}"


# --- models -----------------------------------------------------------------------------------------------------------


@cache
def model(kind):
    """A saved model: of numbers alone, or with all that it can hold."""
    path, here = folder()[1] / f"model-{kind}.npz", problem("intercept")
    result = fw.minimize(here, tol=TOL)
    if kind == "plain":
        fw.FittedModel.of(here, result).save(path)
        return path
    X, y, _ = table("dense")
    here = fw.Problem(X[:, :4], np.sign(y), "logistic", fw.L1Ball(2.0), intercept=True)
    ready = Preparation({1: ("blue", "red", None)}, np.zeros(1), np.ones(1), np.full(1, 2.0))
    given = {"classes": ["no", "yes"], "features": ["size", "colour"], "target": ["y"], "preparation": ready}
    fw.FittedModel.of(here, fw.minimize(here, tol=TOL), **given).save(path)
    return path


def edit_model(path, rng):
    """Edit an array or an entry of JSON of a model."""
    if rng.random() < 0.05:
        return path.name, replaced_file(path, rng)
    arrays = _arrays_of(path)
    about = json.loads(str(arrays["about"]))
    where, name = _edit_archive(arrays, about, rng, about["values"], 0.6)
    _write_archive(path, arrays, about)
    return where, name


def use_model(kind, path):
    """Load a model, show it, predict; what is wrong with the data is no matter of the model."""
    found = fw.load_model(path)
    _ = repr(found), found.weight_names, found.unscaled()
    if kind == "prepared" and list(found.preparation.categories) != [1]:
        return  # it is a model of other columns
    X = table("dense")[0] if kind == "plain" else pandas.DataFrame({"size": [0.5, -1.0], "colour": ["red", "blue"]})
    if found.features.number == X.shape[1] and found.features.names in (None, list(getattr(X, "columns", []))):
        found.predict(X)


# --- all --------------------------------------------------------------------------------------------------------------


def subjects():
    """All subjects by name: what makes the file, what edits it, what uses it."""
    found = {f"store, {kind}": (partial(store, kind), edit_store, partial(use_store, kind)) for kind in STORES}
    for run in RUNS:
        found[f"checkpoint, {run[0]} on {run[1]}"] = (
            partial(checkpoint, *run),
            edit_checkpoint,
            partial(use_checkpoint, *run),
        )
    for kind in ("plain", "prepared"):
        found[f"model, {kind}"] = (partial(model, kind), edit_model, partial(use_model, kind))
    return found


def copied(path, to):
    """Copy a file or a folder."""
    return shutil.copytree(path, to) if path.is_dir() else shutil.copy(path, to)
