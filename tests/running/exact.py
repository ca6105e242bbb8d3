"""What a result says of its point, against the problem."""

import numpy as np
import pytest

import frankwolfe as fw


def check_exact(result, problem, rounding=0.0):
    """What a result says of its point must be what the problem says of it."""
    assert problem.constraint.contains(result.x)
    assert result.fun == pytest.approx(problem.value(result.x), rel=0.0, abs=rounding)
    exact = problem.gap(result.x)
    assert np.isnan(result.fw_gap) or result.fw_gap == pytest.approx(exact, rel=0.0, abs=rounding)
    if problem.loss.convex:  # a lower bound may prove more than the Frank-Wolfe gap, and never less
        assert not result.gap > result.fw_gap
        assert result.lower_bound == result.fun - result.gap
        assert result.lower_bound <= fw.minimize(problem, tol=1e-10).fun + 1e-14
    else:
        assert result.gap == pytest.approx(exact, rel=0.0, abs=rounding)
        assert result.lower_bound == -np.inf
