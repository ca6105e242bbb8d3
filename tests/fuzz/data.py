"""Random data, much of it degenerate, and the layouts that it can be passed in."""

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

from frankwolfe.losses import LOSSES as NAMED_LOSSES
from tests.reference.losses import FORMULAS

LOSSES = {name: next(loss for loss in FORMULAS if type(loss) is kind) for name, kind in NAMED_LOSSES.items()}


def some(rng, name, vary):
    """Return a loss of that name, perhaps with other parameters than the usual ones, tiny ones among them."""
    loss = LOSSES[name]
    if vary and name == "huber" and rng.random() < 0.5:
        return loss._replace(delta=float(10.0 ** rng.uniform(-12.0, 2.0)))
    if vary and name == "pinball" and rng.random() < 0.5:
        return loss._replace(quantile=float(rng.choice([1e-15, 1e-9, 0.01, 0.5, 0.9, 1.0 - 1e-9])))
    return loss


LAYOUTS = {
    "dense": np.ascontiguousarray,
    "fortran": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "csr": sparse.csr_array,
    "csr32": lambda X: sparse.csr_array(X.astype(np.float32)),
    "csc": sparse.csc_array,
    "pandas": pd.DataFrame,
    "polars": lambda X: pl.DataFrame(X, schema=[f"x{j}" for j in range(X.shape[1])]),
    "integers": lambda X: np.round(X).astype(np.int64),
}


def _zero_columns(rng, X):
    X[:, rng.random(X.shape[1]) < 0.4] = 0.0


def _zero_rows(rng, X):
    X[rng.random(len(X)) < 0.4] = 0.0


def _same_rows(rng, X):
    X[:] = X[rng.integers(0, len(X), len(X))]


def _same_columns(rng, X):
    X[:] = X[:, rng.integers(0, X.shape[1], X.shape[1])]


def _constant_columns(rng, X):
    X[:, rng.random(X.shape[1]) < 0.4] = rng.normal()


def _scaled_columns(rng, X):
    X *= 10.0 ** rng.uniform(-6.0, 6.0, X.shape[1])


def _scaled_columns_a_little(rng, X):
    X *= 10.0 ** rng.uniform(-3.0, 3.0, X.shape[1])


def _scaled_rows(rng, X):
    X *= 10.0 ** rng.uniform(-3.0, 3.0, (len(X), 1))


def _shifted(rng, X):
    X += rng.choice([1.0, 100.0, 1e4])


def _sparse(rng, X):
    X[rng.random(X.shape) < 0.7] = 0.0


def _whole_numbers(rng, X):
    X[:] = np.round(3.0 * X)


def _low_rank(rng, X):
    X[:] = rng.normal(size=(len(X), 1)) @ rng.normal(size=(1, X.shape[1]))


def _nothing(rng, X):
    X[:] = 0.0


DAMAGE = {
    "zero columns": _zero_columns,
    "zero rows": _zero_rows,
    "same rows": _same_rows,
    "same columns": _same_columns,
    "constant columns": _constant_columns,
    "columns scaled 1e-6..1e6": _scaled_columns,
    "columns scaled 1e-3..1e3": _scaled_columns_a_little,
    "rows scaled": _scaled_rows,
    "shifted": _shifted,
    "sparse": _sparse,
    "whole numbers": _whole_numbers,
    "rank one": _low_rank,
    "all zero": _nothing,
}


def table(rng, n, d):
    """Return a random matrix and the names of what was done to it."""
    X = rng.normal(size=(n, d))
    chances = np.array([0.2 if name == "all zero" else 1.0 for name in DAMAGE])
    count = int(rng.choice([0, 1, 2], p=[0.3, 0.5, 0.2]))
    done = [str(name) for name in rng.choice(list(DAMAGE), count, replace=False, p=chances / chances.sum())]
    for name in done:
        DAMAGE[name](rng, X)
    return X, done


def targets(rng, loss, X, outputs):
    """Return targets that a loss takes; with some chance all equal, or without any noise."""
    scale = np.abs(X).max() or 1.0
    signal = (X / scale) @ rng.normal(size=(X.shape[1], max(outputs, 1)))
    signal += rng.choice([0.0, 0.1, 1.0]) * rng.normal(size=signal.shape)
    if rng.random() < 0.08:
        signal[:] = signal[0]
    if loss == "multinomial":
        return np.argmax(signal, axis=1)
    if loss == "multitask-squared":
        return float(10.0 ** rng.uniform(-3.0, 3.0)) * signal
    if LOSSES[loss].log_link:
        means = np.exp(np.clip(signal[:, 0], -2.0, 2.0))
        return means if LOSSES[loss].targets == "positive" else np.floor(means)
    if LOSSES[loss].targets == "labels":
        return np.where(signal[:, 0] > 0.0, 1.0, -1.0)
    return signal[:, 0] * float(10.0 ** rng.choice([0.0, 0.0, 0.0, -3.0, 3.0]))


def weights(rng, n):
    """Return sample weights, or None for equal ones, and what they are called."""
    kind = rng.random()
    if kind < 0.6:
        return None, "none"
    if kind < 0.75:
        return rng.random(n) + 0.1, "even"
    if kind < 0.9:
        found = rng.random(n) * (rng.random(n) < 0.5)
        found[rng.integers(n)] = 1.0
        return found, "with zeros"
    return 10.0 ** rng.uniform(-6.0, 6.0, n), "1e-6..1e6"
