"""Weighted squares of tall matrices."""

import numpy as np
import pytest

from frankwolfe.linalg.matrices import weighted_gram


@pytest.mark.parametrize("least", [0.0, -1.0])
def test_it_is_the_sum_over_the_rows_whatever_the_signs_of_the_weights(least):
    rng = np.random.default_rng(0)
    rows, weights = rng.normal(size=(40, 5)), rng.uniform(least, 1.0, 40)
    expected = sum(weight * np.outer(row, row) for row, weight in zip(rows, weights, strict=True))
    np.testing.assert_allclose(weighted_gram(rows, weights), expected, rtol=1e-12, atol=1e-12)


def test_many_rows_are_multiplied_some_at_a_time(monkeypatch):
    monkeypatch.setattr("frankwolfe.linalg.matrices.ROOM", 30)
    rng = np.random.default_rng(1)
    rows, weights = rng.normal(size=(40, 5)), rng.random(40)
    np.testing.assert_allclose(weighted_gram(rows, weights), rows.T * weights @ rows, rtol=1e-12)
    assert weighted_gram(rows[:0], weights[:0]).tolist() == np.zeros((5, 5)).tolist()
