"""Runs that end with a likely bound: what it claims, how often that holds, and that no pass is taken."""

import pickle

import matplotlib as mpl
import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.objective.objective import Objective
from frankwolfe.problem.requirements import Facts
from frankwolfe.running import likely
from frankwolfe.solvers.stepwise import StepwiseSolver
from tests import cases

pytestmark = pytest.mark.usefixtures("interpreted")

HOW = {"method": "sfw", "stop": "likely", "tol": 0.05, "random_state": 0, "batch_size": 4}


def after(passes, problem, batch=4, method="sfw"):
    """Return a solver after some passes."""
    problem = problem.own()
    solver = StepwiseSolver(
        problem, fw.methods.METHODS[method], batch, np.random.default_rng(0), problem.default_start()
    )
    solver.begin(np.inf, 0.0)
    solver.advance(int(passes * problem.n) // batch)
    return solver


def bounds_of(solver, trials):
    """Return the gap that the table proves, by its definition, and as many likely ones."""
    known = solver.evidence()
    problem, w, table, r = solver.problem, solver.point(), known.table, known.gradient
    exact = problem.value(w) - problem.dual_value(table)
    draws = (np.random.default_rng(trial) for trial in range(trials))
    return exact, [likely.likely_gap(problem, w, table, r, rng, doubt=0.01) for rng in draws]


def small_samples(monkeypatch, visited, unvisited):
    monkeypatch.setattr(likely, "VISITED_SAMPLE", visited)
    monkeypatch.setattr(likely, "UNVISITED_SAMPLE", unvisited)


@pytest.mark.parametrize("layout", cases.LAYOUTS)
@pytest.mark.parametrize("passes", [0.5, 3.0])
def test_a_sample_of_all_rows_is_what_the_table_proves(layout, passes):
    weights = np.random.default_rng(0).exponential(size=40)
    weights[:5] = 0.0
    exact, (found,) = bounds_of(after(passes, cases.problem(layout=layout, n=40, sample_weight=weights)), trials=1)
    assert found.bound == found.estimate == pytest.approx(exact, rel=1e-7)
    assert found.rows == 35


def test_several_outputs():
    X, y = cases.vector_table(fw.Multinomial(), n=40, d=6)
    exact, (found,) = bounds_of(after(0.5, fw.Problem(X, y, "multinomial", fw.L1Ball(3.0))), trials=1)
    assert found.bound == pytest.approx(exact, rel=1e-7)


LIKELY = [name for name, method in fw.methods.METHODS.items() if Facts.of(cases.problem(), method).table]


def test_who_keeps_a_table_that_bounds():
    tables = {"sfw", "mokhtari", "lu-freund", "saga", "sagafw", "l-svrg", "svrf", "storc", "svfw"}
    assert {*LIKELY} == tables | {"stochastic-pairwise", "stochastic-away"}


@pytest.mark.parametrize("method", LIKELY)
@pytest.mark.parametrize("steps", [0, 1, 7, 50])
def test_between_two_steps_of_any_method_r_is_the_sum_of_its_table(method, steps):
    solver = after(steps / 10, cases.problem(n=40), method=method)
    assert solver.steps == steps
    exact, (found,) = bounds_of(solver, trials=1)
    np.testing.assert_allclose(
        solver.problem.objective.gradient(solver.evidence().table), solver.gradient.dense(), atol=1e-12
    )
    assert found.bound == pytest.approx(exact, rel=1e-7)


@pytest.mark.parametrize("method", ["saga", "l-svrg"])
def test_the_bound_holds_as_often_as_it_says_whatever_the_table_is_for(method, monkeypatch):
    weights = np.random.default_rng(1).pareto(3.0, size=500) + 1.0
    solver = after(3.0, cases.problem(constraint=fw.L1Ball(4.0), n=500, sample_weight=weights), method=method)
    small_samples(monkeypatch, 100, 40)
    exact, found = bounds_of(solver, trials=300)
    bounds, estimates = np.array([(one.bound, one.estimate) for one in found]).T
    assert np.mean(bounds >= exact) >= 0.99
    assert estimates.mean() == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize("method", LIKELY)
def test_runs_of_any_method_end_with_a_bound_that_is_true(method, monkeypatch, tmp_path):
    problem = cases.problem(constraint=fw.L1Ball(2.0), n=300)
    small_samples(monkeypatch, 100, 40)
    how = HOW | {"method": method, "max_passes": 60, "tol": 0.08}
    result = fw.minimize(problem, **how, checkpoint=tmp_path / "run.ckpt")
    assert result.status is (fw.Status.MAX_PASSES if method == "mokhtari" else fw.Status.LIKELY)  # a slow table
    assert (result.status is fw.Status.LIKELY) == (result.likely_gap <= result.tolerance)
    assert (result.success, result.gap) == (False, np.inf)
    best = fw.minimize(problem, tol=1e-9)
    assert problem.value(result.x) <= best.fun + result.likely_gap
    again = fw.resume(tmp_path / "run.ckpt", problem)
    assert (again.status, again.likely_gap, again.nit) == (result.status, result.likely_gap, result.nit)
    np.testing.assert_array_equal(again.x, result.x)


@pytest.mark.parametrize("passes", [1.0, 3.0])
def test_the_bound_holds_as_often_as_it_says(passes, monkeypatch):
    weights = np.random.default_rng(1).pareto(3.0, size=500) + 1.0  # a few rows count for many
    solver = after(passes, cases.problem(constraint=fw.L1Ball(4.0), n=500, sample_weight=weights))
    small_samples(monkeypatch, 100, 40)
    exact, found = bounds_of(solver, trials=300)
    bounds, estimates = np.array([(one.bound, one.estimate) for one in found]).T
    assert np.mean(bounds >= exact) >= 0.99
    assert estimates.mean() == pytest.approx(exact, rel=0.02)  # rows are drawn in proportion to their weights
    assert np.mean(estimates >= exact) < 0.9  # so it takes the margin
    assert np.median(bounds) < 3.0 * exact
    assert {one.rows for one in found} <= {100 + 40, 100 + int((solver.evidence().table == 0.0).sum())}


def test_a_run_ends_without_a_pass_and_its_bound_is_true(monkeypatch):
    problem, read = cases.problem(constraint=fw.L1Ball(2.0), n=300), []
    small_samples(monkeypatch, 100, 40)
    for name in ("at", "predict", "gradient", "residuals"):
        real = getattr(Objective, name)

        def spy(self, *args, real=real):
            read.append(len(self.samples.weights))
            return real(self, *args)

        monkeypatch.setattr(Objective, name, spy)
    result = fw.minimize(problem, trace=0, **HOW)
    assert max(read) == 1  # the row that code is warmed up with
    assert result.status is fw.Status.LIKELY
    assert not result.success
    assert result.likely_gap <= result.tolerance
    assert (result.gap, result.lower_bound, result.confidence) == (np.inf, -np.inf, 0.99)
    assert np.isnan([result.fun, result.fw_gap]).all()
    assert result.certificate_passes <= result.checks * 0.5 * 140 / 300
    assert "Likely, and not proven: with 99% confidence the objective is at most" in result.message
    monkeypatch.undo()
    with fw.python_mode():
        best = fw.minimize(problem, tol=1e-9)
        assert best.lower_bound <= problem.value(result.x) <= best.fun + result.likely_gap


def test_what_looks_on_changes_nothing():
    problem = cases.problem(constraint=fw.L1Ball(2.0), n=300)
    silent = fw.minimize(problem, trace=0, **HOW)
    watched = fw.minimize(problem, trace=30, callback=lambda state: None, **HOW)
    np.testing.assert_array_equal(silent.x, watched.x)
    assert (silent.likely_gap, silent.nit, silent.checks) == (watched.likely_gap, watched.nit, watched.checks)
    proven = fw.minimize(problem, **HOW | {"stop": "proven", "tol": 0.0, "max_passes": silent.passes})
    np.testing.assert_array_equal(silent.x, proven.x)  # the same steps
    assert watched.trace.fun[-1] == pytest.approx(proven.fun)  # worked out when it is read
    assert proven.gap <= silent.likely_gap


@pytest.mark.parametrize(
    ("how", "status"),
    [
        ({"max_passes": 2.0}, fw.Status.MAX_PASSES),
        ({"max_seconds": 1e-9}, fw.Status.MAX_SECONDS),
        ({"callback": lambda state: state.nit > 10}, fw.Status.CALLBACK),
    ],
)
def test_other_ends_have_a_likely_bound_too(how, status):
    result = fw.minimize(cases.problem(n=300), **HOW | {"tol": 1e-9} | how)
    assert result.status is status
    assert np.isfinite(result.likely_gap)
    assert result.gap == np.inf
    assert "nothing is proven" in result.message


@pytest.mark.parametrize(
    ("problem", "how", "message"),
    [
        (cases.problem(fw.Sigmoid()), {}, "Sigmoid is not convex"),
        (fw.Problem([[1.0], [2.0]], [1, -1], "logistic", fw.L1Ball(1.0), intercept=True), {}, "needs no intercept"),
        (cases.problem(), {"method": "momentum"}, "'momentum' has none: use 'sfw'"),
        (cases.problem(), {"method": "auto"}, "'corrective' has none"),
        (cases.problem(), {"method": "fw"}, "'fw' has none"),
        (cases.problem(), {"method": "sarah"}, "table of derivatives sums to r, but 'sarah' has none"),
        (cases.problem(fw.Hinge()), {"method": "shcgm"}, "'shcgm' has none"),
        (cases.problem(), {"stop": "likley"}, "likely"),
    ],
)
def test_where_there_is_no_such_bound_it_says_why(problem, how, message):
    seen = []
    with pytest.raises(ValueError, match=message):
        fw.minimize(problem, **HOW | how, callback=seen.append)
    assert seen == []


def test_starts():
    problem = cases.problem(constraint=fw.L1Ball(2.0), n=300)
    ended = fw.minimize(problem, **HOW)
    proven = fw.minimize(problem, x0=ended, **HOW | {"stop": "proven"})
    assert proven.success
    again = fw.minimize(problem, x0=proven, **HOW)  # what was proven once is not lost
    assert (again.status, again.nit) == (fw.Status.LIKELY, 0)


def test_it_shows_itself_for_what_it_is(tmp_path):
    mpl.use("Agg")
    problem = cases.problem(constraint=fw.L1Ball(2.0), n=300)
    result = fw.minimize(problem, **HOW)
    assert "likely_gap: " in repr(result)
    assert "99% confidence, not proven" in repr(result)
    assert "not evaluated" in result._repr_html_()
    assert "nan" not in repr(result) + result._repr_html_()
    ax = result.plot()
    assert ax.get_title() == "sfw (likely)"
    mpl.pyplot.close(ax.figure)
    assert pickle.loads(pickle.dumps(result)).likely_gap == result.likely_gap
    fw.FittedModel.of(problem, result).save(tmp_path / "model.npz")
    run = fw.load_model(tmp_path / "model.npz").run
    assert (run.status, run.success, run.gap) == ("likely", False, np.inf)
    assert "99% confidence" in run.message
