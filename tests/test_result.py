"""Results: the trace and when it is worked out, pickles, and what is shown of a run."""

import pickle
import sys

import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.problem import Problem
from frankwolfe.result import COLUMNS
from tests import cases

interpreted = pytest.mark.usefixtures("interpreted")
every_method = pytest.mark.parametrize("method", cases.LOOP)


@interpreted
@pytest.mark.parametrize("points", [1, 10, 25])
def test_the_trace_lies_on_a_geometric_grid(points):
    result = fw.minimize(cases.problem(), "sfw", tol=0, max_passes=30, random_state=0, trace=points)
    nit = result.trace.nit
    assert (nit[0], nit[-1]) == (0, 1200)
    assert (np.diff(nit) > 0).all()
    late = nit[nit >= 100][:-1]
    np.testing.assert_allclose(late[1:] / late[:-1], 10.0 ** (1.0 / points), rtol=0.01)
    in_a_decade = np.count_nonzero((nit >= 100) & (nit < 1000))
    assert abs(in_a_decade - points) <= 1 + points // 10


@interpreted
@every_method
def test_the_columns_of_a_trace(method):
    problem = cases.problem()
    result = fw.minimize(problem, method, tol=0, max_passes=6, random_state=0, batch_size=4)
    trace = result.trace
    assert tuple(trace) == COLUMNS
    assert COLUMNS[:6] == ("nit", "passes", "seconds", "fun", "gap", "gap_estimate")
    assert len({len(trace[column]) for column in COLUMNS}) == 1
    for column, values in trace.items():
        np.testing.assert_array_equal(getattr(trace, column), values)
    assert (np.diff(trace.seconds) >= 0.0).all()
    if method in cases.STEADY:
        np.testing.assert_array_equal(trace.passes, trace.nit * cases.rows_of_a_step(method, problem.n, 4) / problem.n)
    assert (np.diff(trace.passes) >= 0.0).all()  # the step after a snapshot may cost nothing more
    assert trace.fun[0] == problem.zero_value
    for column in ("nit", "passes", "fun", "gap_estimate"):
        assert trace[column][-1] == getattr(result, column)
    assert trace.gap[-1] <= result.gap  # what traced points prove counts too; the run had no need to look at them
    assert trace.seconds[-1] <= result.seconds
    with pytest.raises(KeyError, match="the columns are nit"):
        trace["loss"]
    with pytest.raises(AttributeError, match="loss"):
        trace.loss  # noqa: B018


@interpreted
@pytest.mark.parametrize("shape", [{"d": 12}, {"d": 60}], ids=["kept whole", "kept sparse"])
def test_a_trace_is_worked_out_when_it_is_read(shape, monkeypatch):
    problem, points, calls = cases.problem(**shape), {}, []
    evaluate = Problem.evaluate
    monkeypatch.setattr(Problem, "evaluate", lambda self, w: calls.append(1) or evaluate(self, w))
    result = fw.minimize(
        problem,
        "fw",
        tol=0,
        max_passes=8,
        callback=lambda state: points.setdefault(state.nit, state.x) is None,
    )
    before = len(calls)
    assert before < 3
    nits = result.trace.nit.tolist()
    assert len(nits) > 5
    assert len(calls) == before
    fun = result.trace.fun
    assert len(calls) > before
    worked = len(calls)
    gap = result.trace.fw_gap
    assert (result.trace.gap <= gap).all()
    assert len(calls) == worked  # only once
    np.testing.assert_array_equal(fun, [problem.value(points[nit]) for nit in nits])
    np.testing.assert_array_equal(gap, [problem.gap(points[nit]) for nit in nits])


@interpreted
@every_method
def test_what_is_traced_has_no_part_in_when_a_run_ends(method):
    problem = cases.problem()
    arguments = {"tol": 0.05, "max_passes": 60, "batch_size": 2, "random_state": 0}
    runs = [fw.minimize(problem, method, trace=trace, **arguments) for trace in (0, 1, 10, 40)]
    assert runs[0].nit > 0
    for run in runs[1:]:
        assert (run.nit, run.checks, run.status) == (runs[0].nit, runs[0].checks, runs[0].status)
        np.testing.assert_array_equal(run.x, runs[0].x)


@interpreted
@pytest.mark.parametrize("method", ["fw", "sfw", "corrective"])
def test_a_trace_of_zero_keeps_no_iterates_and_what_the_run_knows(method):
    problem, how = cases.problem(), {"tol": 0, "max_passes": 8, "batch_size": 5, "random_state": 0}
    result = fw.minimize(problem, method, trace=0, **how)
    trace, traced = result.trace, fw.minimize(problem, method, **how).trace
    assert not trace._pending
    assert trace.nit.tolist() == sorted(set(trace.nit.tolist()))  # the last point is there once
    assert trace.nit[-1] == result.nit
    assert len(trace.nit) > 2
    assert trace.fun[-1] == pytest.approx(result.fun)
    both, here, there = np.intersect1d(trace.nit, traced.nit, return_indices=True)
    assert len(both) > 2
    np.testing.assert_array_equal(trace.gap_estimate[here], traced.gap_estimate[there])
    for column in ("fun", "fw_gap"):  # exact, or not there
        known = np.isfinite(trace[column][here])
        np.testing.assert_allclose(trace[column][here][known], traced[column][there][known], rtol=1e-12)


@interpreted
@every_method
def test_a_result_is_pickled_without_the_data(method):
    problem = cases.problem(n=60, d=150, density=1.0)
    result = fw.minimize(problem, method, tol=0, max_passes=3, random_state=0, batch_size=5)
    stored = pickle.dumps(result)
    assert problem.X[7].tobytes() not in stored
    assert len(stored) < problem.X.nbytes / 2
    copy = pickle.loads(stored)
    np.testing.assert_array_equal(copy.x, result.x)
    assert (copy.status, copy.success, copy.gap, copy.message) == (
        result.status,
        result.success,
        result.gap,
        result.message,
    )
    for column in COLUMNS:
        np.testing.assert_array_equal(copy.trace[column], result.trace[column])
    # what is pickled can be continued from, to the same bits
    onward = [fw.minimize(problem, method, tol=0, max_passes=1, random_state=1, x0=start) for start in (result, copy)]
    np.testing.assert_array_equal(onward[0].x, onward[1].x)


# --- what is shown --------------------------------------------------------------------------------------------


@interpreted
@pytest.mark.parametrize("limits", [{"max_passes": 5}, {"max_passes": None, "max_seconds": 0.05}, {"max_passes": 0}])
def test_progress_goes_to_stderr_and_only_on_request(limits, capsys):
    pytest.importorskip("tqdm")
    problem = cases.problem()
    shown = fw.minimize(problem, "sfw", tol=0, random_state=0, progress=True, **limits)
    out, err = capsys.readouterr()
    assert out == ""
    assert "sfw" in err
    assert f"{shown.passes:.4g}" in err
    assert "passes" in err
    assert "estimated gap" in err
    silent = fw.minimize(problem, "sfw", tol=0, random_state=0, **limits)
    assert capsys.readouterr() == ("", "")
    if "max_seconds" not in limits:
        np.testing.assert_array_equal(shown.x, silent.x)


@interpreted
def test_progress_without_tqdm_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match=r"frankwolfe\[progress\]"):
        fw.minimize(cases.problem(), progress=True)
    assert fw.minimize(cases.problem(), "fw", tol=0, max_passes=1).nit == 1


@interpreted
def test_the_repr_tells_how_it_ended():
    problem = cases.problem()
    stopped = fw.minimize(problem, "fw", tol=0, max_passes=4)
    done = fw.minimize(problem, "fw", tol=0.2, max_passes=100)
    assert "max-passes (not certified" in repr(stopped)
    assert "converged (success)" in repr(done)
    for result in (stopped, done):
        assert f"gap: {result.gap:.3g} (proven" in repr(result)
        assert f"{result.nonzeros} not zero" in repr(result)
        assert result.message in repr(result)
    assert f"{len(stopped.trace.nit)} points" in repr(stopped.trace)


@interpreted
@pytest.mark.parametrize("loss", [fw.Logistic(), fw.Sigmoid()], ids=cases.name_of)
def test_a_plot_has_labels_and_the_curves_of_the_trace(loss):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    result = fw.minimize(cases.problem(loss), "sfw", tol=1e-3, max_passes=5, random_state=0)
    axes = result.plot()
    try:
        assert "passes" in axes.get_xlabel()
        assert "objective" in axes.get_ylabel()
        assert axes.get_title().count("sfw") == 1
        assert str(result.status) in axes.get_title()
        curves = {line.get_label(): line for line in axes.get_lines()}
        np.testing.assert_array_equal(curves["exact gap"].get_ydata(), result.trace.fw_gap[1:])
        np.testing.assert_array_equal(curves["estimated gap"].get_ydata(), result.trace.gap_estimate[1:])
        # a bound on the optimum is only claimed where there is one
        assert any("certified bound" in label for label in curves) == loss.convex
        axes.figure.canvas.draw()
        assert result.plot(ax=axes) is axes
    finally:
        plt.close(axes.figure)
