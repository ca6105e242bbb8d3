"""MovieLens 100k: ratings predicted by a matrix of small trace norm, with a certificate.

    FRANKWOLFE_DATA=folder python benchmarks/movielens.py

Splits the ratings 80/20 by a stated seed, chooses the radius on a fifth of the training part, and prints the error on
the test part (predictions clipped to 1..5), rank, certified gap and time; beside it that of the offsets alone (an
overall mean, damped offsets of users and films).
"""

import argparse
import os
from pathlib import Path
from time import perf_counter

import numpy as np

import frankwolfe as fw

RADII = (200.0, 350.0, 500.0, 700.0, 1000.0)


def read():
    """Return users, items and ratings."""
    folder = os.environ.get("FRANKWOLFE_DATA")
    if folder is None:
        raise SystemExit("set FRANKWOLFE_DATA to the folder that holds the tables")
    stored = np.load(Path(folder) / "movielens_100k.npz")
    return np.array([stored["user"], stored["item"]]), stored["rating"].astype(np.float64)


def root_mean_square(predicted, ratings):
    return float(np.sqrt(np.mean((np.clip(predicted, 1.0, 5.0) - ratings) ** 2)))


def fitted(places, ratings, shape, radius, **options):
    """Return the problem and the result of minimising it."""
    problem = fw.completion_problem(*places, ratings, shape, constraint=fw.TraceBall(radius))
    return problem, fw.minimize(problem, trace=0, random_state=0, **options)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sfw-passes", type=float, default=10.0)
    args = parser.parse_args()
    places, ratings = read()
    shape = tuple(places.max(axis=1) + 1)
    order = np.random.default_rng(args.seed).permutation(len(ratings))
    train, test = order[: 8 * len(order) // 10], order[8 * len(order) // 10 :]
    fit, check = train[: 8 * len(train) // 10], train[8 * len(train) // 10 :]
    errors = {}
    for radius in RADII:
        problem, result = fitted(places[:, fit], ratings[fit], shape, radius)
        errors[radius] = root_mean_square(problem.predict(result.x, *places[:, check]), ratings[check])
        print(f"radius {radius:g}: error {errors[radius]:.4f} on the part held back, {result.status}", flush=True)
    radius = min(errors, key=errors.get)
    print(f"\nradius {radius:g}, {len(train)} ratings, tested on {len(test)} (seed {args.seed})\n")
    print("| | test error | rank | gap / F(0) | passes | seconds |\n|---|---|---|---|---|---|")
    for method, options in (("auto", {}), ("sfw", {"tol": 1e-2, "max_passes": args.sfw_passes})):
        begun = perf_counter()
        problem, result = fitted(places[:, train], ratings[train], shape, radius, method=method, **options)
        seconds = perf_counter() - begun - result.compile_seconds
        error = root_mean_square(problem.predict(result.x, *places[:, test]), ratings[test])
        gap = result.gap / problem.zero_value
        print(
            f"| `{method}` | {error:.4f} | {result.rank} | {gap:.1e} | {result.passes:.0f} | {seconds:.1f} |",
            flush=True,
        )
    plain = root_mean_square(problem.offsets.at(*places[:, test]), ratings[test])
    print(f"| offsets alone | {plain:.4f} | 0 | | | |")


if __name__ == "__main__":
    main()
