"""A run that was broken off, wherever and however, goes on from its checkpoint to the bits of one that was not."""

import errno
from functools import cache

import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.exceptions import CheckpointWarning
from frankwolfe.running import checkpoints, driver
from frankwolfe.running.checkpoints import Checkpoints
from frankwolfe.running.driver import Driver
from frankwolfe.solvers.corrective import fully_corrective
from frankwolfe.solvers.corrective.rounds import RoundSolver
from frankwolfe.solvers.stepwise import StepwiseSolver
from frankwolfe.store.files import read_flat, write_flat
from tests import cases
from tests.solvers.test_protocol import OWN, with_intercept

pytestmark = pytest.mark.usefixtures("interpreted")

SHORT, LONG = 11.3, 25.0
"""Passes of a run that is broken off, and of one that is not: both with certificates on their way."""


def multinomial():
    X, y = cases.vector_table(fw.Multinomial(), n=15, d=4)
    return fw.Problem(X, y, "multinomial", fw.L1Ball(4.0), intercept=True)


def completion():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(10, 2)) @ rng.normal(size=(2, 8))
    rows, columns = np.nonzero(rng.random(matrix.shape) < 0.5)
    return fw.completion_problem(rows, columns, matrix[rows, columns], matrix.shape, constraint=fw.TraceBall(8.0))


def weighted():
    X, y = cases.table(fw.Logistic(), **SIZE)
    return fw.Problem(X, y, "logistic", fw.L1Ball(3.0), sample_weight=np.linspace(0.0, 2.0, len(y)), intercept=True)


SIZE = {"n": 20, "d": 6}


def to_smooth(loss, side=True, intercept=False):
    """A problem with side constraints that pull, a loss with a kink, or both."""
    X, y = cases.table(loss, **SIZE)
    bounds = fw.LinearBounds(np.linspace(-1.0, 2.0, 12).reshape(2, 6), [-0.2, -np.inf], [0.1, -0.1]) if side else None
    return fw.Problem(X, y, loss, fw.L1Ball(3.0), intercept=intercept, side=bounds)


PROBLEMS = {
    "l1": lambda: cases.problem(fw.Logistic(), fw.L1Ball(3.0), **SIZE),
    "l1-csr": lambda: cases.problem(fw.Logistic(), fw.L1Ball(8.0), "csr32", n=24, d=30),
    "l1-intercept": lambda: with_intercept(fw.Logistic(), fw.L1Ball(3.0), **SIZE),
    "l2": lambda: cases.problem(fw.Logistic(), fw.L2Ball(1.2), **SIZE),
    "groups": lambda: cases.problem(fw.Logistic(), cases.SIZED_SETS["GroupBall"](6), **SIZE),
    "trace": lambda: cases.problem(fw.Squared(), fw.TraceBall(1.5, (2, 3)), **SIZE),
    "birkhoff": lambda: cases.problem(fw.Squared(), fw.Birkhoff(2), n=20, d=4),
    "sigmoid": lambda: cases.problem(fw.Sigmoid(), fw.L1Ball(3.0), **SIZE),
    "multinomial": multinomial,
    "weights": weighted,
    "completion": completion,
    "side": lambda: to_smooth(fw.Logistic()),
    "side-intercept": lambda: to_smooth(fw.Squared(), intercept=True),
    "hinge": lambda: to_smooth(fw.Hinge(), side=False),
    "pinball-side-intercept": lambda: to_smooth(fw.Pinball(0.3), intercept=True),
}

OWN_RUNS = [(OWN[name], kind) for name in ("svrf", "sarah") for kind in ("l1-csr", "l1-intercept")]

RUNS = [
    *((method, "l1") for method in cases.METHODS),
    *OWN_RUNS,
    *(("auto", kind) for kind in ("l1-intercept", "l2", "groups", "trace", "multinomial", "completion")),
    *(("auto", kind) for kind in ("hinge", "pinball-side-intercept")),
    *(("sfw", kind) for kind in ("weights", "multinomial", "completion", "sigmoid", "birkhoff")),
    *((name, "weights") for name in ("stochastic-pairwise", "lu-freund", "corrective")),
    *(("shcgm", kind) for kind in ("side", "side-intercept", "hinge", "pinball-side-intercept")),
]

FEWER = [(method, kind) for method, kind in RUNS if kind != "l1" or method in cases.EVERY_PART] + [
    (method, "l1") for method in cases.EVERY_PART if method not in cases.METHODS
]
"""As few as have every part of a method among them: enough where the driver is what may fail, and not the method."""


def over(runs):
    return pytest.mark.parametrize(
        ("method", "kind"), runs, ids=[f"{cases.name_of(method)}-{kind}" for method, kind in runs]
    )


fewer_runs = over(FEWER)


def has_horizon(method):
    """Whether steps depend on the budget: a run that goes on keeps the horizon that it began with."""
    return isinstance(method, fw.methods.Method) and type(method.step) is fw.methods.ConstantStep


def takes_snapshots(method):
    return isinstance(method, fw.methods.Method) and method.estimate.state.next_snapshot is not None


@cache
def problem_of(kind):
    return PROBLEMS[kind]()


def options(method, kind):
    """Arguments of a run, with certificates on its way; points are traced between two looks."""
    if method in ("auto", "corrective"):
        return {"method": method, "tol": 1e-9, "trace": 17}
    tol = 0.08 if kind == "weights" else 1e-7
    return {"method": method, "tol": tol, "random_state": 3, "trace": 17, "batch_size": 5}


@cache
def whole(method, kind):
    """The run that nothing breaks off."""
    return fw.minimize(problem_of(kind), max_passes=LONG, **options(method, kind))


def resumed(path, method, kind, **limits):
    """The same run, from a checkpoint."""
    again = {} if isinstance(method, str) or method is fw.methods.METHODS.get(method.name) else {"method": method}
    return fw.resume(path, PROBLEMS[kind](), **again, **limits)


def arrays_of(w):
    return (w,) if isinstance(w, np.ndarray) else (w.left, w.right)


NUMBERS = ("intercept", "fun", "gap", "fw_gap", "gap_estimate", "status", "tolerance", "nit", "passes", "checks")


def assert_same(one, other):
    """Two results have the same bits, but for times."""
    for name in (*NUMBERS, "lower_bound", "violation", "certificate_passes", "method", "batch_size"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    for mine, theirs in zip(arrays_of(one.x), arrays_of(other.x), strict=True):
        assert mine.tobytes() == theirs.tobytes()
    for column in one.trace:
        if column != "seconds":
            np.testing.assert_array_equal(one.trace[column], other.trace[column], err_msg=column)
    assert sorted(one.state) == sorted(other.state)
    for name, value in one.state.items():
        np.testing.assert_array_equal(value, other.state[name], err_msg=name)


# --- the same bits ----------------------------------------------------------------------------------------------------


@pytest.fixture
def written(monkeypatch):
    """All checkpoints that runs write, as they were; in memory, for the disk takes longer than these runs."""
    found = []

    def keep(path, kind, version, values):
        found.append({name: np.copy(part) if isinstance(part, np.ndarray) else part for name, part in values.items()})

    monkeypatch.setattr(checkpoints, "write_flat", keep)
    return found


def step_by_step(monkeypatch):
    """Make slices of one step: their length is a matter of the clock, and must not matter."""
    real = Driver.__init__

    def begin(run, *args, **how):
        real(run, *args, **how)
        run.slice = 1

    monkeypatch.setattr(Driver, "__init__", begin)
    monkeypatch.setattr(driver, "SLICE_SECONDS", 1e-9)


@fewer_runs
def test_killed_anywhere_it_ends_as_if_it_had_not_been(method, kind, tmp_path, monkeypatch, written):
    step_by_step(monkeypatch)
    often = {"checkpoint": tmp_path / "run.ckpt", "checkpoint_every": 0}
    assert_same(fw.minimize(problem_of(kind), max_passes=LONG, **often, **options(method, kind)), whole(method, kind))
    steps = [state["solver.steps"] for state in written]
    assert sorted({*steps}) == list(range(steps[-1] + 1))
    monkeypatch.undo()
    for place in (*np.random.default_rng(len(steps)).choice(len(steps), 2, replace=False), -1):
        write_flat(tmp_path / "left.ckpt", "checkpoint", 1, written[place])
        assert_same(resumed(tmp_path / "left.ckpt", method, kind), whole(method, kind))


@fewer_runs
def test_after_a_smaller_budget_it_ends_as_with_the_larger_one(method, kind, tmp_path):
    path = tmp_path / "run.ckpt"
    first = fw.minimize(problem_of(kind), max_passes=SHORT, checkpoint=path, **options(method, kind))
    assert_same(resumed(path, method, kind), first)  # under its old limits it is where it was
    if not has_horizon(method):
        assert_same(resumed(path, method, kind, max_passes=LONG), whole(method, kind))


@pytest.mark.parametrize("sampled", [False, True], ids=["", "sampled"])
@pytest.mark.parametrize("kind", ["l1-csr", "l2", "trace", "groups"])
def test_no_budget_leaves_rounds_that_were_cut_short(kind, sampled, tmp_path, monkeypatch):
    if sampled:  # a start from a sample of the rows, which small budgets do not allow for
        monkeypatch.setattr(fully_corrective, "LEAST_ENTRIES", {"sparse": 0, "dense": 0})
        monkeypatch.setattr(fully_corrective, "ROWS_PER_WEIGHT", 0)
    given = {"method": "corrective", "tol": 1e-9}
    last, seen = fw.minimize(problem_of(kind), max_passes=LONG, **given), set()
    for budget in np.arange(0.0, 8.0):
        first = fw.minimize(problem_of(kind), max_passes=budget, checkpoint=tmp_path / "run.ckpt", **given)
        assert_same(resumed(tmp_path / "run.ckpt", "corrective", kind, max_passes=LONG), last)
        seen.add(first.status)
    assert fw.Status.MAX_PASSES in seen


@pytest.mark.parametrize(
    ("method", "kind"), [("sfw", "l1-intercept"), ("fw", "l1-intercept"), *OWN_RUNS], ids=["sfw", "fw", *"1234"]
)
def test_no_budget_leaves_out_a_pass_for_good(method, kind, tmp_path):
    """An intercept, or a snapshot, may have to wait for a larger budget."""
    for budget in np.arange(0.3, 6.0, 0.85):
        fw.minimize(problem_of(kind), max_passes=budget, checkpoint=tmp_path / "run.ckpt", **options(method, kind))
        assert_same(resumed(tmp_path / "run.ckpt", method, kind, max_passes=LONG), whole(method, kind))


@fewer_runs
def test_stopped_again_and_again_it_ends_as_without(method, kind, tmp_path, written):
    path, looks, stops = tmp_path / "run.ckpt", [], []

    def stop(state):
        looks.append(state.nit)
        stops.append(len(looks) % 4 == 0)
        return stops[-1]

    given = {"max_passes": LONG, "callback": stop, "checkpoint": path}
    result = fw.minimize(problem_of(kind), **given, **options(method, kind))
    while stops.pop():
        write_flat(path, "checkpoint", 1, written[-1])
        stops.append(False)
        result = resumed(path, method, kind, callback=stop)
    assert_same(result, whole(method, kind))
    once = looks == sorted({*looks})
    # where a pass did not fit into the budget, it goes on from before that; so does a search in falling widths
    assert once or takes_snapshots(method) or "pinball" in kind


@fewer_runs
def test_after_ctrl_c_in_the_midst_of_a_step_it_ends_as_without(method, kind, tmp_path, monkeypatch):
    path, ended = tmp_path / "run.ckpt", whole(method, kind)  # nothing is left to warm up: what is counted is the run's
    with monkeypatch.context() as patched:
        break_off(patched, StepwiseSolver, "_advance", 7)  # rows are drawn, and no step is made with them
        break_off(patched, RoundSolver, "_charged", 3)  # in the middle of a round
        given = {"max_passes": LONG, "checkpoint": path}
        first = fw.minimize(problem_of(kind), **given, **options(method, kind))
    assert first.status is fw.Status.INTERRUPTED
    assert_same(resumed(path, method, kind), ended)


def break_off(patched, kind, name, calls):
    """Interrupt a solver in a method of its own, when half of that is done."""
    real, made = getattr(kind, name), []

    def method(solver, *args):
        made.append(solver)
        if len(made) == calls:
            if kind is StepwiseSolver:
                solver.sampler.take(3)
            raise KeyboardInterrupt
        return real(solver, *args)

    patched.setattr(kind, name, method)


# --- what is continued ------------------------------------------------------------------------------------------------


def test_a_run_that_starts_from_a_result_goes_on_too(tmp_path):
    kind, path = "l1-intercept", tmp_path / "run.ckpt"
    given = {"method": "stochastic-pairwise", "tol": 1e-9, "random_state": 5}
    start = fw.minimize(problem_of(kind), "corrective", tol=1e-6)
    last = fw.minimize(problem_of(kind), x0=start, max_passes=9, **given)
    fw.minimize(problem_of(kind), x0=start, max_passes=4, checkpoint=path, **given)
    assert_same(resumed(path, "stochastic-pairwise", kind, max_passes=9), last)


def test_time_ends_a_run_and_more_of_it_lets_it_go_on(tmp_path):
    path, given = tmp_path / "run.ckpt", options("sfw", "l1")
    first = fw.minimize(problem_of("l1"), max_seconds=1e-9, max_passes=LONG, checkpoint=path, **given)
    assert first.status is fw.Status.MAX_SECONDS
    result = resumed(path, "sfw", "l1", max_seconds=None)
    assert result.seconds > first.seconds
    assert_same(result, whole(fw.methods.METHODS["sfw"], "l1"))


def test_a_certified_run_is_certified_at_once(tmp_path):
    path, looks = tmp_path / "run.ckpt", []
    first = fw.minimize(problem_of("l1"), tol=1e-3, checkpoint=path)
    assert_same(resumed(path, "auto", "l1", callback=looks.append), first)
    assert first.success
    assert not looks


def test_what_raises_in_a_callback_leaves_a_checkpoint(tmp_path):
    def fail(state):
        if state.nit >= 4:
            raise RuntimeError("no")

    path, given = tmp_path / "run.ckpt", options("sfw", "l1")
    with pytest.raises(RuntimeError):
        fw.minimize(problem_of("l1"), max_passes=LONG, checkpoint=path, callback=fail, **given)
    assert_same(resumed(path, "sfw", "l1"), whole(fw.methods.METHODS["sfw"], "l1"))


@pytest.mark.parametrize("bits", ["MT19937", "Philox", "SFC64", "PCG64DXSM"])
def test_any_generator_goes_on(bits, tmp_path):
    def seed():
        return np.random.Generator(getattr(np.random, bits)(7))

    path, given = tmp_path / "run.ckpt", {**options("sfw", "l1"), "max_passes": 4}
    last = fw.minimize(problem_of("l1"), **{**given, "random_state": seed(), "max_passes": 6})
    fw.minimize(problem_of("l1"), checkpoint=path, **{**given, "random_state": seed()})
    assert_same(resumed(path, "sfw", "l1", max_passes=6), last)


def test_checkpoints_go_on_where_they_are_told_to(tmp_path):
    paths = [tmp_path / name for name in ("first.ckpt", "second.ckpt")]
    fw.minimize(problem_of("l1"), "fw", tol=0, max_passes=2, checkpoint=paths[0])
    kept = paths[0].read_bytes()
    result = fw.resume(paths[0], problem_of("l1"), max_passes=4, checkpoint=paths[1])
    assert_same(fw.resume(paths[1], problem_of("l1"), checkpoint=None), result)  # with the new limits
    assert paths[0].read_bytes() == kept
    fw.resume(paths[0], problem_of("l1"), max_passes=3)
    assert paths[0].read_bytes() != kept


# --- what cannot be ---------------------------------------------------------------------------------------------------


def short_run(path, **given):
    return fw.minimize(problem_of("l1"), **{"method": "sfw", "tol": 0, "max_passes": 2, "checkpoint": path, **given})


OTHERS = {
    "data": {"X": lambda X: X + (np.arange(X.size).reshape(X.shape) == X.size - 1)},
    "targets": {"y": lambda y: np.r_[-y[:1], y[1:]]},
    "sample weights": {"sample_weight": lambda _: np.arange(1.0, 21.0)},
    "loss": {"loss": lambda _: fw.SquaredHinge()},
    "set": {"constraint": lambda _: fw.L1Ball(3.0000001)},
    "intercept": {"intercept": lambda _: True},
    "side constraints": {"side": lambda _: fw.LinearBounds(np.ones((1, 6)), upper=1.0)},
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_problem_is_refused_with_what_differs(name, tmp_path):
    short_run(tmp_path / "run.ckpt")
    X, y = cases.table(fw.Logistic(), **SIZE)
    given = {"X": X, "y": y, "loss": "logistic", "constraint": fw.L1Ball(3.0), "sample_weight": None}
    fw.resume(tmp_path / "run.ckpt", fw.Problem(**given))
    ((argument, change),) = OTHERS[name].items()
    other = fw.Problem(**{**given, argument: change(given.get(argument))})
    with pytest.raises(ValueError, match=rf"run.ckpt is a run on another problem: .* differs in its .*{name}"):
        fw.resume(tmp_path / "run.ckpt", other)


def test_other_side_constraints_are_refused(tmp_path):
    path, problem = tmp_path / "run.ckpt", problem_of("side")
    first = fw.minimize(problem, tol=0, max_passes=2, random_state=0, checkpoint=path)
    assert_same(fw.resume(path, PROBLEMS["side"]()), first)
    A, lower, upper = problem.side.A, problem.side.lower, problem.side.upper
    for side in (None, *(fw.LinearBounds(*other) for other in ((2.0 * A, lower, upper), (A, lower, upper + 1.0)))):
        other = fw.Problem(problem.X, problem.y, problem.loss, problem.constraint, side=side)
        with pytest.raises(ValueError, match=r"this one, .* differs in its side constraints"):
            fw.resume(path, other)


def test_another_method_is_refused(tmp_path):
    path, mine = (
        tmp_path / "run.ckpt",
        fw.methods.Method(fw.methods.SagTable(), step=fw.methods.OpenLoop(1.0, 1.0), name="mine"),
    )
    short_run(path)
    with pytest.raises(ValueError, match=r"run.ckpt is a run of 'sfw', and 'momentum' has other parts"):
        fw.resume(path, problem_of("l1"), method="momentum")
    short_run(path, method=mine)
    with pytest.raises(ValueError, match="run of 'mine', which was given as an object: pass it again, as method="):
        fw.resume(path, problem_of("l1"))
    assert fw.resume(path, problem_of("l1"), method=mine).method == "mine"
    short_run(path, method="fw", step=fw.methods.ShortStep())
    assert fw.resume(path, problem_of("l1"), method="fw", step=fw.methods.ShortStep()).method == "fw, ShortStep"
    short_run(path, method="auto", step="short")
    assert fw.resume(path, problem_of("l1")).method == "fw, short"


def test_auto_stays_what_it_was(tmp_path):
    path = tmp_path / "run.ckpt"
    assert short_run(path, method="auto").method == "auto: sfw"
    assert fw.resume(path, problem_of("l1"), method="auto", max_passes=30).method == "auto: sfw"


def test_bad_arguments_are_told_before_the_first_step(tmp_path):
    with pytest.raises(ValueError, match="is a folder"):
        short_run(tmp_path)
    with pytest.raises(ValueError, match="there is no folder"):
        short_run(tmp_path / "nowhere" / "run.ckpt")
    with pytest.raises(TypeError, match="checkpoint must be the name of a file"):
        short_run(3)
    with pytest.raises(ValueError, match="checkpoint_every must be at least 0"):
        short_run(tmp_path / "run.ckpt", checkpoint_every=-1)
    (tmp_path / "data.csv").write_text("1,2\n")
    with pytest.raises(ValueError, match=r"data.csv exists and is no checkpoint: it is not overwritten"):
        short_run(tmp_path / "data.csv")
    with pytest.raises(FileNotFoundError, match=r"gone.ckpt does not exist"):
        fw.resume(tmp_path / "gone.ckpt", problem_of("l1"))
    short_run(tmp_path / "run.ckpt")
    with pytest.raises(TypeError, match=r"problem must be a fw.Problem"):
        fw.resume(tmp_path / "run.ckpt", "l1")
    with pytest.raises(TypeError, match=r"max_iter.*use max_passes"):
        fw.resume(tmp_path / "run.ckpt", problem_of("l1"), max_iter=3)


@pytest.mark.parametrize("name", ["sampler.deck", "iterate.v", "steps"])
def test_states_that_do_not_fit_are_refused(name, tmp_path):
    short_run(tmp_path / "run.ckpt")
    values = read_flat(tmp_path / "run.ckpt", "checkpoint", 1)
    del values[f"solver.{name}"]
    write_flat(tmp_path / "run.ckpt", "checkpoint", 1, values)
    with pytest.raises(ValueError, match=rf"run.ckpt cannot be resumed: .*{name}"):
        fw.resume(tmp_path / "run.ckpt", problem_of("l1"))


def test_a_full_disk_costs_no_more_than_the_checkpoint(tmp_path, monkeypatch):
    path, given = tmp_path / "run.ckpt", {**options("sfw", "l1"), "max_passes": LONG}
    real, written = Checkpoints._write, []

    def full(keeper, state):
        written.append(state)
        if len(written) > 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(keeper, state)

    monkeypatch.setattr(Checkpoints, "_write", full)
    with pytest.warns(CheckpointWarning, match=r"run.ckpt \(No space left on device\): the run goes on") as caught:
        result = fw.minimize(problem_of("l1"), checkpoint=path, checkpoint_every=0, **given)
    assert [warning.filename for warning in caught] == [__file__]
    assert len(written) > 5  # it is tried again
    monkeypatch.undo()
    assert_same(result, whole(fw.methods.METHODS["sfw"], "l1"))
    assert_same(resumed(path, "sfw", "l1"), result)  # from the last one that was written
    assert [file.name for file in tmp_path.iterdir()] == ["run.ckpt"]


def test_what_a_killed_process_left_is_cleared_away(tmp_path):
    (tmp_path / ".run.ckpt.0123.unfinished").write_text("half")
    (tmp_path / ".other.ckpt.0123.unfinished").write_text("somebody's")
    short_run(tmp_path / "run.ckpt")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".other.ckpt.0123.unfinished", "run.ckpt"]
