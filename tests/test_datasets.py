"""Where the paper's tables come from, how they are prepared, and what a damaged file is answered with."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from frankwolfe import datasets
from frankwolfe.datasets import FOLDER_VARIABLE, RECIPES, load

SHAPES = {"breast-cancer": (569, 30), "rcv1": (4000, 8000), "california-housing": (4000, 8)}


@pytest.fixture
def offline(monkeypatch):
    """No folder, and fetchers that find no connection."""
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)

    def fetch():
        raise OSError("no connection")

    monkeypatch.setattr(datasets, "RECIPES", {key: recipe._replace(fetch=fetch) for key, recipe in RECIPES.items()})


@pytest.mark.parametrize("key", RECIPES)
def test_stand_in_where_there_is_nothing_else_and_it_says_so(key, offline):
    table = load(key)
    assert table.source == "stand-in"
    assert "stand-in" in table.title
    assert table.title not in (RECIPES[key].title, RECIPES[key].folder_title)
    assert table.paper_kappa is None
    assert table.X.shape == SHAPES[key]
    again = load(key)
    assert abs(table.X - again.X).sum() == 0.0
    assert np.array_equal(table.y, again.y)
    assert table.problem().n == SHAPES[key][0]


def test_stand_ins_look_like_what_they_stand_in_for(offline):
    X, y = load("rcv1").X, load("rcv1").y
    np.testing.assert_allclose(np.sqrt((X.multiply(X)).sum(axis=1)), 1.0)
    assert X.nnz / X.shape[0] < 60
    assert 0.3 < (y > 0).mean() < 0.7
    housing = load("california-housing").X
    scales = np.abs(housing).mean(axis=0)
    assert scales.max() / scales.min() > 300  # California Housing: about 1,300
    cancer = load("breast-cancer").X
    assert (cancer.min(), cancer.max()) == (-1.0, 1.0)


def test_insisting_on_the_original_without_a_connection_fails_with_a_reason(offline):
    with pytest.raises(OSError, match="RCV1 could not be fetched through scikit-learn: no connection"):
        load("rcv1", source="original")


def test_insisting_on_a_folder_that_is_not_named(offline):
    with pytest.raises(FileNotFoundError, match=r"FRANKWOLFE_DATA.*rcv1_subset\.npz"):
        load("rcv1", source="folder")


def test_unknown_names_are_answered_with_the_nearest():
    with pytest.raises(ValueError, match="did you mean 'breast-cancer'"):
        load("breast_cancer")
    with pytest.raises(ValueError, match="unknown source 'standin'; did you mean 'stand-in'"):
        load("rcv1", source="standin")


def test_a_named_folder_comes_before_the_network(monkeypatch, tmp_path):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    recipe = RECIPES["california-housing"]
    np.savez(tmp_path / recipe.file, X=np.ones(recipe.shape), y=np.ones(recipe.shape[0]))
    table = load("california-housing")
    assert (table.source, table.title, table.paper_kappa) == ("folder", "California Housing", 0.040)


def _write(path, recipe, damage):
    n, d = recipe.shape
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    if damage == "wrong shape":
        np.savez(path, X=np.ones((n, d + 1)), y=y)
    elif damage == "wrong labels":
        np.savez(path, X=np.ones((n, d)), y=y + 1.0)
    elif damage == "no targets":
        np.savez(path, X=np.ones((n, d)))
    else:
        np.savez_compressed(path, X=np.random.default_rng(0).normal(size=(n, d)), y=y)
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2] if damage == "truncated" else b"not a table at all")


@pytest.mark.parametrize("damage", ["wrong shape", "wrong labels", "no targets", "truncated", "not a table", "absent"])
def test_a_damaged_file_is_named_with_what_was_expected(damage, monkeypatch, tmp_path):
    recipe = RECIPES["breast-cancer"]
    path = tmp_path / recipe.file
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    if damage != "absent":
        _write(path, recipe, damage)
    with pytest.raises((ValueError, FileNotFoundError)) as caught:
        load("breast-cancer")
    assert str(path) in str(caught.value)
    assert "expected 683 rows, 10 columns and labels -1 and +1" in str(caught.value)


def test_a_sparse_file_with_a_column_out_of_range(monkeypatch, tmp_path):
    recipe = RECIPES["rcv1"]
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    n, d = recipe.shape
    indptr = np.minimum(np.arange(n + 1), 1)
    arrays = {"data": [1.0], "indices": [d], "indptr": indptr, "shape": (n, d), "y": np.ones(n)}
    np.savez(tmp_path / recipe.file, **arrays)
    with pytest.raises(ValueError, match=r"rcv1_subset\.npz cannot be read as a table"):
        load("rcv1")


# --- the originals' preparation, on small tables in the fetchers' own forms -----------------------------------


def test_breast_cancer_as_fetched(monkeypatch):
    X = np.array([[1.0, 5.0], [3.0, np.nan], [2.0, 9.0], [3.0, 7.0]])
    y = np.array(["benign", "malignant", "malignant", "benign"], dtype=object)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda *args, **options: (X, y))
    found, labels = RECIPES["breast-cancer"].fetch()
    np.testing.assert_allclose(found, [[-1.0, -1.0], [0.0, 1.0], [1.0, 0.0]])
    np.testing.assert_array_equal(labels, [-1.0, 1.0, -1.0])


def test_rcv1_as_fetched_drops_documents_on_both_sides_and_on_none(monkeypatch):
    names = np.array(["CCAT", "C15", "ECAT", "GCAT", "MCAT"])
    target = sparse.csr_matrix([[1, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 1], [0, 1, 0, 0, 0], [0, 0, 1, 0, 0]])
    bunch = SimpleNamespace(data=sparse.csr_matrix(np.eye(5)), target=target, target_names=names)
    monkeypatch.setattr("sklearn.datasets.fetch_rcv1", lambda **options: bunch)
    X, y = RECIPES["rcv1"].fetch()
    np.testing.assert_array_equal(X.toarray(), np.eye(5)[[0, 2, 4]])
    np.testing.assert_array_equal(y, [1.0, -1.0, 1.0])


def test_originals_are_called_by_their_names(monkeypatch):
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    monkeypatch.setattr(
        "sklearn.datasets.fetch_california_housing", lambda **options: (np.ones((3, 8)), np.array([1.0, 2.0, 3.0]))
    )
    table = load("california-housing")
    assert (table.source, table.title) == ("original", "California Housing")
    assert "fetched through scikit-learn" in table.origin
