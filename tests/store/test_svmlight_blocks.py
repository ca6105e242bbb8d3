"""Large svmlight files are read in blocks of lines, by threads."""

import numpy as np
import pytest
from scipy import sparse

import frankwolfe as fw
from frankwolfe.io import svmlight

SPARSE = sparse.csr_array(sparse.random_array((400, 30), density=0.1, rng=1).toarray().round(9))


def test_svmlight_in_blocks_of_lines(tmp_path, monkeypatch):
    """Compiled: many blocks, parsed by threads, are the rows of the file in their order."""
    from sklearn.datasets import dump_svmlight_file

    monkeypatch.setattr(svmlight, "SMALL", 1000)
    monkeypatch.setattr(svmlight, "BLOCK", 2000)
    y = np.random.default_rng(0).normal(size=400).round(9)
    dump_svmlight_file(SPARSE, y, str(tmp_path / "data.svm"))
    store = fw.write_rows(tmp_path / "rows", tmp_path / "data.svm", shard=900)
    assert abs(store.matrix() - SPARSE).max() == 0.0
    assert np.array_equal(store.y, y)
    lines = (tmp_path / "data.svm").read_text().splitlines()
    lines[300] = "1 5:x"
    (tmp_path / "bad.svm").write_text("\n".join(lines))
    with pytest.raises(ValueError, match=r"bad.svm, line 301"):
        fw.write_rows(tmp_path / "bad", tmp_path / "bad.svm")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.svm", "data.svm", "rows"]
