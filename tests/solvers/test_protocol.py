"""Solvers have one face: the same questions, which change nothing, and states from which a run goes on."""

from copy import copy
from itertools import cycle

import numpy as np
import pytest
from scipy import sparse

import frankwolfe as fw
from frankwolfe.methods.steps import as_step
from frankwolfe.problem import Evaluation
from frankwolfe.solvers.corrective import solver_for
from frankwolfe.solvers.corrective.fully_corrective import CorrectiveSolver
from frankwolfe.solvers.corrective.interior import InteriorSolver
from frankwolfe.solvers.corrective.low_rank import LowRankSolver
from frankwolfe.solvers.corrective.smoothed import SmoothedSolver
from frankwolfe.solvers.corrective.working_set import WorkingSetSolver
from frankwolfe.solvers.dual_bound import LowerBound
from frankwolfe.solvers.loop import generator_state
from frankwolfe.solvers.protocol import Solver
from frankwolfe.solvers.state import handed_over
from frankwolfe.solvers.stepwise import StepwiseSolver
from tests import cases

pytestmark = pytest.mark.usefixtures("interpreted")

TARGET = 1e-9


def completion():
    """A completion problem whose oracle is a Krylov method."""
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(30, 2)) @ rng.normal(size=(2, 20))
    rows, columns = np.nonzero(rng.random(matrix.shape) < 0.4)
    return fw.completion_problem(rows, columns, matrix[rows, columns], matrix.shape, constraint=fw.TraceBall(40.0))


def with_intercept(loss, constraint, **shape):
    X, y = cases.table(loss, **shape)
    return fw.Problem(X, y, loss, constraint, intercept=True)


def wide_trace_ball():
    """A trace-norm ball of matrices that are too large for a Gram matrix."""
    X, y = cases.table(fw.Squared(), n=6, d=131 * 129)
    return fw.Problem(X, y, "squared", fw.TraceBall(2.0, (131, 129)))


def multinomial(constraint):
    X, y = cases.vector_table(fw.Multinomial(), n=40, d=6)
    return fw.Problem(X, y, "multinomial", constraint, intercept=True)


OWN = {
    "svrf": fw.methods.METHODS["svrf"],  # batches grow, snapshots at the steps 1, 2, 16, 46, ...
    "storc": fw.methods.METHODS["storc"],  # a direction with a momentum sequence of its own
    "spider": fw.methods.METHODS["spider"],  # looks at a next batch that grows
    "goldfarb-away": fw.methods.METHODS["goldfarb-away"],  # batches grow, and nothing else tells of the intercept
    "sarah": fw.methods.Method(fw.methods.Sarah(0.15)),  # looks at the next batch, and tosses a coin for snapshots
    "l-svrg": fw.methods.Method(fw.methods.LooplessSvrg(0.15)),  # tosses a coin too, and corrects r for one step
    "saga-sarah": fw.methods.METHODS["saga-sarah"],  # looks at the next batch, and keeps the sum of its table
    "one-sample": fw.methods.METHODS["one-sample"],  # fades, and looks at the next batch
    "sagafw": fw.methods.METHODS["sagafw"],  # has two batches a step, and a step chosen for the budget
    "svrf, line-search": fw.methods.Method(fw.methods.Svrf(), step=fw.methods.LineSearch()),
    "pairwise sarah": fw.methods.Method(fw.methods.Sarah(0.15), fw.methods.Pairwise(), fw.methods.ShortStep()),
}
"""Methods with estimates that use all of a lifecycle: growing batches, a look ahead, snapshots, coins."""


def with_side_constraints(loss, **how):
    X, y = cases.table(loss, n=60, d=80)
    A = np.where(np.random.default_rng(1).random((3, 80)) < 0.3, 1.0, 0.0)
    side = fw.LinearBounds(sparse.csr_array(A), [-0.2, -np.inf, 0.1], [0.2, 0.3, 0.1])
    return fw.Problem(sparse.csr_array(X), y, loss, fw.L1Ball(8.0), side=side, **how)


PROBLEMS = {
    "l1": lambda: cases.problem(fw.Logistic(), fw.L1Ball(3.0)),
    "l1-csr": lambda: cases.problem(fw.Logistic(), fw.L1Ball(8.0), "csr32", n=60, d=80),
    "l1-intercept": lambda: with_intercept(fw.Logistic(), fw.L1Ball(3.0)),
    "simplex": lambda: cases.problem(fw.Squared(), fw.Simplex(2.0)),
    "l2": lambda: cases.problem(fw.Logistic(), fw.L2Ball(1.2)),
    "l2-intercept": lambda: with_intercept(fw.Huber(0.7), fw.L2Ball(1.2)),
    "box": lambda: cases.problem(fw.Squared(), fw.Box(-0.5, 1.0)),
    "capped": lambda: cases.problem(fw.Squared(), cases.SIZED_SETS["CappedSimplex"](12)),
    "capped-intercept": lambda: with_intercept(fw.Logistic(), cases.SIZED_SETS["Budget"](12)),
    "groups": lambda: cases.problem(fw.Logistic(), cases.SIZED_SETS["GroupBall"](12)),
    "shifted": lambda: cases.problem(fw.Squared(), cases.SIZED_SETS["Translated"](12)),
    "birkhoff": lambda: cases.problem(fw.Squared(), fw.Birkhoff(3), d=9),
    "trace": lambda: cases.problem(fw.Squared(), fw.TraceBall(1.5, (3, 4))),
    "trace-large": wide_trace_ball,
    "multinomial": lambda: multinomial(fw.L1Ball(4.0)),
    "multinomial-trace": lambda: multinomial(fw.TraceBall(3.0)),
    "completion": completion,
}

SMOOTHED = {
    "side": lambda: with_side_constraints(fw.Logistic()),
    "side-hinge-intercept": lambda: with_side_constraints(fw.Hinge(), intercept=True),
    "pinball": lambda: cases.problem(fw.Pinball(0.3), fw.L2Ball(1.2)),
}
"""Problems that only methods that smooth can take."""

STEPWISE = [
    ("sfw", "l1"),
    ("sfw", "l1-csr"),
    ("sfw", "l1-intercept"),
    ("sfw", "l2"),
    ("sfw", "groups"),
    ("sfw", "birkhoff"),
    ("sfw", "trace"),
    ("sfw", "trace-large"),
    ("sfw", "multinomial"),
    ("sfw", "completion"),
    ("fw", "l2-intercept"),
    ("fw", "completion"),
    ("momentum", "l1"),
    ("shcgm", "l1"),
    ("shcgm", "completion"),
    *(("shcgm", name) for name in SMOOTHED),
    ("mokhtari", "simplex"),
    ("lu-freund", "l1"),
    ("lu-freund", "l1-intercept"),
    ("away", "groups"),
    ("pairwise", "l1-csr"),
    ("blended-pairwise", "l2"),
    ("pairwise", "box"),
    ("stochastic-pairwise", "l1"),
    ("stochastic-pairwise", "multinomial"),
    ("stochastic-away", "shifted"),
    *((f"fw, {step}", "l1") for step in ("backtracking", "monotone", "secant")),
    *((name, "completion") for name in ("saga-sarah", "sarah", "sagafw")),
    ("svfw", "l1"),
    ("svfw", "multinomial"),
    ("svrf", "completion"),
    ("spider", "completion"),
    *((name, "l1-intercept") for name in OWN),
    *zip(OWN, cycle(("l1", "l1-csr", "birkhoff", "multinomial"))),
    ("svrf, line-search", "multinomial"),  # curvatures of several outputs with an intercept
]
"""Every method with an intercept, which takes passes of its own; the other problems take turns, for what differs among
them (rows, atoms, outputs) is not kept by the method."""

ROUNDS = [
    (CorrectiveSolver, "l1"),
    (CorrectiveSolver, "l1-csr"),
    (CorrectiveSolver, "l1-intercept"),
    (CorrectiveSolver, "simplex"),
    (CorrectiveSolver, "groups"),
    (CorrectiveSolver, "shifted"),
    (CorrectiveSolver, "multinomial"),
    (InteriorSolver, "l2"),
    (InteriorSolver, "l2-intercept"),
    (InteriorSolver, "box"),
    (InteriorSolver, "groups"),
    (WorkingSetSolver, "capped"),
    (WorkingSetSolver, "capped-intercept"),
    (LowRankSolver, "trace"),
    (LowRankSolver, "trace-large"),
    (LowRankSolver, "multinomial-trace"),
    (LowRankSolver, "completion"),
    (SmoothedSolver, "pinball"),
    (SmoothedSolver, "side-hinge-intercept"),
]

CASES = [*STEPWISE, *ROUNDS]

every_case = pytest.mark.parametrize(
    ("kind", "name"), CASES, ids=[f"{getattr(kind, '__name__', kind)}-{name}" for kind, name in CASES]
)


def method_of(kind):
    """Return a method by its name, or with another step rule after a comma."""
    if kind in OWN:
        return OWN[kind]
    name, _, step = kind.partition(", ")
    method = fw.methods.METHODS[name]
    return method._replace(step=as_step(step)) if step else method


class Run:
    """How a solver of one kind is made, anew or from a state."""

    def __init__(self, kind, name):
        self.kind, self.problem = kind, (PROBLEMS | SMOOTHED)[name]().own()
        self.stepwise = isinstance(kind, str)
        self.pieces = (7, 12, 4) if self.stepwise else (1, 2, 3)
        self.start, self.earlier = self.problem.default_start(), None

    def solver(self):
        if not self.stepwise:
            return self.begun(self.kind(self.problem, self.start))
        parts = method_of(self.kind), 3, np.random.default_rng(0)
        return self.begun(StepwiseSolver(self.problem, *parts, self.start, self.earlier))

    def resumed(self, state):
        problem = self.problem.own()
        if not self.stepwise:
            return self.begun(self.kind.from_state(problem, state), copy(self.bound))
        generator = np.random.default_rng(0)
        generator.bit_generator.state = generator_state(state)
        return self.begun(StepwiseSolver.from_state(problem, state, method_of(self.kind), 3, generator))

    def begun(self, solver, bound=None):
        if bound is None:
            bound = self.bound = LowerBound(solver.problem)  # a run keeps it beside the solver's state
        solver.begin(np.inf, TARGET, bound)
        return solver


def copied(state):
    """A state as it is now."""
    return {
        name: np.copy(value, order="K") if isinstance(value, np.ndarray) else value for name, value in state.items()
    }


def assert_same(one, other):
    """Two states are equal, bit for bit."""
    assert sorted(one) == sorted(other)
    for name, value in one.items():
        assert type(value) is type(other[name]), name
        if isinstance(value, np.ndarray):
            assert (value.dtype, value.shape) == (other[name].dtype, other[name].shape), name
        assert np.asarray(value).tobytes() == np.asarray(other[name]).tobytes(), name


def plain_attributes(solver):
    """Numbers and arrays that a solver has beside its parts."""
    kinds = np.ndarray | bool | int | float | np.number
    return {name: value for name, value in vars(solver).items() if isinstance(value, kinds)}


def ask_everything(solver):
    """Ask all questions, twice."""
    for _ in range(2):
        solver.evidence()
        solver.finished()
        solver.point()
        solver.state()
        solver.problem.evaluate(solver.point())


@every_case
def test_every_solver_has_the_one_face(kind, name):
    run = Run(kind, name)
    solver = run.solver()
    assert isinstance(solver, Solver)
    found = solver.evidence().exact
    assert found is None if run.stepwise else isinstance(found, Evaluation)
    steps, cost = solver.steps, solver.rows_read
    made = solver.advance(2)
    assert (made, solver.steps) == (2, steps + 2)
    assert solver.rows_read > cost
    assert solver.problem.constraint.contains(solver.point())
    assert run.bound.value <= solver.problem.value(solver.point())
    assert run.stepwise or run.bound.value > -np.inf


@every_case
def test_a_state_is_flat(kind, name):
    solver = Run(kind, name).solver()
    solver.advance(3)
    for value in solver.state().values():
        assert isinstance(value, np.ndarray | bool | int | float | str | np.number | np.bool_)
        assert not isinstance(value, np.ndarray) or (type(value) is np.ndarray and value.dtype.kind in "bif")


@every_case
def test_from_its_state_a_run_goes_on_to_the_same_bits(kind, name):
    run = Run(kind, name)
    solver = run.solver()
    for steps in run.pieces:
        state = copied(solver.state())
        again = run.resumed(state)
        assert_same(again.state(), state)
        assert_same(plain_attributes(again), plain_attributes(solver))
        solver.advance(steps)
        assert again.advance(steps) == steps or again.finished() is not None
        assert_same(again.state(), solver.state())
        assert_same(plain_attributes(again), plain_attributes(solver))
        assert again.evidence().gap_estimate == solver.evidence().gap_estimate


@pytest.mark.parametrize(
    ("name", "continued"),
    [("l1-intercept", False), ("l1-intercept", True)],
    ids=["l1-intercept", "continued"],
)
@pytest.mark.parametrize("kind", OWN)
def test_a_run_broken_off_anywhere_ends_as_the_whole_one(kind, name, continued):
    steps, budget, run = 48, 1e5, Run(kind, name)
    if continued:  # from the result of another run
        first = run.solver()
        first.advance(10)
        run.earlier, run.start = copied(handed_over(first.state())), first.point()
    run.problem = run.problem.own()
    whole = run.solver()
    whole.begin(budget, TARGET)
    whole.advance(steps)
    run.problem = run.problem.own()
    pieces = run.solver()
    pieces.begin(budget, TARGET)
    for _ in range(steps):  # the steps before and after a snapshot, or an intercept, are among them
        pieces = run.resumed(copied(pieces.state()))
        pieces.begin(budget, TARGET)
        pieces.advance(1)
    assert_same(pieces.state(), whole.state())
    assert_same(plain_attributes(pieces), plain_attributes(whole))
    assert pieces.steps == steps + 10 * continued


@every_case
def test_questions_change_nothing(kind, name):
    run = Run(kind, name)
    silent = run.solver()
    ends = []
    for steps in run.pieces:
        silent.advance(steps)
        ends.append(copied(silent.state()))
    run.problem = run.problem.own()
    asked = run.solver()
    for steps, end in zip(run.pieces, ends, strict=True):
        before = copied(asked.state())
        ask_everything(asked)
        assert_same(asked.state(), before)
        asked.advance(steps)
        assert_same(asked.state(), end)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_solver_that_is_chosen_is_one_of_these(name):
    problem = PROBLEMS[name]()
    solver = solver_for(problem)(problem, problem.default_start())
    assert isinstance(solver, CorrectiveSolver | InteriorSolver | LowRankSolver)
    assert isinstance(solver, Solver)


# --- why no further step can be made ----------------------------------------------------------------------------


@every_case
def test_a_budget_is_kept_and_its_end_is_said(kind, name):
    run = Run(kind, name)
    solver, n = run.solver(), run.problem.n
    solver.begin(3.0 * n + 1e-9, 0.0)
    for _ in range(1000):
        if solver.finished() is not None:
            break
        solver.advance(1)
    assert solver.finished() in (fw.Status.MAX_PASSES, fw.Status.STALLED)
    assert solver.rows_read <= 3.0 * n or not run.stepwise
    if run.stepwise:
        assert solver.advance(5) == 0
        solver.begin(6.0 * n + 1e-9, 0.0)  # a step, a snapshot and an intercept may all be due at once
        assert solver.finished() is None


@pytest.mark.parametrize("kind", ["fw", CorrectiveSolver, InteriorSolver])
def test_what_is_not_finite_finishes_a_solver(kind):
    constraint = fw.L2Ball(1.0) if kind is InteriorSolver else fw.L1Ball(1.0)
    problem = fw.Problem([[1e200, 1.0], [1.0, 2.0]], [1e200, 0.0], "squared", constraint)
    start = problem.default_start()
    with np.errstate(all="ignore"):
        solver = (
            StepwiseSolver(problem, fw.methods.METHODS[kind], 2, np.random.default_rng(0), start)
            if isinstance(kind, str)
            else kind(problem, start)
        )
        assert solver.advance(3) == 0
        assert solver.finished() is fw.Status.NON_FINITE


# --- what a result keeps ----------------------------------------------------------------------------------------


@every_case
def test_what_is_handed_over_is_little_and_has_one_form(kind, name):
    solver = Run(kind, name).solver()
    solver.advance(2)
    kept = handed_over(solver.state())
    assert {"steps", "rows", "gradient"} <= set(kept)
    others = {name.partition(".")[0] for name in set(kept) - {"steps", "rows", "gradient", "slopes"}}
    assert others <= {"estimate"}
    assert kept["gradient"].shape == (solver.problem.size,)


def test_a_pickled_result_starts_a_run_as_the_result_does():
    import pickle

    problem = cases.problem()
    first = fw.minimize(problem, "sfw", tol=0, max_passes=5, random_state=0)
    copy = pickle.loads(pickle.dumps(first))
    one, other = (fw.minimize(problem, "sfw", tol=0, max_passes=5, random_state=1, x0=x0) for x0 in (first, copy))
    np.testing.assert_array_equal(one.x, other.x)
