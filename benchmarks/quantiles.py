"""Losses with a kink: quantile regression beside scikit-learn, and the hinge beside liblinear.

    FRANKWOLFE_DATA=folder python benchmarks/quantiles.py [CASE ...]

Quantile regression: the radius does not bind, and both solve the same linear program. We certify a pinball loss within
1e-6 F(0) of the optimum. They run QuantileRegressor with HiGHS once, for at most `MOST_SECONDS`.

The hinge on w8a: liblinear's dual solver minimises the hinge with a squared l2 penalty, to `LIBLINEAR_TOL`. We minimise
the same hinge over the ball of the norm of its answer, so both have the same optimum. Ours is the time to a certified
objective at most as large as liblinear's, up to `HINGE_TOL` times it. Both run alternately, and the least time counts.
"""

import argparse
import warnings
from multiprocessing import get_context
from time import perf_counter

import numpy as np
from sklearn.linear_model import QuantileRegressor
from sklearn.svm import LinearSVC
from tables import read

import frankwolfe as fw

TOL, HINGE_TOL, LIBLINEAR_TOL = 1e-6, 1e-4, 1e-3

REPEATS = 5
"""Runs of which the least time counts. The first compiles."""

MOST_SECONDS = 600
"""HiGHS is stopped after this time, which then bounds the ratio from above."""


def timed(function, *args, **given):
    """Return the time of a call, and its result."""
    begun = perf_counter()
    found = function(*args, **given)
    return perf_counter() - begun, found


def quantile(n, d, q):
    """Compare a quantile regression on generated rows with heavy tails."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) + rng.standard_t(3, size=n)
    problem = fw.Problem(X, y, fw.losses.Pinball(q), fw.L1Ball(1e3), intercept=True)
    ours = [timed(fw.minimize, problem, tol=TOL, max_passes=5000, trace=0) for _ in range(REPEATS)]
    with get_context("spawn").Pool(1) as pool:
        theirs = pool.apply_async(highs, (X, y, q))
        theirs.wait(MOST_SECONDS)
        other, value = theirs.get() if theirs.ready() else (MOST_SECONDS, np.nan)
    tell(f"pinball {q}, {n} x {d}", problem, ours, "HiGHS", other, value)


def highs(X, y, q):
    """Return the time of scikit-learn's quantile regression, and its objective."""
    seconds, model = timed(QuantileRegressor(quantile=q, alpha=0.0, solver="highs").fit, X, y)
    off = y - model.predict(X)
    return seconds, float(np.maximum(q * off, (q - 1.0) * off).mean())


def hinge(C):
    """Compare support vector machines on w8a."""
    (X, y), ours, theirs = read("w8a"), [], []
    model = LinearSVC(C=C, loss="hinge", fit_intercept=False, tol=LIBLINEAR_TOL, max_iter=10**6, random_state=0)
    for _ in range(REPEATS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs.append(timed(model.fit, X, y)[0])
        w = model.coef_[0]
        value = float(np.maximum(0.0, 1.0 - y * (X @ w)).mean())
        problem = fw.Problem(X, y, "hinge", fw.L2Ball(float(np.linalg.norm(w))))
        ours.append(timed(fw.minimize, problem, tol=HINGE_TOL * value, max_passes=5000, trace=0))
    tell(f"hinge, w8a, C = {C:g}", problem, ours, "liblinear", min(theirs), value)


def tell(name, problem, ours, who, other, value):
    """Print a line: times, their ratio, and objectives."""
    seconds, found = min(seconds for seconds, _ in ours), ours[-1][1]
    print(
        f"{name}: {seconds:.3f} s, {found.status}, gap {found.gap / problem.zero_value:.1e} F(0), {found.passes:.0f} "
        f"passes, objective {found.fun:.9f}; {who} {other:.3f} s, objective {value:.9f}; ratio {seconds / other:.3f}",
        flush=True,
    )


CASES = {
    "small": lambda: [quantile(10_000, 50, q) for q in (0.1, 0.5, 0.9)],
    "large": lambda: [quantile(200_000, 20, 0.5)],
    "hinge": lambda: [hinge(C) for C in (1e-3, 1e-2, 1e-1, 1.0)],
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=list(CASES))
    for case in parser.parse_args().cases:
        CASES[case]()
