"""Linear conditions and caps: time to a certified answer, beside cvxpy with Clarabel, and glum where it can state them.

    FRANKWOLFE_DATA=folder python benchmarks/conditions.py [CASE ...] [--limit SECONDS] [--glum PYTHON]

Every answer is checked here: the objective is computed again, and so is the worst violation of a condition, in units of
the size of its terms. Ours is the time from arrays to an answer certified at 1e-6 F(0). A peer's is the time of its
solver, without the set-up of the model, and at most ``--limit`` seconds; one that ends later counts with the limit.
glum has no radius, so it runs where the radius does not bind. It may need another NumPy: ``--glum`` is a Python that
has it (python -m venv glum; glum/bin/pip install glum).
"""

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from tables import read

import frankwolfe as fw
from frankwolfe.compile.part import short

TOL = 1e-6

LOOSE = 1e3
"""A radius that does not bind."""

REPEATS = 5
"""Our time is the least of so many runs, the first of which compiles."""

GLUM = """
import json, sys, time, warnings
import numpy as np
from glum import GeneralizedLinearRegressor
warnings.simplefilter("ignore")
X, y, A, b, family = np.load(sys.argv[1], allow_pickle=False).values()
model = GeneralizedLinearRegressor(family=str(family), alpha=0.0, fit_intercept=False, A_ineq=A, b_ineq=b,
                                   solver="trust-constr", max_iter=1000)
begun = time.perf_counter()
model.fit(X, y)
print(json.dumps([time.perf_counter() - begun, model.coef_.tolist()]))
"""


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
    "squared, loose radius": lambda: dense("squared", LOOSE),
    "logistic, loose radius": lambda: dense("logistic", LOOSE),
    "text, 5 conditions": lambda: text(5),
    "text, without": lambda: text(0),
    "assets": assets,
}

GOALS = {"squared": 0.2, "logistic": 0.2, "squared, loose radius": 0.2, "logistic, loose radius": 0.2, "assets": 0.1}
"""Our time over that of the fastest peer."""

GOAL_OF_CONDITIONS = 3.0
"""Our time on text with conditions over that without."""


def checked(name, seconds, X, y, loss, constraint, side, w, zero):
    """Print a line about an answer: time, objective relative to that of zero weights, and violation."""
    value = fw.Problem(X, y, loss, constraint).value(w)
    violation = 0.0 if side is None else side.violation(w)
    outside = "" if constraint.contains(w, 1e-9) else ", outside of the set"
    print(f"  {name:28}{seconds:9.3f} s   F/F(0) {value / zero:.9f}   violation {violation:.1e}{outside}", flush=True)


def ours(X, y, loss, constraint, side):
    """Solve with `auto`."""
    least = np.inf
    for _ in range(REPEATS):
        begun = perf_counter()
        problem = fw.Problem(X, y, loss, constraint, side=side)
        found = fw.minimize(problem, tol=TOL, max_passes=5000, trace=0)
        least = min(least, perf_counter() - begun)
    return f"frankwolfe ({'certified' if found.success else found.status})", least, found.x


def clarabel(X, y, loss, constraint, side, given):
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
        problem.solve(solver=cp.CLARABEL, time_limit=given.limit)
    except cp.SolverError as error:
        return f"Clarabel: {str(error)[:60]}", given.limit, None
    return f"Clarabel ({problem.status})", min(problem.solver_stats.solve_time or np.inf, given.limit), w.value


def glum(X, y, loss, constraint, side, given):
    """Solve with glum's solver for conditions, which takes inequalities and no radius, in another process."""
    if side is None or getattr(constraint, "radius", None) != LOOSE:
        return "glum cannot state it", np.inf, None
    low, high = np.isfinite(side.lower), np.isfinite(side.upper)
    A, b = np.vstack([side.A[high], -side.A[low]]), np.concatenate([side.upper[high], -side.lower[low]])
    family, y = ("normal", y) if loss == "squared" else ("binomial", (y > 0.0).astype(float))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.npz"
        np.savez(path, X=X, y=y, A=A, b=b, family=family)
        try:
            command = [given.glum, "-c", GLUM, str(path)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=given.limit, check=False)
        except subprocess.TimeoutExpired:
            return f"glum: no answer in {given.limit:g} s", given.limit, None
    if done.returncode:
        return f"glum: {done.stderr.strip().splitlines()[-1][:70]}", np.inf, None
    seconds, w = json.loads(done.stdout)
    return "glum", seconds, np.array(w)


def raced(case, given):
    """Run a case, print a line for each answer, and return our time and that of the fastest peer."""
    X, y, loss, constraint, side = CASES[case]()
    zero = fw.Problem(X, y, loss, constraint).zero_value
    print(f"{case}: {X.shape[0]:,} x {X.shape[1]:,}, {short(constraint)}, {side!r}", flush=True)
    name, own, w = ours(X, y, loss, constraint, side)
    checked(name, own, X, y, loss, constraint, side, w, zero)
    least = np.inf
    for peer in (globals()[name] for name in given.peers if case in GOALS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                name, seconds, w = peer(X, y, loss, constraint, side, given)
            except Exception as error:  # what a peer cannot do is part of the comparison
                name, seconds, w = f"{peer.__name__}: {type(error).__name__}: {error}"[:90], np.inf, None
        least = min(least, seconds)
        if w is None:
            print(f"  {name}", flush=True)
        else:
            checked(name, seconds, X, y, loss, constraint, side, w, zero)
    return own, least


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", default=list(CASES), help=f"any of: {'; '.join(CASES)}")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds that a peer may take (300)")
    parser.add_argument("--peers", nargs="*", default=["clarabel", "glum"], help="any of: clarabel glum")
    parser.add_argument("--glum", default=sys.executable, help="a Python that has glum (this one)")
    given = parser.parse_args()
    times = {case: raced(case, given) for case in given.cases}
    print("\nour time over that of the fastest peer, or of the same without conditions:")
    for case, (own, peer) in times.items():
        if np.isfinite(peer):
            print(
                f"  {case:28}{own / peer:8.4f}   goal {GOALS[case]}, {'met' if own <= GOALS[case] * peer else 'missed'}"
            )
    with_conditions, without = (
        times.get(name, (np.inf, np.inf))[0] for name in ("text, 5 conditions", "text, without")
    )
    if np.isfinite(with_conditions / without):
        met = "met" if with_conditions <= GOAL_OF_CONDITIONS * without else "missed"
        print(f"  {'text, 5 conditions':28}{with_conditions / without:8.4f}   goal {GOAL_OF_CONDITIONS}, {met}")


if __name__ == "__main__":
    main()
