"""How long does a user wait for a first answer? Each case runs in processes of its own.

    python benchmarks/cold_start.py [--only "auto*"] [--rounds 3]

The table has seconds of processor time from the start of a process to an answer, less what the bare imports take (NumPy
and SciPy, scikit-learn for the classifiers, numba for methods that compile): the first time ever, with an empty cache
of compiled code, and in a new process that finds the code in the cache. The third column is a second run in the same
process. The last one says whether the process imported numba. Python's own bytecode is there beforehand, as after an
installation.
"""

import argparse
import compileall
import json
import os
import resource
import subprocess
import sys
import tempfile
from fnmatch import fnmatch
from pathlib import Path

import frankwolfe

DATA = """
import numpy as np
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 20))
scores = X @ rng.normal(size=(20, 3)) + rng.normal(size=(200, 3))
two, three = np.sign(scores[:, 0]), scores.argmax(axis=1)
"""

PROBLEM = """
import frankwolfe as fw
def run():
    problem = fw.Problem(X, {y}, "{loss}", {ball})
    result = fw.minimize(problem, "{method}", tol={tol}, max_passes={passes}, random_state=0)
    assert np.isfinite(result.gap)
"""

CLASSIFIER = """
from frankwolfe import FrankWolfeClassifier
def run():
    FrankWolfeClassifier(radius=5.0).fit(X, {y})
"""

MEASURE = """
import json, sys
from time import process_time
run()
begun = process_time()
run()
print(json.dumps([process_time() - begun, "numba" in sys.modules]))
"""

SCIPY = "import numpy, scipy.sparse, scipy.linalg\n"
NUMBA = SCIPY + "import numba\n"
SKLEARN = SCIPY + "import sklearn.base, sklearn.linear_model\n"


def problem(method, loss="logistic", y="two", ball="fw.L1Ball(5.0)", tol=1e-6, passes=1e4):
    """Return a case of `minimize`: its imports, and the code that defines ``run``."""
    imports = SCIPY if method == "auto" else NUMBA
    return imports, PROBLEM.format(method=method, loss=loss, y=y, ball=ball, tol=tol, passes=passes)


TRACE = {"loss": "multinomial", "y": "three", "ball": "fw.TraceBall(5.0)"}

CASES = {
    "auto, l1 ball": problem("auto"),
    "classifier, 2 classes": (SKLEARN, CLASSIFIER.format(y="two")),
    "classifier, 3 classes": (SKLEARN, CLASSIFIER.format(y="three")),
    "auto, trace ball": problem("auto", **TRACE),
    "sfw, l1 ball": problem("sfw", tol=0, passes=20),
    "sfw, simplex": problem("sfw", "squared", ball="fw.Simplex(1.0)", tol=0, passes=20),
    "sfw, trace ball": problem("sfw", **TRACE, tol=0, passes=20),
    "sfw, group ball": problem("sfw", ball="fw.GroupBall(np.arange(20) // 4, 5.0)", tol=0, passes=20),
    "stochastic-pairwise, l1": problem("stochastic-pairwise", tol=0, passes=20),
}


def seconds(source, cache):
    """Run a program in a new process; return the seconds of processor time it took and what it printed."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "FRANKWOLFE_QUIET": "1"}
    begun = _used()
    found = subprocess.run([sys.executable, "-c", source], env=environment, check=True, capture_output=True, text=True)
    return _used() - begun, found.stdout


def _used():
    """Return the seconds of processor time that ended child processes have used."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(imports, code, rounds):
    """Return seconds of a first process, of later ones, and of a second run; and whether numba was imported."""
    program = imports + DATA + code + MEASURE
    with tempfile.TemporaryDirectory() as cache:
        bare = min(seconds(imports, cache)[0] for _ in range(rounds + 1))
        first, answer = seconds(program, cache)
        later = [seconds(program, cache) for _ in range(rounds)]
    again, numba = json.loads(answer)
    again = min([again, *(json.loads(printed)[0] for _, printed in later)])
    return first - bare - again, min(taken for taken, _ in later) - bare - again, again, numba


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="*", help="which cases, as a pattern such as 'auto*' (all)")
    parser.add_argument(
        "--rounds", type=int, default=3, help="processes with a warm cache, of which the best counts (3)"
    )
    args = parser.parse_args()
    compileall.compile_dir(Path(frankwolfe.__file__).parent, quiet=1)  # what pip does
    print(f"{'seconds':24}{'first ever':>12}{'new process':>13}{'run itself':>12}{'numba':>8}")
    for name, (imports, code) in CASES.items():
        if fnmatch(name, args.only):
            first, later, again, numba = measure(imports, code, args.rounds)
            print(f"{name:24}{first:12.2f}{later:13.2f}{again:12.4f}{'yes' if numba else 'no':>8}", flush=True)


if __name__ == "__main__":
    main()
