"""What `compare.py` times, through public names only, so that any two revisions of the library can run it.

    python benchmarks/workload.py     # started by compare.py, never by hand

It reads names of cases from standard input, runs each once, and answers with the seconds it took.
"""

import json
import os
import sys
from time import perf_counter

import numpy as np
from scipy import sparse
from tables import read

import frankwolfe as fw

L1_PROBLEMS = {
    "RCV1 100": ("rcv1_subset", "logistic", 100.0),
    "RCV1 1000": ("rcv1_subset", "logistic", 1000.0),
    "RCV1 5000": ("rcv1_subset", "logistic", 5000.0),
    "w8a 50": ("w8a", "logistic", 50.0),
    "Breast Cancer 5": ("breast_cancer", "logistic", 5.0),
    "California 0.1": ("california_housing", "squared", 0.1),
}
"""The problems of the race: table, loss, l1 radius."""


def problem(name):
    """Return a problem of the race."""
    file, loss, radius = L1_PROBLEMS[name]
    return fw.Problem(*read(file), loss, fw.L1Ball(radius))


def steps(name, method, batch_size, passes=5):
    """Return a case: the time of a stochastic method's steps, without its certificate."""
    posed = problem(name)

    def run():
        result = fw.minimize(posed, method, batch_size=batch_size, tol=0, max_passes=passes, trace=0, random_state=0)
        return result.seconds - result.certificate_seconds

    return run


def exact_pass(name, repeats=10):
    """Return a case: the time of objective, gradient and exact gap."""
    posed = problem(name)
    w = np.zeros(posed.d)
    w[:: max(1, posed.d // 50)] = 1e-3

    def run():
        begun = perf_counter()
        for _ in range(repeats):
            posed.evaluate(w)
        return (perf_counter() - begun) / repeats

    return run


def certified(name, tol=1e-6):
    """Return a case: the time to a certified answer, the checks of the data included."""
    file, loss, radius = L1_PROBLEMS[name]
    X, y = read(file)

    def run():
        begun = perf_counter()
        fw.minimize(fw.Problem(X, y, loss, fw.L1Ball(radius)), tol=tol, max_passes=1e9, trace=0)
        return perf_counter() - begun

    return run


def path(end):
    """Return a case: the time of thirty radii."""
    X, y = read("rcv1_subset")
    radii = np.geomspace(end / 1000, end, 30)

    def run():
        begun = perf_counter()
        fw.radius_path(X, y, radii=radii, tol=1e-4)
        return perf_counter() - begun

    return run


def generated(n=200_000, d=20_000, a_row=50):
    """Return a case: a certified answer on a generated sparse table that is larger than the processor's cache."""
    rng = np.random.default_rng(0)
    columns = np.sort(rng.integers(d, size=(n, a_row), dtype=np.int32), axis=1)
    X = sparse.csr_array((rng.normal(size=n * a_row), columns.ravel(), np.arange(n + 1) * a_row), shape=(n, d))
    X.sum_duplicates()
    w = np.zeros(d)
    w[rng.permutation(d)[:20]] = rng.normal(size=20)
    y = np.where(X @ w + rng.normal(size=n) > 0.0, 1.0, -1.0)

    def run():
        begun = perf_counter()
        fw.minimize(fw.Problem(X, y, "logistic", fw.L1Ball(5.0)), tol=1e-6, trace=0)
        return perf_counter() - begun

    return run


def curved_table(n, d, classes):
    """Return generated dense rows, labels, and the loss for them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    scores = X @ rng.normal(size=(d, classes)) + 3.0 * rng.normal(size=(n, classes))
    return (X, np.argmax(scores, axis=1), "multinomial") if classes > 1 else (X, np.sign(scores[:, 0]), "logistic")


def curved(constraint, n, d, classes):
    """Return a case: a certified answer over a curved set, on generated dense rows."""
    X, y, loss = curved_table(n, d, classes)

    def run():
        begun = perf_counter()
        fw.minimize(fw.Problem(X, y, loss, constraint), tol=1e-6, trace=0)
        return perf_counter() - begun

    return run


CASES = {
    "step: sfw, b = 1": lambda: steps("RCV1 100", "sfw", 1),
    "step: sfw, b = 1%": lambda: steps("RCV1 100", "sfw", 0.01),
    "step: stochastic-pairwise": lambda: steps("RCV1 100", "stochastic-pairwise", 10),
    "step: lu-freund, b = 1%": lambda: steps("RCV1 100", "lu-freund", 0.01),
    "exact pass: RCV1": lambda: exact_pass("RCV1 100"),
    "exact pass: California": lambda: exact_pass("California 0.1"),
    **{f"race: {name}": (lambda name=name: certified(name)) for name in L1_PROBLEMS},
    "race: generated 200,000 x 20,000": generated,
    "race: L2 ball, 100,000 x 60": lambda: curved(fw.L2Ball(1.0), 100_000, 60, 1),
    "race: group ball, 20,000 x 40": lambda: curved(fw.GroupBall(np.arange(40) // 4, 1.0), 20_000, 40, 1),
    "race: trace ball, 5,000 x 30 x 4": lambda: curved(fw.TraceBall(2.0), 5_000, 30, 4),
    "path: RCV1, to 1000": lambda: path(1000.0),
}
"""How each case is prepared. Preparing is not timed."""


def serve():
    """Answer until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what the library prints does not mix with the answers
    ready = {}
    answers.write(json.dumps({"source": fw.__file__, "cases": list(CASES)}) + "\n")
    for line in sys.stdin:
        name = line.strip()
        if name not in ready:
            ready[name] = CASES[name]()
            ready[name]()  # compiles
        answers.write(json.dumps(ready[name]()) + "\n")


if __name__ == "__main__":
    serve()
