"""What happens to a cluster while a run goes on: a table of faults. To add one, say what is done to a stage."""

import os
import random
import signal
import time
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster
from scipy import sparse

import frankwolfe as fw
from tests.soak.proxy import Proxy

WORKERS = 2

FROZEN = 10.0
"""Seconds that a worker does nothing."""

ROWS, CHUNKS, COLUMNS = 2000, 5, 12


def load(folder, name, k):
    """Read a chunk; at times that fails, where a file says so."""
    shaky = Path(folder) / "shaky"
    if shaky.exists() and random.random() < float(shaky.read_text() or 0):
        raise OSError("the disk had a bad moment")
    found = np.load(Path(folder) / f"{name}{k}.npy")
    return sparse.csr_array(found) if name == "S" else found


class Stage:
    """A cluster with chunks in files, a client whose connection can be cut, and what can be done to them.

    Parameters
    ----------
    folder : Path
        Where the chunks are.
    """

    def __init__(self, folder):
        self.folder = folder
        rng = np.random.default_rng(0)
        X = rng.normal(size=(ROWS, COLUMNS)) + 1.0
        S = X * (rng.random(X.shape) < 0.3)
        y = np.sign(X @ rng.normal(size=COLUMNS) + rng.normal(size=ROWS))
        self.whole = {"X": X, "S": S, "y": y}
        self._write()
        # else a cluster gives up workers that are being started when it looks for those killed before
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"})
        self.cluster = LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, dashboard_address="127.0.0.1:0", memory_limit=0
        )
        self.proxy = Proxy(self.cluster.scheduler_address)
        self.client = Client(self.proxy.address)

    def close(self):
        self.client.close()
        self.proxy.close()
        self.cluster.close()

    def _write(self):
        for name, array in self.whole.items():
            for k, piece in enumerate(np.array_split(array, CHUNKS)):
                np.save(self.folder / f"{name}{k}.npy", piece)

    def heal(self):
        """Put everything right again."""
        (self.folder / "shaky").unlink(missing_ok=True)
        self._write()
        self.proxy.restore()
        if self.client.status in ("closed", "closing"):
            self.client = Client(self.proxy.address)
        self.cluster.scale(WORKERS)
        self.client.wait_for_workers(WORKERS, timeout=60)

    def collection(self, name):
        """Return a table as a dask array whose chunks are read by the workers."""
        array, sizes = self.whole[name], [len(piece) for piece in np.array_split(self.whole[name], CHUNKS)]
        pieces = [
            da.from_delayed(dask.delayed(load)(str(self.folder), name, k), (size, *array.shape[1:]), array.dtype)
            for k, size in enumerate(sizes)
        ]
        return da.concatenate(pieces)

    # --- what is done to it -------------------------------------------------------------------------------------

    def pids(self):
        """Return the processes of all workers."""
        return [nanny.pid for nanny in [*self.cluster.workers.values()] if nanny.pid]

    def kill_one(self, rng):
        """End a worker without a word; its nanny starts another, at another address."""
        os.kill(rng.choice(self.pids()), signal.SIGKILL)

    def kill_all(self, rng):
        for pid in self.pids():
            os.kill(pid, signal.SIGKILL)

    def freeze(self, rng):
        pid = rng.choice(self.pids())
        os.kill(pid, signal.SIGSTOP)
        try:
            time.sleep(FROZEN)
        finally:
            os.kill(pid, signal.SIGCONT)

    def cut(self, rng):
        """Break the connection of the client, for a moment or longer."""
        self.proxy.cut()
        time.sleep(rng.choice([0.0, 0.1, 1.0, 3.0]))
        self.proxy.restore()

    def break_chunk(self, rng):
        """Let chunks fail to load, now and then or for good; and have them loaded again."""
        if rng.random() < 0.5:
            (self.folder / "shaky").write_text(str(rng.choice([0.2, 0.5])))
        else:
            (self.folder / f"{rng.choice(['y', 'X', 'S'])}{rng.randrange(CHUNKS)}.npy").unlink(missing_ok=True)
        self.kill_one(rng)

    def come_and_go(self, rng):
        """Let workers come and go, as on a cluster that adapts."""
        for number in rng.choice([(3, 1), (1, 2), (4, 2), (1, 3, 1)]):
            self.cluster.scale(number)
            time.sleep(rng.uniform(0.0, 1.0))


FAULTS = {
    "a worker killed": Stage.kill_one,
    "all workers killed": Stage.kill_all,
    "a worker frozen": Stage.freeze,
    "the connection cut": Stage.cut,
    "a chunk lost": Stage.break_chunk,
    "workers come and go": Stage.come_and_go,
}
"""By name."""

PROBLEMS = {
    "l1": ("X", fw.L1Ball(2.0), True),
    "l1-csr": ("S", fw.L1Ball(2.0), False),
    "l2": ("X", fw.L2Ball(0.7), True),
    "hull": ("X", fw.ConvexHull(np.random.default_rng(1).normal(size=(20, COLUMNS))), True),
}
"""By name: the table, the set, and whether there is an intercept."""


def problem_of(stage, kind, local=False):
    """Return a problem, on the cluster unless it is to be in memory."""
    name, constraint, intercept = PROBLEMS[kind]
    if local:
        X = sparse.csr_array(stage.whole[name]) if name == "S" else stage.whole[name]
        return fw.Problem(X, stage.whole["y"], "logistic", constraint, intercept=intercept)
    return fw.Problem(stage.collection(name), stage.collection("y"), "logistic", constraint, intercept=intercept)
