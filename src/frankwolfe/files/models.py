"""Models in files: a ``.npz`` file of arrays, with the rest as JSON in one of them. Nothing in it is code."""

import json
import os
import zipfile
from dataclasses import asdict

import numpy as np

from frankwolfe import __version__
from frankwolfe.files.atomic import replacing
from frankwolfe.files.parts import described, restored
from frankwolfe.files.read import Features
from frankwolfe.fitted_model import FittedModel, Run

FORMAT = 1
"""Version of the layout."""


def write_model(model: FittedModel, path: str | os.PathLike) -> None:
    """Write a model to a file: there whole or not at all.

    Parameters
    ----------
    model : FittedModel
        With a loss and a set of this package.
    path : str or Path
        Replaced if it exists.
    """
    arrays: dict[str, np.ndarray] = {}
    about = {
        "format": FORMAT,
        "loss": described(model.loss, arrays),
        "constraint": described(model.constraint, arrays),
        "run": asdict(model.run),
        "features": {"first": model.features.first, "number": model.features.number},
        "target": model.target,
        "versions": model.versions,
    }
    arrays |= {"weights": model.weights, "intercept": np.asarray(model.intercept)}
    if model.classes is not None:
        arrays["classes"] = model.classes
    if model.features.names is not None:
        arrays["feature_names"] = np.array(model.features.names, dtype=str)
    arrays["about"] = np.array(json.dumps(about))
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
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        about = json.loads(str(arrays["about"]))
        if about["format"] > FORMAT:
            made = about["versions"]["frankwolfe"]
            raise ValueError(f"it was written by frankwolfe {made}, a newer version than this one ({__version__})")
        return _restored_model(about, arrays)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} does not exist") from None
    except (KeyError, ValueError, TypeError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} cannot be read as a model: {error}") from None


def _restored_model(about: dict, arrays: dict[str, np.ndarray]) -> FittedModel:
    names = arrays["feature_names"].tolist() if "feature_names" in arrays else None
    intercept = arrays["intercept"]
    return FittedModel(
        arrays["weights"],
        intercept if intercept.ndim else float(intercept),
        restored(about["loss"], arrays),
        restored(about["constraint"], arrays),
        Run(**about["run"]),
        arrays.get("classes"),
        Features(names, **about["features"]),
        about["target"],
        about["versions"],
    )
