"""`minimize`: from arguments to result."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from frankwolfe.arguments.keywords import teaching
from frankwolfe.arguments.settings import as_batch_size, as_budget, as_callback, as_flag, as_seed, as_threads
from frankwolfe.compile.part import short
from frankwolfe.data.executors import executor_for
from frankwolfe.data.store.row_store import RowStore
from frankwolfe.data.store.shard_groups import GroupPlan
from frankwolfe.engines.certificates import Start
from frankwolfe.engines.driver import Driver
from frankwolfe.engines.limits import Limits
from frankwolfe.engines.observer import Callback
from frankwolfe.engines.protocol import Engine
from frankwolfe.engines.stepwise import StepwiseEngine
from frankwolfe.linalg.threads import one_thread
from frankwolfe.methods.table import Method, as_method, pick
from frankwolfe.problem import Problem
from frankwolfe.progress import Progress
from frankwolfe.result import Result
from frankwolfe.trackers.tracker_defaults import tracker_of


@teaching
def minimize(
    problem: Problem,
    method: str | Method = "auto",
    *,
    step: Any = None,
    batch_size: float | None = None,
    tol: float = 1e-4,
    max_passes: float | None = 100.0,
    max_seconds: float | None = None,
    random_state: Any = None,
    x0: Any = None,
    callback: Callback | None = None,
    progress: bool = False,
    trace: int = 10,
    n_threads: int | None = None,
) -> Result:
    """Minimise a problem's objective over its constraint set.

    Parameters
    ----------
    problem : Problem
        Data, loss and set.
    method : str or Method
        ``"auto"`` (the fastest certified answer, see docs/choosing.md), ``"corrective"``, ``"sfw"``,
        ``"stochastic-pairwise"``, ``"stochastic-away"``, ``"fw"``, ``"away"``, ``"pairwise"``, ``"blended-pairwise"``,
        ``"mokhtari"``, ``"momentum"``, ``"lu-freund"``, or a composition of one's own.
    step : str or step rule, optional
        Instead of the method's own: ``"open-loop"``, ``"log-adaptive"``, ``"short"``, ``"line-search"``, ``"secant"``,
        ``"backtracking"``, ``"monotone"``, or an object.
    batch_size : int or float, optional
        Rows a step looks at, or a fraction of them in (0, 1). By default the method's own.
    tol : float
        Stop once the *proven* gap is at most ``tol * F(0)``. Zero runs the budget out. With an intercept ``F(0)`` may
        be zero, or all rounding: the tolerance is then a few units of rounding of what gaps are computed from
        (`Problem.tolerance`).
    max_passes : float or None
        Most gradient evaluations, divided by n. None means no limit, and then ``max_seconds`` must be given.
    max_seconds : float, optional
        Most time of the method itself.
    random_state : int, Generator or None
        Seed of the batches. The same seed gives the same result, bit for bit.
    x0 : array of shape (d,), or (d, outputs), or Result, optional
        Where to start. From a result, what it remembers of the gradient is taken over and its step count goes on; one
        that is certified already is returned as it is.
    callback : callable, optional
        Called with a `State` now and then; return True to stop.
    progress : bool
        Whether to show a progress bar (needs tqdm).
    trace : int
        Traced points for each factor of ten in the number of steps; 0 keeps only the last point.
    n_threads : int, optional
        Threads that work on all rows of large data. By default as many as there are cores, or fewer where
        ``OMP_NUM_THREADS`` and the like say so. The result has the same bits for any number.

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
    if not isinstance(problem, Problem):
        raise TypeError(f"problem must be a fw.Problem, got {type(problem).__name__}")
    method = as_method(method, step)
    limits = Limits(
        as_budget("tol", tol),
        as_budget("max_passes", max_passes, optional=True),
        as_budget("max_seconds", max_seconds, optional=True),
    )
    if method.engine == "auto":
        method = pick(problem.constraint, limits.passes)
        if method.engine == "corrective" and isinstance(problem.X, RowStore) and _saves_reads(problem):
            method = method._replace(engine="few-reads", name="auto: sfw, corrective")
    problem.accept(method)
    rows_a_step = as_batch_size(_default_batch(problem, method) if batch_size is None else batch_size, problem.n)
    if batch_size is None and isinstance(problem.X, RowStore):
        rows_a_step = min(rows_a_step, GroupPlan.of(problem.X).fewest_rows)
    if np.isinf(limits.passes) and np.isinf(limits.seconds):
        raise ValueError("max_passes=None needs max_seconds: something must end the run")
    callback, progress = as_callback(callback), as_flag("progress", progress)
    if isinstance(trace, float) or not as_budget("trace", trace) < np.inf:
        raise TypeError(f"trace must be an int, the number of points for each factor of ten; got {trace!r}")
    seed = as_seed(random_state)
    problem = problem.own(executor_for(as_threads(n_threads)))
    start, earlier = _start(problem, x0), None
    if isinstance(x0, Result):
        problem.expect(start.w, x0.intercept)
        earlier = x0.state
    engine: Engine
    if method.engine in ("corrective", "few-reads"):
        generator = np.random.default_rng(seed) if method.engine == "few-reads" else None
        engine = _corrective_engine(problem, start.w, earlier, generator)
    else:
        kind = stepwise_kind(problem)
        engine = kind(problem, method, rows_a_step, np.random.default_rng(seed), start.w, earlier)
    return drive(engine, limits, method.name, callback, bool(progress), int(trace), start)


def drive(
    engine: Engine,
    limits: Limits,
    name: str,
    callback: Callback | None = None,
    progress: bool = False,
    trace: int = 0,
    start: Start | None = None,
) -> Result:
    """Run an engine, new or used, until something ends the run.

    ``name`` is what results call the method, ``start`` where it starts.
    """
    bar = Progress(progress, name, limits.passes)
    try:
        with one_thread():  # threads of linear algebra would stand in the way of those that work on blocks
            run = Driver(engine, limits, callback, bar, trace, start)
            status = run.drive()
            return run.result(status, name)
    finally:
        bar.close()


def _corrective_engine(
    problem: Problem, w: Any, earlier: Mapping[str, Any] | None, generator: np.random.Generator | None = None
) -> Engine:
    """Return the engine of the corrective method that suits a problem, at the start of a run.

    With a generator, for data on disk, stochastic steps come first.
    """
    # imported here: a good deal of code that the other methods do without
    from frankwolfe.engines.corrective.choose import engine_for

    if generator is None:
        return engine_for(problem)(problem, w, earlier)
    from frankwolfe.engines.corrective.few_reads import FewReadsEngine

    return FewReadsEngine(problem, w, earlier, generator)


def _saves_reads(problem: Problem) -> bool:
    """Whether stochastic steps can name columns to copy from disk."""
    from frankwolfe.engines.corrective.copied_columns import can_be_copied

    return can_be_copied(problem)


def stepwise_kind(problem: Problem) -> type[StepwiseEngine]:
    """Return the engine that makes steps on a problem: in groups of rows, where they do not fit into memory."""
    if not isinstance(problem.X, RowStore):
        return StepwiseEngine
    from frankwolfe.engines.grouped import GroupedEngine

    return GroupedEngine


def _default_batch(problem: Problem, method: Method) -> float:
    """Rows a step looks at by default: the method's own number where a step costs less than O(d), more elsewhere.

    Elsewhere, a batch of one row becomes 1% of the rows. A batch of several rows grows to about d, as many as there may
    be stored atoms to read, but not beyond 1%. Data with fewer rows than the method asks for is taken whole.
    """
    if method.batch_size < 1 or method.engine != "loop":
        return method.batch_size
    own = min(method.batch_size, problem.n)
    stores_atoms = method.direction.keeps_atoms and problem.constraint.structure().coordinates is None
    if tracker_of(problem.constraint, problem.size).lazy and not stores_atoms:
        return own
    return 0.01 if method.batch_size == 1 else max(own, min(problem.size, problem.n // 100))


def _start(problem: Problem, x0: Any) -> Start:
    """Return the feasible starting point, and what a previous result proves of it."""
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
    return Start(w, x0.gap, x0.state.get("slopes")) if isinstance(x0, Result) else Start(w)
