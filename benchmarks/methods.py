"""Passes that methods need on the paper's three problems, and on non-convex ones.

    FRANKWOLFE_DATA=folder python benchmarks/methods.py                       # every method that makes steps
    FRANKWOLFE_DATA=folder python benchmarks/methods.py saga sarah --passes 50

Each method runs as it is by default. Printed are the passes until ``F - F* <= 1e-3 F(0)``, as the trace tells it, and
until the proven gap of a run with ``tol=1e-3`` is as small. On the non-convex problems there is no ``F*``: the passes
until the exact Frank-Wolfe gap is a thousandth of that at the start. A dash: not within the budget, and after it how
far the run came, as a multiple of the target. All are medians over the seeds.
"""

import argparse

import numpy as np
from tables import read

import frankwolfe as fw

TARGET = 1e-3
CONVEX = {
    "RCV1 100": ("rcv1_subset", "logistic", 100.0, 0.464834751230),
    "Breast Cancer 5": ("breast_cancer", "logistic", 5.0, 0.139038718212),
    "California 0.1": ("california_housing", "squared", 0.1, 0.547049654174),
}
"""Table, loss, l1 radius, and the optimum, known to a gap below 1e-12."""

NONCONVEX = {
    "RCV1 100, sigmoid": ("rcv1_subset", fw.losses.Sigmoid(), 100.0),
    "Breast Cancer 5, sigmoid": ("breast_cancer", fw.losses.Sigmoid(), 5.0),
    "California 0.1, Cauchy": ("california_housing", fw.losses.Cauchy(1.0), 0.1),
}


def first(passes, values):
    """Return the passes at which values are first at most one, or infinity, and the smallest value."""
    met = np.flatnonzero(values <= 1.0)
    return (passes[met[0]] if len(met) else np.inf), float(np.min(values))


def to_suboptimality(problem, optimum, method, **options):
    trace = fw.minimize(problem, method, tol=0.0, trace=40, **options).trace
    return first(trace.passes, (trace.fun - optimum) / (TARGET * problem.zero_value))


def to_certificate(problem, method, **options):
    result = fw.minimize(problem, method, tol=TARGET, trace=0, **options)
    return (result.passes if result.success else np.inf), result.gap / result.tolerance


def to_stationarity(problem, method, **options):
    trace = fw.minimize(problem, method, tol=0.0, trace=20, **options).trace
    return first(trace.passes, trace.fw_gap / (TARGET * trace.fw_gap[0]))


def shown(runs):
    """Return the median passes as text, or how far the median run came."""
    passes, come = np.median(runs, axis=0)
    return f"{passes:.1f}" if np.isfinite(passes) else f"- {come:.1f}"


def main():
    stepwise = [name for name, method in fw.methods.METHODS.items() if method.solver == "loop"]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", nargs="*", default=stepwise)
    parser.add_argument("--passes", type=float, default=100.0)
    parser.add_argument("--batch-size", type=float, help="a number of rows, or a part of them; by default the method's")
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    options = {"max_passes": args.passes}
    if args.batch_size is not None:
        options["batch_size"] = args.batch_size if args.batch_size < 1 else int(args.batch_size)
    convex = {
        name: (fw.Problem(*read(file), loss, fw.L1Ball(radius)), optimum)
        for name, (file, loss, radius, optimum) in CONVEX.items()
    }
    others = {
        name: fw.Problem(*read(file), loss, fw.L1Ball(radius)) for name, (file, loss, radius) in NONCONVEX.items()
    }
    columns = [f"{name}, {what}" for name in convex for what in ("F - F*", "proven")] + [*others]
    print(f"| passes (at most {args.passes:g}) | {' | '.join(columns)} |\n|---{'|---' * len(columns)}|", flush=True)
    for method in args.methods:
        seeds = range(1 if fw.methods.METHODS[method].reads_all_rows else args.seeds)

        def median(run, *given, method=method, seeds=seeds):
            return shown([run(*given, method, random_state=seed, **options) for seed in seeds])

        cells = []
        for problem, optimum in convex.values():
            cells += [median(to_suboptimality, problem, optimum), median(to_certificate, problem)]
        cells += [median(to_stationarity, problem) for problem in others.values()]
        print(f"| `{method}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
