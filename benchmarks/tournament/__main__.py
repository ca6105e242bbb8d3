"""Compare all methods on many problems and write a report that opens offline.

    FRANKWOLFE_DATA=folder python -m benchmarks.tournament --out tournament
    python -m benchmarks.tournament --quick --methods sfw fw auto --problems breast-cancer 'kappa-*'

The report goes to OUT/report.html and a table of all runs to OUT/runs.csv. See docs/tournament.md.
"""

import argparse
import csv
import os
import sys
from pathlib import Path

import frankwolfe as fw

from .analysis import Tournament
from .page import page
from .problems import QUICK, select
from .runs import REFERENCES, Budget, Facts, Run, play_all


def main(arguments: list[str] | None = None) -> Tournament:
    """Play the tournament that the arguments describe."""
    args = parse(arguments)
    os.environ.setdefault("FRANKWOLFE_QUIET", "1")  # no messages on compilation from the worker processes
    names = select(args.problems or (QUICK if args.quick else ["*"]))
    methods = args.methods or [name for name in fw.methods.METHODS if name != "corrective"]
    budget = Budget(args.max_passes or (30.0 if args.quick else 100.0), args.max_seconds, args.batch_size)
    seeds = args.seeds or (2 if args.quick else 3)
    total, facts, runs = len(names) * (len(methods) + 1), [], []
    for done, outcome in enumerate(play_all(names, methods, seeds, budget, args.source, args.jobs), start=1):
        if isinstance(outcome, Facts):
            facts.append(outcome)
        else:
            runs += outcome
        print(f"\r{done} of {total}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    facts.sort(key=lambda each: names.index(each.name))
    runs.sort(key=lambda run: (names.index(run.problem), methods.index(run.method), run.seed))
    found = Tournament(facts, methods, runs, budget, args.accuracies)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "report.html").write_text(page(found), encoding="utf-8")
    write_csv(found, args.out / "runs.csv")
    show(found)
    print(f"Report: {args.out / 'report.html'}")
    return found


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks.tournament", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--out", type=Path, default=Path("tournament"), help="folder of the report (default: tournament)"
    )
    parser.add_argument("--quick", action="store_true", help="a few small problems, two seeds, 30 passes")
    parser.add_argument("--problems", nargs="+", metavar="NAME", help="names or patterns such as 'kappa-*'")
    parser.add_argument(
        "--methods", nargs="+", metavar="NAME", choices=list(fw.methods.METHODS), help="names in fw.methods.METHODS"
    )
    parser.add_argument("--seeds", type=int, help="seeds of stochastic methods (default: 3)")
    parser.add_argument("--max-passes", type=float, help="passes of each run (default: 100)")
    parser.add_argument("--max-seconds", type=float, default=20.0, help="seconds of each run (default: 20)")
    parser.add_argument("--batch-size", type=float, help="fraction of the rows (default: each method's own batch size)")
    parser.add_argument("--accuracies", type=float, nargs="+", default=[1e-2, 1e-3, 1e-4], help="parts of F(0)")
    parser.add_argument("--jobs", type=int, default=-1, help="processes (default: one for each core)")
    parser.add_argument(
        "--source", choices=["auto", "folder", "original", "stand-in"], default="auto", help="of the data"
    )
    return parser.parse_args(arguments)


def write_csv(found: Tournament, path: Path) -> None:
    """Write one row for each run: its end, and its cost to every accuracy."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        costs = [f"{by} to {accuracy:g}" for by in ("passes", "seconds") for accuracy in found.accuracies]
        writer.writerow(
            ["problem", "method", "seed", "error", "passes", "seconds", "oracle_calls", "fun", "gap", *costs]
        )
        writer.writerows(row(found, run) for run in found.runs)


def row(found: Tournament, run: Run) -> list:
    """Return the row of a run in the CSV file."""
    if run.error:
        return [run.problem, run.method, run.seed, run.error]
    last = [run.trace[name][-1] for name in ("passes", "seconds", "oracle_calls", "fun", "gap")]
    costs = [found.cost(run, accuracy, by) for by in ("passes", "seconds") for accuracy in found.accuracies]
    return [run.problem, run.method, run.seed, "", *last, *costs]


def show(found: Tournament) -> None:
    """Print the ranking."""
    seconds = {each.method: each for each in found.ranking(found.middle, "seconds")}
    print(f"To F - F* <= {found.middle:g} F(0), over the best contender:")
    print(f"{'method':32}{'passes':>10}{'interval':>20}{'seconds':>10}{'reached':>10}")
    for each in found.ranking(found.middle, "passes"):
        name = each.method + " (reference)" * (each.method in REFERENCES)
        interval = f"{each.low:.2f} to {each.high:.2f}"
        print(f"{name:32}{each.ratio:10.2f}{interval:>20}{seconds[each.method].ratio:10.2f}{each.reached:10.0%}")


if __name__ == "__main__":
    main()
