"""Placebo runs of a synthetic control: each donor explained by all others, and every answer certified.

    python benchmarks/placebos.py
    python benchmarks/placebos.py --donors 600 --targets 600

prints seconds for all targets, milliseconds for each, the largest gap relative to the objective at zero weights, and
the memory of the process. Code is compiled before the clock starts.
"""

import argparse
import resource
from time import perf_counter

import numpy as np

import frankwolfe as fw


def panel(periods, donors, seed=0):
    """Return outcomes of shape (periods, donors): five common trends, and noise."""
    rng = np.random.default_rng(seed)
    trends = rng.normal(size=(periods, 5)).cumsum(axis=0)
    return 20.0 + 3.0 * trends @ rng.dirichlet(np.ones(5), size=donors).T + 0.4 * rng.normal(size=(periods, donors))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--periods", type=int, default=60)
    parser.add_argument("--donors", type=int, default=20_000)
    parser.add_argument("--targets", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    X = panel(given.periods, given.donors)
    targets = np.arange(given.targets)
    model = fw.SimplexRegressor(n_jobs=given.threads)
    model.fit(X, X[:, targets[:50]], exclude=targets[:50])

    begin = perf_counter()
    model.fit(X, X[:, targets], exclude=targets)
    seconds = perf_counter() - begin
    results = model.result_
    worst = max(found.gap / found.zero_value for found in results)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    print(f"{given.periods} periods, {given.donors} donors, {given.targets} placebos, {given.threads} threads")
    print(f"{seconds:.1f} s, {1000.0 * seconds / given.targets:.1f} ms each, at most {memory:.0f} MB")
    print(f"certified: {sum(found.success for found in results)}, largest gap {worst:.1e} of F(0)")
    print(f"passes: {np.mean([found.passes for found in results]):.1f} on average")


if __name__ == "__main__":
    main()
