"""What happens when a constant of the corrective solvers is doubled or halved: the source of what their docstrings say.

    FRANKWOLFE_DATA=folder python benchmarks/constants.py [--only STALE_CURVATURE MIN_NEW_ATOMS] [--rounds 3]

Each constant is changed alone. Large problems, those that `compare.py` times, are run to a gap of 1e-6 of ``F(0)``: the
table has the geometric mean of their times and of their passes over the data, and the problem that changed most. Small
problems, some of those in `sweep.py`, are run to 1e-8: the table has all their passes together and how many failed.
All figures are ratios to those of the constants as they are, but the last.
"""

import argparse
import sys
from contextlib import contextmanager
from importlib import import_module
from math import exp, log
from pkgutil import iter_modules
from time import perf_counter

import numpy as np
import sweep
import workload
from tables import read

import frankwolfe as fw
from frankwolfe.solvers import corrective

SWEPT = [
    (name, loss, data, radius)
    for name in sweep.SETS
    for loss, data, radius in (
        ("squared", "plain", 1.0),
        ("logistic", "scaled", 10.0),
        ("logistic", "shifted", 1.0),
        ("multinomial", "plain", 1e3),
    )
    if (name, loss) != ("Spectrahedron", "multinomial")
]
"""Small problems: set, loss, data, radius."""


def constants():
    """Return the numbers that a module of the corrective solvers defines, as (module, name)."""
    found = []
    for info in iter_modules(corrective.__path__):
        module = import_module(f"{corrective.__name__}.{info.name}")
        lines = module.__loader__.get_source(module.__name__).splitlines()
        for line in lines:
            names, equals, value = line.partition(" = ")
            if (
                equals
                and not line.startswith(" ")
                and names.replace(",", "").replace("_", "").replace(" ", "").isupper()
                and "range" not in value
            ):
                found += [(module, name) for name in names.split(", ")]
    return found


def scaled(value, factor):
    """Return a number, or those of a tuple, times a factor; whole numbers stay whole, and at least one."""
    if isinstance(value, tuple):
        changed = [scaled(each, factor) for each in value]
        return value._make(changed) if hasattr(value, "_make") else tuple(changed)
    return max(1, round(value * factor)) if isinstance(value, int) else value * factor


@contextmanager
def changed(module, name, value):
    """Let a constant have another value for a while, wherever it is known."""
    before = getattr(module, name)
    knowing = [
        other
        for other in list(sys.modules.values())
        if getattr(other, "__name__", "").startswith("frankwolfe.solvers") and getattr(other, name, None) is before
    ]
    for other in knowing:
        setattr(other, name, value)
    try:
        yield
    finally:
        for other in knowing:
            setattr(other, name, before)


def large_problems():
    """Return runs of the large problems by name, each giving a result."""
    runs = {}
    for name, (file, loss, radius) in workload.L1_PROBLEMS.items():
        problem = fw.Problem(*read(file), loss, fw.L1Ball(radius))
        runs[name] = lambda problem=problem: fw.minimize(problem, tol=1e-6, max_passes=1e4, trace=0)
    curved = {
        "L2": (fw.L2Ball(1.0), 100_000, 60, 1),
        "trace": (fw.TraceBall(2.0), 5_000, 30, 4),
        "low rank": (fw.TraceBall(5.0), 2_000, 60, 20),  # too many weights for models over the set itself
    }
    for name, (constraint, n, d, classes) in curved.items():
        problem = fw.Problem(*workload.curved_table(n, d, classes), constraint)
        runs[name] = lambda problem=problem: fw.minimize(problem, tol=1e-6, max_passes=1e4, trace=0)
    return runs


class Measured:
    """Times and passes of all problems, with the constants as they are now."""

    def __init__(self, runs, small, rounds):
        self.seconds, self.passes = {}, {}
        for name, run in runs.items():
            times = []
            for _ in range(rounds):
                begun = perf_counter()
                result = run()
                times.append(perf_counter() - begun)
            self.seconds[name], self.passes[name] = min(times), result.passes
        results = [sweep.solve(problem, 1e-8, 1.0, 1) for problem in small]
        self.small_passes = sum(result.passes for result in results if result.success)
        self.failed = sum(not result.success for result in results)

    def beside(self, base):
        """Return a line of the table."""
        time = {name: self.seconds[name] / base.seconds[name] for name in self.seconds}
        passes = [self.passes[name] / base.passes[name] for name in self.passes]
        most = max(time, key=lambda name: abs(log(time[name])))
        return (
            f"{mean(time.values()):7.2f}{mean(passes):8.2f}   {f'{most} {time[most]:.2f}':24}"
            f"{self.small_passes / base.small_passes:7.2f}{self.failed:5}"
        )


def mean(values):
    """Return the geometric mean."""
    return exp(np.mean([log(value) for value in values]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", help="names of constants (all)")
    parser.add_argument(
        "--rounds", type=int, default=3, help="runs of each large problem, of which the shortest counts"
    )
    args = parser.parse_args()
    runs, small = large_problems(), [sweep.pose(*each) for each in SWEPT]
    Measured(runs, small, 1)  # compiles
    base = Measured(runs, small, args.rounds)
    print(f"{'':62}{'time':>7}{'passes':>8}   {'most':24}{'small':>7}{'failed':>7}")
    print(f"{'as they are':62}{base.beside(base)}", flush=True)
    for module, name in constants():
        if args.only and name not in args.only:
            continue
        value = getattr(module, name)
        for factor in (2.0, 0.5):
            other = scaled(value, factor)
            if other == value:
                continue
            with changed(module, name, other):
                line = Measured(runs, small, args.rounds).beside(base)
            title = f"{module.__name__.rpartition('.')[2]}.{name} = {other}"
            print(f"{title:62}{line}", flush=True)


if __name__ == "__main__":
    main()
