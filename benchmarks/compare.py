"""Is this revision slower than another one? Both run the same work in turn: noise then troubles both alike.

    FRANKWOLFE_DATA=folder make compare BASE=main~20

Each revision runs in a process of its own, on one thread unless told otherwise, with the same packages. A round runs a
case once in each of the two, in alternating order. The table has the least time of each, their ratio (new / base), and
the middle half of the rounds' own ratios: where that range holds 1, the difference is noise.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from fnmatch import fnmatch
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Revision:
    """A process that runs cases with the sources of one revision."""

    def __init__(self, source, threads):
        environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads)), "PYTHONPATH": str(source)}
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "workload.py")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True,
        )  # fmt: skip
        facts = self._hear()
        found = Path(facts["source"])
        if Path(source) not in found.parents:
            raise SystemExit(f"meant to time {source}, but python imports {found}")
        self.cases, self.seconds = facts["cases"], {}

    def _hear(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("a case ended its process: see above")
        return json.loads(line)

    def run(self, case):
        """Run a case once more."""
        self.process.stdin.write(case + "\n")
        self.process.stdin.flush()
        self.seconds.setdefault(case, []).append(self._hear())

    def close(self):
        """End the process."""
        self.process.stdin.close()
        self.process.wait()


def compare(base, new, cases, rounds):
    """Run all cases in turn and print a line for each; return the ratios of the least times."""
    print(f"{'':34}{'base, ms':>10}{'new, ms':>10}{'ratio':>8}   middle half of the rounds")
    ratios = {}
    for case in cases:
        for turn in range(rounds):
            for revision in (base, new) if turn % 2 == 0 else (new, base):
                revision.run(case)
        before, after = np.array(base.seconds[case]), np.array(new.seconds[case])
        ratios[case] = after.min() / before.min()
        low, high = np.quantile(after / before, [0.25, 0.75])
        line = f"{case:34}{1e3 * before.min():10.2f}{1e3 * after.min():10.2f}{ratios[case]:8.3f}"
        print(f"{line}   {low:.3f} to {high:.3f}", flush=True)
    return ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", help="the revision to compare with, as git names it")
    parser.add_argument("--rounds", type=int, default=9, help="how often each case runs in each revision (9)")
    parser.add_argument("--cases", default="*", help="which ones, as a pattern such as 'race*' (all)")
    parser.add_argument("--threads", type=int, default=1, help="how many threads each revision may use (1)")
    parser.add_argument("--limit", type=float, help="exit with 1 if any ratio of least times is above this")
    args = parser.parse_args()
    root = HERE.parent
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "base"
        subprocess.run(["git", "-C", root, "worktree", "add", "--quiet", "--detach", tree, args.base], check=True)
        try:
            base, new = Revision(tree / "src", args.threads), Revision(root / "src", args.threads)
            cases = [case for case in new.cases if fnmatch(case, args.cases)]
            ratios = compare(base, new, cases, args.rounds)
            base.close()
            new.close()
        finally:
            subprocess.run(["git", "-C", root, "worktree", "remove", "--force", tree], check=True)
    mean, worst = np.exp(np.mean(np.log(list(ratios.values())))), max(ratios.values())
    print(f"\ngeometric mean of the ratios {mean:.3f}, worst {worst:.3f}")
    if args.limit and worst > args.limit:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
