"""Ranges over all good models: time, and how far the attained ends are from the proven ones.

    FRANKWOLFE_DATA=folder python benchmarks/ranges.py [CASE ...] [--repeats N]

Each case is solved first, which is not counted. The time is the least of some calls of `frankwolfe.ranges`, the first
of which compiles. The width of a bracket is the distance of both ends' proven and attained values, as a part of the
range.
"""

import argparse
from time import perf_counter, process_time

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

import frankwolfe as fw
from frankwolfe.datasets import load


def breast_cancer():
    """Return 30 weights of a logistic regression."""
    X, y = load_breast_cancer(return_X_y=True)
    problem = fw.Problem(scale(X), 2 * y - 1, loss="logistic", constraint=fw.L1Ball(5.0), intercept=True)
    return problem, "coefficients"


def rcv1():
    """Return those of 47,236 words that the answer uses."""
    data = load("rcv1")
    return fw.Problem(data.X, data.y, loss="logistic", constraint=fw.L1Ball(100.0)), None


def synthetic_control(donors=20_000, before=60, after=12, seed=0):
    """Return the effect of a policy: outcomes of the donors after it, as a functional of their weights."""
    rng = np.random.default_rng(seed)
    trends = rng.normal(size=(before + after, 4)).cumsum(axis=0)
    outcomes = trends @ rng.dirichlet(np.ones(4), size=donors).T + 0.3 * rng.normal(size=(before + after, donors))
    treated = trends @ [0.1, 0.4, 0.2, 0.3] + 0.3 * rng.normal(size=before + after)
    problem = fw.Problem(outcomes[:before], treated[:before], loss="squared", constraint=fw.Simplex(1.0))
    return problem, outcomes[before:].mean(axis=0)[None]


CASES = {"breast-cancer": breast_cancer, "rcv1": rcv1, "synthetic-control": synthetic_control}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", choices=[*CASES, []], help="default: all")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--within", type=float, default=0.01)
    given = parser.parse_args()
    print("case               ranges    seconds  processor  widest bracket")
    for name in given.cases or CASES:
        problem, of = CASES[name]()
        result = fw.minimize(problem, tol=1e-8, max_passes=2000)
        of = np.flatnonzero(result.x).tolist() if of is None else of
        times = []
        for _ in range(given.repeats):
            begun = perf_counter(), process_time()
            found = fw.ranges(problem, result, of=of, within=given.within)
            times.append((perf_counter() - begun[0], process_time() - begun[1]))
        wide = found.high_attained - found.low_attained
        bracket = (found.high_proven - found.low_proven - wide) / np.maximum(wide, 1e-300)
        seconds, processor = min(times)
        print(f"{name:<18} {len(wide):>6} {seconds:>10.2f} {processor:>10.2f} {bracket.max():>15.1e}")


if __name__ == "__main__":
    main()
