"""How long `frankwolfe fit` takes on a large svmlight file, from the first import to the model, beside Vowpal Wabbit.

    pip install vowpalwabbit
    python benchmarks/reading.py

Makes rows of about 75 entries, once as svmlight and once as Vowpal Wabbit's own format, and runs in turn

- `frankwolfe fit` (reads, checks, solves to a certified optimum, writes the model);
- Vowpal Wabbit with the logistic loss (reads, one pass of online steps), if it is installed;
- with `--csv`, the reader alone on as many rows of a dense CSV file, beside polars alone.

Every process is new. The least of several runs counts, in seconds on the clock and on the processors, since other
work on the machine only ever adds. *memory* is the most that the process held, in units of the arrays it ends up with.
"""

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

COLUMNS, ENTRIES = 20_000, 75

READS_CSV = """
import sys
from pathlib import Path
from frankwolfe.io.read import read_data
read_data(Path(sys.argv[1]), ["y"])
"""


def make_rows(rng, rows, weights):
    """Yield target, sorted column numbers from 1 on, and values as text."""
    shares = 1.0 / np.arange(1, COLUMNS + 1) ** 0.7
    shares = np.cumsum(shares / shares.sum())
    for _ in range(rows):
        columns = np.unique(np.searchsorted(shares, rng.random(ENTRIES + 2)))
        values = rng.integers(1, 20, len(columns)) / 2
        target = 1 if weights[columns] @ values + 2.0 * rng.normal() > 0.0 else -1
        yield target, columns + 1, values


def write_files(folder, rows, seed=0):
    """Write the same rows in both formats, and return the two paths."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=COLUMNS) * (rng.random(COLUMNS) < 0.02)
    ours, theirs = folder / "rows.svm", folder / "rows.vw"
    with ours.open("w", encoding="ascii") as svmlight, theirs.open("w", encoding="ascii") as other:
        for target, columns, values in make_rows(rng, rows, weights):
            pairs = " ".join(f"{j}:{v:g}" for j, v in zip(columns.tolist(), values.tolist(), strict=True))
            svmlight.write(f"{target} {pairs}\n")
            other.write(f"{target} | {pairs}\n")
    return ours, theirs


def write_csv(path, rows, columns=75, seed=0):
    """Write dense rows with a target of two classes."""
    rng = np.random.default_rng(seed)
    with path.open("w", encoding="ascii") as stream:
        stream.write(",".join([f"x{j}" for j in range(columns)] + ["y"]) + "\n")
        for start in range(0, rows, 10_000):
            block = rng.normal(size=(min(10_000, rows - start), columns + 1)).round(3)
            block[:, -1] = block[:, -1] > 0
            stream.writelines(",".join(map(str, row)) + "\n" for row in block.tolist())


def run(command, environment=None):
    """Run a command in a new process; return its seconds on the clock and on the processors, and its most bytes."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    )
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command[0]} ended with {process.returncode}")
    return seconds, used.ru_utime + used.ru_stime, 1024 * used.ru_maxrss


def vowpal_wabbit():
    """Return the words that start Vowpal Wabbit, or None where it is not installed."""
    if shutil.which("vw"):
        return ["vw"]
    return [sys.executable, "-m", "vowpalwabbit"] if importlib.util.find_spec("vowpalwabbit") else None


def commands(folder, rows, csv):
    """Return what to run, by name, and the bytes of the arrays that each ends up with."""
    ours, theirs = write_files(folder, rows)
    frankwolfe = [sys.executable, "-m", "frankwolfe"]
    entries = sum(line.count(b":") for line in ours.open("rb"))
    print(f"{rows:,} rows, {entries:,} entries, {ours.stat().st_size / 1e6:.0f} MB of svmlight")
    found = {"frankwolfe fit": ([*frankwolfe, "fit", ours, "--radius", "5", "-o", folder / "m.npz"], 12 * entries)}
    if other := vowpal_wabbit():
        found["vowpal wabbit"] = ([*other, "--loss_function", "logistic", "--quiet", "-d", theirs], None)
    else:
        print("Vowpal Wabbit is not installed: pip install vowpalwabbit")
    if csv:
        write_csv(folder / "rows.csv", rows)
        reads = {"frankwolfe, CSV": READS_CSV, "polars, CSV": "import sys, polars; polars.read_csv(sys.argv[1])"}
        size = {"frankwolfe, CSV": 8 * 76 * rows, "polars, CSV": None}
        found |= {kind: ([sys.executable, "-c", code, folder / "rows.csv"], size[kind]) for kind, code in reads.items()}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--csv", action="store_true", help="also a dense CSV file")
    parser.add_argument("--json", type=Path, help="write the figures to a file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        found = commands(Path(name), options.rows, options.csv)
        for command, _ in found.values():
            run(command)  # compiles, and brings the file into memory
        runs = {kind: [] for kind in found}
        for _ in range(options.runs):
            for kind, (command, _) in found.items():
                runs[kind].append(run(command))
    least = {kind: np.min(figures, axis=0).tolist() for kind, figures in runs.items()}
    for kind, (clock, processors, held) in least.items():
        size = found[kind][1]
        memory = f", {held / size:.2f} times its arrays" if size else ""
        print(f"{kind:22} {clock:6.2f} s, {processors:6.2f} s on the processors, {held / 1e6:6.0f} MB{memory}")
    if "vowpal wabbit" in least:
        ratios = [mine / other for mine, other in zip(least["frankwolfe fit"], least["vowpal wabbit"], strict=True)]
        print(f"frankwolfe fit takes {ratios[0]:.2f} times as long ({ratios[1]:.2f} on the processors)")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(least, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
