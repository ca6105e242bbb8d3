"""Conjugates: against a supremum taken numerically, against a solver of convex programs, and at the edges."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar

import frankwolfe as fw
from frankwolfe.losses.base import entropy_term
from tests import cases
from tests.reference.losses import TARGETS

CONVEX = [loss for loss in (*cases.LOSSES, *cases.KINKED_LOSSES) if loss.convex]
EVERY = pytest.mark.parametrize("loss", CONVEX, ids=cases.name_of)


def supremum(loss, y, a):
    """The supremum of ``a z - f(z)``, by a search on a grid, with the target, and near its best point."""
    grid = np.append(np.linspace(-60.0, 60.0, 4001), y)
    heights = [a * z - loss.value(float(z), y) for z in grid]
    best = grid[int(np.argmax(heights))]
    found = minimize_scalar(
        lambda z: loss.value(z, y) - a * z, bounds=(best - 0.1, best + 0.1), method="bounded", options={"xatol": 1e-12}
    )
    return max(*heights, -found.fun)


@EVERY
def test_a_conjugate_is_the_supremum(loss):
    for y in TARGETS[loss.targets]:
        for at in (-3.0, -0.7, 0.2, 0.9, 2.5):
            # also a slope that a loss with a kink has nowhere else
            for a in (loss.derivative(at, y), loss.smoothed_derivative(at, y, 10.0)):
                assert loss.conjugate(a, y) == pytest.approx(supremum(loss, y, a), abs=1e-9)


@EVERY
@given(z=st.floats(-30.0, 30.0), at=st.floats(-30.0, 30.0), which=st.integers(0, 2))
def test_value_conjugate_and_residual_agree(loss, z, at, which):
    y = TARGETS[loss.targets][which % len(TARGETS[loss.targets])]
    a = loss.derivative(at, y)
    terms = loss.value(z, y), loss.conjugate(a, y), -a * z
    assert loss.residual(z, y, a) == pytest.approx(sum(terms), abs=1e-13 * (1.0 + sum(map(abs, terms))))
    assert loss.residual(z, y, a) >= 0.0


ENDS = {
    fw.Logistic: lambda loss: (-1.0, 0.0),
    fw.Squared: lambda loss: (-np.inf, np.inf),
    fw.Huber: lambda loss: (-loss.delta, loss.delta),
    fw.SquaredHinge: lambda loss: (-np.inf, 0.0),
    fw.ModifiedHuber: lambda loss: (-4.0, 0.0),
    fw.Hinge: lambda loss: (-1.0, 0.0),
    fw.Pinball: lambda loss: (-loss.quantile, 1.0 - loss.quantile),
    fw.Poisson: lambda loss: (-1.0, np.inf),
    fw.Gamma: lambda loss: (-np.inf, 1.0),
    fw.losses.Tweedie: lambda loss: (-np.inf, np.inf),
}
"""Slopes that a loss can have, for the target 1."""


@EVERY
def test_it_is_infinite_outside_of_its_domain_and_continuous_at_the_ends(loss):
    for end, out in zip(ENDS[type(loss)](loss), (-1.0, 1.0), strict=True):
        if np.isinf(end):
            assert np.isfinite(loss.conjugate(1e3 * out, 1.0))
            continue
        assert loss.nearest_slope(end + out, 1.0) == loss.nearest_slope(end, 1.0) == end
        inside = loss.conjugate(end - 1e-13 * out, 1.0)
        assert loss.conjugate(end, 1.0) == pytest.approx(inside, abs=1e-11)
        for beyond in (1e-9, 1.0) if end else (5e-324, 1e-9, 1.0):  # rounding never leads across zero
            assert loss.conjugate(end + beyond * out, 1.0) == np.inf
            assert loss.residual(0.3, 1.0, end + beyond * out) == np.inf


@EVERY
def test_the_nearest_slope_of_one_in_the_domain_is_itself(loss):
    for y in TARGETS[loss.targets]:
        for at in (-3.0, 0.2, 2.5):
            a = loss.smoothed_derivative(at, y, 10.0)
            assert loss.nearest_slope(a, y) == a


@pytest.mark.parametrize("unit", [1e-15, 1e-9, 1e9, 1e15])
def test_the_domain_has_the_units_of_the_loss(unit):
    plain, scaled = fw.Huber(0.5), fw.Huber(0.5 * unit)
    for a in (-0.7, -0.5 - 1e-13, -0.5, 0.1, 0.5, 0.5 + 1e-13, 0.7):
        expected = plain.conjugate(a, 0.0) * unit**2
        assert scaled.conjugate(a * unit, 0.0) == pytest.approx(expected, rel=1e-12)


@EVERY
@given(z=st.floats(-100.0, 100.0), n=st.integers(1, 10**6))
def test_a_weighted_slope_divided_by_its_weight_is_in_the_domain(loss, z, n):
    for y in TARGETS[loss.targets]:
        a = (1.0 / n * loss.derivative(z, y)) / (1.0 / n)  # on the edge, rounding may lead a unit beyond
        assert np.isfinite(loss.conjugate(a, y))
        assert 0.0 <= loss.residual(z, y, a) <= 1e-12 * (1.0 + z * z + loss.value(z, y))


def test_several_classes_have_a_negative_entropy():
    loss, z0 = fw.Multinomial(3), np.array([0.3, -1.0, 2.0])
    for y in (0.0, 1.0, 2.0):
        a = loss.derivative(z0, y)
        found = minimize(lambda z, a=a, y=y: loss.value(z, y) - a @ z, np.zeros(3), tol=1e-14)
        assert loss.conjugate(a, y) == pytest.approx(-found.fun, abs=1e-8)
        q = a + np.eye(3)[int(y)]
        assert loss.conjugate(a, y) == pytest.approx(float(q @ np.log(q)), rel=1e-12)
    assert loss.conjugate(np.array([0.1, 0.0, 0.0]), 1.0) == np.inf  # it does not sum to zero
    assert loss.conjugate(np.array([0.5, -0.2, -0.3]), 1.0) == np.inf  # a negative probability
    assert loss.conjugate(np.array([0.0, 0.0, 0.0]), 1.0) == 0.0
    assert loss.conjugate(np.array([1.0, -1.0, 0.0]), 1.0) == 0.0


def test_slopes_of_several_classes_are_moved_to_probabilities():
    loss, rng = fw.Multinomial(3), np.random.default_rng(0)
    for y in (0.0, 2.0):
        for a in (*rng.normal(size=(20, 3)), np.zeros(3), 1e-9 * rng.normal(size=3), 1e9 * rng.normal(size=3)):
            assert np.isfinite(loss.conjugate(loss.nearest_slope(a, y), y))


def test_several_tasks_have_a_sum_of_squares():
    loss, a, y = fw.MultitaskSquared(2), np.array([1.0, -2.0]), np.array([0.5, 3.0])
    found = minimize(lambda z: loss.value(z, y) - a @ z, np.zeros(2), tol=1e-14)
    assert loss.conjugate(a, y) == pytest.approx(-found.fun, abs=1e-9)


PROGRAMS = {
    fw.Logistic: lambda loss, z, y: cp.logistic(-y * z),
    fw.Squared: lambda loss, z, y: cp.square(z - y) / 2,
    fw.Huber: lambda loss, z, y: cp.huber(z - y, loss.delta) / 2,
    fw.SquaredHinge: lambda loss, z, y: cp.square(cp.pos(1 - y * z)),
    fw.ModifiedHuber: lambda loss, z, y: cp.huber(cp.pos(1 - y * z), 2),
    fw.Hinge: lambda loss, z, y: cp.pos(1 - y * z),
    fw.Pinball: lambda loss, z, y: cp.maximum(loss.quantile * (y - z), (1 - loss.quantile) * (z - y)),
    fw.Poisson: lambda loss, z, y: cp.exp(z) - y * z - y,
    fw.Gamma: lambda loss, z, y: z + y * cp.exp(-z) - 1,
    fw.losses.Tweedie: lambda loss, z, y: (
        cp.exp((2 - loss.power) * z) / (2 - loss.power)
        + y * cp.exp((1 - loss.power) * z) / (loss.power - 1)
        - y / ((2 - loss.power) * (loss.power - 1))
    ),
}


@EVERY
def test_a_solver_finds_the_same(loss):
    z, y = cp.Variable(), 1.0
    for at in (-0.8, 0.4):
        a = loss.smoothed_derivative(at, y, 10.0)
        program = cp.Problem(cp.Maximize(a * z - PROGRAMS[type(loss)](loss, z, y)))
        program.solve(solver=cp.CLARABEL)
        assert loss.conjugate(a, y) == pytest.approx(program.value, abs=1e-6)


def test_a_solver_finds_the_same_for_several_classes():
    z, loss = cp.Variable(3), fw.Multinomial(3)
    a = loss.derivative(np.array([0.3, -1.0, 2.0]), 1.0)
    program = cp.Problem(cp.Maximize(a @ z - cp.log_sum_exp(z) + z[1]), [z[0] == 0.0])
    program.solve(solver=cp.CLARABEL)
    assert loss.conjugate(a, 1.0) == pytest.approx(program.value, abs=1e-6)


@pytest.mark.parametrize("p", [5e-324, 1e-310, 1e-300, 1e-8])
def test_relative_entropy_of_tiny_shares_does_not_overflow(p):
    assert entropy_term(0.5, p, 0.5 - p) == pytest.approx(0.5 * (np.log(0.5) - np.log(p)) - 0.5 + p, rel=1e-12)
    assert entropy_term(0.0, p, -p) == p
