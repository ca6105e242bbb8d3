"""``python -m tests.edits --seed 3 --cases 1000``, or one edit again: ``python -m tests.edits --seed 3 --case 17``."""

import argparse
import sys

from tests.edits.attend import attend
from tests.fuzz.runner import describe, run, work


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.edits", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--case", type=int, default=None, help="make one edit and say all about it")
    parser.add_argument("--work", nargs=5, default=None, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        *whole, until = given.work
        work(*map(int, whole), float(until), attend)
        return 0
    if given.case is not None:
        case = attend(given.seed, given.case)
        print(describe(given.seed, case, "tests.edits") if case["failures"] else case)
        return 1 if case["failures"] else 0
    return 1 if run(given.seed, given.cases, 0.0, given.workers, module="tests.edits") else 0


if __name__ == "__main__":
    sys.exit(main())
