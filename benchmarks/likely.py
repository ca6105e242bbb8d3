"""Likely bounds: how often they hold, how much larger than proven ones they are, and what they save.

    FRANKWOLFE_DATA=folder python benchmarks/likely.py

A bound is drawn by itself ``--trials`` times on each problem, at the end of ``--passes`` passes of ``sfw``: ``--runs``
runs, and as many samples of each as make up the number. *holds* is how often it is not below what the table proves
exactly, ``F(w) - D(alpha)``, which is itself not below ``F(w) - F*``. *over exact* is the median of their ratio, and
*at most* the largest. Then ``minimize(..., stop="likely")`` runs ``--runs`` times to a tolerance. *stops hold* is how
often the true ``F(w) - F*`` at the end is within the bound, and *passes* what it took, against a proven stop. The last
two problems are made for samples to miss what matters: rows whose sizes have a heavy tail, and weights that do.
"""

import argparse

import numpy as np
from tables import read

import frankwolfe as fw
from frankwolfe.running.likely import CONFIDENCE, likely_gap
from frankwolfe.solvers.stepwise import StepwiseSolver


def heavy_rows(weighted):
    """Return a problem whose rows, or weights, have sizes from a Pareto distribution without a third moment."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50_000, 20))
    sizes = rng.pareto(2.5, size=len(X)) + 1.0
    if not weighted:
        X *= sizes[:, None] / 3.0
    y = np.where(X[:, :5].sum(axis=1) + rng.logistic(size=len(X)) > 0.0, 1.0, -1.0)
    return fw.Problem(X, y, "logistic", fw.L1Ball(5.0), sample_weight=sizes if weighted else None)


PROBLEMS = {
    "RCV1 subset, 100": lambda: fw.Problem(*read("rcv1_subset"), "logistic", fw.L1Ball(100.0)),
    "w8a, 50": lambda: fw.Problem(*read("w8a"), "logistic", fw.L1Ball(50.0)),
    "California Housing, 0.1": lambda: fw.Problem(*read("california_housing"), "squared", fw.L1Ball(0.1)),
    "heavy rows, 5": lambda: heavy_rows(weighted=False),
    "heavy weights, 5": lambda: heavy_rows(weighted=True),
}


def bounds(problem, passes, runs, trials):
    """Return likely bounds over exact ones."""
    ratios = []
    for seed in range(runs):
        part = problem.own()
        solver = StepwiseSolver(part, fw.methods.METHODS["sfw"], 1, np.random.default_rng(seed), part.default_start())
        solver.begin(np.inf, 0.0)
        solver.advance(int(passes * part.n))
        w, table = solver.point(), solver.evidence().table
        exact = part.value(w) - part.dual_value(table)
        for trial in range(trials // runs):
            rng = np.random.default_rng([seed, trial])
            found = likely_gap(part, w, table, solver.gradient.dense(), rng, 1.0 - CONFIDENCE)
            ratios.append(found.bound / exact)
    return np.array(ratios)


def main():
    """Run all and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--passes", type=float, default=5.0)
    parser.add_argument("--tol", type=float, default=3e-3, help="of F(0); on California Housing it is 0.3")
    parser.add_argument("--only", help="part of a problem's name")
    args = parser.parse_args()
    print("problem | trials | holds | over exact | at most | stops hold | passes | with a proven stop")
    print("|".join(8 * ["---"]))
    for name, make in PROBLEMS.items():
        if args.only and args.only not in name:
            continue
        problem = make()
        ratios = bounds(problem, args.passes, args.runs, args.trials)
        optimum = fw.minimize(problem, tol=1e-8, max_passes=2000).lower_bound
        how = {"tol": 0.3 if "Housing" in name else args.tol, "max_passes": 300, "trace": 0}
        ends = [fw.minimize(problem, "sfw", stop="likely", random_state=seed, **how) for seed in range(args.runs)]
        proven = [fw.minimize(problem, "sfw", random_state=seed, **how) for seed in range(min(args.runs, 3))]
        holds = np.mean([problem.value(end.x) - optimum <= end.likely_gap for end in ends])
        stopped = sum(end.status is fw.Status.LIKELY for end in ends)
        spent = [np.median([run.passes + run.certificate_passes for run in runs]) for runs in (ends, proven)]
        told = [name, len(ratios), f"{np.mean(ratios >= 1.0):.2%}", f"{np.median(ratios):.3f}", f"{ratios.max():.3f}"]
        print(*told, f"{holds:.0%} of {stopped}", f"{spent[0]:.2f}", f"{spent[1]:.2f}", sep=" | ", flush=True)


if __name__ == "__main__":
    main()
