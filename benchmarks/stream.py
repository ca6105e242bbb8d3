"""A stream in constant memory: `partial_fit` over generated rows against a batch fit on a sample of them.

    python benchmarks/stream.py --rows 10_000_000

Prints, as rows come: the test loss over that of a batch fit to ``--sample`` rows of the same kind, the prequential
loss, the estimated gap with its error, and the peak memory of the process. Every model on the way is checked to lie
in its set. The batch fit is certified to 1e-6 of the zero model's objective.
"""

import argparse
import resource
from time import perf_counter

import numpy as np
from scipy import sparse

import frankwolfe as fw


class Source:
    """Rows of a logistic model: ten features matter, there is an intercept; dense, or one entry in ten not zero."""

    def __init__(self, d, seed, is_sparse):
        self.rng, self.is_sparse = np.random.default_rng(seed), is_sparse
        self.true = np.zeros(d)
        self.true[:10] = np.random.default_rng(0).normal(size=10)

    def take(self, n):
        """Return the next rows and their classes."""
        X = self.rng.normal(size=(n, len(self.true)))
        if self.is_sparse:
            X *= self.rng.random(X.shape) < 0.1
        y = (self.rng.random(n) < 1.0 / (1.0 + np.exp(0.5 - X @ self.true))).astype(int)
        return (sparse.csr_array(X) if self.is_sparse else X), y


def loss_of(model, X, y):
    """Return the mean logistic loss."""
    return float(np.logaddexp(0.0, np.where(y == 1, -1.0, 1.0) * model.decision_function(X)).mean())


def main():
    """Stream, and print a line at each of the powers of ten and at the end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--chunk", type=int, default=10_000)
    parser.add_argument("--sample", type=int, default=200_000)
    parser.add_argument("--d", type=int, default=50)
    parser.add_argument("--radius", type=float, default=6.0)
    parser.add_argument("--sparse", action="store_true")
    args = parser.parse_args()
    test = Source(args.d, 1, args.sparse).take(100_000)
    batch = fw.FrankWolfeClassifier(radius=args.radius, tol=1e-6).fit(*Source(args.d, 2, args.sparse).take(args.sample))
    best = loss_of(batch, *test)
    print(f"batch fit to {args.sample:,} rows: test loss {best:.5f}, intercept {batch.intercept_[0]:.3f}")
    print("rows | test loss over that | prequential loss | estimated gap | intercept | MB at most | seconds\n", end="")
    print("|".join(7 * ["---"]))
    source, model, ball = Source(args.d, 3, args.sparse), fw.FrankWolfeClassifier(radius=args.radius), None
    seconds, due, ball = 0.0, args.chunk, fw.L1Ball(args.radius)
    while True:
        X, y = source.take(args.chunk)
        begun = perf_counter()
        model.partial_fit(X, y, classes=[0, 1])
        seconds += perf_counter() - begun
        assert ball.contains(model.coef_[0])
        seen = model.n_samples_seen_
        if seen >= due or seen >= args.rows:
            due *= 10
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            told = f"{seen:,} | {loss_of(model, *test) / best:.4f} | {model.prequential_loss_:.5f} | "
            told += f"{model.gap_estimate_:.4f} +- {model.gap_error_:.4f} | {model.intercept_[0]:.3f} | "
            print(told + f"{memory:.0f} | {seconds:.1f}", flush=True)
        if seen >= args.rows:
            break
    ratio = loss_of(model, *test) / best
    print(f"test loss {100.0 * (ratio - 1.0):+.2f}% of the batch fit's")


if __name__ == "__main__":
    main()
