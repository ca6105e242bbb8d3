"""`tournament`: from arguments to what the runs found."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from frankwolfe.arguments.keywords import teaching
from frankwolfe.arguments.settings import as_budget, as_flag, as_threads
from frankwolfe.experiments.tournament.catalogue import Case, collected
from frankwolfe.experiments.tournament.outcome import Entry, Tournament
from frankwolfe.experiments.tournament.pool import in_processes, in_turn
from frankwolfe.experiments.tournament.run_files import RunFolder
from frankwolfe.experiments.tournament.runs import Budget, Facts, Run, Task
from frankwolfe.linalg.threads import available_cores
from frankwolfe.methods.table import METHODS, Method, as_method

REFERENCE = "auto"
"""The method that is shown for comparison: it reads all rows, solves models, and stops when it is certified."""

FULL_PASSES, QUICK_PASSES = 100.0, 30.0
FULL_SEEDS, QUICK_SEEDS = 3, 2
ACCURACIES = (1e-2, 1e-3, 1e-4)


class Progress(NamedTuple):
    """How far a tournament has come: pieces of work done and in all, seconds left (estimated), what came last."""

    done: int
    total: int
    seconds_left: float
    text: str


@teaching
def tournament(
    problems: Any = None,
    methods: Sequence[str | Method] | None = None,
    seeds: int | None = None,
    max_passes: float | None = None,
    *,
    max_seconds: float = 20.0,
    batch_size: float | None = None,
    accuracies: Sequence[float] = ACCURACIES,
    jobs: int | None = None,
    out: str | Path | None = None,
    quick: bool = False,
    source: str = "auto",
    callback: Callable[[Progress], Any] | None = None,
) -> Tournament:
    """Run every method on every problem with several seeds, in parallel processes.

    Parameters
    ----------
    problems : mapping of str to Problem, or sequence of str, optional
        One's own problems by name, or names and patterns (``"kappa-*"``) of those at hand. By default all of these
        (docs/tournament.md).
    methods : sequence of str or Method, optional
        By default every method that makes steps, and ``"auto"`` for comparison.
    seeds : int, optional
        Seeds of stochastic methods; 3 by default, 2 if ``quick``. Where nothing is left to chance there is one run.
    max_passes : float, optional
        Budget of each run: gradient evaluations divided by n; 100 by default, 30 if ``quick``.
    max_seconds : float
        Most time of each run.
    batch_size : int or float, optional
        For all stochastic methods; by default each one's own.
    accuracies : sequence of float
        Costs are measured until ``F - F* <= accuracy * F(0)``.
    jobs : int, optional
        Processes, of one thread each; by default as many as there are cores. With more than one, problems and methods
        must be picklable, and a script must make the call under ``if __name__ == "__main__":``. 1: in this process.
    out : str or Path, optional
        Folder for the runs, one small file each as it finishes. The same call with the same folder takes over all that
        is still valid there, and does only the rest.
    quick : bool
        A few small problems, fewer seeds and passes.
    source : str
        Where the data of the problems at hand may come from (see `frankwolfe.datasets.load`).
    callback : callable, optional
        Called with a `Progress` after each piece of work; return True to stop.

    Returns
    -------
    Tournament
        Also after Ctrl-C: then with the runs that were made, and ``missing`` says how many were not.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 2.0, 3.0]
    >>> mine = fw.Problem(X, y, loss="squared", constraint=fw.L1Ball(2.0))
    >>> with fw.python_mode():  # interpreted: in this process only
    ...     found = fw.tournament({"mine": mine}, ["fw", "away"], max_passes=20, jobs=1)
    >>> [standing.method for standing in found.ranking(1e-3)]
    ['away', 'fw']
    """
    quick = as_flag("quick", quick)
    chosen, references = as_methods(methods)
    budget = Budget(
        as_budget("max_passes", _or(max_passes, QUICK_PASSES if quick else FULL_PASSES)),
        as_budget("max_seconds", max_seconds),
        batch_size,
    )
    number = as_threads(_or(seeds, QUICK_SEEDS if quick else FULL_SEEDS)) or 1
    wanted = as_accuracies(accuracies)
    cases, notes = collected(problems, source, quick)
    if not cases:
        raise ValueError("there is no problem to play: " + ("; ".join(notes) or "problems is empty"))
    processes = available_cores() if jobs is None else as_threads(jobs) or 1
    found, missing = _play(cases, chosen, number, budget, processes, out, callback)
    entries = {
        case.key: Entry(case.key, case.title, case.origin, case.group, case.family, _facts(case, found))
        for case in cases
    }
    runs = [run for run in found.values() if isinstance(run, Run)]
    return Tournament(
        entries,
        [method.name for method in chosen],
        references,
        number,
        runs,
        missing,
        wanted,
        budget,
        tuple(notes),
        processes,
    )


def as_methods(methods: Any) -> tuple[list[Method], frozenset[str]]:
    """Return the methods that are meant, and the names of those that do not contend."""
    if methods is None:
        methods = [name for name, method in METHODS.items() if method.engine == "loop"] + [REFERENCE]
    elif isinstance(methods, str | Method):
        methods = [methods]
    found = [as_method(method) for method in methods]
    names = [method.name for method in found]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two methods are called {name!r}: name one otherwise, Method(..., name='...')")
    if not found:
        raise ValueError("methods is empty: name at least one, for instance 'sfw'")
    references = frozenset(method.name for method in found if method.engine != "loop")
    return found, references if len(references) < len(found) else frozenset()


def as_accuracies(accuracies: Any) -> tuple[float, ...]:
    """Return accuracies between 0 and 1, the largest first."""
    found = tuple(sorted({as_budget("accuracies", accuracy) for accuracy in accuracies}, reverse=True))
    if not found or not all(0.0 < accuracy < 1.0 for accuracy in found):
        raise ValueError(f"accuracies must lie between 0 and 1, for instance 1e-2, 1e-3, 1e-4; got {accuracies!r}")
    return found


def is_deterministic(method: Method) -> bool:
    """Whether a method leaves nothing to chance: it reads all rows in every step, or is no method of steps."""
    return method.engine != "loop" or bool(method.estimate.abilities.reads_all_rows)


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


def _chains(cases: Sequence[Case], methods: Sequence[Method], seeds: int) -> list[list[Task]]:
    """Return all work, problem by problem; the seeds of a method stay together."""
    return [
        chain
        for case in cases
        for chain in (
            [Task(case.key, None)],
            *([Task(case.key, method, seed) for seed in range(_seeds(method, seeds))] for method in methods),
        )
    ]


def _seeds(method: Method, seeds: int) -> int:
    return 1 if is_deterministic(method) else seeds


def _play(
    cases: Sequence[Case],
    methods: Sequence[Method],
    seeds: int,
    budget: Budget,
    jobs: int,
    out: str | Path | None,
    callback: Callable[[Progress], Any] | None,
) -> tuple[dict[Task, Run | Facts], int]:
    """Do the work that is not done yet; return what has come of all, in order, and how much is missing."""
    problems = {case.key: case.problem for case in cases}
    chains = _chains(cases, methods, seeds)
    order = [task for chain in chains for task in chain]
    with TemporaryDirectory() if out is None else nullcontext(str(out)) as folder:
        files = RunFolder(Path(folder) / "runs", problems, budget)
        found = {task: kept for task in order if (kept := files.read(task)) is not None}
        left = [[task for task in chain if task not in found] for chain in chains]
        left = [chain for chain in left if chain]
        clock = Clock(order, found, problems, budget)
        report = callback or (lambda progress: None)
        try:
            report(clock.progress(len(found), len(order), "starting"))
            for task, outcome in _outcomes(left, problems, budget, jobs):
                files.write(task, outcome)
                found[task] = outcome
                clock.note(task)
                words = f"{task.problem}: {task.name or 'optimum'}" + (f", seed {task.seed}" if task.seed else "")
                if report(clock.progress(len(found), len(order), words)):
                    break
        except KeyboardInterrupt:
            pass  # what is done is kept
    return {task: found[task] for task in order if task in found}, len(order) - len(found)


def _outcomes(left: list[list[Task]], problems: dict, budget: Budget, jobs: int) -> Iterator[tuple[Task, Run | Facts]]:
    if jobs == 1:
        return in_turn(left, problems, budget)
    return in_processes(left, problems, budget, jobs)


def _facts(case: Case, found: dict[Task, Run | Facts]) -> Facts:
    facts = found.get(Task(case.key, None))
    assert facts is None or isinstance(facts, Facts)
    return facts or Facts(case.key, error="it was not worked on: the tournament was broken off before")


class Clock:
    """Estimates how long the rest will take, from how long what is done took.

    Parameters
    ----------
    order : sequence of Task
        All work.
    done : mapping
        What was done before.
    problems : dict of str to Problem
        Whose sizes say how much work a task is.
    budget : Budget
        Of every run.
    """

    def __init__(self, order: Sequence[Task], done: Any, problems: dict, budget: Budget):
        self._weights = {key: self._weight(problem, budget) for key, problem in problems.items()}
        self._left = sum(self._weights[task.problem] for task in order if task not in done)
        self._done, self._begun = 0.0, time.monotonic()

    @staticmethod
    def _weight(problem: Any, budget: Budget) -> float:
        """Seconds of a run, roughly: some for its start, some for every row and every stored value it reads."""
        rows, stored = problem.n, problem.samples.rows.stored()
        return 0.3 + min(budget.max_seconds, budget.max_passes * (2.5e-7 * rows + 5e-9 * stored))

    def note(self, task: Task) -> None:
        """Take a piece of work off what is left."""
        weight = self._weights[task.problem]
        self._left, self._done = self._left - weight, self._done + weight

    def progress(self, done: int, total: int, text: str) -> Progress:
        """Return how far it is; NaN seconds until something is known."""
        spent = time.monotonic() - self._begun
        left = spent * self._left / self._done if self._done else float("nan")
        return Progress(done, total, max(left, 0.0) if left == left else left, text)
