"""The numeric tests as other processors and compilers would run them: ``make test-processors``.

``python -m tests.processors`` runs them once for every setting of numba's below, and in Python mode, each in a process
of its own with a cache of its own: numba takes the settings when it is imported, and not all are part of its cache's
key. ``python -m tests.processors --only generic tests/sets`` runs some tests in one setting.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent

SETTINGS = {
    "generic": {"NUMBA_CPU_NAME": "generic"},
    "generic-without-features": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
    "unoptimised": {"NUMBA_OPT": "1"},
    "python": {"FRANKWOLFE_TESTS_IN_PYTHON": "1", "FRANKWOLFE_DATA": ""},
}
"""Environments: the oldest processor with this one's instructions, without them, little optimisation, no compiler.

Without a compiler a run to the optimum of a large table takes half an hour, so those are left out there."""

NUMERIC = (
    *(f"tests/{name}" for name in ("losses", "sets", "linalg", "rows", "objective", "methods")),
    *("tests/reference", "tests/problem/test_side_constraints.py"),
    *("tests/solvers/test_dual_value.py", "tests/solvers/test_units.py"),
)
"""Tests of what numbers come out."""

SLICE = (
    "tests/sets/test_base.py::test_compiled_l2_oracle_keeps_to_the_sphere_for_subnormal_directions",
    "tests/solvers/test_units.py::test_compiled_answers_do_not_depend_on_units",
)
"""A few that differed from one processor to another, or would."""


def run(setting, tests, workers=2):
    """Run tests in a setting and a new cache; return pytest's exit code and the seconds it took."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, **SETTINGS[setting], "NUMBA_CACHE_DIR": cache}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", str(workers), *tests]
        begun = time.perf_counter()
        code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
        return code, time.perf_counter() - begun


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.processors", description=__doc__)
    parser.add_argument("--only", choices=SETTINGS, help="one setting instead of all")
    parser.add_argument("tests", nargs="*", default=NUMERIC, help="files or tests (all numeric ones)")
    given = parser.parse_args()
    codes = {}
    for setting in SETTINGS if given.only is None else [given.only]:
        print(f"== {setting}", flush=True)
        codes[setting], seconds = run(setting, given.tests)
        print(f"== {setting}: {'passed' if codes[setting] == 0 else 'FAILED'} in {seconds:.0f} s", flush=True)
    return max(codes.values())


if __name__ == "__main__":
    sys.exit(main())
