"""``python -m tests.soak --seed 3 --kills 500``, or ``--minutes 10``; ``--only sfw``: scenarios of that name.

Processes are killed and go on. For every twenty kills there is one fault on a cluster; ``--only cluster``: these alone.
``--only bits``: problems under other thread settings instead, whose answers must have the same bits.
"""

import argparse
import os
import sys
from importlib.util import find_spec
from pathlib import Path

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))  # processes with threads cannot fork

from tests.soak.runner import run
from tests.soak.scenarios import SCENARIOS
from tests.soak.thread_bits import CASES, differing

KILLS_A_FAULT = 20


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kills", type=int, default=None, help="how many (200, or as many as fit into --minutes)")
    parser.add_argument("--minutes", type=float, default=0.0, help="stop after so long")
    parser.add_argument("--only", default="", help="scenarios with this in their name")
    given = parser.parse_args()
    kills = given.kills or (10**9 if given.minutes else 200)
    if given.only == "bits":
        found = differing(CASES, Path(__file__).parents[2])
        print(f"{len(CASES)} problems under other thread settings: {found or 'the same bits'}")
        return 1 if found else 0
    processes = any(given.only in name for name in SCENARIOS)
    failures = run(given.seed, kills, given.minutes, given.only) if processes else 0
    faults = kills // KILLS_A_FAULT if processes else kills
    if (given.only and processes) or not faults or find_spec("distributed") is None:
        return 1 if failures else 0
    from tests.soak.cluster_runner import run_on_cluster  # starts threads, after which no process can fork

    return 1 if failures + run_on_cluster(given.seed, faults, given.minutes, given.only) else 0


if __name__ == "__main__":
    sys.exit(main())
