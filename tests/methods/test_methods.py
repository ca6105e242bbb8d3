"""Methods against their textbook versions, themselves in other layouts and modes, and what they promise."""

from functools import cache
from itertools import cycle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize as scipy_minimize
from scipy.stats import chisquare

import frankwolfe as fw
from frankwolfe.solvers.loop import Sampler
from frankwolfe.solvers.stepwise import StepwiseSolver
from tests import cases
from tests.methods.recorder import Recorder
from tests.reference import textbook

EVERY_STEP = 10**6
"""So many traced points for each factor of ten that no step is left out."""


def with_known_step(method):
    """A method whose step depends on the budget, with one that does not."""
    depends = isinstance(method.step, fw.methods.ConstantStep) and method.step.gamma is None
    return method._replace(step=fw.methods.ConstantStep(0.1)) if depends else method


FULL = [method for method in cases.TOWARD if isinstance(method.estimate, fw.methods.FullGradient)]
STOCHASTIC = [  # a constant step is that of the textbook, whatever the budget
    method._replace(step=fw.methods.ConstantStep(textbook.CONSTANT_STEP))
    if type(method.step) is fw.methods.ConstantStep
    else method
    for method in cases.TOWARD
    if not isinstance(method.estimate, fw.methods.FullGradient)
]
LASTING = [  # what the oracle is asked with stays in r, and is known from the batches alone
    method
    for method in STOCHASTIC
    if method.estimate.state.next_snapshot is None and method.estimate.state.surplus is None
]
NEVER_UP = [
    method
    for method in FULL
    if not isinstance(method.step, fw.methods.OpenLoop | fw.methods.LogAdaptive | fw.methods.ConstantStep)
]


def run(problem, method, steps, batch_size=1, seed=0, see=None):
    """Result of so many steps; ``see`` is called with the state after every one, and before the first."""

    def watch(state):
        if see is not None:
            see(state)
        return state.nit == steps

    result = fw.minimize(
        problem,
        method,
        batch_size=batch_size,
        tol=0.0,
        max_passes=10 * (steps + 1),  # enough, whatever a step costs
        random_state=seed,
        trace=EVERY_STEP,
        callback=watch,
    )
    assert result.nit == steps
    return result


def iterates(problem, method, steps, batch_size=1, seed=0):
    """All iterates of a run, the start first."""
    seen = []
    run(problem, method, steps, batch_size, seed, see=lambda state: seen.append(state.x))
    assert len(seen) == steps + 1
    return np.array(seen)


def batches(n, batch_size, steps, seed=0):
    """The batches that a run with this seed sees."""
    return Sampler(n, batch_size, np.random.default_rng(seed)).draw(steps).reshape(steps, batch_size)


def textbook_run(problem, method, derivative, lmo, batch_size, steps, seed):
    """Iterates of the textbook's version of a method, shown the same batches and snapshots."""
    seen = Recorder(problem, method, batch_size, seed).run(steps)
    told = {"snapshots": seen.snapshots} if method.estimate.state.next_snapshot is not None else {}
    data = problem.X, problem.y, derivative, lmo, seen.batches, problem.default_start()
    return textbook.METHODS[method.name](*data, **told)


# --- the textbook -----------------------------------------------------------------------------------------------

# by name: parts are tuples, and a Logistic() equals a Squared()
TEXTBOOK_LOSSES = {"Logistic": textbook.logistic, "Squared": textbook.squared}
TEXTBOOK_SETS = {
    "L1Ball": (fw.L1Ball(4.0), textbook.l1_ball(4.0)),
    "Simplex": (fw.Simplex(3.0), textbook.simplex(3.0)),
    "Box": (fw.Box(-1.0, 1.5), textbook.box(-1.0, 1.5)),
}
TEXTBOOK_STEPS = {
    "OpenLoop": lambda problem, derivative: textbook.open_loop,
    "ShortStep": lambda problem, derivative: textbook.short_step(problem.loss.smoothness()),
    "LineSearch": lambda problem, derivative: textbook.exact_line_search(derivative),
    "Backtracking": lambda problem, derivative: textbook.backtracking(problem.value, problem.loss.smoothness()),
    "Secant": lambda problem, derivative: textbook.exact_line_search(derivative),
    "LogAdaptive": lambda problem, derivative: textbook.log_adaptive,
    "Monotone": lambda problem, derivative: textbook.monotone(problem.value),
    "ConstantStep": lambda problem, derivative: lambda *_: textbook.CONSTANT_STEP,
}


def test_every_method_has_a_textbook_version():
    assert {method.name for method in STOCHASTIC} == set(textbook.METHODS)
    assert {type(method.step).__name__ for method in FULL} == set(TEXTBOOK_STEPS)


BATCHES_IN_TURN = [
    (batch_size, list(TEXTBOOK_SETS)[(k + 2 * (loss == "Squared")) % 3], loss)
    for k, batch_size in enumerate((1, 3, "n"))
    for loss in TEXTBOOK_LOSSES
]
"""Every batch size and every set with either loss: an estimate does not know the set, nor a set the batch."""


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(("batch_size", "constraint", "loss"), BATCHES_IN_TURN)
@pytest.mark.parametrize("method", STOCHASTIC, ids=cases.name_of)
def test_stochastic_method_is_the_textbook_one(method, batch_size, constraint, loss):
    (constraint, lmo), derivative = TEXTBOOK_SETS[constraint], TEXTBOOK_LOSSES[loss]
    problem = cases.problem(getattr(fw, loss)(), constraint, n=20, d=7, density=1.0)
    b = problem.n if batch_size == "n" else batch_size
    steps = 60 if b < problem.n else 25
    found = iterates(problem, method, steps, b, seed=5)
    expected = textbook_run(problem, method, derivative, lmo, b, steps, seed=5)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-10)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("loss", TEXTBOOK_LOSSES)
@pytest.mark.parametrize("constraint", TEXTBOOK_SETS)
@pytest.mark.parametrize("method", FULL, ids=cases.name_of)
def test_full_gradient_method_is_the_textbook_one(method, constraint, loss):
    (constraint, lmo), derivative = TEXTBOOK_SETS[constraint], TEXTBOOK_LOSSES[loss]
    problem = cases.problem(getattr(fw, loss)(), constraint, n=20, d=7, density=1.0)
    step = TEXTBOOK_STEPS[type(method.step).__name__](problem, derivative)
    found = iterates(problem, method, steps=30)
    expected = textbook.frank_wolfe(
        problem.X, problem.y, derivative, lmo, range(30), problem.default_start(), step=step
    )
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-10)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("method", LASTING, ids=cases.name_of)
def test_gap_estimate_is_that_of_the_textbook_gradient(method):
    # iterates only show where the estimate points; its size shows here
    (constraint, lmo), b, steps = TEXTBOOK_SETS["L1Ball"], 3, 30
    problem = cases.problem(fw.Logistic(), constraint, n=20, d=7, density=1.0)
    asked = []

    def listening(r):
        asked.append(r)
        return lmo(r)

    w = textbook_run(problem, method, textbook.logistic, listening, b, steps + 1, seed=5)
    r = np.array(asked) / (problem.n if method.name == "mokhtari" else 1.0)  # the appendix leaves the 1/n out
    # Lu and Freund ask for the vertex before they look at the batch: their r is what the next step asks with
    after = r[1:] if method.name == "lu-freund" else r[:steps]
    expected = [r_t @ (w_t - lmo(r_t)) for r_t, w_t in zip(after, w[1 : steps + 1], strict=True)]
    found = run(problem, method, steps, b, seed=5).trace.gap_estimate[1:]
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-10)


@pytest.mark.usefixtures("interpreted")
def test_factors_kept_apart_are_folded_in_before_they_vanish():
    problem = cases.problem(n=20, d=7)
    plain, faded = (
        StepwiseSolver(problem, fw.methods.METHODS["momentum"], 2, np.random.default_rng(0), problem.default_start())
        for _ in range(2)
    )
    for solver in (plain, faded):
        solver.advance(10)
    tiny = 1.2e-100  # as after half a million steps
    for values, scale in ((faded.gradient.r, faded.gradient.scale), (faded.iterate.v, faded.iterate.scale)):
        values[:] = values * scale / tiny
        scale[:] = tiny
    faded.gradient.tracker.rebuild(faded.gradient.r)
    for solver in (plain, faded):
        solver.advance(40)
    assert faded.gradient.scale[0] > 1e-50
    assert faded.iterate.scale[0] > 1e-50
    np.testing.assert_allclose(faded.point(), plain.point(), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(faded.gradient.dense(), plain.gradient.dense(), rtol=1e-10, atol=1e-15)


# --- every method on every set ---------------------------------------------------------------------------------


def _in_turn():
    """Every method with every set; the losses take turns, so that each meets every set and most methods."""
    for k, (method, constraint) in enumerate(cases.PAIRS):
        loss = cases.LOSSES[k % len(cases.LOSSES)]
        yield method, constraint, loss if cases.takes(method, loss) else fw.Logistic()


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(("method", "constraint", "loss"), [*_in_turn()], ids=cases.name_of)
def test_every_iterate_is_feasible_with_a_sound_gap(method, constraint, loss):
    problem = cases.problem(loss, constraint, n=12, d=5)

    def check(state):
        w, found = state.x, state.evaluate()
        assert np.isfinite(w).all()
        assert problem.constraint.contains(w, tolerance=1e-9)
        assert np.isfinite(found.value)
        assert found.gap >= 0.0
        assert state.gap_estimate >= -1e-12
        # worked out anew from the oracle: the library's own number goes through the support function
        by_oracle = found.gradient @ (w - problem.constraint.vertex(found.gradient))
        assert found.gap == pytest.approx(by_oracle, abs=1e-12)

    run(problem, method, steps=12, batch_size=2, see=check)


# --- Python and compiled ----------------------------------------------------------------------------------------


def _diagonal():
    """Combinations of parts and layouts in which every one of them turns up, each time with other company.

    Methods that are left when all losses, sets and layouts have turned up take those for which
    `tests.solvers.test_robustness` compiles them too.
    """
    layouts, left = list(cases.LAYOUTS), list(cases.LOSSES)
    for k in range(max(len(cases.LOSSES), len(cases.SETS), len(cases.EVERY_PART), len(layouts))):
        method = cases.EVERY_PART[k % len(cases.EVERY_PART)]
        if not left and k >= max(len(cases.SETS), len(layouts)):
            yield pytest.param(fw.Logistic(), fw.L1Ball(1.5), method, "dense64")
            continue
        loss = next(loss for loss in (*left, *cases.LOSSES) if cases.takes(method, loss))
        left = [other for other in left if other is not loss]
        yield pytest.param(loss, cases.SETS[k % len(cases.SETS)], method, layouts[(5 * k + 1) % len(layouts)])


def _named(case):
    return "-".join(map(cases.name_of, case.values)).replace(" ", "")


DIAGONAL = list(_diagonal())


def test_diagonal_leaves_nothing_out():
    tables = [cases.LOSSES, cases.SETS, cases.EVERY_PART, list(cases.LAYOUTS)]
    for table, used in zip(tables, zip(*(case.values for case in DIAGONAL), strict=True), strict=True):
        kinds = {(type(entry), entry) for entry in used}  # parts of different classes may be equal tuples
        assert [entry for entry in table if (type(entry), entry) not in kinds] == []
    parts = {type(part) for method in cases.METHODS for part in method[:3]}
    assert {type(part) for method in cases.EVERY_PART for part in method[:3]} == parts


@pytest.mark.parametrize(
    ("loss", "constraint", "method", "layout"), [pytest.param(*case.values, id=_named(case)) for case in DIAGONAL]
)
def test_compiled_agrees_with_python(loss, constraint, method, layout):
    problem = cases.problem(loss, constraint, layout)
    compiled = run(problem, method, steps=60, batch_size=2, seed=3)
    with fw.python_mode():
        python = run(problem, method, steps=60, batch_size=2, seed=3)
    scale = np.abs(python.x).max()
    np.testing.assert_allclose(compiled.x, python.x, rtol=0.0, atol=1e-12 * scale)
    assert compiled.fun == pytest.approx(python.fun, rel=1e-12)
    assert compiled.gap == pytest.approx(python.gap, rel=1e-12, abs=1e-12 * problem.zero_value)


# --- layouts ----------------------------------------------------------------------------------------------------


SPARSE = [name for name in cases.LAYOUTS if name.startswith("csr")]


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(
    ("method", "layout"),
    [
        (method, layout)
        for k, method in enumerate(cases.METHODS)
        for layout in ("dense32", SPARSE[k % len(SPARSE)])  # the kinds of sparse rows take turns
    ],
    ids=cases.name_of,
)
def test_layout_does_not_matter(method, layout):
    plain, other = (cases.problem(fw.Squared(), fw.L1Ball(3.0), name, n=25, d=9) for name in ("dense64", layout))
    np.testing.assert_allclose(
        iterates(other, method, 40, batch_size=3), iterates(plain, method, 40, batch_size=3), rtol=0.0, atol=1e-10
    )


@pytest.mark.parametrize("layout", cases.LAYOUTS)
def test_data_is_used_as_it_is_stored(layout):
    # were a layout converted on the way in, the tests of layouts would all test the same one
    X, _ = cases.table(fw.Squared())
    stored = cases.LAYOUTS[layout](X)
    rows = cases.problem(fw.Squared(), layout=layout).samples.rows
    if layout.startswith("dense"):
        assert rows.values.dtype == stored.dtype
    else:
        assert (rows.data.dtype, rows.indptr.dtype) == (stored.data.dtype, stored.indptr.dtype)
        assert rows.indices.itemsize == stored.indices.itemsize  # but without a sign


# --- promises ---------------------------------------------------------------------------------------------------


CONVEX = {cases.name_of(loss): loss for loss in cases.LOSSES if loss.convex}


@cache
def _problem_and_optimum(name):
    """A problem over an l1 ball that binds, and its optimum found by SciPy with ``w`` split into two signs."""
    problem = cases.problem(CONVEX[name], fw.L1Ball(1.0), n=25, d=6)
    d = problem.d

    def both(u):
        found = problem.evaluate(u[:d] - u[d:])
        return found.value, np.concatenate([found.gradient, -found.gradient])

    found = scipy_minimize(
        both,
        np.full(2 * d, 0.4 / d),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * (2 * d),
        constraints={"type": "ineq", "fun": lambda u: 1.0 - u.sum(), "jac": lambda u: -np.ones(2 * d)},
        options={"ftol": 1e-15, "maxiter": 500},
    )
    w = found.x[:d] - found.x[d:]
    w /= max(1.0, np.abs(w).sum())
    assert problem.gap(w) < 1e-6  # so that the test below compares with an optimum
    return problem, problem.value(w)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(
    ("method", "loss"),
    [
        (method, list(CONVEX)[(k + turn) % len(CONVEX)])  # every method with three losses, and every loss with many
        for k, method in enumerate(cases.METHODS)
        for turn in (0, len(CONVEX) // 3, 2 * len(CONVEX) // 3)
        if cases.takes(method, [*CONVEX.values()][(k + turn) % len(CONVEX)])
    ],
    ids=cases.name_of,
)
def test_gap_bounds_the_distance_to_the_optimum(method, loss):
    problem, optimum = _problem_and_optimum(loss)
    trace = run(problem, method, steps=60, batch_size=2).trace
    assert (trace.fun >= optimum - 1e-9).all()
    assert (trace.fun - optimum <= trace.gap + 1e-9).all()


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(
    ("method", "loss", "constraint"),
    [
        (method, loss, constraint)
        for method in NEVER_UP
        for loss, constraint in zip(cases.LOSSES, cycle((fw.L1Ball(1.5), fw.L2Ball(1.2))), strict=False)
        if cases.takes(method, loss)
    ],
    ids=cases.name_of,
)
def test_objective_never_rises(method, loss, constraint):
    fun = run(cases.problem(loss, constraint, n=25, d=6), method, steps=40).trace.fun
    assert fun[-1] < fun[0]
    assert np.diff(fun).max() <= 1e-13 * fun[0]


@pytest.mark.usefixtures("interpreted")
def test_run_may_be_looked_at_a_thousand_times():
    # the steps made in one go are adapted to the clock after every look: the number must not grow without end
    problem = cases.problem(n=4, d=2)
    assert len(run(problem, fw.methods.METHODS["fw"], steps=1000).trace.nit) == 1001


# --- sample weights ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("loss", [fw.Logistic(), fw.Huber(0.7)], ids=cases.name_of)
@pytest.mark.parametrize("method", FULL, ids=cases.name_of)
def test_weights_stand_for_repeated_rows(method, loss):
    X, y = cases.table(loss, n=15, d=6)
    copies = np.random.default_rng(1).integers(0, 4, size=15)
    weighted = fw.Problem(X, y, loss, fw.L1Ball(1.5), sample_weight=copies)
    repeated = fw.Problem(np.repeat(X, copies, axis=0), np.repeat(y, copies), loss, fw.L1Ball(1.5))
    found = iterates(weighted, method, steps=30)
    np.testing.assert_allclose(found, iterates(repeated, method, steps=30), rtol=0.0, atol=1e-10)
    plain = iterates(fw.Problem(X, y, loss, fw.L1Ball(1.5)), method, steps=30)
    assert np.abs(found - plain).max() > 1e-3


# --- batches ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_size", [2, 5, 9, 10])
def test_no_row_twice_in_a_batch(batch_size):
    ordered = np.sort(batches(10, batch_size, steps=500), axis=1)
    assert (np.diff(ordered, axis=1) > 0).all()
    assert ordered.min() == 0
    assert ordered.max() == 9


def test_every_row_is_as_likely_alone():
    rows = batches(12, 1, steps=24_000, seed=7)[:, 0]
    assert chisquare(np.bincount(rows, minlength=12)).pvalue > 0.01


def test_every_place_in_a_batch_and_every_pair_is_as_likely():
    drawn = batches(10, 3, steps=30_000, seed=8)
    for place in range(3):
        assert chisquare(np.bincount(drawn[:, place], minlength=10)).pvalue > 0.01
    pairs = np.bincount(10 * drawn[:, 0] + drawn[:, 2], minlength=100).reshape(10, 10)
    assert not pairs.diagonal().any()
    assert chisquare(pairs[~np.eye(10, dtype=bool)]).pvalue > 0.01


def test_batches_follow_each_other_independently():
    last, first = batches(10, 3, steps=30_001, seed=9)[:, [2, 0]].T
    pairs = np.bincount(10 * last[:-1] + first[1:], minlength=100)
    assert chisquare(pairs).pvalue > 0.01


@pytest.mark.parametrize("batch_size", [1, 4, 10])
def test_batches_do_not_depend_on_how_many_are_drawn_at_once(batch_size):
    pieces, whole = (Sampler(10, batch_size, np.random.default_rng(2)) for _ in range(2))
    drawn = np.concatenate([pieces.draw(3), pieces.draw(0), pieces.draw(4)])
    np.testing.assert_array_equal(drawn, whole.draw(7))
    assert len(drawn) == 7 * batch_size


def test_batches_are_the_same_interpreted():
    compiled = batches(50, 7, steps=40)
    with fw.python_mode():
        np.testing.assert_array_equal(batches(50, 7, steps=40), compiled)


# --- anything small ---------------------------------------------------------------------------------------------


@st.composite
def _anything(draw):
    """A small problem of any shape, a method and a batch size."""
    n, d = draw(st.integers(1, 8)), draw(st.integers(1, 6))
    numbers = st.floats(-100.0, 100.0)
    bounded = [loss for loss in cases.LOSSES if np.isfinite(loss.smoothness())]  # as some step rules need it
    loss, (method, constraint) = draw(st.sampled_from(bounded)), draw(st.sampled_from(cases.PAIRS))
    X = draw(arrays(np.float64, (n, d), elements=numbers))
    y = draw(arrays(np.float64, n, elements=st.sampled_from([-1.0, 1.0]) if loss.targets == "labels" else numbers))
    layout = draw(st.sampled_from(["dense64", "csr64"]))
    problem = fw.Problem(cases.LAYOUTS[layout](X), y, loss, constraint)
    return problem, method, draw(st.integers(1, n)), draw(st.integers(0, 99))


@given(_anything())
def test_small_problems_of_all_kinds(case):
    problem, method, batch_size, seed = case
    with fw.python_mode():
        result = run(problem, method, 8, batch_size, seed)
        trace, again = result.trace, run(problem, method, 8, batch_size, seed).trace
        assert problem.constraint.contains(result.x, tolerance=1e-9)
        assert np.isfinite(trace.fun).all()
        assert (trace.gap >= 0.0).all()
        assert trace.gap_estimate.min() >= -1e-9 * max(1.0, np.abs(problem.X).max() ** 2)
        for column in ("fun", "gap", "gap_estimate"):
            assert trace[column].tobytes() == again[column].tobytes()


@pytest.mark.parametrize("method", ["sfw", "lu-freund"])
def test_seed_decides_compiled_runs_to_the_bit(method):
    problem = cases.problem(layout="csr64")
    one, same, other = (fw.minimize(problem, method, tol=0.0, max_passes=20, random_state=seed) for seed in (4, 4, 5))
    assert one.x.tobytes() == same.x.tobytes()
    assert one.x.tobytes() != other.x.tobytes()
