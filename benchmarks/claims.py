"""Claim counts of 600,000 insurance contracts: time to a certified Poisson model, beside glum.

    python benchmarks/claims.py [--rows N] [--repeats K]

The table is generated: 20 columns, 8 of them categories (132 columns of numbers), counts, and exposure. Three problems:
no rules (a budget that does not bind), bands of age whose rates may only fall, and these with a budget that binds. Ours
is the time of a fit from arrays to an answer certified at 1e-6 F(0). glum is asked for the first problem, with its
fastest solver (``irls-ls``) on its own matrix of categories, with one tolerance after the other until its objective is
as close to the optimum as ours; its time is that of the last fit alone. It has no certificate. Monotone levels it can
state as linear inequalities, for its solver ``trust-constr``, which is stopped after ``--limit`` seconds.
"""

import argparse
import subprocess
import sys
from time import perf_counter

import numpy as np
import pandas as pd
from scipy import sparse

import frankwolfe as fw

LEVELS = {"age": 16, "region": 22, "brand": 11, "fuel": 2, "class": 6, "area": 6, "use": 9, "model": 48}
NUMBERS = 12
TOL = 1e-6


def contracts(n, seed=0):
    """Return the table, the counts and the exposure."""
    rng = np.random.default_rng(seed)
    table, z = {}, np.full(n, -2.2)
    for name, levels in LEVELS.items():
        shares = rng.dirichlet(np.full(levels, 3.0))
        codes = rng.choice(levels, n, p=shares)
        effects = 0.2 * rng.normal(size=levels)
        if name == "age":
            effects = 1.2 * np.exp(-np.arange(levels) / 2.5) + 0.02 * rng.normal(size=levels)
        z += effects[codes]
        table[name] = pd.Categorical([f"{k:02d}" for k in range(levels)], ordered=False)[codes]
    for k in range(NUMBERS):
        table[f"x{k}"] = rng.normal(size=n)
        z += 0.05 * rng.normal() * table[f"x{k}"]
    years = rng.uniform(0.05, 1.0, n)
    return pd.DataFrame(table), rng.poisson(years * np.exp(z)).astype(float), years


def encoded(table):
    """Return the columns as a CSR array, and their names."""
    dummies = pd.get_dummies(table[list(LEVELS)], dtype=np.uint8, sparse=False)
    numbers = table[[f"x{k}" for k in range(NUMBERS)]]
    X = sparse.hstack([sparse.csr_array(dummies.to_numpy(np.float64)), sparse.csr_array(numbers.to_numpy())], "csr")
    return sparse.csr_array(X), [*dummies.columns, *numbers.columns]


def falling(names):
    """Return the condition that each band of age has a rate at most that of the one before."""
    bands = [j for j, name in enumerate(names) if name.startswith("age_")]
    A = np.zeros((len(bands) - 1, len(names)))
    A[np.arange(len(A)), bands[:-1]], A[np.arange(len(A)), bands[1:]] = 1.0, -1.0
    return fw.LinearBounds(A, 0.0, np.inf)


def objective(z, y, years):
    """Return half the mean deviance at log-rates ``z``."""
    mean = years * np.exp(z)
    return float(np.mean(mean - y + np.where(y > 0.0, y * np.log(np.where(y > 0.0, y, 1.0) / mean), 0.0)))


def ours(X, y, years, names):
    """Print the time and the certificate of each problem; return the time and the objective of the first."""
    found = []
    for what, radius, side in (
        ("no rules", 100.0, None),
        ("ages fall", 100.0, falling(names)),
        ("ages fall, radius 3", 3.0, falling(names)),
    ):
        started = perf_counter()
        problem = fw.Problem(X, y, "poisson", fw.L1Ball(radius), intercept=True, side=side, offset=np.log(years))
        result = fw.minimize(problem, tol=TOL)
        seconds = perf_counter() - started - result.compile_seconds
        z = X @ result.x + result.intercept
        print(
            f"ours, {what:20} {seconds:7.2f} s, {result.passes:4.1f} passes, objective {objective(z, y, years):.9f}, "
            f"gap {result.gap / result.zero_value:.1e} F(0), {result.status}",
            flush=True,
        )
        found.append((seconds, result.fun, result.gap))
    return found[0]


def glums(table, y, years, goal):
    """Print and return the time of glum's fastest solver for the problem without rules."""
    from glum import GeneralizedLinearRegressor

    for tolerance in 10.0 ** -np.arange(2.0, 9.0):
        model = GeneralizedLinearRegressor(
            family="poisson", alpha=0.0, solver="irls-ls", gradient_tol=tolerance, drop_first=True
        )
        started = perf_counter()
        model.fit(table, y / years, sample_weight=years)
        seconds, found = perf_counter() - started, objective(np.log(model.predict(table)), y, years)
        print(
            f"glum, irls-ls, gradient_tol {tolerance:.0e}: {seconds:7.2f} s, {model.n_iter_} iterations, "
            f"objective {found:.9f}",
            flush=True,
        )
        if found <= goal:
            break
    return seconds


def glums_rules(table, y, years, ages):
    """Print what glum makes of the rules."""
    from glum import GeneralizedLinearRegressor

    X = pd.get_dummies(table, columns=list(LEVELS), drop_first=True, dtype=float)
    A = np.zeros((ages - 2, X.shape[1]))
    bands = [j for j, name in enumerate(X.columns) if name.startswith("age_")]
    A[np.arange(ages - 2), bands[:-1]], A[np.arange(ages - 2), bands[1:]] = -1.0, 1.0
    model = GeneralizedLinearRegressor(
        family="poisson", alpha=0.0, solver="trust-constr", A_ineq=A, b_ineq=np.zeros(ages - 2), gradient_tol=1e-6
    )
    started = perf_counter()
    model.fit(X, y / years, sample_weight=years)
    worst = float((A @ model.coef_).max())
    print(
        f"glum, trust-constr, ages fall: {perf_counter() - started:7.2f} s, "
        f"objective {objective(np.log(model.predict(X)), y, years):.9f}, worst violation {worst:.1e}"
    )


def main():
    """Run both in turn, and print the ratio of their best times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=600_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for glum under rules")
    parser.add_argument("--rules", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    table, y, years = contracts(given.rows)
    if given.rules:
        glums_rules(table, y, years, LEVELS["age"])
        return
    X, names = encoded(table)
    print(f"{X.shape[0]:,} x {X.shape[1]}, {X.nnz:,} stored values, {int(y.sum()):,} claims")
    times = []
    for _ in range(given.repeats):
        seconds, fun, gap = ours(X, y, years, names)
        try:
            times.append((seconds, glums(table, y, years, fun + gap)))
        except ImportError:
            print("glum is not installed")
            return
    mine, theirs = np.min(times, axis=0)
    print(f"best of {given.repeats}: ours {mine:.2f} s, glum {theirs:.2f} s, ratio {mine / theirs:.2f}")
    command = [sys.executable, __file__, "--rules", "--rows", str(given.rows)]
    try:
        subprocess.run(command, check=False, timeout=given.limit)
    except subprocess.TimeoutExpired:
        print(f"glum, trust-constr, ages fall: no answer after {given.limit:g} s")


if __name__ == "__main__":
    main()
