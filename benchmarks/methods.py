"""Methods on the paper's three problems, and on losses that are not convex: how many passes they take.

    FRANKWOLFE_DATA=folder python benchmarks/methods.py svrf storc svfw spider goldfarb-away goldfarb-pairwise

Prints, for every method, the passes after which F - F* first was at most 1e-3 F(0), and F - F* over F(0) at the end of
100 passes; then the passes after which the exact gap first was a thousandth of that at the start, within 1000. Medians
over five seeds; traced points only.
"""

import sys
import warnings

import numpy as np
from tables import read

import frankwolfe as fw

PROBLEMS = [
    ("RCV1 subset", "rcv1_subset", "logistic", 100.0, 0.464834751230),
    ("Breast Cancer", "breast_cancer", "logistic", 5.0, 0.139038718212),
    ("California Housing", "california_housing", "squared", 0.1, 0.547049654174),
]
"""Title, file, loss, l1 radius and optimal objective (certified to 1e-12)."""

NOT_CONVEX = [
    ("Breast Cancer, sigmoid", "breast_cancer", "sigmoid", 5.0),
    ("California Housing, standardised, Cauchy", "california_housing", "cauchy", 1.0),
]
SEEDS = range(5)


def first(passes, reached):
    """Return the passes of the first traced point that reached the goal, infinity if none did."""
    return passes[reached][0] if reached.any() else np.inf


def convex(method):
    for title, file, loss, radius, optimum in PROBLEMS:
        problem = fw.Problem(*read(file), loss, fw.L1Ball(radius))
        found = []
        for seed in SEEDS:
            trace = fw.minimize(problem, method, tol=0, max_passes=100, random_state=seed, trace=25).trace
            error = (trace.fun - optimum) / problem.zero_value
            found.append((first(trace.passes, error <= 1e-3), error[-1], trace.nit[-1]))
        passes, error, steps = np.median(found, axis=0)
        print(f"{method:18} {title:42} passes to 1e-3: {passes:6.1f}   at the end: {error:.1e}   steps: {steps:.0f}")


def not_convex(method):
    for title, file, loss, radius in NOT_CONVEX:
        X, y = read(file)
        X = (X - X.mean(axis=0)) / X.std(axis=0) if "standardised" in title else X
        problem = fw.Problem(X, y, loss, fw.L1Ball(radius))
        start, found = problem.gap(problem.default_start()), []
        for seed in SEEDS:
            trace = fw.minimize(problem, method, tol=0, max_passes=1000, random_state=seed, trace=25).trace
            found.append((first(trace.passes, trace.gap <= 1e-3 * start), trace.gap.min() / start))
        passes, least = np.median(found, axis=0)
        print(f"{method:18} {title:42} passes to 1e-3: {passes:6.1f}   least gap:  {least:.1e}")


if __name__ == "__main__":
    warnings.simplefilter("ignore", fw.ScaleWarning)
    for name in sys.argv[1:] or ("sfw", "fw"):
        convex(name)
        not_convex(name)
