"""The sized sets in whole runs: against an interior-point solver, compiled against interpreted, with sound gaps."""

import warnings

import numpy as np
import pytest

import frankwolfe as fw
from tests import cases
from tests.programs import optimum

EVERY_SET = pytest.mark.parametrize("name", cases.SIZED_SETS)
ZERO_OUTSIDE = {
    "Birkhoff",
    "ConvexHull",
    "Product-called-back",
    "Cached",
    "Spectrahedron",
    "Budget-signed",
    "CappedSimplex",
}


def small(name, loss=None, layout="csr64", n=40, d=9):
    return cases.problem(loss, cases.SIZED_SETS[name](d), layout=layout, n=n, d=d)


def known_optimum(problem):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cvxpy's own
        return optimum(problem)


def assert_gaps_bound_the_error(result, best, scale):
    trace = result.trace
    assert len(trace.fun) >= 3
    assert (trace.fun - best <= trace.gap + 1e-8 * scale).all()
    assert (trace.gap >= 0.0).all()


@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("GroupBall", fw.Logistic()),
        ("GroupBall", fw.Squared()),
        ("KSupportBall", fw.Logistic()),
        ("Polytope", fw.Logistic()),
    ],
    ids=cases.name_of,
)
@pytest.mark.usefixtures("interpreted")
def test_methods_find_the_optimum_of_an_interior_point_solver(name, loss):
    problem = small(name, loss)
    best, scale = known_optimum(problem), problem.zero_value
    corrective = fw.minimize(problem, "corrective", tol=1e-8, max_passes=3000)
    assert corrective.success
    assert corrective.fun == pytest.approx(best, abs=1e-6 * scale)
    assert_gaps_bound_the_error(corrective, best, scale)
    if name == "Polytope":
        return  # a linear program a step
    plain = fw.minimize(problem, "fw", tol=0.0, max_passes=500)
    stochastic = fw.minimize(problem, "sfw", tol=0.0, max_passes=400, batch_size=20, random_state=0)
    for result in (plain, stochastic):
        assert result.fun == pytest.approx(best, abs=1e-3 * scale)
        assert_gaps_bound_the_error(result, best, scale)


@EVERY_SET
@pytest.mark.usefixtures("interpreted")
def test_corrective_certifies(name):
    problem = small(name)
    result = fw.minimize(problem, "corrective", tol=1e-6, max_passes=3000)
    assert result.success
    assert problem.constraint.contains(result.x, 1e-8)
    assert result.fw_gap == pytest.approx(problem.gap(result.x), abs=1e-10)
    assert result.gap <= result.fw_gap


@EVERY_SET
@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("method", ["fw", "sfw", "lu-freund", "momentum"])
def test_every_iterate_is_feasible_with_a_sound_gap(name, method):
    problem = small(name, n=12)

    def check(state):
        found = state.evaluate()
        assert problem.constraint.contains(state.x, 1e-8)
        by_oracle = found.gradient @ (state.x - problem.constraint.vertex(found.gradient))
        assert found.gap == pytest.approx(by_oracle, abs=1e-9)
        assert found.gap >= 0.0

    result = fw.minimize(problem, method, tol=0.0, max_passes=4, batch_size=2, random_state=0, callback=check)
    assert result.nit > 0
    assert result.fun < problem.value(problem.default_start())


@EVERY_SET
@pytest.mark.usefixtures("interpreted")
def test_a_run_starts_at_zero_where_zero_is_feasible(name):
    problem = small(name)
    start = problem.default_start()
    assert problem.constraint.contains(start, 1e-8)
    assert start.any() == (name in ZERO_OUTSIDE)


# Trackers that follow r a row at a time, whole chains of parts, and a callback: what only whole runs can get wrong.
@pytest.mark.parametrize(
    ("name", "layout"),
    [("GroupBall-weighted", "csr64"), ("GroupBall-weighted", "dense64"), ("Product-called-back", "csr64")],
)
def test_compiled_agrees_with_python(name, layout):
    problem = small(name, layout=layout)
    compiled = fw.minimize(problem, "sfw", tol=0.0, max_passes=5, batch_size=2, random_state=3)
    with fw.python_mode():
        python = fw.minimize(problem, "sfw", tol=0.0, max_passes=5, batch_size=2, random_state=3)
    np.testing.assert_allclose(compiled.x, python.x, rtol=0.0, atol=1e-12)
    assert compiled.gap == pytest.approx(python.gap, rel=1e-10)


def test_group_balls_take_single_rows_by_default():
    # a step costs no more than its row, so the default batch is the method's own
    with fw.python_mode():
        assert fw.minimize(small("GroupBall", n=300), "sfw", max_passes=0.1).batch_size == 1
        assert fw.minimize(small("OWLBall", n=300), "sfw", max_passes=0.1).batch_size == 3


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("name", ["GroupBall", "LpBall-4", "MonotoneBox-decreasing"])
def test_active_set_methods_take_them_all(name):
    problem = small(name)
    result = fw.minimize(problem, "pairwise", tol=1e-4, max_passes=500)
    assert result.success
    assert problem.constraint.contains(result.x)
