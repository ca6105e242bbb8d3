"""How much memory `auto` takes beside the data, on the RCV1 subset under an l1 bound.

    FRANKWOLFE_DATA=folder python benchmarks/memory.py

Two readings for each tolerance, both divided by the size of the data (values, column numbers and row starts as stored).
*Arrays* is the most that tracemalloc has seen allocated during the run, the data not counted. *Process* is by how much
a process of its own grew during the run at most, after the data were read and the kernels loaded (Linux only).
"""

import argparse
import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

from tables import read

import frankwolfe as fw

COLUMNS = ("tolerance", "non-zeros", "arrays, MB", "arrays / data", "process, MB", "process / data")


def load():
    """Return the problem's data and its size in bytes."""
    X, y = read("rcv1_subset")
    return X, y, X.data.nbytes + X.indices.nbytes + X.indptr.nbytes


def solve(X, y, radius, tolerance):
    problem = fw.Problem(X, y, "logistic", fw.L1Ball(radius))
    return fw.minimize(problem, tol=tolerance, max_passes=1000, trace=0)


def held(field):
    """Return what the kernel notes of this process: VmRSS is what it holds, VmHWM the most since it was reset."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return 1024.0 * float(next(line.split()[1] for line in status.splitlines() if line.startswith(field)))


def by_process(radius, tolerance):
    """Run in this process, which must be fresh, and return by how much it grew; NaN where that cannot be told."""
    X, y, _ = load()
    solve(X[:100], y[:100], radius, 1e-2)  # loads the kernels
    reset = Path("/proc/self/clear_refs")
    if not reset.exists():
        return float("nan")
    reset.write_text("5", encoding="ascii")  # what was held before, by a parent too, would count otherwise
    before = held("VmRSS")
    solve(X, y, radius, tolerance)
    return held("VmHWM") - before


def by_arrays(X, y, radius, tolerance):
    """Return the most that was allocated during a run, and the result."""
    tracemalloc.start()
    result = solve(X, y, radius, tolerance)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak, result


def measure(radius, tolerances):
    X, y, size = load()
    solve(X, y, radius, 1e-2)
    for tolerance in tolerances:
        arrays, result = by_arrays(X, y, radius, tolerance)
        command = [sys.executable, __file__, "--radius", str(radius), "--child", str(tolerance)]
        process = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        yield tolerance, result.nonzeros, arrays / 1e6, arrays / size, process / 1e6, process / size


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--radius", type=float, default=5000.0)
    parser.add_argument("--tolerances", type=float, nargs="+", default=[1e-4, 1e-6, 1e-10])
    parser.add_argument("--json", type=Path, help="also write the table to this file, for the page of the race")
    parser.add_argument("--child", type=float, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child is not None:
        print(by_process(args.radius, args.child))
        return
    title = f"Memory of auto beside the data, RCV1 subset, radius {args.radius:g}"
    rows = []
    print(f"{title}\n\n" + "".join(f"{name:>16}" for name in COLUMNS))
    for row in measure(args.radius, args.tolerances):
        rows.append(row)
        print(f"{row[0]:16.0e}{row[1]:16d}" + "".join(f"{number:16.2f}" for number in row[2:]))
    if args.json is not None:
        table = {"title": title, "columns": COLUMNS, "rows": rows, "note": __doc__.split("\n\n")[2]}
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(table), encoding="utf-8")


if __name__ == "__main__":
    main()
