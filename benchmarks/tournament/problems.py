"""The tournament's problems by name: the paper's, a survey's, further ones, the kappa family and non-convex losses."""

import os
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import ndtri
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import lasso_path
from sklearn.preprocessing import scale

import frankwolfe as fw
from frankwolfe.datasets import load


class Case(NamedTuple):
    """A problem with the title and the group that the report shows it under.

    Groups are ``"real"``, ``"kappa"`` and ``"non-convex"``. All members of the kappa family together have the weight of
    one problem in rankings and profiles.
    """

    title: str
    group: str
    problem: fw.Problem


def make(name: str, source: str = "auto") -> Case:
    """Return a problem of the tournament; `source` is passed to `frankwolfe.datasets.load`."""
    return PROBLEMS[name](source)


def select(patterns: list[str]) -> list[str]:
    """Return the problems that match any of the names or patterns, such as ``"kappa-*"``."""
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in PROBLEMS):
            raise SystemExit(f"no problem matches {pattern!r}; choose from {', '.join(PROBLEMS)}")
    return [name for name in PROBLEMS if any(fnmatchcase(name, pattern) for pattern in patterns)]


# --- Real data ------------------------------------------------------------------------------------------------


def _paper(key: str, radius_factor: float = 1.0) -> Callable[[str], Case]:
    def build(source: str) -> Case:
        table = load(key, source)
        words = "" if radius_factor == 1.0 else f", {radius_factor:g} times the radius"
        return Case(table.label + words, "real", table.problem().over(fw.L1Ball(radius_factor * table.radius)))

    return build


def _survey(words: str, constraint: fw.L1Ball | fw.Simplex) -> Callable[[str], Case]:
    """Return the data that the book Conditional Gradient Methods (Braun et al.) compares stochastic methods on."""

    def build(source: str) -> Case:
        X, y = load_breast_cancer(return_X_y=True)
        problem = fw.Problem(scale(X), np.where(y == 0, 1.0, -1.0), "logistic", constraint)
        return Case(f"Breast cancer, diagnostic, standardised, {words}", "real", problem)

    return build


def _housing(words: str, constraint: fw.L1Ball | fw.L2Ball) -> Callable[[str], Case]:
    def build(source: str) -> Case:
        table = load("california-housing", source)
        problem = fw.Problem(scale(np.asarray(table.X)), table.y - table.y.mean(), "squared", constraint)
        return Case(f"{table.label}, standardised, {words}", "real", problem)

    return build


def _w8a(source: str) -> Case:
    with np.load(Path(os.environ.get("FRANKWOLFE_DATA", ".")) / "w8a.npz") as stored:
        parts = stored["data"], stored["indices"], stored["indptr"]
        X, y = sparse.csr_array(parts, shape=tuple(stored["shape"])), stored["y"]
    return Case("w8a (folder)", "real", fw.Problem(X, y, "logistic", fw.L1Ball(50.0)))


def _nonconvex(key: str) -> Callable[[str], Case]:
    """Return a classification problem with the sigmoid loss, or a regression with outliers and the Cauchy loss."""

    def build(source: str) -> Case:
        table = load(key, source)
        if table.loss == "logistic":
            return Case(f"{table.label}, sigmoid loss", "non-convex", table.problem(fw.losses.Sigmoid()))
        rng, y = np.random.default_rng(0), table.y.copy()
        outliers = rng.choice(len(y), size=len(y) // 20, replace=False)
        y[outliers] += rng.choice([-1.0, 1.0], size=outliers.size) * rng.uniform(20.0, 60.0, size=outliers.size)
        problem = fw.Problem(table.X, y, fw.losses.Cauchy(1.0), fw.L1Ball(table.radius))
        return Case(f"{table.label}, 5% outliers, Cauchy loss", "non-convex", problem)

    return build


# --- The kappa family -----------------------------------------------------------------------------------------

# Every column holds the same magnitudes, in its own order and with its own signs. So all columns have the same 2-norm,
# and kappa = D_1 / D_inf is the sum of the magnitudes over the largest one, for any radius. The magnitudes are
# quantiles of a distribution with one tail parameter, found by bisection from the wanted kappa / n.

TAILS: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {
    "power": lambda u, tail: (u / u[-1]) ** tail,
    "lognormal": lambda u, tail: np.exp(tail * (ndtri(u) - ndtri(u[-1]))),
}
LEVELS = 7


def kappa_problem(kind: str, share: float, n: int = 1000, d: int = 40, seed: int = 0) -> fw.Problem:
    """Return a least-squares problem whose ``kappa / n`` is `share`.

    The radius gives the l1 ball the same multiplier in every member: a fifth of the largest lasso penalty.

    Examples
    --------
    >>> round(kappa_problem("power", 0.1, n=200, d=5).kappa() / 200, 6)
    0.1
    """
    rng = np.random.default_rng(seed)
    quantiles, low, high = (np.arange(n) + 0.5) / n, 1e-9, 1e9
    for _ in range(200 if share < 1.0 else 0):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if TAILS[kind](quantiles, middle).mean() > share else (low, middle)
    magnitudes = TAILS[kind](quantiles, high if share < 1.0 else 0.0)
    magnitudes *= np.sqrt(n / np.sum(magnitudes**2))
    X = np.empty((n, d))
    for j in range(d):
        order = rng.permutation(n)
        # The largest entry of column j is in row j: two columns must not coincide when one entry dominates.
        largest = np.flatnonzero(order == n - 1)[0]
        order[[largest, j]] = order[[j, largest]]
        X[:, j] = magnitudes[order] * rng.choice([-1.0, 1.0], size=n)
    weights = np.zeros(d)
    weights[: d // 4] = rng.choice([-1.0, 1.0], size=d // 4) * rng.uniform(0.5, 1.5, size=d // 4)
    y = X @ weights / np.linalg.norm(weights) + 0.5 * rng.normal(size=n)
    penalty = 0.2 * np.abs(X.T @ y).max() / n
    _, coefs, _ = lasso_path(X, y, alphas=[penalty], tol=1e-10, max_iter=100_000)
    return fw.Problem(X, y, "squared", fw.L1Ball(float(np.abs(coefs).sum())))


def _family(kind: str, level: int) -> Callable[[str], Case]:
    def build(source: str) -> Case:
        share = float(np.geomspace(1.5 / 1000, 1.0, LEVELS)[level])
        return Case(f"Generated, {kind} tails, kappa / n = {share:.2g}", "kappa", kappa_problem(kind, share))

    return build


PROBLEMS: dict[str, Callable[[str], Case]] = {
    "breast-cancer": _paper("breast-cancer"),
    "rcv1": _paper("rcv1"),
    "california-housing": _paper("california-housing"),
    "survey-l1": _survey("l1 ball", fw.L1Ball(5.0)),
    "survey-simplex": _survey("simplex", fw.Simplex(1.0)),
    "w8a": _w8a,
    "rcv1-large": _paper("rcv1", radius_factor=10.0),
    "housing-standardised": _housing("l1 ball", fw.L1Ball(1.0)),
    "housing-l2": _housing("l2 ball", fw.L2Ball(0.5)),
    **{f"kappa-{kind}-{level + 1}": _family(kind, level) for kind in TAILS for level in range(LEVELS)},
    "breast-cancer-sigmoid": _nonconvex("breast-cancer"),
    "rcv1-sigmoid": _nonconvex("rcv1"),
    "housing-cauchy": _nonconvex("california-housing"),
}
"""A function of the data source for each problem. Add your own here."""

QUICK = ["breast-cancer", "survey-*", "housing-standardised", "kappa-power-*", "breast-cancer-sigmoid"]
"""Small problems, for a tournament of a few minutes."""
