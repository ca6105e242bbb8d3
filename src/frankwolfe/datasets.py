"""Datasets of the paper's three problems.

Each dataset has three possible sources, and its field ``source`` names the one in use:

- ``folder``: a file in the folder named by the environment variable FRANKWOLFE_DATA;
- ``original``: scikit-learn's fetchers, which need a connection the first time;
- ``stand-in``: similar data, generated or bundled with scikit-learn, with a title of its own.

The folder comes first, if it is set; then the original; then the stand-in.
"""

import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.arguments.names import lookup
from frankwolfe.arguments.types import Loss, TableLike
from frankwolfe.problem import Problem
from frankwolfe.sets import L1Ball


def scaled(X: np.ndarray) -> np.ndarray:
    """Return the columns scaled to [-1, 1]."""
    low, high = X.min(axis=0), X.max(axis=0)
    return 2.0 * (X - low) / np.where(high > low, high - low, 1.0) - 1.0


def fetch_breast_cancer() -> tuple[np.ndarray, np.ndarray]:
    """Fetch the Wisconsin table: complete rows, scaled, without the sample id."""
    from sklearn.datasets import fetch_openml

    X, y = fetch_openml("breast-w", version=1, return_X_y=True, as_frame=False, parser="liac-arff", n_retries=1)
    X = np.asarray(X, dtype=np.float64)
    whole = np.isfinite(X).all(axis=1)
    return scaled(X[whole]), np.where(np.asarray(y)[whole] == "malignant", 1.0, -1.0)


def fetch_rcv1_training() -> tuple[Any, np.ndarray]:
    """Fetch RCV1's training documents: CCAT and ECAT against GCAT and MCAT."""
    from sklearn.datasets import fetch_rcv1

    bunch = fetch_rcv1(subset="train", n_retries=1)
    topics = {name: bunch.target[:, [column]].toarray().ravel() > 0 for column, name in enumerate(bunch.target_names)}
    positive, negative = topics["CCAT"] | topics["ECAT"], topics["GCAT"] | topics["MCAT"]
    one_sided = positive ^ negative  # documents on both sides, or on none, are dropped
    return sparse.csr_array(bunch.data[one_sided]), np.where(positive[one_sided], 1.0, -1.0)


def fetch_housing() -> tuple[np.ndarray, np.ndarray]:
    """Fetch California Housing, unscaled."""
    from sklearn.datasets import fetch_california_housing

    return fetch_california_housing(return_X_y=True, n_retries=1)


def bundled_breast_cancer() -> tuple[np.ndarray, np.ndarray]:
    """Return scikit-learn's breast cancer data, from another study."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return scaled(X), np.where(y == 0, 1.0, -1.0)


def text_like(n: int = 4000, d: int = 8000, words: int = 40, seed: int = 0) -> tuple[sparse.csr_array, np.ndarray]:
    """Generate TF-IDF-like rows: Zipf columns, unit norm, labels from a few informative words with some noise.

    Parameters
    ----------
    n, d : int
        Rows and columns.
    words : int
        Words drawn for each row. Repeated words add up, so a row has fewer non-zeros.
    seed : int
        Seed of the generator.
    """
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, d + 1) ** 0.9
    lengths = rng.poisson(words, size=n) + 5
    columns = rng.choice(d, size=lengths.sum(), p=share / share.sum())
    rows = np.repeat(np.arange(n), lengths)
    counts = sparse.csr_array((np.ones(len(columns)), (rows, columns)), shape=(n, d))
    counts.sum_duplicates()
    frequency = np.bincount(counts.indices, minlength=d)
    counts.data = (1.0 + np.log(counts.data)) * np.log(n / np.maximum(frequency, 1))[counts.indices]
    norms = np.sqrt(np.bincount(np.repeat(np.arange(n), np.diff(counts.indptr)), counts.data**2, minlength=n))
    counts.data /= np.repeat(np.maximum(norms, 1e-12), np.diff(counts.indptr))
    informative = np.zeros(d)
    informative[rng.choice(np.arange(20, d // 4), size=60, replace=False)] = rng.normal(scale=8.0, size=60)
    score = counts @ informative
    return counts, np.where(score - np.median(score) + 0.3 * rng.normal(size=n) > 0.0, 1.0, -1.0)


def housing_like(n: int = 4000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Generate a regression table of eight columns with California Housing's spread of scales (1 to 1,000 and more)."""
    rng = np.random.default_rng(seed)
    income = rng.gamma(4.0, 1.0, size=n)
    columns = [
        income,
        rng.uniform(1.0, 52.0, size=n),
        rng.lognormal(1.6, 0.3, size=n),
        rng.lognormal(0.05, 0.15, size=n),
        rng.lognormal(7.0, 0.7, size=n),
        rng.lognormal(1.05, 0.3, size=n),
        rng.uniform(32.0, 42.0, size=n),
        -rng.uniform(114.0, 125.0, size=n),
    ]
    X = np.column_stack(columns)
    y = np.clip(0.4 * income + 0.01 * X[:, 1] - 1e-4 * X[:, 4] + 0.4 * rng.normal(size=n), 0.15, 5.0)
    return X, y


FOLDER_VARIABLE = "FRANKWOLFE_DATA"


class Dataset(NamedTuple):
    """Data for one of the paper's problems.

    Attributes
    ----------
    key : str
        ``"breast-cancer"``, ``"rcv1"`` or ``"california-housing"``: the problem in the paper.
    title : str
        Name of the table.
    source : str
        ``"folder"``, ``"original"`` or ``"stand-in"``.
    origin : str
        Origin and preprocessing of the data, as text.
    X : array or CSR array
        The rows.
    y : array
        The targets.
    loss : str
        Loss of the paper's experiment.
    radius : float
        Radius of the l1 ball of the paper's experiment.
    paper_kappa : float or None
        kappa / n in the paper's Dataset 2; None for a stand-in.
    """

    key: str
    title: str
    source: str
    origin: str
    X: TableLike
    y: np.ndarray
    loss: str
    radius: float
    paper_kappa: float | None

    @property
    def label(self) -> str:
        """The title with the source, for tables and plots."""
        return self.title if self.source == "stand-in" else f"{self.title} ({self.source})"

    def problem(self, loss: Loss = None) -> Problem:
        """Return the paper's problem on this data, or the same with another loss."""
        return Problem(self.X, self.y, loss=self.loss if loss is None else loss, constraint=L1Ball(self.radius))


class _Recipe(NamedTuple):
    """The sources and the experiment of one dataset."""

    file: str
    title: str
    shape: tuple[int, int]
    loss: str
    radius: float
    paper_kappa: float
    fetch: Callable[[], tuple[Any, np.ndarray]]
    stand_in: Callable[[], tuple[Any, np.ndarray]]
    stand_in_title: str
    fetched_from: str
    made_from: str
    folder_title: str = ""  # if it differs from the title


def load(key: str, source: str = "auto") -> Dataset:
    """Load the data of one of the paper's problems.

    Parameters
    ----------
    key : str
        ``"breast-cancer"``, ``"rcv1"`` or ``"california-housing"``.
    source : str
        ``"auto"``, ``"folder"``, ``"original"`` or ``"stand-in"``.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from frankwolfe.datasets import load
    >>> load("california-housing", source="stand-in").title
    'Housing-like table (stand-in)'
    """
    recipe = lookup("dataset", key, RECIPES)
    lookup("source", source, dict.fromkeys(("auto", "folder", "original", "stand-in")))

    def table(title: str, found: str, origin: str, rows: tuple[Any, np.ndarray], kappa: float | None) -> Dataset:
        return Dataset(key, title, found, origin, *rows, recipe.loss, recipe.radius, kappa)

    folder = os.environ.get(FOLDER_VARIABLE)
    if source == "folder" or (source == "auto" and folder):
        if not folder:
            raise FileNotFoundError(f"set {FOLDER_VARIABLE} to the folder that holds {recipe.file}")
        rows = read_table(Path(folder) / recipe.file, recipe.shape, labels=recipe.loss == "logistic")
        return table(recipe.folder_title or recipe.title, "folder", f"file {recipe.file}", rows, recipe.paper_kappa)
    if source != "stand-in":
        try:
            origin = f"{recipe.fetched_from}, fetched through scikit-learn"
            return table(recipe.title, "original", origin, recipe.fetch(), recipe.paper_kappa)
        except (OSError, ImportError) as error:  # no connection (URLError is an OSError), or no scikit-learn
            if source == "original":
                raise OSError(f"{recipe.title} could not be fetched through scikit-learn: {error}") from error
    return table(f"{recipe.stand_in_title} (stand-in)", "stand-in", recipe.made_from, recipe.stand_in(), None)


def read_table(path: Path, shape: tuple[int, int], labels: bool) -> tuple[Any, np.ndarray]:
    """Read a table and check its shape and targets; every error names the file."""
    n, d = shape
    expected = f"expected {n} rows, {d} columns and {'labels -1 and +1' if labels else 'real targets'}"
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; {expected}")
    try:
        with path.open("rb") as stream, np.load(stream) as stored:  # closes a damaged file, too
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
        shape=(683, 10),
        loss="logistic",
        radius=5.0,
        paper_kappa=0.929,
        fetch=fetch_breast_cancer,
        stand_in=bundled_breast_cancer,
        stand_in_title="scikit-learn's breast cancer table",
        fetched_from="Wisconsin (original), complete rows, scaled to [-1, 1], without the sample id",
        made_from="the diagnostic table bundled with scikit-learn, scaled to [-1, 1]",
    ),
    "rcv1": _Recipe(
        file="rcv1_subset.npz",
        title="RCV1",
        shape=(20242, 47236),
        loss="logistic",
        radius=100.0,
        paper_kappa=0.021,
        fetch=fetch_rcv1_training,
        stand_in=text_like,
        stand_in_title="Text-like table",
        fetched_from="RCV1 training documents, CCAT/ECAT against GCAT/MCAT, those on both sides dropped",
        made_from="seeded TF-IDF-like rows with Zipf columns",
        folder_title="RCV1 subset",
    ),
    "california-housing": _Recipe(
        file="california_housing.npz",
        title="California Housing",
        shape=(20640, 8),
        loss="squared",
        radius=0.1,
        paper_kappa=0.040,
        fetch=fetch_housing,
        stand_in=housing_like,
        stand_in_title="Housing-like table",
        fetched_from="California Housing, scikit-learn's eight features, unscaled",
        made_from="a seeded regression table with the same spread of column scales",
    ),
}
