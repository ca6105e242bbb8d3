"""Settings apart from what a run remembers, and estimates that use all of a lifecycle."""

from typing import NamedTuple

import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.methods.base import Setting
from frankwolfe.running.certifier import CertificateSchedule
from frankwolfe.solvers.loop import Sampler
from tests import cases
from tests.methods.recorder import Recorder

PARTS = list(
    dict.fromkeys(part for method in cases.METHODS for part in (method.estimate, method.direction, method.step))
)


# --- settings and states ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", PARTS, ids=cases.name_of)
def test_a_constructor_shows_settings_only(part):
    assert all(isinstance(value, float | None) for value in part)


@pytest.mark.parametrize("part", PARTS, ids=cases.name_of)
def test_every_run_has_a_state_of_its_own(part):
    problem = cases.problem()
    setting = Setting(problem.samples, 3, problem.default_start(), problem.constraint)
    one, other = (part.for_run(setting) for _ in range(2))
    for mine, yours in zip(one, other, strict=True):
        assert not (isinstance(mine, np.ndarray) and np.shares_memory(mine, yours))


@pytest.mark.parametrize("method", cases.METHODS, ids=cases.name_of)
def test_an_estimate_names_the_class_of_its_states(method):
    problem, generator = cases.problem(), np.random.default_rng(0)
    at = problem.default_start()
    setting = Setting(problem.samples, 3, at, problem.constraint, generator=generator)
    state = method.estimate.for_run(setting)
    assert type(state) is method.estimate.state
    assert all(name in state._fields for name in method.estimate.row_arrays)
    if state.alpha is not None and state.renew is not None:
        state.renew(np.arange(problem.n))
        np.testing.assert_array_equal(state.alpha, np.arange(problem.n))


class Silent(NamedTuple):
    """Makes a state, and does not name its class."""

    def for_run(self, setting):
        return fw.methods.SagTable().for_run(setting)


class Forgetful(NamedTuple):
    """Makes something for a run that is no state."""

    state = fw.methods.SagTable().state

    def for_run(self, setting):
        return fw.methods.Toward()


@pytest.mark.parametrize(
    ("estimate", "message"),
    [
        (Silent(), "Silent is not a gradient estimate: its state, Silent, has no method refresh. Name the class"),
        (fw.methods.Toward(), "method.estimate: Toward is not a gradient estimate"),
        (fw.L1Ball(1.0), "method.estimate: L1Ball is not a gradient estimate"),
        (fw.Logistic(), "method.estimate: Logistic is not a gradient estimate: it has no method refresh"),
        (fw.methods.SagTable, r"write SagTable\(...\)"),
        (Forgetful(), "Forgetful.for_run: Toward is not the state of a gradient estimate: it has no method refresh"),
    ],
    ids=str,
)
def test_what_is_no_estimate_is_refused(estimate, message):
    with pytest.raises(TypeError, match=message):
        fw.minimize(cases.problem(), fw.methods.Method(estimate))


def test_what_is_no_direction_or_step_rule_is_refused():
    with pytest.raises(TypeError, match="Logistic is not a direction: it has no method choose"):
        fw.minimize(cases.problem(), fw.methods.Method(fw.methods.SagTable(), fw.Logistic()))
    with pytest.raises(TypeError, match="Logistic is not a step rule: it has no method length"):
        fw.minimize(cases.problem(), fw.methods.Method(fw.methods.SagTable(), fw.methods.Toward(), fw.Logistic()))


# --- rows, sizes, budgets ---------------------------------------------------------------------------------------


OWN = {
    "saga": fw.methods.METHODS["saga"],
    "svrf": fw.methods.Method(fw.methods.Svrf(), name="svrf"),
    "sarah": fw.methods.Method(fw.methods.Sarah(0.15), name="sarah"),
}
"""Methods that use all of a lifecycle: corrections for a step, growing batches and snapshots, a look ahead."""


STOCHASTIC = {m.name: m for m in cases.TOWARD if not m.reads_all_rows}


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("name", STOCHASTIC | OWN)
def test_rows_are_counted_as_they_are_read(name):
    problem, read = cases.problem(n=40, d=6), []

    class Counting(type(problem.loss)):
        def derivative(self, z, y):
            read.append(np.size(z))  # of one row, or of all in a whole pass
            return super().derivative(z, y)

    problem._loss = Counting(*problem.loss)
    problem._samples, problem._objective = problem.samples._replace(loss=problem.loss), None
    run = Recorder(problem, (STOCHASTIC | OWN)[name], 4)
    read.clear()
    run.run(60)
    assert run.solver.rows_read == sum(read)
    if name in ("sfw", "saga", "sagafw", "one-sample"):
        assert run.charged == [4 if name in ("sfw", "saga") else 8] * 60
    if name == "svrf":
        assert [len(batch) for batch in run.batches[:17]] == [1, 1, *range(12, 40, 4), *[40] * 6, 1, 12]
        assert run.snapshots == [1, 2, 16, 46]
        assert run.charged[:4] == [40 + 40, 0, 12, 16]  # at a snapshot the batch is not read
        assert run.charged[14] == 40 + 40  # at the end of the step before, so that it may certify
    if name == "sarah":
        assert set(run.charged) == {40 + 4, 4, 8, 8 + 40}


@pytest.mark.parametrize("growing", [None, lambda steps: steps**2], ids=["constant", "growing"])
@pytest.mark.parametrize("ahead", [False, True], ids=["", "ahead"])
def test_batches_do_not_depend_on_how_many_are_taken_at_once(growing, ahead):
    pieces, whole = (Sampler(10, 3, np.random.default_rng(2), growing, 1, ahead) for _ in range(2))
    expected = whole.take(9)
    sizes = np.diff(expected.offsets)
    assert list(sizes[:4]) == ([1, 4, 9, 10] if growing else [3, 3, 3, 3])
    assert len(expected.order) == sizes.sum()
    order, at = [], 0
    for steps in (2, 0, 1, 6):
        found = pieces.take(steps)
        np.testing.assert_array_equal(np.diff(found.offsets)[:steps], sizes[at : at + steps])
        order.append(found.order[: found.offsets[steps]])
        at += steps
    np.testing.assert_array_equal(np.concatenate(order), expected.order[: expected.offsets[9]])
    for batch in np.split(expected.order, expected.offsets[1:-1]):
        assert len(set(batch)) == len(batch)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("intercept", [False, True], ids=["", "intercept"])
@pytest.mark.parametrize("budget", [0.4, 1.2, 3.0, 17.3])
@pytest.mark.parametrize("name", OWN)
def test_a_budget_is_kept_and_used(name, budget, intercept):
    X, y = cases.table(fw.Logistic(), n=40, d=6)
    problem = fw.Problem(X, y, "logistic", fw.L1Ball(1.5), intercept=intercept)
    result = fw.minimize(problem, OWN[name], batch_size=4, tol=0.0, max_passes=budget, random_state=1)
    assert result.passes <= budget
    assert result.passes > budget - 2.5  # a step, a snapshot and an intercept may all be due at once
    assert result.trace.passes[-1] == result.passes


# --- runs -------------------------------------------------------------------------------------------------------


def _problems():
    X, y = cases.vector_table(fw.Multinomial(), n=40, d=6)
    yield "dense", cases.problem(n=40, d=6)
    yield "sparse", cases.problem(n=40, d=6, layout="csr32", constraint=fw.L2Ball(1.2))
    yield "intercept", fw.Problem(*cases.table(fw.Squared(), n=40, d=6), "squared", fw.Simplex(1.5), intercept=True)
    yield "outputs", fw.Problem(X, y, "multinomial", fw.L1Ball(3.0))


PROBLEMS = dict(_problems())


@pytest.mark.parametrize(
    ("name", "kind"), [("saga", "outputs"), ("svrf", "intercept"), ("sarah", "sparse"), ("sarah", "dense")]
)
def test_compiled_is_interpreted_and_a_seed_decides(name, kind):
    options = {"batch_size": 4, "tol": 0.0, "max_passes": 12, "random_state": 3}
    problem, method = PROBLEMS[kind], OWN[name]
    compiled, same = (fw.minimize(problem, method, trace=trace, **options) for trace in (10, 10**6))
    assert compiled.x.tobytes() == same.x.tobytes()  # however many steps are made at a time
    assert (compiled.nit, compiled.passes) == (same.nit, same.passes)
    with fw.python_mode():
        python = fw.minimize(problem, method, **options)
    assert (compiled.nit, compiled.passes) == (python.nit, python.passes)
    np.testing.assert_allclose(compiled.x, python.x, rtol=0.0, atol=1e-11 * np.abs(python.x).max())
    assert compiled.gap < problem.gap(np.zeros(problem.shape))


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("name", ["svrf", "sarah"])
def test_a_snapshot_certifies(name, monkeypatch):
    monkeypatch.setattr(CertificateSchedule, "due", lambda *_: False)  # no certificate that costs a pass
    problem = cases.problem(fw.Squared(), fw.L2Ball(0.3), n=40, d=6)
    result = fw.minimize(problem, OWN[name], batch_size=10, tol=1e-2, max_passes=400, random_state=0)
    assert result.success
    assert result.passes < 400
    assert result.gap == problem.gap(result.x)
    assert result.checks == 0


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("name", OWN)
def test_a_run_goes_on_from_its_result(name):
    problem = cases.problem(n=40, d=6)
    first = fw.minimize(problem, OWN[name], batch_size=4, tol=0.0, max_passes=20, random_state=0)
    onward = fw.minimize(problem, OWN[name], batch_size=4, tol=0.0, max_passes=40, random_state=1, x0=first)
    assert onward.state["steps"] == first.nit + onward.nit
    assert onward.gap < first.gap


@pytest.mark.usefixtures("interpreted")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["svrf", "sarah"])
def test_a_snapshot_that_is_not_finite_ends_the_run(name):
    X = 1e160 * np.random.default_rng(0).normal(size=(30, 4))
    problem = fw.Problem(X, np.ones(30), "squared", fw.L1Ball(1.0))
    result = fw.minimize(problem, OWN[name], batch_size=3, tol=0.0, max_passes=5, random_state=0)
    assert result.status == "non-finite"
    assert result.passes < 5
