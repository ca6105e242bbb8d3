"""``python -m tests.fuzz.nonnegative --cases 1000``: non-negative least squares without a budget, beside SciPy's.

Columns repeat, differ by many orders of magnitude, or nearly depend on each other. The kinds with names are those on
which SciPy's `nnls` failed in the reports 20302, 21140 and 22727 of its users, as far as these describe them.
"""

import argparse
import time
import warnings

import numpy as np
from scipy.optimize import nnls

import frankwolfe as fw
from frankwolfe.exceptions import ScaleWarning

SECONDS = 60.0
"""A case that takes longer has failed."""

EXACT = 1e-9
"""Difference of objectives that is allowed, relative to the objective of zero weights."""


def normal(rng):
    """Return any number of normal columns."""
    return rng.normal(size=rng.integers(1, 60, size=2))


def duplicated(rng):
    """Return columns of which half repeat the others, some in other units."""
    A = normal(rng)
    half = A[:, : (A.shape[1] + 1) // 2]
    return np.hstack([half, half * rng.choice([1.0, 1e-3, 7.0], half.shape[1])])


def ill_scaled(rng):
    """Return columns whose units differ by sixteen orders of magnitude."""
    A = normal(rng)
    return A * 10.0 ** rng.uniform(-8.0, 8.0, A.shape[1])


def polynomials(rng):
    """Return powers of a grid: nearly dependent columns."""
    n, d = rng.integers(1, 50, size=2)
    return np.vander(np.linspace(0.01, 1.0, n), d)


def nearly_low_rank(rng):
    """Return columns that are multiples of one, but for a part of 1e-7."""
    A = normal(rng)
    return np.abs(A[:, :1]) * np.abs(A[0]) + 1e-7 * A


def clock_noise(rng):
    """Return the five kinds of noise of a clock, by averaging time and over their deviation: 20302."""
    tau = np.unique(np.round(2.0 ** np.arange(0.0, rng.uniform(4.0, 20.0), 0.5)))
    A = np.array([3.0 / tau**2, 1.0 / tau, np.full(len(tau), 2.0 * np.log(2.0) / np.pi), tau / 3.0, tau**2 / 2.0]).T
    return A / (A @ rng.gamma(1.0, 10.0 ** rng.uniform(-8.0, 0.0, 5)))[:, None]


def monotone_shares(rng):
    """Return the matrix of shares that rise from bin to bin, weighted by counts, some of them zero: 20302."""
    n = int(rng.integers(10, 80))
    counts = rng.poisson(200.0 * np.exp(-0.5 * np.linspace(-3.0, 3.0, n) ** 2))
    A = np.diag(counts) @ np.tri(n)
    empty = np.flatnonzero(counts == 0)
    A[empty, empty], A[empty, np.minimum(empty + 1, n - 1)] = 1.0, -1.0
    return np.sqrt(np.maximum(counts, 1.0))[:, None] * A


def spectra(rng):
    """Return smooth, positive, nearly collinear templates with rows that regularise them: 21140."""
    n, d = int(rng.integers(50, 300)), int(rng.integers(5, 60))
    x, age = np.linspace(0.0, 1.0, n)[:, None], np.linspace(0.0, 1.0, d)
    A = np.exp(-x * (1.0 + age)) * (1.0 + 0.01 * np.sin(50.0 * x + age))
    return np.vstack([A, 1e-4 * (np.eye(d) - np.eye(d, k=1))[: d - 1]])


def embeddings(rng):
    """Return more unit vectors than rows, in single precision: 22727."""
    A = rng.normal(size=(int(rng.integers(30, 120)), int(rng.integers(120, 150))))
    return (A / np.linalg.norm(A, axis=0)).astype(np.float32)


KINDS = (
    normal, duplicated, ill_scaled, polynomials, nearly_low_rank, clock_noise, monotone_shares, spectra, embeddings,
)  # fmt: skip


def case(number):
    """Return the matrix and the target of a case. Every other target can nearly be fitted."""
    rng = np.random.default_rng(number)
    A = KINDS[number % len(KINDS)](rng)
    scale = np.abs(A).max(axis=0)
    w = np.maximum(rng.normal(size=A.shape[1]), 0.0) / np.where(scale > 0.0, scale, 1.0)
    b = A @ w + 1e-6 * rng.normal(size=len(A)) if rng.random() < 0.5 else rng.normal(size=len(A))
    return A, b.astype(A.dtype)


def value(A, b, w):
    """Return half the mean squared error."""
    return 0.5 * float(np.mean((A.astype(np.float64) @ w - b) ** 2))


def examine(number):
    """Solve a case and return what is wrong with the answer, or None, and whether SciPy gave up."""
    A, b = case(number)
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)
        model = fw.NonNegativeRegressor(fit_intercept=False, tol=1e-10, max_passes=3000).fit(A, b)
    if time.process_time() - begun > SECONDS:
        return "it took too long", False
    w, zero = model.coef_, value(A, b, np.zeros(A.shape[1]))
    if not (np.isfinite(w).all() and (w >= 0.0).all()):
        return "a weight is negative, or not finite", False
    try:
        best = value(A, b, nnls(A.astype(np.float64), b.astype(np.float64))[0])
    except RuntimeError:
        return None, True
    excess = (value(A, b, w) - best) / zero if zero > 0.0 else 0.0
    if excess > EXACT:
        return f"the objective is above SciPy's by {excess:.1e} of that of zero weights", False
    if model.result_.success and model.result_.lower_bound > best + EXACT * zero:
        return "the proven bound is above SciPy's objective", False
    return None if model.result_.success else f"it is not certified: {model.result_.message}", False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=1000, help="how many (1000)")
    parser.add_argument("--first", type=int, default=0, help="number of the first (0)")
    given = parser.parse_args()
    failed, gave_up, slowest = 0, 0, (0.0, 0)
    for number in range(given.first, given.first + given.cases):
        begun = time.process_time()
        try:
            wrong, scipy_failed = examine(number)
        except Exception as error:  # whatever it is, it is this case's
            wrong, scipy_failed = f"{type(error).__name__}: {error}", False
        slowest = max(slowest, (time.process_time() - begun, number))
        failed, gave_up = failed + (wrong is not None), gave_up + scipy_failed
        if wrong is not None:
            print(f"case {number}, {KINDS[number % len(KINDS)].__name__}: {wrong}", flush=True)
    print(f"{given.cases} cases, {failed} failed, SciPy gave up on {gave_up}; slowest {slowest[1]}: {slowest[0]:.1f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
