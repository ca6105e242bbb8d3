"""Losses of one's own whose curvature is unbounded: every method measures it, or says that it cannot."""

from math import inf
from typing import NamedTuple

import numpy as np
import pytest
from scipy import optimize, sparse

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


COUNTS, AMOUNTS = CASES["poisson"][1], np.exp(SIGNAL)
LOG_LINKS = {
    "poisson": (fw.Poisson(), COUNTS),
    "gamma": (fw.Gamma(), AMOUNTS),
    "tweedie": (fw.losses.Tweedie(1.3), COUNTS),
}
SETS = {
    "l1": (fw.L1Ball(0.8), lambda rng: rng.dirichlet(np.ones(4)) * rng.choice([-0.8, 0.8], 4)),
    "simplex": (fw.Simplex(0.7), lambda rng: 0.7 * rng.dirichlet(np.ones(4))),
    "nonnegative": (fw.NonNegativeL1Ball(0.7), lambda rng: 0.7 * rng.dirichlet(np.ones(5))[:4]),
    "box": (fw.Box(-0.2, 0.4), lambda rng: rng.uniform(-0.2, 0.4, 4)),
    "l2": (fw.L2Ball(0.6), lambda rng: 0.6 * (v := rng.normal(size=4)) / np.linalg.norm(v)),
}


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("constraint", SETS)
@pytest.mark.parametrize("loss", LOG_LINKS)
def test_over_a_set_the_curvature_of_a_log_link_has_a_bound(loss, constraint, layout):
    (kind, y), (limits, draw) = LOG_LINKS[loss], SETS[constraint]
    rng, offset = np.random.default_rng(1), 0.3 * SIGNAL
    problem = fw.Problem(layout(X), y, kind, limits, offset=offset)
    seen = max(np.max(kind.curvature(X @ draw(rng) + offset, y)) for _ in range(2000))
    assert seen <= problem.smoothness() * (1.0 + 1e-12)
    assert problem.smoothness() <= 8.0 * seen  # it is attained at a point of the set, or nearly so


@pytest.mark.parametrize("loss", LOG_LINKS)
@pytest.mark.parametrize(
    ("method", "step"), [("fw", "short"), ("stochastic-pairwise", None), ("goldfarb-away", None), ("storc", None)]
)
def test_methods_that_need_bounded_curvature_take_the_bound(interpreted, loss, method, step):
    kind, y = LOG_LINKS[loss]
    problem = fw.Problem(X, y, kind, fw.L1Ball(0.8), offset=0.3 * SIGNAL)
    found = fw.minimize(problem, method, step=step, tol=1e-9, max_passes=300, random_state=0)
    best = fw.minimize(problem, tol=1e-9)
    assert best.success
    assert -1e-9 <= found.fun - best.fun <= 0.1 * (problem.zero_value - best.fun)
    assert found.fun - found.gap <= best.fun + 1e-9
    assert type(found.trace.problem.loss) is type(kind)


def test_where_there_is_no_bound_it_is_said_why(tmp_path):
    kind, y = LOG_LINKS["poisson"]
    for given in ({"intercept": True}, {"constraint": fw.L1Ball(1e6)}):
        problem = fw.Problem(X, y, kind, **{"constraint": fw.L1Ball(1.0), **given})
        assert problem.smoothness() == inf
        with pytest.raises(ValueError, match=r"smoothness of Poisson is infinite \(a bound over the set is known"):
            fw.minimize(problem, "storc")
        with pytest.raises(ValueError, match="unlike Poisson"):
            fw.theory.RateBounds(problem)
    assert fw.theory.RateBounds(fw.Problem(X, y, kind, fw.L1Ball(1.0))).suboptimality(10.0) > 0.0


def test_a_run_with_the_bound_resumes_to_the_same_bits(interpreted, tmp_path):
    kind, y = LOG_LINKS["poisson"]
    problem, file = fw.Problem(X, y, kind, fw.L1Ball(0.8)), tmp_path / "run"
    given = {"random_state": 0, "tol": 0.0}
    fw.minimize(problem, "stochastic-pairwise", max_passes=5, checkpoint=file, **given)
    longer = fw.resume(file, problem, max_passes=10)
    whole = fw.minimize(problem, "stochastic-pairwise", max_passes=10, **given)
    np.testing.assert_array_equal(longer.x, whole.x)
