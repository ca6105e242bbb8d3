"""How far the active-set methods come: exact gaps on real tables, and on small problems over every kind of set.

    FRANKWOLFE_DATA=folder python benchmarks/active_sets.py

Prints one table of exact gaps for each group of problems. The active-set methods are asked for a gap of 1e-8 F(0),
`corrective` for 1e-10 F(0). On California Housing, whose columns differ in scale by five orders of magnitude, every
method runs.
"""

import argparse

import numpy as np
from tables import read

import frankwolfe as fw

ACTIVE = ("away", "pairwise", "blended-pairwise")
OTHERS = ("fw, line search", "sfw", "stochastic-pairwise", "stochastic-away", "mokhtari", "momentum", "lu-freund")
GOAL = dict.fromkeys((*ACTIVE, *OTHERS), 1e-8) | {"corrective": 1e-10}

TABLES = [
    ("Breast Cancer, l1 5", "breast_cancer", "logistic", fw.L1Ball(5.0), 0.139038718212),
    ("RCV1 subset, l1 100", "rcv1_subset", "logistic", fw.L1Ball(100.0), 0.464834751230),
    ("w8a, l1 50", "w8a", "logistic", fw.L1Ball(50.0), 0.177250043301),
]
"""Title, file, loss, set and optimal objective (certified to 1e-12)."""

HOUSING = [
    ("l1 0.1", fw.L1Ball(0.1), 0.547049654174),
    ("simplex", fw.Simplex(1.0), 0.351533997805),
    ("box +-0.05", fw.sets.LinfBall(0.05), 0.551330097584),
    ("l2 0.1", fw.L2Ball(0.1), 0.515849685633),
]
"""Title, set and optimal objective of California Housing, squared loss."""

SETS = [fw.L1Ball(2.0), fw.Simplex(2.0), fw.sets.NonNegativeL1Ball(2.0), fw.Box(-0.3, 0.5), fw.L2Ball(1.5)]


def small(constraint, n=200, d=40):
    """Random logistic problem over a set."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0.0, 1.0, -1.0)
    return fw.Problem(X, y, "logistic", constraint)


def run(problem, method, passes, seconds):
    name, step = ("fw", "line-search") if method.startswith("fw") else (method, None)
    return fw.minimize(
        problem, name, step=step, tol=GOAL[method], max_passes=passes, max_seconds=seconds, random_state=0, trace=0
    )


def table(problems, methods, passes, seconds):
    """Print a row for each problem and method."""
    print("| problem | method | gap / F(0) | (F - F*) / F(0) | passes | seconds | reached |")
    print("|---|---|---|---|---|---|---|")
    for title, problem, known in problems:
        optimum = fw.minimize(problem, "corrective", tol=1e-13, trace=0).fun if known is None else known
        for method in methods:
            result = run(problem, method, passes, seconds)
            exact = problem.gap(result.x)  # anew, not what the run says of itself
            print(
                f"| {title} | `{method}` | {exact / problem.zero_value:.0e} "
                f"| {abs(result.fun - optimum) / problem.zero_value:.0e} | {result.passes:,.0f} "
                f"| {result.seconds:.2f} | {'yes' if exact <= GOAL[method] * problem.zero_value else 'no'} |",
                flush=True,
            )
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--passes", type=float, default=20_000.0, help="most passes for a run")
    parser.add_argument("--seconds", type=float, default=120.0, help="most seconds for a run")
    args = parser.parse_args()
    limits = args.passes, args.seconds
    table([(type(each).__name__, small(each), None) for each in SETS], (*ACTIVE, "corrective"), *limits)
    real = [(title, fw.Problem(*read(file), loss, allowed), best) for title, file, loss, allowed, best in TABLES]
    table(real, (*ACTIVE, "corrective"), *limits)
    housing = [(title, fw.Problem(*read("california_housing"), "squared", each), best) for title, each, best in HOUSING]
    table(housing, (*ACTIVE, "corrective", *OTHERS), min(args.passes, 10_000.0), min(args.seconds, 8.0))


if __name__ == "__main__":
    main()
