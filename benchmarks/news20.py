"""News20, 20 classes: a multinomial model of small trace norm, with a certificate, beside scikit-learn and copt.

    FRANKWOLFE_DATA=folder python benchmarks/news20.py

Weights are log(1 + count) times log(n / documents that have the word), words counted on the training part, rows of
norm 1. A fifth of the documents is held out by a stated seed; the radius, and the penalty of scikit-learn's
LogisticRegression, are chosen on the same folds of the rest. Every solver runs in a process of its own, which reports
its time and peak memory (data included). copt runs as long as `auto` took, with the same radius.
"""

import argparse
import json
import resource
import subprocess
import sys
from time import perf_counter

import numpy as np
from scipy import sparse
from scipy.special import log_softmax, softmax
from tables import read

import frankwolfe as fw

RADII = (500.0, 1000.0, 2000.0)
PENALTIES = (3.0, 30.0, 300.0)
COLUMNS = {
    "chosen": "g",
    "seconds": ".1f",
    "memory": ".2f",
    "objective": ".4f",
    "gap": ".1e",
    "rank": "d",
    "accuracy": ".4f",
}


def weighted(X, counts, n):
    """Return rows of norm 1 of weighted words."""
    X = sparse.csr_array(X, dtype=np.float64, copy=True)
    X.data = np.log1p(X.data) * np.log(n / np.maximum(counts, 1.0))[X.indices]
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data /= np.repeat(np.maximum(norms, 1e-300), np.diff(X.indptr))
    return X


def tables(seed):
    """Return the training part and the test part."""
    X, y = read("news20_multiclass")
    y = np.unique(y, return_inverse=True)[1]
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[: 8 * len(y) // 10], order[8 * len(y) // 10 :]
    counts = np.bincount(X[train].indices, minlength=X.shape[1])
    return [(weighted(X[part], counts, len(train)), y[part]) for part in (train, test)]


def posed(X, y, radius):
    return fw.Problem(X, y, "multinomial", fw.TraceBall(radius))


def accuracy(scores, y):
    return float(np.mean(np.argmax(scores, axis=1) == y))


def chosen(X, y, folds, candidates, fit):
    """Return the candidate that predicts best on the folds; ``fit`` returns weights."""
    home = np.arange(len(y)) % folds
    scores = {
        candidate: np.mean(
            [accuracy(X[home == k] @ fit(X[home != k], y[home != k], candidate), y[home == k]) for k in range(folds)]
        )
        for candidate in candidates
    }
    print(f"on the folds: {scores}", file=sys.stderr, flush=True)
    return max(scores, key=scores.get)


def run_frankwolfe(args, X, y):
    radius = args.radius or chosen(
        X, y, args.folds, RADII, lambda X, y, radius: fw.minimize(posed(X, y, radius), tol=1e-2, trace=0).x
    )
    problem = posed(X, y, radius)
    tol = args.tol if args.worker == "auto" else 1e-2
    result = fw.minimize(problem, args.worker, tol=tol, random_state=0, trace=0, max_passes=args.passes)
    return result.x, {
        "chosen": radius,
        "seconds": result.seconds,
        "objective": result.fun,
        "gap": result.gap / problem.zero_value,
        "rank": result.rank,
    }


def run_sklearn(args, X, y):
    from sklearn.linear_model import LogisticRegression

    def fit(X, y, penalty):
        return LogisticRegression(C=penalty, fit_intercept=False, max_iter=300).fit(X, y).coef_.T

    penalty = chosen(X, y, args.folds, PENALTIES, fit)
    begun = perf_counter()
    W = fit(X, y, penalty)
    found = {"chosen": penalty, "seconds": perf_counter() - begun}
    return W, found | {"rank": int(np.linalg.matrix_rank(W)), "trace norm": float(np.linalg.norm(W, "nuc"))}


def run_copt(args, X, y):
    import copt

    n, shape, truth = len(y), (X.shape[1], y.max() + 1), np.eye(y.max() + 1)[y]
    begun, last = perf_counter(), {"steps": 0}

    def value_and_gradient(w):
        Z = X @ w.reshape(shape)
        slope = (X.T @ (softmax(Z, axis=1) - truth)).ravel() / n
        return -np.mean(np.sum(truth * log_softmax(Z, axis=1), axis=1)), slope

    def watch(state):
        last.update(x=state["x"].copy(), seconds=perf_counter() - begun, steps=last["steps"] + 1)
        return perf_counter() - begun < args.seconds  # copt stops on False

    ball = copt.constraint.TraceBall(args.radius, shape)
    copt.minimize_frank_wolfe(
        value_and_gradient, np.zeros(shape).ravel(), ball.lmo, jac=True, step="backtracking", lipschitz=0.5 / n,
        max_iter=100_000, tol=0, callback=watch,
    )  # fmt: skip
    W = last["x"].reshape(shape)
    facts = posed(X, y, args.radius).evaluate(W)
    found = {"chosen": args.radius, "seconds": last["seconds"], "steps": last["steps"], "objective": facts.value}
    return W, found | {"gap": facts.gap / np.log(shape[1]), "rank": int(np.linalg.matrix_rank(W))}


def work(args):
    (X, y), (others, labels) = tables(args.seed)
    run = {"sklearn": run_sklearn, "copt": run_copt}.get(args.worker, run_frankwolfe)
    W, found = run(args, X, y)
    found["accuracy"] = accuracy(others @ W, labels)
    found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps(found))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--tol", type=float, default=1e-4)
    parser.add_argument("--passes", type=float, default=100.0)
    parser.add_argument("--radius", type=float, help="instead of choosing it on the folds")
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        return work(args)
    print("| | chosen | seconds | memory (GB) | objective | gap / F(0) | rank | accuracy |\n" + "|---" * 8 + "|")
    given = []
    for name in ("auto", "sfw", "copt", "sklearn"):
        command = [sys.executable, __file__, *sys.argv[1:], "--worker", name, *given]
        found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        if name == "auto":
            given = ["--radius", str(found["chosen"]), "--seconds", str(found["seconds"])]
        cells = [format(found[key], form) if key in found else "" for key, form in COLUMNS.items()]
        print(f"| `{name}` | {' | '.join(cells)} |", flush=True)
    return None


if __name__ == "__main__":
    main()
