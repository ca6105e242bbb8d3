"""The tables that benchmarks run on, from the folder named by FRANKWOLFE_DATA."""

import os
from pathlib import Path

import numpy as np
from scipy import sparse


def read(file):
    """Return X and y of a table."""
    folder = os.environ.get("FRANKWOLFE_DATA")
    if folder is None:
        raise SystemExit("set FRANKWOLFE_DATA to the folder that holds the tables")
    stored = np.load(Path(folder) / f"{file}.npz")
    if "X" in stored:
        return stored["X"], stored["y"]
    return sparse.csr_array((stored["data"], stored["indices"], stored["indptr"]), stored["shape"]), stored["y"]
