"""What is computed from all rows at once, in blocks."""

import numpy as np
import pytest
from scipy import sparse

from frankwolfe.data import rows


@pytest.mark.parametrize("block", [1, 7, 100, 2**18])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_column_norms_do_not_depend_on_blocks(block, dtype, monkeypatch):
    rng = np.random.default_rng(0)
    X = sparse.random_array((60, 5), density=0.4, format="csr", rng=rng, dtype=dtype)
    X.data[: X.indptr[10]] *= 100
    weights = rng.random(60)
    monkeypatch.setattr(rows, "BLOCK", block)
    expected = np.sqrt(weights @ X.toarray().astype(np.float64) ** 2)
    np.testing.assert_allclose(rows.as_rows(X).column_norms(weights, 5), expected, rtol=1e-12)
    nothing = rows.as_rows(sparse.csr_array((3, 2), dtype=dtype))
    assert nothing.column_norms(np.ones(3), 2).tolist() == [0.0, 0.0]
