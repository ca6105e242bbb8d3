"""Linear conditions and caps: time to a certified answer, beside cvxpy with Clarabel, and glum where it can state them.

    FRANKWOLFE_DATA=folder python benchmarks/conditions.py [CASE ...] [--limit SECONDS]

Every answer is checked here: the objective is computed again, and so is the worst violation of a condition, in units of
the size of its terms. Ours is the time of `minimize`, from arrays to an answer certified at 1e-6 F(0). A peer's is the
time of its solver, without the set-up of the model, and at most ``--limit`` seconds.
"""

import argparse
import warnings
from time import perf_counter

import numpy as np
from scipy import sparse
from tables import read

import frankwolfe as fw

TOL = 1e-6


def dense(loss, radius, n=20_000, d=1_000, m=30, seed=0):
    """Return a dense problem with ``m`` conditions: some sums, some orders between weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    w = np.zeros(d)
    w[rng.permutation(d)[:50]] = rng.normal(size=50)
    z = X @ w + 2.0 * rng.normal(size=n)
    A, lower, upper = np.zeros((m, d)), np.full(m, -np.inf), np.zeros(m)
    for k in range(m):
        some = rng.permutation(d)[:20]
        if k % 3 == 0:
            A[k, some] = 1.0
            lower[k] = upper[k] = 0.1
        elif k % 3 == 1:
            A[k, some] = rng.normal(size=20)
            upper[k] = 0.5 * float(A[k] @ w)
            lower[k], upper[k] = (upper[k], np.inf) if k % 2 else (-np.inf, upper[k])
        else:
            A[k, some[:2]] = 1.0, -1.0
    y = z if loss == "squared" else np.where(z > 0.0, 1.0, -1.0)
    return X, y, loss, fw.L1Ball(radius), fw.LinearBounds(A, lower, upper)


def text(rows):
    """Return the RCV1 subset at radius 100, with bounds on the covariance of predictions with ``rows`` groups."""
    X, y = read("rcv1_subset")
    rng = np.random.default_rng(0)
    groups = rng.random((rows, len(y))) < 0.3 + 0.2 * (y > 0.0)
    A = np.array([(group - group.mean()) @ X / len(y) for group in groups])
    return X, y, "logistic", fw.L1Ball(100.0), fw.LinearBounds(A, -0.01, 0.01) if rows else None


def assets(n=500, d=2_000, cap=0.1):
    """Return an index to be tracked by assets, none of which may have more than a tenth of the money."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 20)) @ rng.normal(size=(20, d)) + rng.normal(size=(n, d))
    y = X[:, :40] @ (np.arange(40.0, 0.0, -1.0) ** 2 / 22140.0) + 0.1 * rng.normal(size=n)
    return X, y, "squared", fw.CappedSimplex(cap, 1.0), None


CASES = {
    "squared": lambda: dense("squared", 10.0),
    "logistic": lambda: dense("logistic", 10.0),
    "squared, loose radius": lambda: dense("squared", 1e3, n=20_000, d=300),
    "text, 5 conditions": lambda: text(5),
    "text, without": lambda: text(0),
    "assets": assets,
}


def checked(name, seconds, X, y, loss, constraint, side, w, zero):
    """Print a line about an answer: time, objective relative to that of zero weights, and violation."""
    value = fw.Problem(X, y, loss, constraint).value(w)
    violation = 0.0 if side is None else side.violation(w)
    outside = "" if constraint.contains(w, 1e-9) else ", outside of the set"
    print(f"  {name:28}{seconds:9.3f} s   F/F(0) {value / zero:.9f}   violation {violation:.1e}{outside}", flush=True)


def ours(X, y, loss, constraint, side):
    """Solve with `auto`, twice: the first run compiles."""
    for _ in range(2):
        begun = perf_counter()
        problem = fw.Problem(X, y, loss, constraint, side=side)
        found = fw.minimize(problem, tol=TOL, max_passes=5000, trace=0)
        seconds = perf_counter() - begun
    return f"frankwolfe ({'certified' if found.success else found.status})", seconds, found.x


def clarabel(X, y, loss, constraint, side, limit):
    """Solve with cvxpy and Clarabel."""
    import cvxpy as cp

    n, d = X.shape
    w = cp.Variable(d)
    z = X @ w
    F = cp.sum_squares(z - y) / (2 * n) if loss == "squared" else cp.sum(cp.logistic(cp.multiply(-y, z))) / n
    if isinstance(constraint, fw.L1Ball):
        rules = [cp.norm1(w) <= constraint.radius]
    else:
        rules = [w >= 0.0, w <= constraint.cap, cp.sum(w) == constraint.radius]
    if side is not None:
        low, high = np.isfinite(side.lower), np.isfinite(side.upper)
        rules += [side.A[low] @ w >= side.lower[low]] if low.any() else []
        rules += [side.A[high] @ w <= side.upper[high]] if high.any() else []
    problem = cp.Problem(cp.Minimize(F), rules)
    try:
        problem.solve(solver=cp.CLARABEL, time_limit=float(limit))
    except cp.SolverError as error:
        return f"Clarabel: {str(error)[:60]}", limit, None
    return f"Clarabel ({problem.status})", problem.solver_stats.solve_time or limit, w.value


def glum(X, y, loss, constraint, side, limit):
    """Solve with glum's solver for constraints, which takes inequalities and no radius."""
    from glum import GeneralizedLinearRegressor

    if sparse.issparse(X) or side is None:
        return "glum cannot state it", 0.0, None
    low, high = np.isfinite(side.lower), np.isfinite(side.upper)
    A, b = np.vstack([side.A[high], -side.A[low]]), np.concatenate([side.upper[high], -side.lower[low]])
    model = GeneralizedLinearRegressor(
        family="normal" if loss == "squared" else "binomial", alpha=0.0, fit_intercept=False, A_ineq=A, b_ineq=b,
        solver="trust-constr", max_iter=1000,
    )  # fmt: skip
    begun = perf_counter()
    model.fit(X, y if loss == "squared" else (y > 0.0).astype(float))
    return f"glum ({model.n_iter_} iterations)", perf_counter() - begun, model.coef_


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", default=list(CASES), help=f"any of: {'; '.join(CASES)}")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds that a peer may take (300)")
    parser.add_argument("--peers", nargs="*", default=["clarabel", "glum"], help="any of: clarabel glum")
    arguments = parser.parse_args()
    for case in arguments.cases:
        X, y, loss, constraint, side = CASES[case]()
        zero = fw.Problem(X, y, loss, constraint).zero_value
        print(f"{case}: {X.shape[0]:,} x {X.shape[1]:,}, {constraint!r}, {side!r}", flush=True)
        name, seconds, w = ours(X, y, loss, constraint, side)
        checked(name, seconds, X, y, loss, constraint, side, w, zero)
        for peer in (globals()[name] for name in arguments.peers):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    name, seconds, w = peer(X, y, loss, constraint, side, arguments.limit)
                except Exception as error:  # what a peer cannot do is part of the comparison
                    name, seconds, w = f"{peer.__name__}: {type(error).__name__}: {error}"[:90], 0.0, None
            if w is None:
                print(f"  {name}")
            else:
                checked(name, seconds, X, y, loss, constraint, side, w, zero)


if __name__ == "__main__":
    main()
