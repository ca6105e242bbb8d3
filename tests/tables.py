"""Small data files in every format, for the tests of what reads them."""

import bz2
import gzip

import numpy as np
import polars as pl

CLASSES = ("benign", "malignant", "unknown")


def numbers(n=60, d=4, seed=0):
    """Return rows and a signal that depends on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(3)
    return X, (X @ np.array([2.0, -1.0, 0.0, 0.5]) + 0.1 * rng.normal(size=n)).round(3)


def labels(signal, classes=2):
    """Return words that follow from the signal."""
    cuts = np.quantile(signal, np.linspace(0.0, 1.0, classes + 1)[1:-1])
    return np.array(CLASSES)[np.digitize(signal, cuts)]


def frame(X, **columns):
    """Return a data frame with columns x0, x1, ... and the given ones."""
    return pl.DataFrame({f"x{j}": X[:, j] for j in range(X.shape[1])} | columns)


def svmlight(X, y, first=1):
    """Return rows in the format of SVMlight, zeros left out."""
    lines = []
    for row, target in zip(X, y, strict=True):
        pairs = [f"{j + first}:{value!r}" for j, value in enumerate(row.tolist()) if value]
        lines.append(" ".join([f"{target:g}", *pairs]))
    return "\n".join(lines) + "\n"


def write(path, text):
    """Write text or a frame, compressed as the name says, and return the path."""
    content = text if isinstance(text, bytes) else None
    if isinstance(text, pl.DataFrame) and ".parquet" in path.name:
        text.write_parquet(path)
        return path
    if content is None:
        content = (text.write_csv() if isinstance(text, pl.DataFrame) else text).encode()
    packed = {".gz": gzip.compress, ".bz2": bz2.compress}.get(path.suffix, bytes)(content)
    path.write_bytes(packed)
    return path
