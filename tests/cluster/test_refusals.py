"""What cannot be used is refused with the number of its chunk, or with what to do."""

import numpy as np
import pytest
from scipy import sparse

import frankwolfe as fw
from tests.cluster.tables import ROWS, chunked, table

da = pytest.importorskip("dask.array", reason="dask is not installed")

X, Y = table()


def posed(X, y, loss="logistic", **given):
    return fw.Problem(X, y, loss, fw.L1Ball(1.5), **given)


def spoilt(array, row, value):
    found = array.copy()
    found[row] = value
    return chunked(found)


def uneven():
    """Rows whose third chunk has a column less than it should."""
    return chunked(X).map_blocks(lambda block: block[:, 1:] if len(block) == 15 else block, dtype=float)


def mixed():
    return chunked(X).map_blocks(lambda block: sparse.csr_array(block) if len(block) == 15 else block, dtype=float)


REFUSED = {
    "not a number": (lambda: posed(spoilt(X, 60, np.nan), chunked(Y)), ValueError, "chunk 2: .*X"),
    "labels": (lambda: posed(chunked(X), spoilt(Y, 30, 7.0)), ValueError, "chunk 1: .*y"),
    "weights": (
        lambda: posed(chunked(X), chunked(Y), sample_weight=spoilt(np.ones(ROWS), 5, -1.0)),
        ValueError,
        "chunk 0: .*weight",
    ),
    "columns": (lambda: posed(uneven(), chunked(Y)), ValueError, "chunk 3: X has 5 columns"),
    "length": (lambda: posed(chunked(X), chunked(Y[:-1])), ValueError, "y has 89 entries"),
    "length in memory": (lambda: posed(chunked(X), Y[:-1]), ValueError, "y has 89 entries"),
    "layouts": (lambda: posed(mixed(), chunked(Y)), TypeError, "dense chunks and sparse ones"),
    "no targets": (lambda: posed(chunked(X), None), TypeError, "y is missing"),
    "one dimension": (lambda: posed(chunked(Y), chunked(Y)), ValueError, "two dimensions"),
    "all empty": (lambda: posed(da.zeros((0, 3)), da.zeros(0)), ValueError, "X is empty"),
    "a kink": (lambda: posed(chunked(X), chunked(Y), "hinge"), ValueError, "kink"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(client, name):
    make, kind, words = REFUSED[name]
    with pytest.raises(kind, match=words):
        make()


def test_a_chunk_that_cannot_be_loaded(client):
    def fails(block, block_info=None):
        if block_info and block_info[0]["chunk-location"][0] == 2:
            raise OSError("no such disk")
        return block

    with pytest.raises(
        fw.exceptions.ClusterError, match="chunk 2 of the data could not be loaded on a worker: OSError: no such"
    ):
        posed(chunked(X).map_blocks(fails, dtype=float), chunked(Y))


def test_a_problem_cannot_be_pickled(client):
    import pickle

    with pytest.raises(TypeError, match="make it anew from its dask collections"):
        pickle.dumps(posed(chunked(X), chunked(Y)))
