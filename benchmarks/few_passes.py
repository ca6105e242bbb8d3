"""What a few passes are worth: ``(F - F*) / F(0)`` after 1, 2 and nearly 5, medians of three seeds.

    FRANKWOLFE_DATA=folder python benchmarks/few_passes.py

This is what ``auto`` goes by where ``max_passes`` is below five.
"""

import warnings

import numpy as np
from tables import read

import frankwolfe as fw

PROBLEMS = {
    "RCV1 subset, 100": ("rcv1_subset", "logistic", 100.0),
    "RCV1 subset, 1000": ("rcv1_subset", "logistic", 1000.0),
    "w8a, 50": ("w8a", "logistic", 50.0),
    "Breast Cancer, 5": ("breast_cancer", "logistic", 5.0),
    "California Housing, 0.1": ("california_housing", "squared", 0.1),
    "California Housing, standardised, 1": ("california_housing", "squared", 1.0),
}
METHODS = ("sfw", "stochastic-pairwise", "stochastic-away", "saga", "one-sample", "goldfarb-pairwise", "corrective")
SEEDS = range(3)


def main():
    warnings.simplefilter("ignore", fw.exceptions.ScaleWarning)
    print(f"{'problem':36}{'passes':>8}" + "".join(f"{method:>21}" for method in METHODS))
    for name, (file, loss, radius) in PROBLEMS.items():
        X, y = read(file)
        if "standardised" in name:
            X, y = (X - X.mean(axis=0)) / X.std(axis=0), y - y.mean()
        problem = fw.Problem(X, y, loss, fw.L1Ball(radius))
        optimum = fw.minimize(problem, tol=1e-9, max_passes=1000).fun
        for passes in (1.0, 2.0, 4.9):
            how = {"tol": 0, "max_passes": passes, "trace": 0}
            found = [
                np.median([fw.minimize(problem, method, random_state=seed, **how).fun for seed in SEEDS])
                for method in METHODS
            ]
            errors = (np.array(found) - optimum) / problem.zero_value
            print(f"{name:36}{passes:8g}" + "".join(f"{error:21.1e}" for error in errors), flush=True)


if __name__ == "__main__":
    main()
