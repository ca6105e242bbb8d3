"""Row stores: how fast they are read and fitted, beside a plain read and Vowpal Wabbit, and in how little memory.

    pip install vowpalwabbit
    python benchmarks/store.py speed --rows 300000
    python benchmarks/store.py large --gigabytes 6 --memory 500MB --folder /somewhere/with/room
    python benchmarks/store.py groups

``speed`` prints rows a second, all in one run: the same bytes read plainly and an exact pass, from disk (cold) and
from the system's cache of files; one pass of ``sfw``, Vowpal Wabbit's pass over text and over its own cache, and the
way from svmlight text to a fitted model.

``large`` generates a sparse store, makes one pass of ``sfw`` and a certified run of ``auto`` in a process of its own
under a limit on memory, and prints reads, seconds and the peak of anonymous memory. Then a slice that fits into memory
is solved from a store and from memory, and the answers are compared.

``groups`` tells what sampling within groups of shards costs: passes until a run is certified, in memory and from stores
of which memory holds a part.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
from scipy import sparse

import frankwolfe as fw

COLUMNS, PER_ROW, ACTIVE = 100_000, 100, 200

CGROUPS = {"/sys/fs/cgroup": "memory.max", "/sys/fs/cgroup/memory": "memory.limit_in_bytes"}
"""Folders in which a group with a limit on memory may be made, and the file that the limit goes to."""


def blocks(rows, seed=0, columns=COLUMNS, per_row=PER_ROW, step=20_000):
    """Yield blocks of text-like rows: few columns are frequent, and few of these decide the label."""
    truth = np.zeros(columns)
    rng = np.random.default_rng(seed)
    truth[rng.choice(columns // 10, ACTIVE, replace=False)] = 3.0 * rng.normal(size=ACTIVE)
    for first in range(0, rows, step):
        rng = np.random.default_rng([seed, first])
        size = min(step, rows - first)
        found = (columns * rng.random((size, per_row)) ** 3).astype(np.int32)
        found.sort(axis=1)
        values = rng.random((size, per_row)) / per_row**0.5
        starts = np.arange(0, size * per_row + 1, per_row, dtype=np.int32)
        X = sparse.csr_array((values.ravel(), found.ravel(), starts), shape=(size, columns))
        X.sum_duplicates()
        yield X, np.where(X @ truth + 0.3 * rng.normal(size=size) > 0.0, 1.0, -1.0)


def evict(store):
    """Ask the system to forget the files of a store, so that they are read from disk."""
    os.sync()
    for file in store.manifest.files():
        handle = os.open(store.path / file.name, os.O_RDONLY)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(handle)


def timed(call, runs=3, before=lambda: None):
    """Return the least seconds of some runs."""
    seconds = []
    for _ in range(runs):
        before()
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def in_turn(cases, rounds):
    """Return the least seconds of each case; they take turns, so that noise troubles all alike."""
    seconds = {name: [] for name in cases}
    for _ in range(rounds):
        for name, case in cases.items():
            seconds[name].append(case())
    return {name: min(spent) for name, spent in seconds.items()}


def read_plainly(store):
    """Read all bytes of the rows into one buffer, file by file."""
    room = memoryview(bytearray(max(file.bytes for file in store.manifest.files())))
    for file in store.manifest.files():
        with (store.path / file.name).open("rb", buffering=0) as stream:
            stream.readinto(room[: file.bytes])


def write_text(folder, rows):
    """Write the same rows for both, svmlight and Vowpal Wabbit's own text."""
    ours, theirs = folder / "rows.svm", folder / "rows.vw"
    with ours.open("w", encoding="ascii") as mine, theirs.open("w", encoding="ascii") as other:
        for X, y in blocks(rows):
            for i in range(X.shape[0]):
                part = slice(X.indptr[i], X.indptr[i + 1])
                pairs = " ".join(f"{j + 1}:{x:.6f}" for j, x in zip(X.indices[part], X.data[part], strict=True))
                mine.write(f"{y[i]:+.0f} {pairs}\n")
                other.write(f"{y[i]:+.0f} | {pairs}\n")
    return ours, theirs


def wabbit(*words):
    """Run Vowpal Wabbit; return its seconds."""
    command = [sys.executable, "-m", "vowpalwabbit", "--loss_function", "logistic", "--quiet", *map(str, words)]
    start = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - start


def speed(options):
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        ours, theirs = write_text(folder, options.rows)
        store = fw.write_rows(folder / "rows", ours)
        store = fw.open_rows(folder / "rows", memory=store.bytes // 2)
        problem = fw.Problem(store, constraint=fw.L1Ball(100.0))
        w = np.zeros(problem.d)
        w[:50] = 1.0
        problem.evaluate(w)  # compiles, and verifies
        run = {"tol": 0.0, "max_passes": 1.0, "random_state": 0, "trace": 0}
        fw.minimize(problem, "sfw", **run)

        def one_pass():
            result = fw.minimize(problem, "sfw", **run)
            return result.seconds - result.certificate_seconds

        def from_text():
            again = fw.write_rows(folder / f"again-{time.time_ns()}", ours, memory=store.bytes // 2)
            fw.minimize(fw.Problem(again, constraint=fw.L1Ball(100.0)), "sfw", **run)

        def seconds_from_text():
            return timed(from_text, runs=1)

        figures = {
            "plain read, cold": timed(lambda: read_plainly(store), before=lambda: evict(store)),
            "exact pass, cold": timed(lambda: problem.evaluate(w), before=lambda: evict(store)),
            "plain read": timed(lambda: read_plainly(store)),
            "exact pass": timed(lambda: problem.evaluate(w)),
        }
        cases = {"one pass of sfw": one_pass, "svmlight text to model": seconds_from_text}
        if options.wabbit:
            cache = folder / "cache"
            wabbit("-d", theirs, "--cache_file", cache, "-k")  # from here on it reads the cache
            cases["nothing"] = lambda: wabbit("-d", os.devnull)
            cases["Vowpal Wabbit, its cache"] = lambda: wabbit("-d", theirs, "--cache_file", cache)
            cases["Vowpal Wabbit, text"] = lambda: wabbit("-d", theirs)
        found = in_turn(cases, options.rounds)
        nothing = found.pop("nothing", 0.0)  # to start a process, of which the times of Vowpal Wabbit are free
        figures |= {name: spent - nothing * name.startswith("Vowpal") for name, spent in found.items()}
    size = store.bytes
    print(f"{options.rows:,} rows, {store.nnz:,} entries, {size / 1e6:.0f} MB of rows")
    for name, seconds in figures.items():
        print(f"{name:26} {seconds:8.3f} s {options.rows / seconds:14,.0f} rows/s {size / seconds / 1e9:7.2f} GB/s")
    report(figures)
    if options.json:
        options.json.write_text(json.dumps(figures))


def report(figures):
    """Print the ratios that are promised."""
    ratio = figures["exact pass, cold"] / figures["plain read, cold"]
    print(f"exact pass / plain read, both from disk: {ratio:.2f} (wanted: 2 at most)")
    if "Vowpal Wabbit, text" in figures:
        ratio = figures["Vowpal Wabbit, its cache"] / figures["one pass of sfw"]
        print(f"Vowpal Wabbit's pass / that of sfw: {ratio:.2f} (wanted: 2 at least)")
        ratio = figures["svmlight text to model"] / figures["Vowpal Wabbit, text"]
        print(f"text to model / Vowpal Wabbit: {ratio:.2f} (wanted: 1.5 at most)")


class Peak(threading.Thread):
    """Looks at the anonymous memory of the process again and again."""

    def __init__(self):
        super().__init__(daemon=True)
        self.bytes, self.stopped = 0, False

    def run(self):
        while not self.stopped:
            with open("/proc/self/status", encoding="ascii") as stream:
                found = [line.split() for line in stream if line.startswith("RssAnon")]
            self.bytes = max(self.bytes, 1024 * int(found[0][1]))
            time.sleep(0.02)


def limited(limit):
    """Limit the memory of this process: by a cgroup where one can be made, else its data; say by which."""
    for folder, file in CGROUPS.items():
        group = Path(folder) / f"frankwolfe-{os.getpid()}"
        try:
            if not (Path(folder) / "cgroup.procs").exists():
                continue
            group.mkdir()
            (group / file).write_text(str(limit))
            (group / "cgroup.procs").write_text(str(os.getpid()))
            return f"cgroup {group}, {limit / 1e9:.2f} GB with the page cache"
        except OSError:
            continue
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    return f"RLIMIT_DATA, {limit / 1e9:.2f} GB of data"


def allowed(store):
    """Return the bytes that a run may take: 1.5 GB, 16 for each row and 64 for each column."""
    n, d = store.shape
    return int(1.5e9) + 16 * n + 64 * d


def inside(options):
    """Make the runs of ``large``, in a process of its own."""
    store = fw.open_rows(options.store, memory=options.memory)
    limit = allowed(store)
    print(f"{store!r}\nlimit: {limited(int(1.2 * limit))}", flush=True)
    peak = Peak()
    peak.start()
    problem = fw.Problem(store, constraint=fw.L1Ball(options.radius))
    for method, how in (("sfw", {"max_passes": 1.0, "tol": 0.0, "batch_size": 10}), ("auto", {"tol": 1e-6})):
        peak.bytes = 0
        start = time.perf_counter()
        result = fw.minimize(problem, method, random_state=0, trace=0, **how)
        seconds = time.perf_counter() - start
        print(
            f"{method}: {result.status}, gap {result.gap / problem.zero_value:.2e} F(0), {result.reads:.2f} reads, "
            f"{result.passes:.1f} passes, {seconds:.1f} s, {result.nonzeros} weights; anonymous memory "
            f"{peak.bytes / 1e9:.3f} GB of {limit / 1e9:.3f} allowed: {'kept' if peak.bytes <= limit else 'BROKEN'}",
            flush=True,
        )


def large(options):
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        path = Path(name) / "rows"
        rows = int(options.gigabytes * 1e9 / (11.75 * PER_ROW))  # some entries of a row coincide
        start = time.perf_counter()
        store = fw.write_rows(path, blocks(rows), progress=sys.stderr.isatty())
        print(f"written in {time.perf_counter() - start:.1f} s: {store.bytes / 1e9:.2f} GB", flush=True)
        command = [sys.executable, __file__, "inside", "--store", path, "--memory", options.memory]
        with subprocess.Popen([*map(str, command), "--radius", str(options.radius)]) as process:
            code = process.wait()
        for folder in CGROUPS:
            with suppress(OSError):
                (Path(folder) / f"frankwolfe-{process.pid}").rmdir()
        if code:
            raise SystemExit(f"the run under the limit ended with {code}")
        compare(Path(name), options)


def compare(folder, options):
    """Solve a slice that fits into memory, from a store and from memory."""
    found = list(blocks(60_000))
    X, y = sparse.csr_array(sparse.vstack([X for X, _ in found])), np.concatenate([y for _, y in found])
    store = fw.write_rows(folder / "slice", X, y, shard="2MB", memory="24MB")
    problems = [fw.Problem(*data, constraint=fw.L1Ball(options.radius)) for data in ((store,), (X, y))]
    results = [fw.minimize(problem, "corrective", tol=1e-9) for problem in problems]
    w = results[1].x
    one, other = (problem.evaluate(w) for problem in problems)
    print(
        f"slice of {len(y):,} rows: evaluated at one point, values differ by {abs(one.value - other.value):.1e}, "
        f"gradients by {np.abs(one.gradient - other.gradient).max():.1e}; optima by "
        f"{abs(results[0].fun - results[1].fun):.1e}, weights by {np.abs(results[0].x - w).max():.1e}"
    )


def groups(options):
    """Print passes until certified, in memory and from groups of a half, a fifth and a twentieth of the rows."""
    found = list(blocks(options.rows))
    X, y = sparse.csr_array(sparse.vstack([X for X, _ in found])), np.concatenate([y for _, y in found])
    with tempfile.TemporaryDirectory() as name:
        size = fw.write_rows(Path(name) / "rows", X, y, shard=12 * X.nnz // 60).bytes
        kept = {"in memory": size, "half": size - 1, "a fifth": size // 5 * 2, "a twentieth": size // 10}
        for method in ("sfw", "stochastic-pairwise", "lu-freund"):
            for where, memory in kept.items():
                store = fw.open_rows(Path(name) / "rows", memory=memory)
                problem = fw.Problem(store, constraint=fw.L1Ball(30.0))
                runs = [
                    fw.minimize(
                        problem, method, batch_size=options.batch, tol=3e-3, max_passes=200, random_state=seed, trace=0
                    )
                    for seed in range(3)
                ]
                told = ", ".join(f"{run.passes:.1f}{'' if run.success else ' (not certified)'}" for run in runs)
                print(f"{method:20} {where:12} passes {told}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    fast = kinds.add_parser("speed")
    fast.add_argument("--rows", type=int, default=300_000)
    fast.add_argument("--rounds", type=int, default=5, help="how often each pass is timed, in turn with the others")
    fast.add_argument("--no-wabbit", dest="wabbit", action="store_false", help="without Vowpal Wabbit")
    fast.add_argument("--json", type=Path, help="write the figures to a file")
    sampled = kinds.add_parser("groups")
    sampled.add_argument("--rows", type=int, default=20_000)
    sampled.add_argument("--batch", type=int, default=10, help="rows in a batch")
    big, own = kinds.add_parser("large"), kinds.add_parser("inside")
    big.add_argument("--gigabytes", type=float, default=6.0)
    own.add_argument("--store", type=Path, required=True)
    for part in (big, own):
        part.add_argument("--memory", default="500MB")
        part.add_argument("--radius", type=float, default=100.0)
    for part in (fast, big):
        part.add_argument("--folder", type=Path, help="where to write; by default where temporary files go")
    options = parser.parse_args()
    {"speed": speed, "large": large, "inside": inside, "groups": groups}[options.kind](options)


if __name__ == "__main__":
    main()
