"""Random problems of several quantiles that may not cross: their optima by a linear program, and a recheck of bands."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

import frankwolfe as fw
from tests.fuzz import data
from tests.fuzz.examine import Outcome

EVERY = 41
"""One case in so many is one of these."""

ACCURACY = 1e-6
"""What the linear program is trusted with, relative to the largest target: its tolerances are absolute."""

TOL = 1e-7


@dataclass
class BandCase:
    """A case of `tests.fuzz`: quantiles of random, often degenerate data, in a set with one linear description."""

    X: Any
    y: np.ndarray
    weights: np.ndarray | None
    offset: np.ndarray | None
    quantiles: np.ndarray
    given: dict
    damage: list[str]
    compiled: bool = False

    @property
    def names(self):
        """What to count the case by."""
        rules = "+".join(sorted(self.given)) or "none"
        return {"loss": "quantile bands", "given": rules, "data": " + ".join(sorted(self.damage)) or "plain"}

    def __str__(self):
        n, d = self.X.shape
        return f"{n} x {d}, quantiles {self.quantiles.tolist()}, {self.given}, {self.names['data']}"

    def examine(self):
        """Return what became of the case."""
        outcome = Outcome(facts=["quantile bands"])
        model = fw.FrankWolfeRegressor("pinball", quantiles=self.quantiles, crossing=False, tol=TOL, **self.given)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", fw.exceptions.ScaleWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(self.X, self.y, self.weights, offset=self.offset)
        outcome.failures += [("bands", sentence) for sentence in self._wrong(model, outcome.facts)]
        return outcome

    def _wrong(self, model, facts):
        """Yield what is wrong with a model."""
        result, scale = model.result_, max(model.result_.zero_value, 1e-300)
        facts += [] if result.success else [f"bands: {result.status}"]
        # rows that weigh 1e-7 of others may make up all of F(0): it is then rounding of the others
        if not result.gap <= 1e-4 * scale + 1e-8 * np.abs(self.y).max():
            yield f"ended {result.status} with a gap of {result.gap / scale:.2g} F(0)"
        z = model.predict(self.X)
        terms = (
            np.abs(self.dense()).astype(np.float64) @ np.abs(model.coef_).max(axis=0) + np.abs(model.intercept_).max()
        )
        crossing = float((-np.diff(z) - 1e-12 * terms[:, None]).max(initial=0.0))
        if crossing > 0.0:
            yield f"quantiles cross by {crossing:.2g}"
        sums = np.abs(model.coef_).sum(axis=1).max()
        if sums > self.given.get("radius", np.inf) * (1.0 + 1e-12):
            yield f"weights sum to {sums!r}"
        off = self.y[:, None] - z - (0.0 if self.offset is None else self.offset[:, None])
        fun = np.average(np.maximum(self.quantiles * off, (self.quantiles - 1.0) * off), 0, self.weights).mean()
        rounding = 1e-13 * (terms + np.abs(self.y)).max()
        if abs(fun - result.fun) > 1e-11 * scale + rounding:
            yield f"fun is {result.fun!r}, recomputed {fun!r}"
        best = self.optimum()
        if best is None:
            facts.append("bands: no optimum by the linear program")
            return
        facts.append("bands: optimum compared")
        for text, excess in (
            ("fun less the gap is above", result.fun - result.gap - best),
            ("the bound is above", result.lower_bound - best),
            ("fun is below", best - result.fun),
        ):
            if excess > ACCURACY * max(scale, np.abs(self.y).max()) + rounding:
                yield f"{text} the optimum {best!r} by {excess / scale:.2g} F(0)"

    def dense(self):
        """Return the data as an array."""
        return self.X.toarray() if sparse.issparse(self.X) else np.asarray(self.X)

    def optimum(self):
        """Return the least objective by HiGHS, None if it does not find it.

        Its tolerances are absolute: weights are in units of the radius, and targets in units of the largest one.
        """
        radius, q = self.given["radius"], len(self.quantiles)
        X = radius * self.dense().astype(np.float64)
        n, d = X.shape
        y = self.y - (0.0 if self.offset is None else self.offset)
        unit = np.abs(y).max() or 1.0
        X, y = X / unit, y / unit
        p = np.full(n, 1.0 / n) if self.weights is None else self.weights / self.weights.sum()
        Z = sparse.csr_array(np.hstack([X, -X, np.ones((n, 1))]))  # weights in two parts, and the intercept
        every, one = sparse.kron(sparse.eye_array(q), Z), sparse.eye_array(n * q)
        equal = sparse.hstack([every, one, -one], format="csr")
        costs = [np.zeros(q * (2 * d + 1)), np.kron(self.quantiles, p), np.kron(1.0 - self.quantiles, p)]
        ahead = sparse.eye_array(q - 1, q) - sparse.eye_array(q - 1, q, k=1)
        budget = np.append(np.ones(2 * d), 0.0)[None, :]
        rows = sparse.vstack([sparse.kron(ahead, Z), sparse.kron(sparse.eye_array(q), budget)])
        rows = sparse.hstack([rows, sparse.csr_array((rows.shape[0], 2 * n * q))], format="csr")
        ends = np.append(np.zeros((q - 1) * n), np.ones(q))
        lower, upper = (None if end is None else end / radius for end in self.given.get("bounds", (None, None)))
        split = [(0.0, upper)] * d + [(0.0, None if lower is None else -lower)] * d + [(None, None)]
        found = linprog(
            np.concatenate(costs) / q,
            rows,
            ends,
            equal,
            np.tile(y, q),
            split * q + [(0.0, None)] * (2 * n * q),
            method="highs",
        )
        return unit * float(found.fun) if found.status == 0 else None


def make(seed, number):
    """Return case ``number`` of a seed."""
    rng = np.random.default_rng([seed, number, 5])
    X, damage = data.table(rng, int(rng.choice([1, 2, 5, 12, 30, 60])), int(rng.integers(1, 9)))
    y, (weights, _) = data.targets(rng, "pinball", X, 0), data.weights(rng, len(X))
    quantiles = np.sort(rng.choice(np.linspace(0.05, 0.95, 19), int(rng.integers(2, 6)), replace=False))
    size = (np.abs(y).max() or 1.0) / (np.abs(X).max() or 1.0)
    given = {"radius": float(size * 10.0 ** rng.uniform(-1.0, 1.5))}
    if rng.random() < 0.4:
        given["bounds"] = (0.0, None) if rng.random() < 0.5 else (-0.3 * given["radius"], 0.2 * given["radius"])
    offset = np.abs(y).max() * rng.normal(size=len(X)) if rng.random() < 0.3 else None
    layout = data.LAYOUTS[str(rng.choice(["dense", "float32", "csr"]))]
    return BandCase(layout(X), y, weights, offset, quantiles, given, damage)
