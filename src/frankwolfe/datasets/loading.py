"""How the tables of the paper's problems are found, read and checked."""

import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.arguments.lookup import lookup
from frankwolfe.datasets.originals import fetch_breast_cancer, fetch_housing, fetch_rcv1_training
from frankwolfe.datasets.stand_ins import bundled_breast_cancer, housing_like, text_like
from frankwolfe.problem import Problem
from frankwolfe.sets import L1Ball

FOLDER_VARIABLE = "FRANKWOLFE_DATA"


class Table(NamedTuple):
    """Data for one of the paper's problems.

    Attributes
    ----------
    key : str
        ``"breast-cancer"``, ``"rcv1"`` or ``"california-housing"``: the problem it serves.
    title : str
        What it must be called.
    source : str
        ``"folder"``, ``"original"`` or ``"stand-in"``.
    origin : str
        One sentence on where it comes from and how it was prepared.
    X : array or CSR array
        The rows.
    y : array
        The targets.
    loss : str
        Loss of the paper's experiment.
    radius : float
        Radius of the l1 ball of the paper's experiment.
    paper_kappa : float or None
        kappa / n in the paper's Table 2; None for a stand-in.
    """

    key: str
    title: str
    source: str
    origin: str
    X: Any
    y: np.ndarray
    loss: str
    radius: float
    paper_kappa: float | None

    @property
    def label(self) -> str:
        """The title with the source: what tables and plots show."""
        return self.title if self.source == "stand-in" else f"{self.title} ({self.source})"

    def problem(self, loss: Any = None) -> Problem:
        """Return the paper's problem on this data, or the same with another loss."""
        return Problem(self.X, self.y, loss=self.loss if loss is None else loss, constraint=L1Ball(self.radius))


class _Recipe(NamedTuple):
    """How to get one table."""

    file: str
    title: str
    folder_title: str
    shape: tuple[int, int]
    labels: bool
    loss: str
    radius: float
    paper_kappa: float
    fetch: Callable[[], tuple[Any, np.ndarray]]
    stand_in: Callable[[], tuple[Any, np.ndarray]]
    stand_in_title: str
    stand_in_radius: float
    fetched_from: str
    made_from: str


def load(key: str, source: str = "auto") -> Table:
    """Load the data of one of the paper's problems.

    Parameters
    ----------
    key : str
        ``"breast-cancer"``, ``"rcv1"`` or ``"california-housing"``.
    source : str
        ``"auto"``, or one of ``"folder"``, ``"original"``, ``"stand-in"`` to insist on it.

    Returns
    -------
    Table

    Examples
    --------
    >>> from frankwolfe.datasets import load
    >>> load("california-housing", source="stand-in").title
    'Housing-like table (stand-in)'
    """
    recipe = lookup("dataset", key, RECIPES)
    lookup("source", source, dict.fromkeys(("auto", "folder", "original", "stand-in")))
    if source == "folder" or (source == "auto" and os.environ.get(FOLDER_VARIABLE)):
        return _from_folder(key, recipe)
    if source != "stand-in":
        try:
            X, y = recipe.fetch()
            origin = f"{recipe.fetched_from}, fetched through scikit-learn"
            return _table(key, recipe, recipe.title, "original", origin, X, y, recipe.paper_kappa)
        except (OSError, ImportError) as error:  # no connection (URLError is an OSError), or no scikit-learn
            if source == "original":
                raise OSError(f"{recipe.title} could not be fetched through scikit-learn: {error}") from error
    X, y = recipe.stand_in()
    table = _table(key, recipe, f"{recipe.stand_in_title} (stand-in)", "stand-in", recipe.made_from, X, y, None)
    return table._replace(radius=recipe.stand_in_radius)


def _table(key, recipe, title, source, origin, X, y, paper_kappa) -> Table:
    return Table(key, title, source, origin, X, y, recipe.loss, recipe.radius, paper_kappa)


def _from_folder(key: str, recipe: _Recipe) -> Table:
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder:
        raise FileNotFoundError(f"set {FOLDER_VARIABLE} to the folder that holds {recipe.file}")
    path = Path(folder) / recipe.file
    X, y = read_table(path, recipe.shape, recipe.labels)
    return _table(key, recipe, recipe.folder_title, "folder", f"file {recipe.file}", X, y, recipe.paper_kappa)


def read_table(path: Path, shape: tuple[int, int], labels: bool) -> tuple[Any, np.ndarray]:
    """Read a table and hold it to the shape and the kind of targets that are expected; every error names the file."""
    n, d = shape
    expected = f"expected {n} rows, {d} columns and {'labels -1 and +1' if labels else 'real targets'}"
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; {expected}")
    try:
        with path.open("rb") as stream, np.load(stream) as stored:  # a broken file must not stay open
            parts = {name: stored[name] for name in stored.files}
        X = _assemble(parts)
        y = np.asarray(parts["y"], dtype=np.float64)
    except (OSError, EOFError, KeyError, ValueError, TypeError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} cannot be read as a table ({error}); {expected}") from error
    if X.shape != (n, d) or y.shape != (n,):
        raise ValueError(f"{path} holds X of shape {X.shape} and y of shape {y.shape}; {expected}")
    if labels and not np.isin(y, (-1.0, 1.0)).all():
        raise ValueError(f"{path} holds labels {np.unique(y)[:5]}; {expected}")
    return X, y


def _assemble(parts: dict[str, np.ndarray]) -> Any:
    """Return the matrix stored as ``X``, or as the three arrays of a CSR matrix."""
    if "X" in parts:
        return parts["X"]
    X = sparse.csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(parts["shape"]))
    X.check_format()
    return X


RECIPES: dict[str, _Recipe] = {
    "breast-cancer": _Recipe(
        file="breast_cancer.npz",
        title="Breast Cancer",
        folder_title="Breast Cancer",
        shape=(683, 10),
        labels=True,
        loss="logistic",
        radius=5.0,
        paper_kappa=0.929,
        fetch=fetch_breast_cancer,
        stand_in=bundled_breast_cancer,
        stand_in_title="scikit-learn's breast cancer table",
        stand_in_radius=5.0,
        fetched_from="Wisconsin (original), complete rows, scaled to [-1, 1], without the sample id",
        made_from="the diagnostic table bundled with scikit-learn, scaled to [-1, 1]",
    ),
    "rcv1": _Recipe(
        file="rcv1_subset.npz",
        title="RCV1",
        folder_title="RCV1 subset",
        shape=(20242, 47236),
        labels=True,
        loss="logistic",
        radius=100.0,
        paper_kappa=0.021,
        fetch=fetch_rcv1_training,
        stand_in=text_like,
        stand_in_title="Text-like table",
        stand_in_radius=100.0,
        fetched_from="RCV1 training documents, CCAT/ECAT against GCAT/MCAT, those on both sides dropped",
        made_from="seeded TF-IDF-like rows with Zipf columns",
    ),
    "california-housing": _Recipe(
        file="california_housing.npz",
        title="California Housing",
        folder_title="California Housing",
        shape=(20640, 8),
        labels=False,
        loss="squared",
        radius=0.1,
        paper_kappa=0.040,
        fetch=fetch_housing,
        stand_in=housing_like,
        stand_in_title="Housing-like table",
        stand_in_radius=0.1,
        fetched_from="California Housing, scikit-learn's eight features, unscaled",
        made_from="a seeded regression table with the same spread of column scales",
    ),
}
