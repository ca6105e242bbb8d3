"""Tables from the folder that FRANKWOLFE_DATA names, with the optima that are known for them."""

import os
from pathlib import Path

import numpy as np
from scipy import sparse

# Optimum, the exact gap of the point it was taken from, and the largest entry of the gradient there: the penalty whose
# minimiser is the same point. All are facts of the files, found at leisure with coordinate descent on the penalty.
REFERENCES = {
    ("breast_cancer.npz", 5.0): (0.1390387182119516, 1.8e-14, 0.02176315490986839),
    ("rcv1_subset.npz", 100.0): (0.4648347512304061, 6.8e-13, 0.00121090034177877),
    ("rcv1_subset.npz", 1000.0): (0.15756041124109282, 3.6e-11, 0.00010131158931903971),
    ("rcv1_subset.npz", 5000.0): (0.04449184783061195, 3.0e-10, 1.0425917526933802e-05),
    ("w8a.npz", 50.0): (0.17725004330121535, 1.4e-12, 0.0009233680334197246),
    ("california_housing.npz", 0.1): (0.5470496541739721, 9.9e-14, 1.2662240048565783),
}


def from_folder(file, title, loss, radius):
    """Return the data for `Objective.set_data`; where the file is absent, the reason and no data."""
    folder = os.environ.get("FRANKWOLFE_DATA")
    reference = REFERENCES[file, radius]
    facts = {
        "loss": loss,
        "radius": radius,
        "reference": dict(zip(("value", "gap", "penalty"), reference, strict=True)),
    }
    if not folder:
        return {**facts, "X": None, "y": None, "absent": f"set FRANKWOLFE_DATA to a folder with {file} ({title})"}
    path = Path(folder) / file
    if not path.exists():
        return {**facts, "X": None, "y": None, "absent": f"the folder in FRANKWOLFE_DATA has no {file} ({title})"}
    with np.load(path) as stored:
        return {**facts, "X": assemble(stored), "y": stored["y"].astype(np.float64)}


def assemble(stored):
    """Return the dense or CSR matrix of a file."""
    if "X" in stored:
        return np.ascontiguousarray(stored["X"], dtype=np.float64)
    # the matrix class and 32-bit indices, because some of the peers take nothing else
    parts = (stored["data"].astype(np.float64), stored["indices"].astype(np.int32), stored["indptr"].astype(np.int32))
    return sparse.csr_matrix(parts, shape=tuple(stored["shape"]))
