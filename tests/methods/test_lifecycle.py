"""Settings apart from what a run remembers, and estimates that use all of a lifecycle: SAGA, SVRF and SARAH."""

from copy import deepcopy
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.engines.batches import Sampler
from frankwolfe.engines.schedule import CertificateSchedule
from frankwolfe.engines.stepwise import StepwiseEngine
from frankwolfe.methods.lifecycle import Abilities, Setting
from tests import cases
from tests.methods.recorder import Recorder
from tests.own_estimates import Saga, Sarah
from tests.reference import textbook

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
def test_a_state_has_the_table_that_its_estimate_promises(method):
    problem, abilities = cases.problem(), method.estimate.abilities
    state = method.estimate.for_run(Setting(problem.samples, 3, problem.default_start(), problem.constraint))
    assert abilities.has_table == ("alpha" in state._fields)
    if abilities.exact_table:
        state.renew(np.arange(problem.n))
        np.testing.assert_array_equal(state.alpha, np.arange(problem.n))


class Silent(NamedTuple):
    """Follows the gradient, but does not say what it can do."""

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        pass

    def follow(self, samples, iterate, move, gradient, batch, upcoming, t):
        pass


class Forgetful(NamedTuple):
    """Makes something for a run that is no state."""

    abilities = Abilities()

    def for_run(self, setting):
        return fw.Toward()


@pytest.mark.parametrize(
    ("estimate", "message"),
    [
        (Silent(), "method.estimate: Silent does not say what it can do: give it a property abilities"),
        (fw.Toward(), "Toward does not say what it can do"),
        (fw.L1Ball(1.0), "L1Ball does not say what it can do"),
        (fw.Logistic(), "method.estimate: Logistic is not a gradient estimate: it has no method refresh, follow"),
        (fw.SagTable, r"write SagTable\(...\)"),
        (Forgetful(), "Forgetful.for_run: Toward is not the state of an estimate: it has no method refresh, follow"),
    ],
    ids=str,
)
def test_what_is_no_estimate_is_refused(estimate, message):
    with pytest.raises(TypeError, match=message):
        fw.minimize(cases.problem(), fw.Method(estimate))


def test_what_is_no_direction_or_step_rule_is_refused():
    with pytest.raises(TypeError, match="Logistic is not a direction: it has no method choose"):
        fw.minimize(cases.problem(), fw.Method(fw.SagTable(), fw.Logistic()))
    with pytest.raises(TypeError, match="Logistic is not a step rule: it has no method length"):
        fw.minimize(cases.problem(), fw.Method(fw.SagTable(), fw.Toward(), fw.Logistic()))


# --- SAGA, SVRF and SARAH against their pseudo-code -------------------------------------------------------------


def saga(G, w, lmo, batches, snapshots):
    """``r = (1/b) sum_S [g_i(w) - y_i] + mean(y)``, then ``y_i = g_i(w)`` on S."""
    path, y = [w], np.zeros_like(G(w))
    for t, S in enumerate(batches, 1):
        g = G(w)
        r = (g[S] - y[S]).mean(axis=0) + y.mean(axis=0)
        y[S] = g[S]
        w = w + 2.0 / (t + 2.0) * (lmo(r) - w)
        path.append(w)
    return path


def svrf(G, w, lmo, batches, snapshots):
    """``r = g_S(w) - g_S(v) + G(v)``, ``v`` the iterate of the last snapshot."""
    path, v = [w], None
    for t, S in enumerate(batches, 1):
        v = w if t in snapshots else v
        r = G(w)[S].mean(axis=0) - G(v)[S].mean(axis=0) + G(v).mean(axis=0)
        w = w + 2.0 / (t + 2.0) * (lmo(r) - w)
        path.append(w)
    return path


def sarah(G, w, lmo, batches, snapshots):
    """The exact gradient at snapshots, else ``r += g_S(w_t) - g_S(w_{t-1})``."""
    path, previous, r = [w], w, None
    for t, S in enumerate(batches, 1):
        r = G(w).mean(axis=0) if t in snapshots else r + (G(w)[S] - G(previous)[S]).mean(axis=0)
        w, previous = w + 2.0 / (t + 2.0) * (lmo(r) - w), w
        path.append(w)
    return path


OWN = {
    "saga": (fw.Method(Saga(), name="saga"), saga),
    "svrf": (fw.Method(fw.Svrf(), name="svrf"), svrf),
    "sarah": (fw.Method(Sarah(0.15), name="sarah"), sarah),
}


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("batch_size", [1, 3, 20])
@pytest.mark.parametrize("name", OWN)
def test_own_estimate_is_the_textbook_one(name, batch_size):
    method, reference = OWN[name]
    problem = cases.problem(fw.Logistic(), fw.L1Ball(4.0), n=20, d=7, density=1.0)
    run = Recorder(problem, method, batch_size, seed=5).run(70)
    expected = reference(
        lambda w: textbook.logistic(problem.X @ w, problem.y)[:, None] * problem.X,
        problem.default_start(),
        textbook.l1_ball(4.0),
        run.batches,
        run.snapshots,
    )
    np.testing.assert_allclose(run.path, expected, rtol=0.0, atol=1e-10)
    assert (len(run.snapshots) > 2) == (name != "saga")


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("weights", [None, np.array([1.0, 2.0, 0.5, 0.0, 3.0, 1.0, 1.0])], ids=["even", "weighted"])
@pytest.mark.parametrize("name", ["saga", "svrf"])
def test_direction_is_unbiased(name, weights):
    # the exact expectation, over all batches: after a few steps, at an iterate that no table was made at
    problem = cases.problem(fw.Logistic(), fw.L1Ball(4.0), n=7, d=4, sample_weight=weights)
    run = Recorder(problem, OWN[name][0], 3).run(11)
    engine, samples = run.engine, problem.samples
    mean = np.zeros(problem.d)
    batches = list(combinations(range(problem.n), 3))
    for batch in batches:
        state, gradient = deepcopy(engine.parts[0]), deepcopy(engine.gradient)
        state.refresh(samples, engine.iterate, gradient, np.array(batch), np.empty(0, dtype=np.int64), 12)
        mean += gradient.r / len(batches)
    exact = problem.gradient(engine.point())
    np.testing.assert_allclose(mean, exact, rtol=1e-12, atol=1e-14)
    assert np.abs(gradient.r - exact).max() > 1e-3  # which no single batch attains
    np.testing.assert_allclose(  # and what is left of a step, once its surplus is gone, is the table's gradient
        _without_surplus(engine), problem.X.T @ engine.parts[0].alpha, rtol=1e-12, atol=1e-14
    )


def _without_surplus(engine):
    state, r = engine.parts[0], engine.gradient.r.copy()
    for k in range(state.surplus.number[0]):
        r -= state.surplus.amounts[k] * engine.problem.X[state.surplus.rows[k]]
    return r


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("name", OWN)
def test_all_rows_in_a_batch_are_the_full_gradient(name):
    problem = cases.problem(fw.Logistic(), fw.L1Ball(4.0), n=20, d=7)
    method = OWN[name][0]
    own, full = (
        StepwiseEngine(problem, which, 20, np.random.default_rng(0), problem.default_start())
        for which in (method, fw.METHODS["fw"])
    )
    for engine in (own, full):
        engine.advance(40)
    np.testing.assert_allclose(own.point(), full.point(), rtol=0.0, atol=1e-12)


# --- rows, sizes, budgets ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("name", OWN)
def test_rows_are_counted_as_they_are_read(name):
    problem = cases.problem(n=40, d=6)
    read, predictions = [], problem.samples.loss
    run = Recorder(problem, OWN[name][0], 4)

    class Counting(type(predictions)):
        def derivative(self, z, y):
            read.append(1)
            return super().derivative(z, y)

    samples = problem.samples._replace(loss=Counting(*predictions))
    run.engine.problem._samples = samples
    run.run(60)
    assert run.engine.rows_read == len(read)
    if name == "saga":
        assert run.charged == [4] * 60
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
    result = fw.minimize(problem, OWN[name][0], batch_size=4, tol=0.0, max_passes=budget, random_state=1)
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
    problem, method = PROBLEMS[kind], OWN[name][0]
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
    result = fw.minimize(problem, OWN[name][0], batch_size=10, tol=1e-2, max_passes=400, random_state=0)
    assert result.success
    assert result.passes < 400
    assert result.gap == problem.gap(result.x)
    assert result.checks == 0


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("name", OWN)
def test_a_run_goes_on_from_its_result(name):
    problem = cases.problem(n=40, d=6)
    first = fw.minimize(problem, OWN[name][0], batch_size=4, tol=0.0, max_passes=20, random_state=0)
    onward = fw.minimize(problem, OWN[name][0], batch_size=4, tol=0.0, max_passes=40, random_state=1, x0=first)
    assert onward.state["steps"] == first.nit + onward.nit
    assert onward.gap < first.gap


@pytest.mark.usefixtures("interpreted")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["svrf", "sarah"])
def test_a_snapshot_that_is_not_finite_ends_the_run(name):
    X = 1e160 * np.random.default_rng(0).normal(size=(30, 4))
    problem = fw.Problem(X, np.ones(30), "squared", fw.L1Ball(1.0))
    result = fw.minimize(problem, OWN[name][0], batch_size=3, tol=0.0, max_passes=5, random_state=0)
    assert result.status == "non-finite"
    assert result.passes < 5
