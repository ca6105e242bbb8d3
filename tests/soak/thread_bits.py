"""The same problems under other thread settings: every answer must have the same bits.

``python -m tests.soak.thread_bits`` prints a digest of each answer. `differing` compares those of several processes.
"""

import hashlib
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy import sparse

import frankwolfe as fw

ROWS, COLUMNS, AT_ONCE = 20_000, 30, 8

SETS = {"l1": fw.L1Ball(3.0), "l2": fw.L2Ball(2.0), "box": fw.Box(-0.5, 0.5), "simplex": fw.Simplex(2.0)}

CASES = [
    f"{constraint} {loss} {layout} {intercept}"
    for constraint in SETS
    for loss in ("logistic", "squared", "multinomial")
    for layout in ("dense", "csr")
    for intercept in ("intercept", "none")
]

SETTINGS = (
    {"OMP_NUM_THREADS": "1"},
    {"OMP_NUM_THREADS": "2"},
    {"OPENBLAS_NUM_THREADS": "4"},
)
"""What each process finds in its environment, and nothing else about threads."""


def problem(case):
    """Return the problem of a case; its data is made without linear algebra, which may have several threads."""
    constraint, loss, layout, intercept = case.split()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, COLUMNS)) + rng.normal(size=COLUMNS)
    score = (X * rng.normal(size=COLUMNS)).sum(axis=1) + rng.normal(size=ROWS)
    targets = {"logistic": np.sign(score), "squared": score, "multinomial": np.digitize(score, [-3.0, 3.0])}
    X = X if layout == "dense" else sparse.csr_array(np.where(X > 1.0, X, 0.0))
    return fw.Problem(X, targets[loss], loss, SETS[constraint], intercept=intercept == "intercept")


def digest(result):
    """Return a digest of the bits of an answer."""
    numbers = (result.x, result.intercept, result.fun, result.gap)
    return hashlib.sha256(b"".join(np.asarray(number).tobytes() for number in numbers)).hexdigest()[:16]


def digests(case):
    """Return the digests of runs on one problem: several at once, then with one thread and with two."""
    posed = problem(case)
    with ThreadPoolExecutor(AT_ONCE) as threads:
        found = {*threads.map(lambda _: digest(fw.minimize(posed, max_passes=30)), range(AT_ONCE))}
    return found | {digest(fw.minimize(posed, max_passes=30, n_threads=n)) for n in (1, 2)}


def differing(cases, root):
    """Return the cases whose answers differ, in one process or between those of all settings, with their digests."""
    plain = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    found = {case: set() for case in cases}
    for setting in SETTINGS:
        command = [sys.executable, "-m", "tests.soak.thread_bits", *cases]
        told = subprocess.run(command, capture_output=True, text=True, cwd=root, env=plain | setting, check=False)
        assert told.returncode == 0, told.stderr
        for line in told.stdout.splitlines():
            case, _, bits = line.partition(": ")
            found[case].update(bits.split())
    return {case: bits for case, bits in found.items() if len(bits) != 1}


if __name__ == "__main__":
    for case in sys.argv[1:]:
        print(f"{case}: {' '.join(digests(case))}", flush=True)
