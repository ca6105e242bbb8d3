"""Models in files: a ``.npz`` file of arrays, with the rest as JSON in one of them. Nothing in it is code.

A file may come from anywhere. Before an array is unpacked its size is checked against what the model says of itself, so
that a small file cannot ask for all memory; and whatever is wrong with a file is one ValueError that names it.
"""

import json
import os
import zipfile
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from frankwolfe import __version__
from frankwolfe.io.read import Features
from frankwolfe.losses import as_loss
from frankwolfe.model.fitted_model import FittedModel
from frankwolfe.model.preparation import Preparation
from frankwolfe.model.run_record import Run
from frankwolfe.model.serialize import described, restored
from frankwolfe.result import Status
from frankwolfe.storage.archive import Archive, reason, require_size
from frankwolfe.storage.files import open_regular, replacing

FORMAT = 2
"""Version of the layout. The first had no list of its arrays, names of columns in an array, and no preparation."""


def write_model(model: FittedModel, path: str | os.PathLike) -> None:
    """Write a model, with a loss and a set of this package, to a file; see `FittedModel.save`."""
    arrays: dict[str, np.ndarray] = {}
    about = {
        "format": FORMAT,
        "loss": described(model.loss, arrays),
        "constraint": described(model.constraint, arrays),
        "run": asdict(model.run),
        "features": model.features._asdict(),
        "preparation": _described_preparation(model.preparation, arrays),
        "target": model.target,
        "versions": model.versions,
    }
    arrays |= {"weights": model.weights, "intercept": np.asarray(model.intercept)}
    if model.classes is not None:
        arrays["classes"] = model.classes
    about["arrays"] = sorted(arrays)
    arrays["about"] = np.array(json.dumps(about))
    require_size(sum(array.nbytes for array in arrays.values()))
    with replacing(path) as stream:
        np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]


def load_model(path: str | os.PathLike) -> FittedModel:
    """Read a model that `FittedModel.save`, or ``frankwolfe fit``, has written. No code in the file is run.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    FittedModel

    Raises
    ------
    OSError
        If there is no such file, or it cannot be opened.
    ValueError
        If it is damaged, or no model.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> import tempfile
    >>> problem = fw.Problem([[1.0, 0.0], [0.0, 1.0]], [1, -1], constraint=fw.L1Ball(3.0))
    >>> model = fw.FittedModel.of(problem, fw.minimize(problem), classes=["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model.npz")
    ...     again = fw.load_model(f"{folder}/model.npz")
    >>> again.constraint, again.predict([[1.0, 0.0]]).tolist()
    (L1Ball(radius=3.0), ['yes'])
    """
    if not isinstance(path, str | os.PathLike):  # Python would take a number for an open file
        raise TypeError(f"path must be the name of a file, got {type(path).__name__}")
    if not os.path.lexists(path):
        raise FileNotFoundError(f"{path} does not exist")
    with open_regular(path) as stream:
        try:
            return _model_in(Archive(stream))
        except Exception as error:  # damage can make any reader raise anything, and all of it means the same
            raise ValueError(f"{path} cannot be read as a model: {reason(error)}") from None


def is_model(path: str | os.PathLike) -> bool:
    """Whether a file looks like a model, damaged or not."""
    try:
        with zipfile.ZipFile(path) as archive:
            return "about.npy" in archive.namelist()
    except Exception:  # as in `load_model`
        return False


def _model_in(archive: Archive) -> FittedModel:
    about = json.loads(str(archive.array("about")))
    if not isinstance(about, dict) or not isinstance(about["format"], int):
        raise ValueError("it does not say what it is")
    if about["format"] > FORMAT:
        made = about["versions"]["frankwolfe"]
        raise ValueError(f"it was written by frankwolfe {made}, a newer version than this one ({__version__})")
    if "arrays" in about:
        archive.require(about["arrays"])
    features = _features(about["features"], archive)
    loss = as_loss(restored(about["loss"], archive))
    preparation = _restored_preparation(about.get("preparation"), archive, features.number)
    size = preparation.width(features.number) * max(1, loss.outputs)
    intercept = archive.array("intercept", size)
    return FittedModel(
        archive.array("weights", size),
        intercept if intercept.ndim else float(intercept),
        loss,
        restored(about["constraint"], archive),
        _run(about["run"]),
        archive.array("classes") if "classes" in archive else None,
        features,
        _texts("target", about["target"]),
        dict(about["versions"]),
        preparation,
    )


def _features(stored: dict, archive: Archive) -> Features:
    names = archive.array("feature_names").tolist() if "feature_names" in archive else stored.get("names")
    first, number = stored["first"], stored["number"]
    if not all(type(count) is int and count >= 0 for count in (first, number)):
        raise ValueError("its numbers of columns are none")
    return Features(None if names is None else _texts("names", names), first, number)


def _texts(name: str, values: Any) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"its {name} are no texts")
    return values


def _run(stored: dict) -> Run:
    """Return how a model was found; every field must be what it is said to be."""
    kinds: dict[Any, tuple] = {
        float: (float, int),
        str: (str,),
        bool: (bool,),
        int: (int,),
        int | None: (int, type(None)),
    }
    for part in fields(Run):
        if type(stored[part.name]) not in kinds[part.type]:
            raise ValueError(f"the field {part.name} of its run is {stored[part.name]!r}")
    found = Run(**stored)
    Status(found.status)
    if found.success and not 0.0 <= found.gap < np.inf:
        raise ValueError(f"it claims success with a gap of {found.gap:g}")
    return found


def _described_preparation(preparation: Preparation, arrays: dict[str, np.ndarray]) -> dict:
    """Return a preparation as what JSON can hold; its arrays are put into ``arrays``."""
    for name in ("fill", "center", "scale"):
        values = getattr(preparation, name)
        if values is not None:
            arrays[name] = values
    return {"categories": [[place, list(words)] for place, words in sorted(preparation.categories.items())]}


def _restored_preparation(stored: dict | None, archive: Archive, number: int) -> Preparation:
    """Return what `_described_preparation` was given."""
    if stored is None:
        return Preparation()
    categories: dict[int, tuple[str | None, ...]] = {}
    for place, words in stored["categories"]:
        if type(place) is not int or not 0 <= place < number or place in categories:
            raise ValueError(f"it has categories for column {place!r}, which is none")
        if not words or not all(word is None or isinstance(word, str) for word in words) or len({*words}) < len(words):
            raise ValueError(f"the categories of column {place} are no different words")
        categories[place] = tuple(words)
    numbers = number - len(categories)
    found = {name: archive.array(name, numbers) for name in ("fill", "center", "scale") if name in archive}
    for name, values in found.items():
        if values.shape != (numbers,) or values.dtype != np.float64 or not np.isfinite(values).all():
            raise ValueError(f"its array {name} is not {numbers} finite numbers")
    if "scale" in found and not (found["scale"] > 0.0).all():
        raise ValueError("its scales are not all positive")
    return Preparation(categories, **found)
