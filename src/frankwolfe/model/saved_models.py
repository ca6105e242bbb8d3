"""Save and load models: a ``.npz`` file of arrays, one of which holds all other data as JSON. It contains no code.

Files are not trusted. The size of an array is compared with the model before the array is decompressed, so that a small
file cannot exhaust the memory. Any damage raises a ValueError that names the file.
"""

import os
from dataclasses import asdict, fields
from typing import Any

import numpy as np
from scipy import sparse

from frankwolfe.compile.part import Opaque, is_part, is_part_class
from frankwolfe.io.read import Features
from frankwolfe.losses import as_loss
from frankwolfe.model.fitted_model import FittedModel, RunRecord
from frankwolfe.model.preparation import Preparation
from frankwolfe.result import Status
from frankwolfe.store.files import Archive, is_flat, reading, write_flat

KIND, VERSION = "model", 4
"""Kind and version of the file."""


def write_model(model: FittedModel, path: str | os.PathLike) -> None:
    """Write a model, with a loss and a set of this package, to a file; see `FittedModel.save`."""
    arrays = {"weights": model.weights, "intercept": np.asarray(model.intercept)}
    if model.classes is not None:
        arrays["classes"] = model.classes
    ready = model.preparation
    arrays |= {name: getattr(ready, name) for name in MOMENTS if getattr(ready, name) is not None}
    values = {
        "loss": described(model.loss, arrays),
        "constraint": described(model.constraint, arrays),
        "run": asdict(model.run),
        "features": model.features._asdict(),
        "categories": [[place, list(words)] for place, words in sorted(ready.categories.items())],
        "target": model.target,
        "versions": model.versions,
        "rules": model.rules,
        "prices": model.prices,
    }
    write_flat(path, KIND, VERSION, values | arrays, packed=True)


def load_model(path: str | os.PathLike) -> FittedModel:
    """Read a model that `FittedModel.save` or ``frankwolfe fit`` wrote. No code in the file is run.

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
        If the file does not exist or cannot be opened.
    ValueError
        If it is damaged, or not a model.

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
    with reading(path, KIND, VERSION, packed=True) as archive:
        return _model_in(archive.about["values"], archive)


def is_model(path: str | os.PathLike) -> bool:
    """Return whether a file is a model, of any version."""
    return is_flat(path, KIND, packed=True)


def _model_in(values: dict[str, Any], archive: Archive) -> FittedModel:
    features = _features(values["features"])
    loss = as_loss(restored(values["loss"], archive))
    preparation = _preparation(values["categories"], archive, features.number)
    size = preparation.width(features.number) * max(1, loss.outputs)
    intercept = archive.array("intercept", size)
    return FittedModel(
        archive.array("weights", size),
        intercept if intercept.ndim else float(intercept),
        loss,
        restored(values["constraint"], archive),
        _run(values["run"]),
        archive.array("classes") if "classes" in archive else None,
        features,
        _texts("target", values["target"]),
        dict(values["versions"]),
        preparation,
        _texts("rules", values["rules"]),
        _prices(values["prices"]),
    )


def _features(stored: dict) -> Features:
    names, first, number = stored["names"], stored["first"], stored["number"]
    if not all(type(count) is int and count >= 0 for count in (first, number)):
        raise ValueError("its numbers of columns are not natural numbers")
    return Features(None if names is None else _texts("names", names), first, number)


def _texts(name: str, values: Any) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"its {name} is not a list of strings")
    return values


def _prices(stored: Any) -> dict[str, float]:
    if not isinstance(stored, dict) or not all(
        type(price) is float and np.isfinite(price) for price in stored.values()
    ):
        raise ValueError("its prices are not finite numbers")
    return stored


def _run(stored: dict) -> RunRecord:
    """Return the record of the run, after checking the type of every field."""
    values: dict[str, Any] = {}
    for part in fields(RunRecord):
        kind: Any = float | int if part.type is float else part.type
        value = stored[part.name]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise ValueError(f"the field {part.name} of its run is {value!r}")
        values[part.name] = float(value) if part.type is float else value
    found = RunRecord(**values)
    Status(found.status)
    if found.success and not 0.0 <= found.gap < np.inf:
        raise ValueError(f"it claims success with a gap of {found.gap:g}")
    return found


MOMENTS = ("fill", "center", "scale")
"""Arrays of a preparation, one number for each column of numbers."""


def _preparation(stored: list, archive: Archive, number: int) -> Preparation:
    """Return the preparation of ``number`` columns, given the stored categories of some."""
    categories: dict[int, tuple[str | None, ...]] = {}
    for place, words in stored:
        if type(place) is not int or not 0 <= place < number or place in categories:
            raise ValueError(f"it has categories for column {place!r}, which does not exist")
        if not words or not all(word is None or isinstance(word, str) for word in words) or len({*words}) < len(words):
            raise ValueError(f"the categories of column {place} are not different words")
        categories[place] = tuple(words)
    numbers = number - len(categories)
    found = {name: archive.array(name, numbers) for name in MOMENTS if name in archive}
    for name, values in found.items():
        if values.shape != (numbers,) or values.dtype != np.float64 or not np.isfinite(values).all():
            raise ValueError(f"its array {name} is not {numbers} finite numbers")
    if "scale" in found and not (found["scale"] > 0.0).all():
        raise ValueError("its scales are not all positive")
    return Preparation(categories, **found)


OMITTED = object()
"""Marks a field that is not stored because only a run needs it, such as a cache."""


def described(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Return a loss, a set, or a field of these as JSON data. Add arrays to ``arrays``, and refer to them by name.

    Parameters
    ----------
    value : part, array, sparse matrix, tuple or number
        The value. Only losses and sets of this package can be stored.
    arrays : dict
        Receives the arrays.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> described(fw.L1Ball(2.0), {})
    {'part': 'L1Ball', 'fields': {'radius': 2.0}}
    """
    if isinstance(value, Opaque):
        stored = isinstance(value.value, tuple) or sparse.issparse(value.value)
        return described(value.value, arrays) if stored else OMITTED
    if is_part(value):
        _part_class(type(value).__name__, type(value))  # raises for parts of others
        fields = {name: described(field, arrays) for name, field in value._asdict().items()}
        kept = {name: field for name, field in fields.items() if field is not OMITTED}
        return {"part": type(value).__name__, "fields": kept}
    if isinstance(value, tuple):
        return {"tuple": [described(item, arrays) for item in value]}
    if sparse.issparse(value):
        csr = sparse.csr_array(value)
        pieces = [_stored(piece, arrays) for piece in (csr.data, csr.indices, csr.indptr)]
        return {"sparse": pieces, "shape": [int(size) for size in csr.shape]}
    if isinstance(value, np.ndarray):
        return {"array": _stored(value, arrays)}
    return value.item() if isinstance(value, np.generic) else value


def _stored(array: np.ndarray, arrays: dict[str, np.ndarray]) -> str:
    name = f"part_{len(arrays)}"
    arrays[name] = np.asarray(array)
    return name


def _part_class(name: str, given: type | None = None) -> Any:
    """Return the loss or set of this package with that name, or raise ValueError."""
    import frankwolfe
    from frankwolfe import losses, sets

    named = {kind.__name__: kind for kind in losses.LOSSES.values()} | {
        kind: getattr(sets, kind) for kind in sets.__all__
    }
    known = named.get(name)
    if not is_part_class(known) or given not in (None, known):
        raise ValueError(f"{name} is not a loss or set of frankwolfe {frankwolfe.__version__}: it cannot be stored")
    return known


def restored(description: Any, arrays: Any) -> Any:
    """Return the value from the JSON data that `described` returned.

    Parameters
    ----------
    description : dict, list or number
        The JSON data.
    arrays : mapping
        The arrays, by name.
    """
    if not isinstance(description, dict):
        return description
    if "part" in description:
        fields = {name: restored(field, arrays) for name, field in description["fields"].items()}
        return _part_class(description["part"])(**fields)  # the constructor checks them
    if "tuple" in description:
        return tuple(restored(value, arrays) for value in description["tuple"])
    if "sparse" in description:
        pieces = tuple(arrays[name] for name in description["sparse"])
        matrix = sparse.csr_array(pieces, shape=tuple(description["shape"]))
        matrix.check_format(full_check=True)  # an index out of range would read foreign memory
        return matrix
    return arrays[description["array"]]
