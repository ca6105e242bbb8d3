"""The gap of a loss that is not convex, estimated from a sample of rows."""

import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.solvers import sampled_gap
from frankwolfe.solvers.stepwise import StepwiseSolver
from tests import cases

pytestmark = pytest.mark.usefixtures("interpreted")


def after(passes, loss, constraint, n=400, **how):
    """Return a solver of ``sfw`` after some passes."""
    problem = cases.problem(loss, constraint, n=n, **how).own()
    solver = StepwiseSolver(problem, fw.methods.METHODS["sfw"], 4, np.random.default_rng(0), problem.default_start())
    solver.begin(np.inf, 0.0)
    solver.advance(int(passes * n) // 4)
    return solver


@pytest.mark.parametrize("loss", [fw.Sigmoid(), fw.Cauchy(), fw.Logistic()], ids=cases.name_of)
@pytest.mark.parametrize("layout", cases.LAYOUTS)
def test_a_sample_of_all_rows_gives_the_exact_gap(loss, layout, monkeypatch):
    solver = after(2.0, loss, fw.L1Ball(2.0), n=40, layout=layout)
    monkeypatch.setattr(sampled_gap, "SMALLEST", 40)
    found = sampled_gap.sampled_gap(solver.problem, solver.point(), solver.evidence(), 0, draws=3)
    assert found.estimate == pytest.approx(solver.problem.gap(solver.point()), rel=1e-10)
    assert found.error == 0.0
    assert found.passes == pytest.approx(2.5)


def test_the_error_covers_the_exact_gap():
    solver = after(3.0, fw.Sigmoid(), fw.L1Ball(3.0))
    exact = solver.problem.gap(solver.point())
    known = solver.point(), solver.evidence()
    found = [sampled_gap.sampled_gap(solver.problem, *known, seed, 10) for seed in range(40)]
    off = np.array([one.estimate - exact for one in found])
    errors = np.array([one.error for one in found])
    assert np.mean(np.abs(off) <= errors) >= 0.9
    assert errors.mean() <= 20.0 * np.abs(off).mean()  # and does not cover everything
    assert np.abs(off).mean() < abs(solver.evidence().gap_estimate - exact)  # better than the table alone


def test_who_asks_changes_nothing():
    problem, seen = cases.problem(fw.Sigmoid(), fw.L1Ball(2.0)), []
    how = {"method": "sfw", "max_passes": 5, "random_state": 0, "tol": 1e-9}
    silent = fw.minimize(problem, **how)
    asked = fw.minimize(problem, callback=lambda state: seen.append((state, state.sampled_gap(2))), **how)
    np.testing.assert_array_equal(silent.x, asked.x)
    assert silent.gap == asked.gap
    assert all(np.isfinite(found.error) for _, found in seen)
    with pytest.raises(ValueError, match="while the callback runs"):
        seen[0][0].sampled_gap()


def test_without_such_a_table_it_says_so():
    problem = cases.problem(fw.Sigmoid(), fw.L1Ball(2.0))
    with pytest.raises(ValueError, match="follows the derivatives, as that of 'sfw'"):
        fw.minimize(problem, "momentum", max_passes=2, callback=lambda state: state.sampled_gap() and None)


def test_a_sample_saves_exact_gaps_that_would_miss(monkeypatch):
    problem = cases.problem(fw.Sigmoid(), fw.L1Ball(2.0), n=400)
    how = {"method": "sfw", "max_passes": 60, "random_state": 0, "tol": 2e-3}
    found = fw.minimize(problem, **how)
    assert found.success
    assert found.gap == pytest.approx(problem.gap(found.x), rel=1e-9)
    monkeypatch.setattr(StepwiseSolver, "table", lambda solver: None)  # whose error a sample would estimate
    before = fw.minimize(problem, **how)
    assert found.passes + found.certificate_passes < before.passes + before.certificate_passes
