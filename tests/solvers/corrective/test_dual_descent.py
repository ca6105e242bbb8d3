"""Dual coordinate descent over l2 balls: its gaps against another solver, and what a run makes of it."""

import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.compile.kernels import compile_above
from frankwolfe.solvers.corrective.dual_descent import DualDescent, ball_radius, can_descend
from tests import cases
from tests.solvers.corrective.test_smoothed import solved


def given_problem(loss, layout, full, radius=1.5):
    """Return a problem over an l2 ball and its offsets; if ``full``, with all that a problem may have."""
    rng = np.random.default_rng(3)
    X, y = cases.table(loss, n=60, d=9, density=1.0)
    offset = 0.3 * rng.normal(size=60) if full else 0.0
    given = {"sample_weight": rng.random(60) + 0.1, "intercept": True, "offset": offset} if full else {}
    given |= {"linear": 0.05 * rng.normal(size=9)} if full else {}
    return fw.Problem(cases.LAYOUTS[layout](X), y, loss, fw.L2Ball(radius), **given), offset


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("layout", ["dense64", "csr32"])
@pytest.mark.parametrize("loss", cases.KINKED_LOSSES, ids=cases.name_of)
def test_the_descent_proves_the_optimum_of_another_solver(loss, layout, full):
    problem, offset = given_problem(loss, layout, full)
    own, scale = problem.own(), problem.zero_value
    found = DualDescent(own).run(0.1, 1e-4 * scale, np.inf)
    best = solved(problem, offset)
    assert 0.0 <= found.gap <= 1e-4 * scale
    assert found.at.value == pytest.approx(problem.value(found.w), rel=1e-12)
    assert found.at.value - found.gap <= best + 1e-7 * scale
    assert best - 1e-7 * scale <= found.at.value <= best + found.gap + 1e-7 * scale
    assert problem.constraint.contains(found.w)
    assert problem.dual_value(found.alpha) == pytest.approx(found.at.value - found.gap, abs=1e-9 * scale)


@pytest.mark.usefixtures("interpreted")
def test_the_descent_keeps_to_its_budget():
    problem, _ = given_problem(fw.Hinge(), "csr32", False)
    for passes in (2, 3, 6.5, 12):
        solver = DualDescent(problem.own())
        found = solver.run(0.1, 0.0, passes * problem.n)
        assert solver.rows_read <= passes * problem.n
        assert (found is None) == (passes < 4)


def test_runs_on_large_data_begin_with_the_descent():
    for full in (False, True):
        problem, offset = given_problem(fw.Hinge(), "csr32", full)
        best, scale = solved(problem, offset), problem.zero_value
        with compile_above(0):
            first = fw.minimize(problem, tol=1e-3)
            exact = fw.minimize(problem, tol=1e-8, max_passes=2000)
        assert first.success
        assert first.nit == 1
        assert first.passes > 3.0
        assert exact.success
        assert exact.fun == pytest.approx(best, abs=1e-6 * scale)
        assert problem.dual_value(first.state["slopes"]) == pytest.approx(first.lower_bound, abs=1e-9 * scale)


def test_an_optimum_inside_the_ball_is_certified_too():
    problem, offset = given_problem(fw.Pinball(0.3), "dense64", False, radius=1e3)
    with compile_above(0):
        result = fw.minimize(problem, tol=1e-7, max_passes=2000)
    assert result.success
    assert result.fun == pytest.approx(solved(problem, offset), abs=1e-6 * problem.zero_value)


def test_a_run_goes_on_from_a_checkpoint_behind_the_descent(tmp_path):
    problem, _ = given_problem(fw.Pinball(0.3), "dense64", False, radius=1e3)
    with compile_above(0):
        whole = fw.minimize(problem, tol=1e-8, max_passes=2000)
        fw.minimize(problem, tol=1e-8, max_passes=60, checkpoint=tmp_path / "run", checkpoint_every=0)
        resumed = fw.resume(tmp_path / "run", problem, max_passes=2000)
    assert resumed.success
    assert resumed.nit > 1
    np.testing.assert_array_equal(resumed.x, whole.x)


def test_only_balls_around_zero_have_a_radius():
    X, y = cases.table(fw.Hinge(), n=60, d=3)
    radii = [
        (fw.L2Ball(2.0), 2.0),
        (fw.sets.Scaled(fw.L2Ball(2.0), 1.5), 3.0),
        (fw.sets.Ellipsoid(np.full(3, 2.0), 0.5), 1.0),
        (fw.sets.Ellipsoid(np.arange(1.0, 4.0)), None),
        (fw.sets.Ellipsoid(np.ones(3), centre=1.0), None),
        (fw.sets.Ellipsoid(np.eye(3)), None),
        (fw.L1Ball(2.0), None),
        (fw.GroupBall([0, 0, 1], 2.0), None),
    ]
    for constraint, radius in radii:
        assert ball_radius(fw.Problem(X, y, "hinge", constraint)) == (None if radius is None else pytest.approx(radius))
    side = fw.LinearBounds(np.ones((1, 3)), upper=0.1)
    assert ball_radius(fw.Problem(X, y, "hinge", fw.L2Ball(2.0), side=side)) is None
    with compile_above(0):
        assert can_descend(fw.Problem(X, y, "hinge", fw.L2Ball(2.0)))
        assert not can_descend(fw.Problem(X, y, "logistic", fw.L2Ball(2.0)))
    assert not can_descend(fw.Problem(X, y, "hinge", fw.L2Ball(2.0)))
