"""``python -m tests.fuzz.ranges --cases 300``: ranges over all good models beside those that Clarabel finds."""

import argparse
import warnings
from collections import Counter

import cvxpy as cp
import numpy as np

import frankwolfe as fw

LOSSES = {
    "squared": lambda z, y: 0.5 * cp.square(z - y),
    "logistic": lambda z, y: cp.logistic(-cp.multiply(y, z)),
    "huber": lambda z, y: 0.5 * cp.huber(z - y, 1.0),
    "squared-hinge": lambda z, y: cp.square(cp.pos(1.0 - cp.multiply(y, z))),
    "poisson": lambda z, y: cp.exp(z) - cp.multiply(y, z) + _entropy(y) - y,
    "gamma": lambda z, y: z + cp.multiply(y, cp.exp(-z)) - np.log(y) - 1.0,
    "hinge": lambda z, y: cp.pos(1.0 - cp.multiply(y, z)),
    "pinball": lambda z, y: 0.5 * cp.abs(z - y),
    "modified-huber": lambda z, y: cp.huber(cp.pos(1.0 - cp.multiply(y, z)), 2.0),
    "tweedie": lambda z, y: 2.0 * (cp.exp(0.5 * z) + cp.multiply(y, cp.exp(-0.5 * z))) - 4.0 * np.sqrt(y),
    "multinomial": lambda z, y: cp.log_sum_exp(z, axis=1) - cp.sum(cp.multiply(np.eye(3)[y], z), axis=1),
    "multitask-squared": lambda z, y: 0.5 * cp.sum(cp.square(z - y), axis=1),
}
"""All convex losses of the library."""
REAL, OUTPUTS = ("squared", "huber", "pinball"), {"multinomial": 3, "multitask-squared": 2}
SETS = {
    "l1": (lambda d: fw.L1Ball(1.0), lambda w: [cp.norm1(w) <= 1.0]),
    "simplex": (lambda d: fw.Simplex(1.0), lambda w: [w >= 0.0, cp.sum(w) == 1.0]),
    "l2": (lambda d: fw.L2Ball(1.0), lambda w: [cp.norm2(w) <= 1.0]),
    "box": (lambda d: fw.Box(-0.2, 0.4), lambda w: [w >= -0.2, w <= 0.4]),
    "budget": (lambda d: fw.Budget(-0.1, 0.5, 1.0), lambda w: [w >= -0.1, w <= 0.5, cp.norm1(w) <= 1.0]),
    "nonnegative": (lambda d: fw.NonNegativeL1Ball(1.0), lambda w: [w >= 0.0, cp.sum(w) <= 1.0]),
    "capped": (lambda d: fw.CappedSimplex(0.6, 1.0), lambda w: [w >= 0.0, w <= 0.6, cp.sum(w) == 1.0]),
    "groups": (
        lambda d: fw.GroupBall(np.arange(d) // 2, 1.0),
        lambda w: [cp.sum([cp.norm2(w[j : j + 2]) for j in range(0, w.size, 2)]) <= 1.0],
    ),
    "l3": (lambda d: fw.LpBall(3.0, 1.0), lambda w: [cp.pnorm(w, 3) <= 1.0]),
    "owl": (
        lambda d: fw.sets.OWLBall(np.where(np.arange(d) == 0, 1.0, 0.5), 1.0),
        lambda w: [0.5 * (cp.norm1(w) + cp.norm_inf(w)) <= 1.0],
    ),
}


def truth(loss, within_set, X, y, weights, intercept, c, limit, A=None, bound=None, share=0.0, offset=0.0):
    """Return the ends of ``c'w`` plus a share of the intercept over all good models, by Clarabel."""
    outputs = OUTPUTS.get(loss, 0)
    w, b = cp.Variable(len(c)), cp.Variable((1, outputs) if outputs else ())
    z = X @ (cp.reshape(w, (X.shape[1], outputs), order="C") if outputs else w)
    if intercept:
        z = z + (np.ones((len(X), 1)) @ b if outputs else b)
    value = weights @ LOSSES[loss](z + offset, y) / weights.sum()
    rules = [value <= limit, *within_set(w), *([] if A is None else [A @ w <= bound])]
    target = c @ w + share * b if share else c @ w
    ends = []
    for sign in (1.0, -1.0):
        posed = cp.Problem(cp.Minimize(sign * target), rules)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ends.append(sign * posed.solve("CLARABEL"))
        if posed.status != "optimal":
            raise cp.SolverError(posed.status)
    return ends


def _entropy(y):
    return y * np.log(np.where(y > 0.0, y, 1.0))


def targets(rng, loss, z):
    """Return targets of a kind that a loss takes, which depend on predictions."""
    if loss in ("poisson", "tweedie"):
        return rng.poisson(np.exp(np.clip(z, -2.0, 2.0))).astype(float)
    if loss == "gamma":
        return np.exp(z) * rng.gamma(2.0, 0.5, len(z))
    noisy = z + rng.normal(size=len(z))
    if loss == "multinomial":
        return np.digitize(noisy, np.quantile(noisy, [0.3, 0.6]))
    if loss == "multitask-squared":
        return np.column_stack([noisy, -z + rng.normal(size=len(z))])
    return noisy if loss in REAL else np.where(noisy > np.quantile(noisy, rng.uniform(0.3, 0.7)), 1.0, -1.0)


def examine(seed, loss, name):
    """Return sentences on what is wrong with the ranges of a random problem, and how many brackets are wide."""
    rng = np.random.default_rng(seed)
    n, d, outputs = int(rng.integers(20, 60)), int(rng.integers(2, 8)), OUTPUTS.get(loss, 0)
    X, weights = rng.normal(size=(n, d)), rng.random(n)
    y = targets(rng, loss, X @ rng.normal(size=d))
    make, within_set = SETS[name if d >= 3 or name not in ("simplex", "budget", "capped") else "l1"]
    d *= max(1, outputs)
    constraint = make(d)
    intercept, A = bool(rng.random() < 0.5), rng.normal(size=(1, d)) if rng.random() < 0.5 else None
    bound = None if A is None else A @ np.full(d, 1.0 / d) + 0.1
    side = None if A is None else fw.LinearBounds(A, upper=bound)
    named = fw.losses.Tweedie(1.5) if loss == "tweedie" else loss
    problem = fw.Problem(X, y, named, constraint, weights, intercept=intercept, side=side)
    rows = np.vstack([np.eye(d)[:1], rng.normal(size=d)])
    with fw.python_mode():
        result = fw.minimize(problem, tol=1e-9)
        if not result.gap <= 1e-6 * problem.zero_value:
            return [], 0, 0  # a loss without curvature may leave no intercept that is right to the last digit
        found = fw.ranges(problem, result, of=rows, within=float(rng.choice([0.003, 0.05])), n_threads=1)
        wrong, wide = [], 0
        for k, row in enumerate(rows):
            low, high = truth(loss, within_set, X, y, weights, intercept, row, found.limit, A, bound)
            ends = found.low_proven[k], found.low_attained[k], found.high_attained[k], found.high_proven[k]
            room = 1e-4 * (high - low) + 1e-7  # Clarabel's
            if not (
                ends[0] <= low + room and low - room <= ends[1] <= ends[2] <= high + room and high - room <= ends[3]
            ):
                wrong.append(f"range {k}: {ends}, by Clarabel {low}, {high}")
            wide += not ends[3] - ends[0] <= (1.0 + 1e-3) * (ends[2] - ends[1]) + 1e-9
        for model in (*found.low_models, *found.high_models):
            if not (problem.value(model) <= found.limit * (1.0 + 1e-9) and problem.constraint.contains(model)):
                wrong.append(f"a model with {problem.value(model)}, limit {found.limit}")
            if problem.violation(model) > 1e-9:
                wrong.append(f"a model breaks a condition by {problem.violation(model)}")
    return wrong, wide, len(rows)


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.ranges", description=__doc__)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    counts = Counter()
    for case in range(given.cases):
        loss, name = list(LOSSES)[case % len(LOSSES)], list(SETS)[case // len(LOSSES) % len(SETS)]
        try:
            wrong, wide, brackets = examine([given.seed, case], loss, name)
        except cp.SolverError:
            counts["skipped"] += 1  # Clarabel does not solve it
            continue
        counts.update(problems=bool(brackets), skipped=not brackets, brackets=brackets, wide=wide, failed=bool(wrong))
        if wrong:
            print(f"FAILED seed {given.seed}, case {case} ({loss} over {name}): {'; '.join(wrong)}", flush=True)
    print(
        f"{counts['problems']} problems, {counts['failed']} failed; {counts['wide']} of {counts['brackets']} brackets "
        f"are wider than the range by more than a thousandth; {counts['skipped']} problems that Clarabel does not solve"
    )
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
