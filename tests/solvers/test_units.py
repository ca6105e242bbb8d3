"""Units: with columns, targets and radii multiplied by powers of two, answers change by these powers alone."""

import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.objective.intercept import Sums, bracketed_root, trust_region

N, D = 24, 8
RNG = np.random.default_rng(3)
X = RNG.normal(size=(N, D))
TARGETS = X @ RNG.normal(size=D) + 0.5 * RNG.standard_t(3, size=N)

SETS = {
    "l1 ball": lambda unit: fw.L1Ball(1.5 * unit),
    "simplex": lambda unit: fw.Simplex(2.0 * unit),
    "l2 ball": lambda unit: fw.L2Ball(1.2 * unit),
    "box": lambda unit: fw.Box(-0.5 * unit, 1.0 * unit),
    "group ball": lambda unit: fw.GroupBall(np.arange(D) // 3, 1.5 * unit),
    "lp ball": lambda unit: fw.LpBall(1.5, 1.2 * unit),
    "convex hull": lambda unit: fw.ConvexHull(np.random.default_rng(D).normal(size=(2 * D, D)) * unit),
}
LOSSES = {
    "squared": lambda unit: (fw.Squared(), TARGETS * unit, unit**2),
    "huber": lambda unit: (fw.Huber(0.5 * unit), TARGETS * unit, unit**2),
    "pinball": lambda unit: (fw.Pinball(0.3), TARGETS * unit, unit),
    "logistic": lambda unit: (fw.Logistic(), np.sign(TARGETS), 1.0),
}
UNITS = [(-50, 0), (50, 0), (0, -50), (0, 50), (-46, 30)]
"""Exponents of the units of columns and targets: 1e-15 to 1e15."""


def found(name, loss, of_columns, of_targets, method="auto", **how):
    """Minimise in some units; return weights, intercept, objective, gap and steps in units of one."""
    of_targets = of_targets if loss != "logistic" else 1.0
    posed, y, of_values = LOSSES[loss](of_targets)
    of_weights = of_targets / of_columns
    problem = fw.Problem(X * of_columns, y, posed, SETS[name](of_weights), intercept=how.pop("intercept", False))
    result = fw.minimize(problem, method, tol=1e-7, random_state=0, **{"max_passes": 20, **how})
    numbers = [result.fun / of_values, result.gap / of_values, result.tolerance / of_values, result.nit, result.success]
    return [*(result.x / of_weights), result.intercept / of_targets, *numbers]


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", SETS)
def test_answers_do_not_depend_on_units(name, loss):
    for intercept in (False, True):
        plain = found(name, loss, 1.0, 1.0, intercept=intercept)
        for columns, targets in UNITS:
            assert found(name, loss, 2.0**columns, 2.0**targets, intercept=intercept) == plain


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("step", [None, "open-loop", "log-adaptive", "short", "backtracking"])
@pytest.mark.parametrize("method", ["fw", "away", "pairwise", "blended-pairwise"])
def test_nor_do_they_in_any_step_rule(method, step):
    for name in ("box", "l1 ball", "convex hull"):
        how = {"method": method, "step": step, "max_passes": 6}
        assert found(name, "squared", 2.0**-46, 2.0**30, **how) == found(name, "squared", 1.0, 1.0, **how)


def test_compiled_answers_do_not_depend_on_units():
    plain = found("l1 ball", "squared", 1.0, 1.0)
    for columns, targets in UNITS:
        assert found("l1 ball", "squared", 2.0**columns, 2.0**targets) == plain


def huber(unit, seed):
    """A problem with heavy tails: many slopes are at the edge of their domain, which is small in small units."""
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(20, 5))
    y = table @ rng.normal(size=5) + rng.standard_t(2, size=20)
    return fw.Problem(table * unit, y * unit, fw.Huber(0.1 * unit), fw.Box(-1.0, 1.0))


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("seed", [34, 3, 5])
@pytest.mark.parametrize("unit", [1e-15, 1e-13, 1e-9, 1e9, 1e15])
def test_no_success_far_from_what_other_units_find(unit, seed):
    better = fw.minimize(huber(1.0, seed), tol=1e-12, max_passes=500).x
    problem = huber(unit, seed)
    for tol in (1e-4, 1e-6, 1e-8):
        result = fw.minimize(problem, tol=tol, max_passes=500)
        assert result.success
        assert result.fun - problem.value(better) <= result.tolerance * (1.0 + 1e-6)


CURVED = {
    "huber": lambda b: (np.clip(b - 3.0, -0.01, 0.01), float(abs(b - 3.0) < 0.01)),
    "cauchy": lambda b: ((b - 3.0) / (1.0 + (b - 3.0) ** 2), (1.0 - (b - 3.0) ** 2) / (1.0 + (b - 3.0) ** 2) ** 2),
}
"""Slope and curvature of a loss whose second derivative is at most one, as functions of an intercept."""


@pytest.mark.parametrize("exponent", [-50, -7, 50])
@pytest.mark.parametrize("name", CURVED)
def test_searches_for_an_intercept_do_not_depend_on_units(name, exponent):
    def slope(b, unit):
        rise, curve = CURVED[name](b / unit)
        return rise * unit, curve, 1e-16 * unit

    def by_bracket(unit, start):
        return bracketed_root(lambda b: slope(b, unit), start * unit, 1.0) / unit

    def by_region(unit, start):
        found, _ = trust_region(
            lambda b: Sums(0.0, np.array([slope(b[0], unit)[0]]), 1e-16 * unit),
            lambda b: np.array([[slope(b[0], unit)[1]]]),
            np.array([start * unit]),
            smoothness=1.0,
        )
        return found[0] / unit

    for search in (by_bracket, by_region):
        for start in (0.0, 2.5, -40.0):
            assert search(2.0**exponent, start) == search(1.0, start)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("unit", [2.0**-47, 2.0**30])
def test_nor_does_smoothing_where_an_intercept_alone_fits(unit):
    def run(unit):
        problem = fw.Problem(X, np.full(N, 2.0 * unit), fw.Pinball(0.3), fw.L2Ball(unit), intercept=True)
        result = fw.minimize(problem, "shcgm", tol=0, max_passes=3, batch_size=1, random_state=0)
        return [*(result.x / unit), result.intercept / unit, result.fun / unit]

    assert run(unit) == run(1.0)
