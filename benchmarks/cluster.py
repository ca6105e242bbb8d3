"""Data on a Dask cluster: time beside one machine and beside peers, bytes that travel, what a call costs.

    pip install dask-ml pyspark        # for the race; pyspark needs Java
    python benchmarks/cluster.py race
    python benchmarks/cluster.py beside --gigabytes 2
    python benchmarks/cluster.py bytes
    python benchmarks/cluster.py calls

``race`` takes the time until the objective is within 1e-4 F(0) of the optimum, on 200,000 x 50 dense rows, for `auto`
on a cluster of two workers, for dask-ml's LogisticRegression on the same cluster and for that of PySpark in local mode.
Peers are handed the penalty that belongs to the radius, and given ever more iterations until they are there: the time
is that of the first number of iterations that is enough. Each runs in a process of its own; of `auto` and PySpark, the
least of `REPEATS` runs counts.

``beside`` fits generated rows of some gigabytes, sparse and dense, in memory and on a cluster of two workers.

``bytes`` prints what each kind of call sends up, from the workers' own counters.

``calls`` prints what a call costs that does nothing, by the number of workers and the size of what is sent.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np

N, D, CHUNK, RADIUS, TARGET = 200_000, 50, 25_000, 5.0, 1e-4
SOLVERS = ("proximal_grad", "admm")
REPEATS = 5


def rows(first, count=CHUNK, d=D):
    """Return some rows and labels: the same whoever asks."""
    rng = np.random.default_rng([7, first])
    X = rng.normal(size=(count, d))
    truth = np.random.default_rng(7).normal(size=d) * (np.arange(d) < 20)
    return X, np.where(X @ truth + rng.logistic(size=count) > 0.0, 1.0, -1.0)


def table():
    """Return all rows in memory."""
    pieces = [rows(first) for first in range(0, N, CHUNK)]
    return np.concatenate([X for X, _ in pieces]), np.concatenate([y for _, y in pieces])


def as_dask(labels=(-1.0, 1.0)):
    """Return all rows as dask arrays, made by the workers."""
    import dask
    import dask.array as da

    made = [dask.delayed(rows, pure=True)(first) for first in range(0, N, CHUNK)]
    X = da.concatenate([da.from_delayed(piece[0], (CHUNK, D), float) for piece in made])
    y = da.concatenate([da.from_delayed(piece[1], (CHUNK,), float) for piece in made])
    return X, da.where(y > 0.0, labels[1], labels[0])


def peak():
    """Return the peak of this process's memory and of its children's, in MB."""
    kinds = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    return [round(resource.getrusage(kind).ru_maxrss / 1024) for kind in kinds]


def worker_memory(client):
    """Return the largest peak of a worker's memory, in MB."""
    return max(client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss).values()) // 1024


def start(workers, threads=1):
    """Return a client of a cluster of so many processes on this machine."""
    from dask.distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=workers, threads_per_worker=threads, dashboard_address=None, memory_limit=0)
    return Client(cluster)


class Goal:
    """The penalised objective, and how far a point is above its optimum, as a part of F(0)."""

    def __init__(self):
        import frankwolfe as fw

        X, y = table()
        self.problem = fw.Problem(X, y, constraint=fw.L1Ball(RADIUS))
        best = fw.minimize(self.problem, tol=1e-11)
        self.penalty = float(np.abs(self.problem.gradient(best.x)).max())
        self.best = best.fun + self.penalty * np.abs(best.x).sum()

    def above(self, w):
        """Return how far a point is above the optimum."""
        value = self.problem.value(w) + self.penalty * np.abs(w).sum()
        return float((value - self.best) / self.problem.zero_value)


def ours(goal):
    """Run `auto` on a cluster."""
    import frankwolfe as fw

    with start(2) as client:
        X, y = as_dask()
        X, y = client.persist([X, y])
        fw.minimize(fw.Problem(X, y, constraint=fw.L1Ball(RADIUS)), tol=TARGET)  # workers compile
        times = []
        for _ in range(REPEATS):
            begun = time.perf_counter()
            problem = fw.Problem(X, y, constraint=fw.L1Ball(RADIUS))
            result = fw.minimize(problem, tol=TARGET)
            times.append(time.perf_counter() - begun)
        calls = problem.objective.shards.cluster.calls
        return {
            "seconds": min(times),
            "median": float(np.median(times)),
            "above": goal.above(result.x),
            "gap": result.gap / problem.zero_value,
            "calls": calls,
            "worker MB": worker_memory(client),
        }


def dask_ml(goal, solver):
    """Run dask-ml with ever more iterations until it is there."""
    from dask_ml.linear_model import LogisticRegression

    with start(2) as client:
        X, y = as_dask((0.0, 1.0))
        X, y = client.persist([X, y])
        iterations, found = 20, {}
        while iterations <= 2000:
            model = LogisticRegression(
                penalty="l1",
                C=1.0 / (goal.penalty * N),
                solver=solver,
                fit_intercept=False,
                max_iter=iterations,
                tol=1e-12,
            )
            begun = time.perf_counter()
            model.fit(X, y)
            found = {"seconds": time.perf_counter() - begun, "above": goal.above(model.coef_), "iterations": iterations}
            if found["above"] <= TARGET or found["seconds"] > 40.0:
                break
            iterations *= 3
        return found | {"worker MB": worker_memory(client)}


def pyspark(goal):
    """Run PySpark in local mode with ever more iterations until it is there."""
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import col

    session = SparkSession.builder.master("local[2]").config("spark.driver.memory", "4g").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    X, y = table()
    folder = Path(os.environ.get("TMPDIR", "/tmp")) / "frankwolfe-race.parquet"
    import pandas as pd

    pd.DataFrame({"features": list(X), "label": (y > 0.0).astype(float)}).to_parquet(folder)
    frame = (
        session.read.parquet(str(folder)).select(array_to_vector(col("features")).alias("features"), "label").cache()
    )
    frame.count()
    iterations, found = 1, {}
    while iterations <= 1000:
        model = LogisticRegression(
            regParam=goal.penalty,
            elasticNetParam=1.0,
            fitIntercept=False,
            standardization=False,
            maxIter=iterations,
            tol=1e-14,
        )
        if iterations == 1:
            model.fit(frame)  # the machine of Java warms up
        begun = time.perf_counter()
        fitted = model.fit(frame)
        times = [time.perf_counter() - begun]
        found = {"above": goal.above(fitted.coefficients.toArray()), "iterations": iterations}
        if found["above"] <= TARGET:
            for _ in range(REPEATS - 1):
                begun = time.perf_counter()
                model.fit(frame)
                times.append(time.perf_counter() - begun)
            found = {"seconds": min(times), "median": float(np.median(times)), **found}
            break
        iterations += 1
    folder.unlink()
    return found | {"MB": peak()}


def race(options):
    """Run all in processes of their own, and print a table."""
    if options.only:
        warnings.simplefilter("ignore")
        goal = Goal()
        name, _, solver = options.only.partition(" ")
        run = {"auto": ours, "dask-ml": dask_ml, "pyspark": pyspark}[name]
        print(json.dumps(run(goal, solver) if solver else run(goal)))
        return
    print(f"{N:,} x {D} dense rows, logistic, l1 radius {RADIUS:g}: time to {TARGET:g} F(0) above the optimum")
    for name in ("auto", *(f"dask-ml {solver}" for solver in SOLVERS), "pyspark"):
        done = subprocess.run(
            [options.python if name != "auto" else sys.executable, __file__, "race", "--only", name],
            capture_output=True,
            text=True,
            check=False,
        )
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        print(f"{name:24}", lines[-1] if lines else f"failed: {done.stderr[-300:]}", flush=True)


# --- beside one machine -----------------------------------------------------------------------------------------------


def sparse_chunk(number, count=100_000, columns=100_000, per_row=80):
    """Return text-like rows: few columns are frequent, and few of these decide the label."""
    from scipy import sparse

    rng = np.random.default_rng([11, number])
    truth = np.zeros(columns)
    active = np.random.default_rng(11)
    truth[active.choice(columns // 10, 200, replace=False)] = 3.0 * active.normal(size=200)
    found = (columns * rng.random((count, per_row)) ** 3).astype(np.int32)
    found.sort(axis=1)
    starts = np.arange(0, count * per_row + 1, per_row, dtype=np.int32)
    X = sparse.csr_matrix((rng.random(count * per_row) / per_row**0.5, found.ravel(), starts), (count, columns))
    X.sum_duplicates()
    return X, np.where(X @ truth + 0.3 * rng.normal(size=count) > 0.0, 1.0, -1.0)


def dense_chunk(number, count=500_000):
    """Return dense rows."""
    return rows(1_000_000 + number, count)


def beside(options):
    """Fit the same rows in memory and on a cluster, and print the times."""
    import dask
    import dask.array as da
    from scipy import sparse

    import frankwolfe as fw

    for name, make, radius, each in (
        ("dense, 50 columns", dense_chunk, 5.0, 0.2),
        ("sparse, 80 of 100,000 a row", sparse_chunk, 100.0, 0.096),
    ):
        count = max(1, round(options.gigabytes / each))
        with start(options.workers) as client:
            made = client.persist([dask.delayed(make)(k) for k in range(count)])
            first = make(0)[0]
            meta = None if isinstance(first, np.ndarray) else sparse.csr_matrix((0, 0))
            X = da.concatenate([da.from_delayed(m[0], first.shape, float, meta=meta) for m in made])
            y = da.concatenate([da.from_delayed(m[1], (first.shape[0],), float) for m in made])
            fw.minimize(fw.Problem(X[: first.shape[0]], y[: first.shape[0]], constraint=fw.L1Ball(radius)), tol=1e-6)
            begun = time.perf_counter()
            problem = fw.Problem(X, y, constraint=fw.L1Ball(radius))
            posed = time.perf_counter() - begun
            result = fw.minimize(problem, tol=1e-6)
            there, calls = time.perf_counter() - begun - posed, problem.objective.shards.cluster.calls
            size, memory = problem.X.bytes, worker_memory(client)
            del problem, X, y, made
        pieces = [make(k) for k in range(count)]
        X = sparse.vstack([piece[0] for piece in pieces], format="csr") if meta is not None else None
        X = np.concatenate([piece[0] for piece in pieces]) if X is None else X
        y = np.concatenate([piece[1] for piece in pieces])
        del pieces
        local = fw.Problem(X, y, constraint=fw.L1Ball(radius))
        fw.minimize(local.head(1000), tol=1e-3)
        begun = time.perf_counter()
        beside = fw.minimize(local, tol=1e-6)
        here = time.perf_counter() - begun
        print(
            f"{name}: {size / 1e9:.2f} GB\n"
            f"  {options.workers} workers {there:.2f} s, {result.passes:.0f} passes, {calls} calls; "
            f"posed in {posed:.2f} s; {memory:,} MB a worker\n"
            f"  in memory {here:.2f} s, {beside.passes:.0f} passes; ratio {there / here:.2f}; objectives differ by "
            f"{abs(result.fun - beside.fun):.1e}",
            flush=True,
        )


# --- what travels -----------------------------------------------------------------------------------------------------


def sent_by_workers(client):
    """Return the bytes that workers have sent so far, by Dask's own count."""
    return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())


def travelled(options):
    """Print what each kind of call sends up in a run."""
    import dask
    import dask.array as da
    from scipy import sparse

    import frankwolfe as fw
    from frankwolfe.cluster import calls

    calls.DIRECT_BYTES = -1  # Dask counts what tasks send, and no other messages
    with start(options.workers) as client:
        made = client.persist([dask.delayed(sparse_chunk)(k, 20_000) for k in range(2 * options.workers)])
        meta = sparse.csr_matrix((0, 0))
        X = da.concatenate([da.from_delayed(m[0], (20_000, 100_000), float, meta=meta) for m in made])
        y = da.concatenate([da.from_delayed(m[1], (20_000,), float) for m in made])
        problem = fw.Problem(X, y, constraint=fw.L1Ball(100.0))
        cluster, kinds = problem.objective.shards.cluster, {}
        plain = cluster._call

        def counted(name, function, args, summed):
            before = sent_by_workers(client)
            found = plain(name, function, args, summed)
            kinds.setdefault(name, []).append(sent_by_workers(client) - before)
            return found

        cluster._call = counted
        result = fw.minimize(problem, tol=1e-6)
        d, active = problem.size, int(np.count_nonzero(result.x))
        print(
            f"{problem}, {options.workers} workers; {active} atoms at the end; a vector of length d is {8 * d:,} bytes"
        )
        for name, sizes in kinds.items():
            most = max(sizes) / options.workers
            print(
                f"  {name:12} {len(sizes):3} calls, at most {most:11,.0f} bytes up per worker: {most / (8 * d):.3f} d"
            )


def calls(options):
    """Print what a call costs that does nothing but answer, directly and by tasks."""
    import dask.array as da

    import frankwolfe as fw
    from frankwolfe.cluster import calls

    ways = {"direct": calls.DIRECT_BYTES, "by tasks": -1}
    for workers in (1, 2, 4, 8):
        with start(workers) as client:
            X = da.ones((workers * 10, 3), chunks=(10, 3))
            y = da.ones(workers * 10, chunks=10)
            problem = fw.Problem(X, y, loss="squared", constraint=fw.L1Ball(1.0))
            cluster = problem.objective.shards.cluster
            for size, (way, limit) in product((1, 10_000, 100_000, 1_000_000), ways.items()):
                calls.DIRECT_BYTES, seconds = limit, []
                for _ in range(20):
                    begun = time.perf_counter()
                    cluster.run(numbers, size)
                    seconds.append(time.perf_counter() - begun)
                spent = 1e3 * np.median(seconds)
                print(f"{workers} workers, {size:9,} numbers up, {way:8}: {spent:7.1f} ms a call", flush=True)
            del client


def numbers(part, size):
    """Return so many numbers."""
    return (np.ones(size),)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["race", "beside", "bytes", "calls"])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--python", default=sys.executable, help="interpreter that has the peers")
    parser.add_argument("--only", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    {"race": race, "beside": beside, "bytes": travelled, "calls": calls}[options.what](options)


if __name__ == "__main__":
    main()
