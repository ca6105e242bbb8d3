"""`minimize` and `resume`: from arguments to result."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from frankwolfe.arguments.names import (
    as_batch_size,
    as_budget,
    as_callback,
    as_flag,
    as_seed,
    as_threads,
    lookup,
    teaching,
)
from frankwolfe.arguments.types import MethodPart, Seed, Weights
from frankwolfe.compile.kernels import timed, waiting
from frankwolfe.compile.part import short
from frankwolfe.display import Progress
from frankwolfe.linalg.threads import single_threaded
from frankwolfe.methods.registry import Method, as_method, pick
from frankwolfe.problem import Problem
from frankwolfe.problem.requirements import WHOLE_ATOMS, check
from frankwolfe.result import Result
from frankwolfe.running.certifier import Start
from frankwolfe.running.checkpoints import AS_BEFORE, AsBefore, Checkpoints, SavedRun, as_checkpoint_path, settings_of
from frankwolfe.running.driver import SIDE_TOL, Callback, Driver, Limits
from frankwolfe.sets.base import tracker_of
from frankwolfe.shards.local import Threads
from frankwolfe.solvers.protocol import Solver
from frankwolfe.solvers.stepwise import StepwiseSolver

STOPS = {"proven": False, "likely": True}
"""Values of the argument ``stop``, and whether a likely bound is enough to stop."""


@teaching
@timed
@single_threaded
def minimize(
    problem: Problem,
    method: str | Method = "auto",
    *,
    step: str | MethodPart | None = None,
    batch_size: float | None = None,
    tol: float = 1e-4,
    side_tol: float = SIDE_TOL,
    stop: str = "proven",
    max_passes: float | None = 100.0,
    max_seconds: float | None = None,
    rng: Seed = None,
    random_state: Seed = None,
    x0: Weights | Result | None = None,
    callback: Callback | None = None,
    progress: bool = False,
    trace: int = 10,
    n_threads: int | None = None,
    checkpoint: str | os.PathLike | None = None,
    checkpoint_every: float = 60.0,
) -> Result:
    """Minimise a problem's objective over its constraint set.

    Parameters
    ----------
    problem : Problem
        Data, loss and constraint set.
    method : str or Method
        ``"auto"`` (the fastest certified answer, see docs/choosing.md), ``"corrective"``, ``"sfw"``,
        ``"stochastic-pairwise"``, ``"stochastic-away"``, ``"fw"``, ``"away"``, ``"pairwise"``, ``"blended-pairwise"``,
        ``"mokhtari"``, ``"momentum"``, ``"lu-freund"``, ``"saga"``, ``"sagafw"``, ``"sarah"``, ``"saga-sarah"``,
        ``"l-svrg"``, ``"one-sample"``, ``"svrf"``, ``"storc"``, ``"svfw"``, ``"spider"``, ``"goldfarb-away"``,
        ``"goldfarb-pairwise"``, ``"shcgm"`` (smooths kinks and side constraints; docs/methods.md describes them
        all), or a `Method` composed of your own parts.
    step : str or step rule, optional
        Step rule that replaces the method's default: ``"open-loop"``, ``"log-adaptive"``, ``"constant"``, ``"short"``,
        ``"line-search"``, ``"secant"``, ``"backtracking"``, ``"monotone"``, or an object.
    batch_size : int or float, optional
        Rows that a step reads, or a fraction of them in (0, 1). The default depends on the method. For ``"sfw"`` it is
        1 where a step costs O(non-zeros of a row), at least 10 on disk, and 1% of the rows on a cluster or over a set
        whose vertices are dense, such as `L2Ball`.
    tol : float
        Stop once the *proven* gap is at most ``tol * F(0)``. With zero, the run uses its whole budget. With an
        intercept ``F(0)`` may be zero up to rounding. The tolerance is then a few times the rounding error of the gap
        (`Problem.tolerance`).
    side_tol : float
        Largest relative violation of a side constraint (`LinearBounds.violation`) at which a run can succeed. It does
        not depend on ``tol``.
    stop : {"proven", "likely"}
        ``"likely"`` is for data so large that a pass is expensive. Stop once a sample of rows shows, with 99%
        confidence, that the gap is at most ``tol * F(0)``. No pass is made to prove it: ``result.likely_gap`` is the
        bound, the status is ``"likely"``, and ``success`` is False (docs/certificates.md). Needs a convex loss, no
        intercept, and a method with a table, such as ``"sfw"``.
    max_passes : float or None
        Maximum number of gradient evaluations, divided by n. None means no limit; then ``max_seconds`` is required.
    max_seconds : float, optional
        Maximum time of the method itself, without compilation, tracing and callbacks.
    rng : int, sequence of int, SeedSequence, BitGenerator, Generator or None
        Seed of the batches, from which `numpy.random.default_rng` makes a generator. The same seed gives the same
        result, bit for bit.
    random_state : optional
        Another name of ``rng``, the one that estimators use. Giving both is an error.
    x0 : array of shape (d,), or (d, outputs), or Result, optional
        Feasible starting point. From a `Result`, the run also takes over its gradient estimate and its step count. A
        result that is already certified for this tolerance is returned unchanged.
    callback : callable, optional
        Function that is called with a `State` from time to time. It returns True to stop the run.
    progress : bool
        Whether to show a progress bar (needs tqdm).
    trace : int
        Number of traced points for each factor of ten in the number of steps. With 0 no iterate is stored, and the
        trace holds only numbers that cost nothing, such as the estimated gap.
    n_threads : int, optional
        Number of threads for passes over large data. The default is the number of cores, or less if
        ``OMP_NUM_THREADS`` or a similar variable is set. The result is bitwise the same for any number.
    checkpoint : str or Path, optional
        File for the state of the run, from which `resume` continues (docs/checkpoints.md). It is written before the
        first step, at intervals, and at the end of the run, even after an error. An existing checkpoint is replaced.
        The result is bitwise the same with and without it. Writing does not count as time of the method.
    checkpoint_every : float
        Seconds between two checkpoints.

    Returns
    -------
    Result

    Examples
    --------
    >>> import frankwolfe as fw
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 2.0, 3.0]
    >>> problem = fw.Problem(X, y, loss="squared", constraint=fw.L1Ball(2.0))
    >>> result = fw.minimize(problem, method="fw", step="line-search", tol=1e-6)
    >>> result.success, result.x.round(3)
    (True, array([0.5, 1.5]))
    """
    _require_problem(problem)
    given = method
    method = as_method(method, step)
    limits = Limits.checked(tol, max_passes, max_seconds, side_tol)
    if method.solver == "auto":
        method = pick(limits.passes, problem)
        on_disk = problem.objective.reads is not None and not problem.needs_smoothing
        if method.solver == "corrective" and on_disk and _saves_reads(problem):
            method = method._replace(solver="few-reads", name="auto: sfw, corrective")
    likely = lookup("stop", stop, STOPS)
    check(problem, method, likely)
    batch = as_batch_size(_default_batch(problem, method) if batch_size is None else batch_size, problem.n)
    limits.require_an_end()
    if batch_size is None:
        batch = int(min(batch, problem.source.most_batch))
    callback, progress = as_callback(callback), as_flag("progress", progress)
    if isinstance(trace, float) or not as_budget("trace", trace) < np.inf:
        raise TypeError(f"trace must be an int, the number of points for each factor of ten; got {trace!r}")
    seed, every = as_seed(random_state, rng), as_budget("checkpoint_every", checkpoint_every)
    checkpoints = None
    if checkpoint is not None:
        about = settings_of(problem, method, given, step, batch, limits, every, likely)
        checkpoints = Checkpoints(as_checkpoint_path(checkpoint), every, about)
    bar = shown(problem, method.name, limits, progress)
    problem = problem.own(Threads(as_threads(n_threads)))
    start, earlier = _start(problem, x0), None
    if isinstance(x0, Result):
        problem.expect(start.w, x0.intercept)
        earlier = x0.state or None
    solver: Solver
    if method.solver in ("corrective", "few-reads"):
        generator = np.random.default_rng(seed) if method.solver == "few-reads" else None
        solver = _corrective_solver(problem, start.w, earlier, generator)
    else:
        generator, budget = np.random.default_rng(seed), limits.passes * problem.n
        solver = StepwiseSolver(problem, method, batch, generator, start.w, earlier, budget)
    return driven(Driver(solver, limits, callback, bar, int(trace), start, likely, checkpoints), method.name)


@teaching
@timed
@single_threaded
def resume(
    path: str | os.PathLike,
    problem: Problem,
    *,
    method: str | Method | None = None,
    step: str | MethodPart | None = None,
    tol: float | AsBefore = AS_BEFORE,
    max_passes: float | AsBefore | None = AS_BEFORE,
    max_seconds: float | AsBefore | None = AS_BEFORE,
    side_tol: float | AsBefore = AS_BEFORE,
    callback: Callback | None = None,
    progress: bool = False,
    n_threads: int | None = None,
    checkpoint: str | os.PathLike | AsBefore | None = AS_BEFORE,
    checkpoint_every: float | AsBefore = AS_BEFORE,
) -> Result:
    """Continue a run from its checkpoint. The result is bitwise that of an uninterrupted run (docs/checkpoints.md).

    Parameters
    ----------
    path : str or Path
        The file that was passed to `minimize` as ``checkpoint``.
    problem : Problem
        The same data, loss and set. An error names the differences, if there are any.
    method, step : optional
        The arguments of `minimize`, needed if they were objects rather than names.
    tol, max_passes, max_seconds, side_tol : optional
        New limits for the whole run, including its first part. By default those of the checkpoint.
    callback, progress, n_threads : optional
        As in `minimize`. They are not stored in a checkpoint.
    checkpoint, checkpoint_every : optional
        File for further checkpoints (None: no file), and the seconds between them. By default ``path``, as before.

    Returns
    -------
    Result
        Result of the whole run: steps, passes, seconds and trace include the first part.

    Raises
    ------
    OSError
        If the file does not exist or cannot be opened.
    ValueError
        If the file is damaged, is not a checkpoint, or belongs to another problem or method.

    Examples
    --------
    >>> import frankwolfe as fw, tempfile
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 2.0, 3.0]
    >>> problem = fw.Problem(X, y, loss="squared", constraint=fw.L1Ball(2.0))
    >>> given = {"method": "sfw", "tol": 0, "random_state": 0}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = fw.minimize(problem, max_passes=20, checkpoint=f"{folder}/run.ckpt", **given)
    ...     longer = fw.resume(f"{folder}/run.ckpt", problem, max_passes=50)
    >>> whole = fw.minimize(problem, max_passes=50, **given)
    >>> longer.passes, bool((longer.x == whole.x).all())
    (50.0, True)
    """
    _require_problem(problem)
    saved = SavedRun.read(path)
    saved.require_same(problem)
    composed = saved.method(problem, method, step)
    limits = saved.limits(tol, max_passes, max_seconds, side_tol)
    limits.require_an_end()
    callback, progress = as_callback(callback), as_flag("progress", progress)
    every = saved.every if isinstance(checkpoint_every, AsBefore) else as_budget("checkpoint_every", checkpoint_every)
    target = path if isinstance(checkpoint, AsBefore) else checkpoint
    checkpoints = None
    if target is not None:
        checkpoints = Checkpoints(as_checkpoint_path(target), every, saved.settings_with(limits, every))
    bar = shown(problem, composed.name, limits, progress)
    problem = problem.own(Threads(as_threads(n_threads)))
    solver = saved.solver(problem, composed)
    driver = Driver(solver, limits, callback, bar, 0, likely=saved.likely, checkpoints=checkpoints)
    saved.restore(driver)
    result = driven(driver, composed.name)
    saved.require_true(problem, result)
    return result


def shown(problem: Problem, name: str, limits: Limits, progress: bool = False) -> Progress:
    """Return the progress bar of a run, and set the text of the notice that appears during compilation."""
    kinds = type(problem.loss).__name__, type(problem.constraint).__name__
    waiting().what = f"{name.removeprefix('auto: ')!r} for {kinds[0]} over {kinds[1]}"
    return Progress(progress, name, limits.passes)


def driven(driver: Driver, name: str) -> Result:
    """Drive a run to its end, with its progress bar, and return the result. ``name`` is ``result.method``."""
    with driver.bar:
        return driver.result(driver.drive(), name)


def _require_problem(problem: Any) -> None:
    """Raise TypeError unless ``problem`` is a `Problem`."""
    if not isinstance(problem, Problem):
        raise TypeError(f"problem must be a fw.Problem, got {type(problem).__name__}")


def _corrective_solver(
    problem: Problem, w: Weights, earlier: Mapping[str, Any] | None, generator: np.random.Generator | None = None
) -> Solver:
    """Return the corrective solver that suits a problem, at the start of a run.

    With a generator, return `FewReadsSolver`, which starts with stochastic steps, for data on disk.
    """
    # a late import: the other methods need none of this code
    from frankwolfe.solvers.corrective import solver_for

    if generator is None:
        return solver_for(problem)(problem, w, earlier)
    from frankwolfe.solvers.corrective.few_reads import FewReadsSolver

    return FewReadsSolver(problem, w, earlier, generator)


def _saves_reads(problem: Problem) -> bool:
    """Whether `FewReadsSolver` can be used: columns can be copied from disk into memory."""
    from frankwolfe.solvers.corrective.few_reads import can_be_copied

    return can_be_copied(problem)


def _default_batch(problem: Problem, method: Method) -> float:
    """Return the default batch size: the method's own if a step costs less than O(d), otherwise a larger one.

    If a step costs O(d), a batch of one row becomes 1% of the rows. A batch of several rows grows to about d, the
    number of atoms that may be stored, but not beyond 1% of the rows. A batch is never larger than the data. Methods
    that compute their batch size from the number of rows, or whose batches grow, are not changed. Where rows are also
    matters: see `DataSource.default_batch` and `DataSource.least_batch`.
    """
    fraction = problem.source.default_batch
    if fraction is not None:
        return fraction if problem.n * fraction >= 1.0 else 1
    if callable(method.batch_size):
        return min(method.batch_size(problem.n), problem.n)
    if method.batch_size < 1 or method.solver != "loop":
        return method.batch_size
    own = min(method.batch_size, problem.n)
    if method.estimate.state.batch_sizes is not None:
        return own
    stores_atoms = WHOLE_ATOMS in method.direction.needs and problem.constraint.structure().coordinates is None
    if tracker_of(problem.constraint, problem.size).lazy and not stores_atoms:
        return min(max(own, problem.source.least_batch), problem.n)
    return 0.01 if method.batch_size == 1 else max(own, min(problem.size, problem.n // 100))


def _start(problem: Problem, x0: Any) -> Start:
    """Return the starting point, with the certificate of a previous result. Raise ValueError if it is infeasible."""
    if x0 is None:
        return Start(problem.default_start())
    w = problem.flat("x0", x0.x if isinstance(x0, Result) else x0)
    if not problem.constraint.contains(w):
        facts = ""
        if isinstance(w, np.ndarray):
            facts = f" (its l1 norm is {np.abs(w).sum():.6g}, its entries lie in [{w.min():.6g}, {w.max():.6g}])"
        raise ValueError(
            f"x0 is not in the constraint set {short(problem.constraint)}{facts}: start from a feasible point, "
            "or leave x0 out"
        )
    if not isinstance(x0, Result) or x0.max_features is not None:  # whose gap is not that of this problem
        return Start(w)
    return Start(w, x0.fun, x0.gap, x0.state.get("slopes"), x0.state.get("multipliers"), x0.intercept)
