"""What is computed from all rows at once."""

import numpy as np
import pytest
from scipy import sparse

import frankwolfe as fw
import frankwolfe.rows as blocks
from frankwolfe.rows import as_rows


@pytest.mark.parametrize("block", [1, 7, 100, 2**18])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", [sparse.csr_array, np.asarray])
def test_column_norms_do_not_depend_on_blocks(block, dtype, layout, monkeypatch):
    rng = np.random.default_rng(0)
    values = np.round(rng.normal(size=(60, 5)) * (rng.random((60, 5)) < 0.4), 3).astype(dtype)
    values[:10] *= 100
    weights = rng.random(60)
    monkeypatch.setattr(blocks, "SMALL", 0)
    monkeypatch.setattr(blocks, "LEAST", block)
    monkeypatch.setattr(blocks, "PER_COLUMN", 0)
    problem = fw.Problem(layout(values), np.ones(60), "squared", fw.L1Ball(1.0), sample_weight=weights)
    expected = np.sqrt(weights @ values.astype(np.float64) ** 2 / weights.sum())
    np.testing.assert_allclose(problem.objective.column_norms(), expected, rtol=1e-12)


def test_columns_without_entries_have_no_length():
    nothing = as_rows(sparse.csr_array((3, 2)))
    assert nothing.column_norms(np.ones(3), 2).tolist() == [0.0, 0.0]
