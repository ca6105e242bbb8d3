"""Time to a target under an l1 bound: this library against its peers, each in a process of its own.

    FRANKWOLFE_DATA=folder python benchmarks/l1_ball/race.py --out out/l1_ball

Every solver climbs a ladder of tolerances (or numbers of iterations), each rung run from scratch, and is charged the
time of the first rung whose answer the objective finds within ``target * F(0)`` of the optimum. Compilation happens
beforehand and is reported in a column of its own. All have one thread, or as many as ``--threads`` says.
"""

import argparse
import csv
import json
import os
import selectors
import subprocess
import sys
from pathlib import Path
from time import monotonic

from loading import HERE, catalogue

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)
PREPARATION_SECONDS = 600.0
"""Most time for anything that is not a run: reading data, importing, working a reference out."""
COMPILATION_SECONDS = 60.0
"""What a warm-up may take longer than a run."""
SUMMARY = (
    "dataset", "solver", "family", "status", "seconds", "ratio", "stop", "suboptimality", "gap", "nonzeros", "solves",
    "compile_seconds", "peak_mb", "baseline_mb", "reason",
)  # fmt: skip


# --- one solver on one dataset --------------------------------------------------------------------------------


class Entry:
    """A solver on a dataset: what is known of it so far, as the worker tells."""

    def __init__(self, dataset, solver):
        self.facts = {"dataset": dataset, "solver": solver, "family": None, "status": "failed", "reason": None}
        self.rungs = []
        self.since, self.doing = monotonic(), "starting"

    def hear(self, event, **facts):
        """Take in a message of the worker."""
        self.since, self.doing = monotonic(), event
        if event == "ran":
            self.rungs.append(facts)
        elif event in ("no data", "absent", "skipped", "failed"):
            self.facts.update(status=event, reason=facts["reason"])
            if event == "no data":
                self.facts["solver"] = "(all)"
        elif event == "data":
            self.facts["problem"] = facts
        elif event == "ready":
            self.facts["baseline_mb"] = facts["baseline"]
        elif event in ("solver", "warm"):
            self.facts.update(facts)
        elif event == "done":
            self.facts.update(status="not met", reason="the finest rung missed the target")

    def seconds_left(self, max_seconds):
        """Return how long to wait for the next message."""
        limits = {"running": max_seconds, "warming up": max_seconds + COMPILATION_SECONDS}
        return limits.get(self.doing, PREPARATION_SECONDS) - (monotonic() - self.since)

    def conclude(self, killed, max_seconds, peak):
        """Settle the status once the worker has ended."""
        self.facts["peak_mb"] = peak
        met = [rung for rung in self.rungs if rung["met"]]
        if met:
            best = min(met, key=lambda rung: self._effort(rung["stop"]))
            self.facts.update(best, status="met", reason=None)
        elif killed:
            last = f"; the last answer was {self.rungs[-1]['suboptimality']:.1e} from F*" if self.rungs else ""
            self.facts.update(status="timed out", reason=f"a run took more than {max_seconds:g} s{last}")
        return {**self.facts, "rungs": self.rungs}

    def _effort(self, stop):
        """Order rungs from the first to the last: tolerances fall, iterations rise."""
        return stop if self.rungs[0]["stop"] >= 1 else -stop


def run_entry(specification, labels, args):
    """Run a worker and listen to it; end it when a single run takes too long. Return what became of it."""
    entry = Entry(*labels)
    reading, writing = os.pipe()
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(args.threads))}
    worker = subprocess.Popen(
        [sys.executable, str(HERE / "worker.py"), json.dumps(specification), str(writing)],
        pass_fds=[writing],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=None if args.verbose else subprocess.DEVNULL,
    )
    os.close(writing)
    killed = not listen(entry, reading, args.max_seconds)
    if killed:
        worker.kill()
    _, status, usage = os.wait4(worker.pid, 0)
    worker.returncode = os.waitstatus_to_exitcode(status)
    if entry.facts["status"] == "failed" and entry.facts["reason"] is None and not killed:
        entry.facts["reason"] = f"the process ended with code {worker.returncode}"
    return entry.conclude(
        killed, args.max_seconds, usage.ru_maxrss / (1024.0**2 if sys.platform == "darwin" else 1024.0)
    )


def listen(entry, descriptor, max_seconds):
    """Pass the worker's messages on until it ends; return False if it must be ended."""
    rest = b""
    with selectors.DefaultSelector() as selector, os.fdopen(descriptor, "rb", buffering=0) as stream:
        selector.register(stream, selectors.EVENT_READ)
        while True:
            left = entry.seconds_left(max_seconds)
            if left <= 0.0 or not selector.select(left):
                return False
            part = stream.read(65536)
            if not part:
                return True
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                entry.hear(**json.loads(line))


# --- all of them ----------------------------------------------------------------------------------------------


def chosen(kind, entries, wanted):
    """Return the entries asked for by name or by label; all of them if none was."""
    known = {entry[field] for entry in entries for field in ("name", "label")}
    unknown = set(wanted or ()) - known
    if unknown:
        raise SystemExit(f"unknown {kind}: {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}")
    return [entry for entry in entries if not wanted or entry["name"] in wanted or entry["label"] in wanted]


def race(args):
    """Run everything that was asked for; yield each result as it comes."""
    found = catalogue()
    datasets = chosen("datasets", found["datasets"], args.datasets)
    solvers = chosen("solvers", found["solvers"], args.solvers)
    for dataset in datasets:
        for solver in solvers:
            specification = {
                "dataset": dataset["path"],
                "dataset_parameters": dataset["parameters"],
                "solver": solver["path"],
                "solver_parameters": solver["parameters"],
                "target": args.target,
                "repeats": args.repeats,
            }
            result = run_entry(specification, (dataset["label"], solver["label"]), args)
            yield result
            if result["status"] == "no data":
                break


def add_ratios(results):
    """Divide each time by the best of this library on the same dataset."""
    best = {}
    for result in results:
        if result["family"] == "ours" and result["status"] == "met":
            best[result["dataset"]] = min(best.get(result["dataset"], float("inf")), result["seconds"])
    for result in results:
        if result["status"] == "met" and result["dataset"] in best:
            result["ratio"] = result["seconds"] / best[result["dataset"]]


# --- what comes out -------------------------------------------------------------------------------------------


def line(result):
    """Return a result as a line of the terminal's table."""
    if result["status"] != "met":
        return f"{result['solver']:28}{result['status']:>10}   {result['reason'] or ''}"
    numbers = [("seconds", "10.4f"), ("ratio", "8.2f"), ("suboptimality", "10.1e"), ("gap", "10.1e")]
    numbers += [("nonzeros", "7.0f"), ("solves", "7.0f"), ("compile_seconds", "9.2f"), ("peak_mb", "9.0f")]
    cells = (format_cell(result.get(name), form) for name, form in numbers)
    return f"{result['solver']:28}" + "".join(cells) + f"   {result['stop']:.2g}"


def format_cell(value, form):
    return format("-", ">" + form.split(".")[0]) if value is None else format(value, form)


HEADING = (
    f"{'':28}{'seconds':>10}{'/ ours':>8}{'F - F*':>10}{'gap':>10}{'nonz.':>7}{'fits':>7}"
    f"{'compile':>9}{'peak MB':>9}   rung"
)


def print_table(results):
    """Print a table for each dataset, the fastest first."""
    for dataset in dict.fromkeys(result["dataset"] for result in results):
        here = [result for result in results if result["dataset"] == dataset]
        print(f"\n{dataset}\n{HEADING}")
        for result in sorted(here, key=lambda result: result.get("seconds") or float("inf")):
            print(line(result))


def print_markdown(results):
    """Print seconds as one Markdown table: a line for each dataset, a column for each solver, and the fastest peer."""
    solvers = list(dict.fromkeys(result["solver"] for result in results if result["solver"] != "(all)"))
    print("| seconds | " + " | ".join(f"`{solver}`" for solver in solvers) + " | ours / fastest peer |")
    print("|---" * (len(solvers) + 2) + "|")
    for dataset in dict.fromkeys(result["dataset"] for result in results):
        met = {each["solver"]: each for each in results if each["dataset"] == dataset and each["status"] == "met"}
        ours = min((each["seconds"] for each in met.values() if each["family"] == "ours"), default=float("nan"))
        peers = min((each["seconds"] for each in met.values() if each["family"] != "ours"), default=float("nan"))
        cells = [f"{met[solver]['seconds']:.4f}" if solver in met else "-" for solver in solvers]
        print(f"| {dataset} | " + " | ".join(cells) + f" | {ours / peers:.2f} |")


def write(results, args):
    """Write results.json, results.csv and index.html into the folder."""
    sys.path.append(str(HERE.parent))
    from report import render

    from page import compose, facts

    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    about = facts(args)
    (out / "results.json").write_text(json.dumps({"facts": dict(about), "results": results}, indent=1))
    with (out / "results.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, SUMMARY, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(results)
    tables = [json.loads(path.read_text(encoding="utf-8")) for path in args.tables]
    (out / "index.html").write_text(render(compose(results, about, args.target, tables)), encoding="utf-8")
    print(f"\nwritten: {out / 'results.json'}, {out / 'results.csv'}, {out / 'index.html'}", file=sys.stderr)


def parse(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--datasets", nargs="+", metavar="NAME", help="names, or labels such as rcv1-subset[radius=100.0]"
    )
    parser.add_argument("--solvers", nargs="+", metavar="NAME", help="names, or labels such as celer[penalty=given]")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each rung, of which the fastest counts (3)")
    parser.add_argument("--threads", type=int, default=1, help="threads that each solver may use (1)")
    parser.add_argument("--target", type=float, default=1e-6, help="wanted F - F*, relative to F(0) (1e-6)")
    parser.add_argument("--max-seconds", type=float, default=60.0, help="most time for a single run (60)")
    parser.add_argument("--out", default="out/l1_ball", help="folder for results and page (out/l1_ball)")
    parser.add_argument("--tables", type=Path, nargs="+", default=[], help="tables of other benchmarks, for the page")
    parser.add_argument("--markdown", action="store_true", help="print one table of seconds, in Markdown")
    parser.add_argument("--verbose", action="store_true", help="show what solvers write to standard error")
    return parser.parse_args(arguments)


def main():
    args = parse()
    results = []
    for result in race(args):
        results.append(result)
        print(f"{result['dataset']:32}{line(result)}", flush=True, file=sys.stderr)
    add_ratios(results)
    print_markdown(results) if args.markdown else print_table(results)
    write(results, args)


if __name__ == "__main__":
    main()
