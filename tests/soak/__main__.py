"""``python -m tests.soak --seed 3 --kills 500``, or ``--minutes 10``; ``--only sfw``: scenarios of that name."""

import argparse
import os
import sys

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))  # processes with threads cannot fork

from tests.soak.runner import run


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kills", type=int, default=None, help="how many (200, or as many as fit into --minutes)")
    parser.add_argument("--minutes", type=float, default=0.0, help="stop after so long")
    parser.add_argument("--only", default="", help="scenarios with this in their name")
    given = parser.parse_args()
    kills = given.kills or (10**9 if given.minutes else 200)
    return 1 if run(given.seed, kills, given.minutes, given.only) else 0


if __name__ == "__main__":
    sys.exit(main())
