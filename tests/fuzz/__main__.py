"""``python -m tests.fuzz --seed 3 --cases 20000``, or one case again: ``python -m tests.fuzz --seed 3 --case 17``."""

import argparse
import os
import sys

from tests.fuzz.runner import attend, describe, run, work


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=None, help="how many (20000, or as many as fit into --minutes)")
    parser.add_argument("--minutes", type=float, default=0.0, help="stop after so long")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--case", type=int, default=None, help="run one case and say all about it")
    parser.add_argument(
        "--optima", type=float, help="part of the cases for which a solver is asked, where it can be (0.1)"
    )
    parser.add_argument("--conditions", action="store_true", help="only problems with linear conditions")
    parser.add_argument("--work", nargs=5, default=None, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.optima is not None:
        os.environ["FUZZ_OPTIMA"] = str(given.optima)  # workers inherit it
    if given.conditions:
        os.environ["FUZZ_CONDITIONS"] = "1"
    if given.work:
        *whole, until = given.work
        work(*map(int, whole), float(until))
        return 0
    if given.case is not None:
        case = attend(given.seed, given.case)
        print(describe(given.seed, case) if case["failures"] else f"passed: {case['told']}\n{case['facts']}")
        return 1 if case["failures"] else 0
    cases = given.cases or (10**9 if given.minutes else 20000)
    return 1 if run(given.seed, cases, given.minutes, given.workers) else 0


if __name__ == "__main__":
    sys.exit(main())
