"""What it gains to let the compiler reorder the additions of a dot product of dense rows, and nothing else.

    python benchmarks/relaxed_sums.py

The library's kernels round as they are written, so that they mean the same on every processor. The dot products with
dense rows are the exception (`frankwolfe.rows.dense`): in order, each addition waits for the one before; reordered, a
vector of them is done at once. Rows are visited in random order, as stochastic steps do.
"""

from time import perf_counter

import numba
import numpy as np

from frankwolfe.compile.kernels import RELAXED_ARITHMETIC

SIZES = ((20_000, 30), (5_000, 300), (2_000, 2_000))


def dot(values, i, v):
    """Return the product of row ``i`` with ``v``."""
    total = 0.0
    for j in range(values.shape[1]):
        total += values[i, j] * v[j]
    return total


def all_rows(arithmetic):
    """Return a kernel that takes the products of many rows with that kind of arithmetic."""
    one = numba.njit(dot, error_model="numpy", fastmath=arithmetic)

    @numba.njit(error_model="numpy")
    def products(values, v, order, found):
        for k in range(len(order)):
            found[k] = one(values, order[k], v)

    return products


def main():
    rng = np.random.default_rng(0)
    kinds = {"as written": all_rows(False), "reordered": all_rows(RELAXED_ARITHMETIC)}
    print(f"{'columns':>8}" + "".join(f"{name:>16}" for name in kinds) + f"{'ratio':>8}")
    for n, d in SIZES:
        X, v, order, found = rng.normal(size=(n, d)), rng.normal(size=d), rng.integers(n, size=n), np.empty(n)
        best = dict.fromkeys(kinds, np.inf)
        for _ in range(20):
            for name, products in kinds.items():
                begun = perf_counter()
                products(X, v, order, found)
                best[name] = min(best[name], perf_counter() - begun)
        written, reordered = (best[name] / n * 1e9 for name in kinds)
        print(f"{d:>8}{written:>13.0f} ns{reordered:>13.0f} ns{written / reordered:>8.1f}")


if __name__ == "__main__":
    main()
