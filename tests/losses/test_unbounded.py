"""Losses of one's own whose curvature is unbounded: every method measures it, or says that it cannot."""

from math import inf
from typing import NamedTuple

import numpy as np
import pytest
from scipy import optimize

import frankwolfe as fw

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 4))
SIGNAL = X @ [1.0, -0.5, 0.0, 0.3] + 1.0


class Poisson(NamedTuple):
    """Deviance of counts whose logarithm is predicted, but for a constant."""

    convex = True

    def value(self, z, y):
        return np.exp(z) - y * z + y * np.log(max(y, 1.0))

    def derivative(self, z, y):
        return np.exp(z) - y

    def curvature(self, z, y):
        return np.exp(z)

    def smoothness(self):
        return inf


class Quartic(NamedTuple):
    """``(z - y)^4 / 4``, which is flat at its lowest point."""

    convex = True

    def value(self, z, y):
        return 0.25 * (z - y) ** 4

    def derivative(self, z, y):
        return (z - y) ** 3

    def curvature(self, z, y):
        return 3.0 * (z - y) ** 2

    def smoothness(self):
        return inf


CASES = {
    "poisson": (Poisson(), RNG.poisson(np.exp(SIGNAL)).astype(float)),
    "quartic": (Quartic(), SIGNAL + 0.3 * RNG.normal(size=40)),
}


def box_optimum(loss, y, intercept):
    """Least objective over the box, by SciPy."""

    def objective(v):
        z = X @ v[:4] + v[4]
        slopes = loss.derivative(z, y) / len(y)
        return np.mean([loss.value(*pair) for pair in zip(z, y, strict=True)]), np.append(X.T @ slopes, slopes.sum())

    bounds = [(-0.4, 0.4)] * 4 + [(None, None) if intercept else (0.0, 0.0)]
    return optimize.minimize(objective, np.zeros(5), jac=True, bounds=bounds, tol=1e-14).fun


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    ("method", "step", "allowed"),
    [("auto", None, 1e-5), ("pairwise", "backtracking", 1e-5), ("fw", "backtracking", 0.1), ("sfw", None, 0.1)],
)
def test_methods_find_the_optimum_of_unbounded_losses(interpreted, case, intercept, method, step, allowed):
    loss, y = CASES[case]
    problem = fw.Problem(X, y, loss, fw.Box(-0.4, 0.4), intercept=intercept)
    result = fw.minimize(problem, method, step=step, tol=1e-5, max_passes=200, random_state=0)
    best = box_optimum(loss, y, intercept)
    assert -1e-9 <= result.fun - best <= min(result.gap, allowed * problem.zero_value)
    assert result.success or allowed > 1e-5


@pytest.mark.parametrize("constraint", [fw.L1Ball(1.5), fw.L2Ball(0.8)], ids=["atoms", "interior"])
def test_rounds_certify_unbounded_losses(interpreted, constraint):
    loss, y = CASES["poisson"]
    problem = fw.Problem(X, y, loss, constraint)
    result = fw.minimize(problem, tol=1e-7)
    assert result.success
    assert result.passes < 20


@pytest.mark.parametrize("method", ["stochastic-pairwise", "goldfarb-away", "storc", "fw"])
def test_methods_that_need_bounded_curvature_say_so(method):
    loss, y = CASES["poisson"]
    problem = fw.Problem(X, y, loss, fw.L1Ball(1.0))
    with pytest.raises(ValueError, match=r"smoothness of Poisson is infinite.*line-search"):
        fw.minimize(problem, method, step="short" if method == "fw" else None)


def test_sliding_takes_a_constant_for_unbounded_losses(interpreted):
    loss, y = CASES["poisson"]
    problem = fw.Problem(X, y, loss, fw.L2Ball(0.5))
    method = fw.methods.Method(fw.methods.FullGradient(), fw.methods.Sliding(smoothness=30.0), fw.methods.EpochStep())
    assert fw.minimize(problem, method, max_passes=20).fun < problem.zero_value
