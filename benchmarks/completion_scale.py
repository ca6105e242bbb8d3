"""Matrix completion at scale: 10 million noisy entries of a matrix of 100,000 x 20,000, of rank 5.

    python benchmarks/completion_scale.py

Runs in a process of its own, which reports its peak memory (data, problem and run together). Prints time, certified
gap, rank and the error on entries that were left out; the noise has standard deviation 0.5, so no error can be less.
"""

import argparse
import resource
import subprocess
import sys
from time import perf_counter

import numpy as np

import frankwolfe as fw
from frankwolfe.rows.observed_entries import Factors

NOISE = 0.5


def drawn(args, generator):
    """Return distinct random places and the noisy entries there."""
    p, q = args.shape
    wanted = args.entries + args.entries // 10
    cells = np.unique(generator.integers(p * q, size=int(1.02 * wanted)))
    generator.shuffle(cells)
    cells = cells[:wanted]
    rows, columns = (cells // q).astype(np.int32), (cells % q).astype(np.int32)
    left, right = (generator.normal(size=(side, args.rank)) for side in (p, q))
    truth = Factors(left / np.sqrt(args.rank), right)
    values = truth.at(rows, columns)
    values += NOISE * generator.normal(size=len(values))
    return rows, columns, values, truth.singular_values.sum()


def work(args):
    """Pose and solve the problem; print what came of it."""
    rows, columns, values, size = drawn(args, np.random.default_rng(args.seed))
    n = args.entries
    kept = rows[n:].copy(), columns[n:].copy()
    others = values[n:].copy()
    begun = perf_counter()
    ball = fw.TraceBall(args.share * size)
    problem = fw.completion_problem(rows[:n], columns[:n], values[:n], tuple(args.shape), constraint=ball)
    del rows, columns, values
    posed = perf_counter() - begun
    result = fw.minimize(problem, args.method, tol=args.tol, max_passes=args.passes, random_state=0, trace=0)
    error, plain = problem.predict(result.x, *kept) - others, problem.offsets.at(*kept) - others
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{problem!r}, radius {ball.radius:.4g}, method {result.method}")
    print(f"to pose: {posed:.1f} s; to minimise: {result.seconds:.1f} s, {result.passes:.0f} passes")
    print(f"gap / F(0): {result.gap / problem.zero_value:.2e} ({result.status}); rank {result.rank}")
    error, plain = (np.sqrt(np.mean(each**2)) for each in (error, plain))
    print(f"error on entries left out: {error:.4f}, of offsets alone: {plain:.4f}")
    print(f"peak memory: {peak:.2f} GB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", type=int, nargs=2, default=(100_000, 20_000))
    parser.add_argument("--entries", type=int, default=10_000_000)
    parser.add_argument("--rank", type=int, default=5)
    parser.add_argument("--share", type=float, default=0.5, help="radius, as a part of the true matrix's trace norm")
    parser.add_argument("--method", default="auto")
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--passes", type=float, default=100.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        work(args)
    else:
        subprocess.run([sys.executable, __file__, *sys.argv[1:], "--worker"], check=True)


if __name__ == "__main__":
    main()
