"""One solver on one dataset, in a process of its own: started by race.py, never by hand.

    python worker.py SPECIFICATION DESCRIPTOR

It writes what happens as lines of JSON to the descriptor. Standard output is left to the solvers, some of which print.
"""

import json
import math
import os
import resource
import sys
import traceback
import warnings
from pathlib import Path
from time import perf_counter

from benchmark_utils.threads import THREADS
from loading import HERE, load

TOLERANCES = [10.0**-k for k in range(1, 15)]
ITERATIONS = [2**k for k in range(25)]
REFINEMENTS = 2
BEYOND = 1
"""Coarse rungs climbed after the target was met, so that the curve goes on."""
REPEAT_BELOW = 5.0
"""Seconds: a rung that has taken longer is not repeated."""


class Reporter:
    """Tells the parent what happens."""

    def __init__(self, descriptor):
        self.stream = os.fdopen(descriptor, "w", buffering=1)

    def tell(self, event, **facts):
        self.stream.write(json.dumps({"event": event, **facts}) + "\n")


class Rung:
    """Runs a solver to a given precision, from scratch, several times; the objective judges."""

    def __init__(self, solver, objective, repeats, reporter):
        self.solver, self.objective, self.repeats, self.reporter = solver, objective, repeats, reporter

    def __call__(self, stop):
        """Return whether the answer meets the target."""
        seconds = []
        while len(seconds) < self.repeats and sum(seconds) < REPEAT_BELOW:
            self.reporter.tell("running", stop=stop)
            begun = perf_counter()
            self.solver.run(stop)
            seconds.append(perf_counter() - begun)
        facts = self.objective.evaluate_result(**self.solver.get_result())
        met = facts["suboptimality"] <= self.objective.target * self.objective.zero_value
        self.reporter.tell(
            "ran",
            stop=stop,
            seconds=min(seconds),
            repeats=len(seconds),
            met=bool(met),
            solves=getattr(self.solver, "solves", None),
            **{name: float(value) for name, value in facts.items()},
        )
        return met


def climb(rung, strategy):
    """Climb a coarse ladder until the target is met, refine between the last two rungs, then go a little beyond."""
    ladder = TOLERANCES if strategy == "tolerance" else ITERATIONS
    first = next((k for k, stop in enumerate(ladder) if rung(stop)), None)
    if first is None:
        return
    met, missed = ladder[first], ladder[first - 1] if first else None
    for _ in range(REFINEMENTS if first else 0):
        middle = math.sqrt(met * missed)
        if strategy == "iteration":
            middle = round(middle)
        if middle in (met, missed):
            break
        met, missed = (middle, missed) if rung(middle) else (met, middle)
    for stop in ladder[first + 1 : first + 1 + BEYOND]:
        rung(stop)


def compile_seconds(solver, reporter):
    """Warm up twice; the difference is what was done for the first time only."""
    seconds = []
    for _ in range(2):
        reporter.tell("warming up")
        begun = perf_counter()
        solver.warm_up()
        seconds.append(perf_counter() - begun)
    return max(0.0, seconds[0] - seconds[1])


def limit_threads():
    """Hold the native libraries loaded so far to the number of threads that the environment has told the others."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return
    threadpool_limits(THREADS)


def peak_megabytes():
    """Return the most memory this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024.0**2 if sys.platform == "darwin" else 1024.0)


def work(specification, reporter):
    dataset = load(Path(specification["dataset"])).get_instance(**specification["dataset_parameters"])
    objective = load(HERE / "objective.py").get_instance(target=specification["target"])
    data = dataset.get_data()
    skip, reason = objective.skip(**data)
    if skip:
        reporter.tell("no data", reason=reason)
        return
    objective.set_data(**data)
    reporter.tell(
        "data", zero_value=objective.zero_value, reference=objective.reference, shape=list(objective.X.shape),
        loss=objective.loss, radius=objective.radius, title=dataset.title,
    )  # fmt: skip
    try:
        solver = load(Path(specification["solver"])).get_instance(**specification["solver_parameters"])
    except ImportError as error:
        reporter.tell("absent", reason=str(error))
        return
    reporter.tell("solver", family=solver.family)
    skip, reason = solver.skip(**objective.get_objective())
    if skip:
        reporter.tell("skipped", reason=reason)
        return
    limit_threads()
    solver.set_objective(**objective.get_objective())
    reporter.tell("ready", baseline=peak_megabytes())
    reporter.tell("warm", compile_seconds=compile_seconds(solver, reporter))
    climb(Rung(solver, objective, specification["repeats"], reporter), solver.sampling_strategy)
    reporter.tell("done", peak=peak_megabytes())


def main():
    specification, reporter = json.loads(sys.argv[1]), Reporter(int(sys.argv[2]))
    warnings.simplefilter("ignore")  # solvers warn when they did not converge: the objective finds out by itself
    try:
        work(specification, reporter)
    except Exception as error:
        traceback.print_exc()
        reporter.tell("failed", reason=f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
