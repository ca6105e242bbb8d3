"""Clusters: Parquet files on Dask workers
=======================================

The rows stay on the workers, and the answer is certified as always.

A data set of several files is written, and a scheduler and two workers are started: here as processes of this machine,
elsewhere by the same commands on several machines that share a file system,

    dask scheduler                          # on one machine; prints its address
    dask worker tcp://10.0.0.1:8786         # on each of the others

and then ``Client("tcp://10.0.0.1:8786")``. All else stays as it is.
"""

import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path

import dask.dataframe as dd
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from dask.distributed import Client
from gallery import BLUE, GREY, ORANGE, arguments, save

import frankwolfe as fw

EFFECTS = {"age": 0.8, "dose": -1.2, "pressure": 0.5, "weight": 0.3} | {f"noise_{k}": 0.0 for k in range(8)}


def write_patients(folder, files, rows):
    """Write Parquet files: columns of numbers, and whether a patient came back."""
    rng = np.random.default_rng(0)
    for number in range(files):
        X = rng.normal(size=(rows, len(EFFECTS)))
        table = pd.DataFrame(X, columns=list(EFFECTS))
        table["came_back"] = np.where(X @ list(EFFECTS.values()) - 0.5 + rng.logistic(size=rows) > 0.0, "yes", "no")
        table.to_parquet(folder / f"part-{number:02d}.parquet")


@contextmanager
def cluster(folder, workers=2):
    """Have a client of a scheduler and some workers, each a process, while the block runs."""
    address = ["--scheduler-file", str(folder / "scheduler.json")]
    commands = [["scheduler", "--port", "0", "--dashboard-address", ":0", *address]]
    commands += [["worker", "--nthreads", "1", "--dashboard-address", ":0", *address] for _ in range(workers)]
    with ExitStack() as stack:
        for command in commands:
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            process = subprocess.Popen([sys.executable, "-m", "dask", *command], **quiet)
            stack.callback(process.wait)
            stack.callback(process.terminate)
        with Client(scheduler_file=str(folder / "scheduler.json"), timeout=60) as client:
            client.wait_for_workers(workers, timeout=60)
            yield client


def main():
    given = arguments(__doc__, "parquet_cluster.png")
    files, rows = (4, 500) if given.small else (8, 25_000)
    with tempfile.TemporaryDirectory() as name, cluster(Path(name)) as client:
        (folder := Path(name) / "patients").mkdir()
        write_patients(folder, files, rows)
        table = dd.read_parquet(folder)  # nothing is read yet
        X, y = table[list(EFFECTS)], table["came_back"]
        model = fw.FrankWolfeClassifier(radius=3.0, tol=1e-6).fit(X, y)
        print(f"{files} files, {files * rows:,} rows on {len(client.nthreads())} workers")
        print(f"certified: the objective is at most {model.gap_:.1e} above the best one in the set")
        likely = model.predict_proba(X)[:, 1]  # a dask array: nothing is predicted yet
        share = likely.mean().compute()
        print(f"accuracy {model.score(X, y):.3f}; predicted to come back: {share:.1%} of all patients")
        predicted = likely.compute()
        came = (y == "yes").compute().to_numpy()

    bins = np.minimum((10 * predicted).astype(int), 9)
    filled = np.unique(bins)
    observed = [came[bins == k].mean() for k in filled]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    left.barh(list(EFFECTS)[::-1], list(EFFECTS.values())[::-1], color=GREY, label="true effect")
    left.plot(model.coef_[0][::-1], np.arange(len(EFFECTS)), "o", color=BLUE, label="weight, l1 radius 3")
    left.legend(frameon=False)
    right.plot([0, 1], [0, 1], color=GREY, ls="--")
    right.plot([predicted[bins == k].mean() for k in filled], observed, "o-", color=ORANGE)
    right.set(xlabel="predicted probability", ylabel="part that came back", title="predicted by the workers")
    save(figure, given.out)


if __name__ == "__main__":
    main()
