"""Awkward data and every method: a run ends certified, or says truly how far it came. It never loops and never boasts.

What a run says of itself is checked against a gap worked out here, in NumPy, from the definition.
"""

from functools import cache

import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.running.certifier import Certifier, PointCertificate
from tests import cases

TOL, PASSES = 1e-6, 150.0

ACTIVE = ("away", "pairwise", "blended-pairwise", "stochastic-pairwise", "stochastic-away")
EXACT = ("corrective", "auto")


def _noisy(X, seed):
    """Labels that follow a linear model, but not all of them."""
    rng = np.random.default_rng(seed)
    scale = np.where(X.any(axis=0), np.abs(X).max(axis=0), 1.0)
    signal = (X / scale) @ rng.normal(size=X.shape[1])
    return np.where(signal + 0.5 * signal.std() * rng.normal(size=len(X)) > 0.0, 1.0, -1.0)


def _plain(n=60, d=7, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d))
    return X, _noisy(X, seed + 1)


def _scaled():
    X = _plain()[0] * np.logspace(-6.0, 6.0, 7)
    return X, _noisy(X, 1)


def _duplicated():
    X = _plain()[0][:, [0, 1, 1, 2, 3, 3, 3]]
    return X, _noisy(X, 1)


def _empty():
    X = _plain()[0] * np.array([0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0])
    return X, _noisy(X, 1)


def _separable():
    X = _plain()[0]
    return X, np.where(X @ np.arange(1.0, 8.0) > 0.0, 1.0, -1.0)


SCALED = "columns scaled by 1e-6 to 1e6"
DATA = {
    SCALED: (_scaled, 1.0),
    "duplicated columns": (_duplicated, 1.0),
    "all-zero columns": (_empty, 1.0),
    "separable": (_separable, 1.0),
    "separable, slack": (_separable, 1e3),
    "n < d": (lambda: _plain(20, 200), 1.0),
    "n >> d": (lambda: _plain(5000, 3), 1.0),
    "slack": (_plain, 1e3),
}
"""Name; how to make X and y, and by how much to stretch the set."""


def box(stretch):
    return fw.Box(-0.4 * stretch, 0.6 * stretch)


SETS = {"L1Ball": fw.L1Ball, "Simplex": fw.Simplex, "NonNegativeL1Ball": fw.NonNegativeL1Ball, "L2Ball": fw.L2Ball}
SETS["Box"] = box

SUPPORT = {
    "L1Ball": lambda ball, g: ball.radius * np.abs(g).max(),
    "Simplex": lambda simplex, g: simplex.radius * g.max(),
    "NonNegativeL1Ball": lambda ball, g: ball.radius * max(0.0, g.max()),
    "L2Ball": lambda ball, g: ball.radius * np.linalg.norm(g),
    "Box": lambda box, g: np.sum(np.maximum(g * box.lower, g * box.upper)),
}
"""Largest ``<g, s>`` over each set."""

# a method has code of its own for coordinates, stored atoms and boxes: all meet the l1 ball, and the other sets are
# shared out, since each pair takes seconds to compile (tests/methods/test_active_sets.py meets them all); "auto" is
# "corrective" here
SHARED_OUT = {
    "Simplex": ("pairwise", "stochastic-away", "corrective"),
    "NonNegativeL1Ball": ("away", "auto"),
    "L2Ball": ("pairwise", "stochastic-pairwise", "corrective"),
    "Box": ("pairwise", "stochastic-away", "corrective"),
}
OWN = [(method, name) for method in (*ACTIVE, *EXACT) for name in SETS if method in SHARED_OUT.get(name, (method,))]
# the methods that only go toward a vertex have no code of their own for a set: two of them meet dense vertices too
TOWARD = [(method.name, "L1Ball") for method in cases.TOWARD if method.name in fw.methods.METHODS]
TOWARD += [("fw", "L2Ball"), ("sfw", "L2Ball")]
TOWARD += [(method, "L1Ball") for method in ("storc", "goldfarb-away", "goldfarb-pairwise")]
RUNS = [*OWN, *TOWARD]


def test_no_method_is_left_out():
    assert {method for method, _ in RUNS} == set(fw.methods.METHODS)


def exact_gap(X, y, constraint, w):
    """Gap of the logistic loss at ``w``, and an allowance for rounding: predictions are sums of terms that cancel."""
    slopes = -y * np.exp(-np.logaddexp(0.0, y * (X @ w))) / len(y)
    kind = type(constraint).__name__
    extent = max(np.abs(constraint.lower).max(), constraint.upper.max()) if kind == "Box" else constraint.radius
    terms = np.abs(X) @ np.abs(w), np.abs(X).sum(axis=1) * extent
    rounding = 1e-15 * (1.0 + terms[1].mean() + np.mean(terms[0] * terms[1]))
    return slopes @ (X @ w) + SUPPORT[kind](constraint, -(slopes @ X)), rounding


def must_converge(method, name, data):
    """Whether a certificate is to be expected, and not just an honest account."""
    if method in EXACT:
        return data != SCALED or name not in ("L2Ball", "Box")
    return method in ACTIVE and data in ("duplicated columns", "all-zero columns", "separable", "n >> d")


@cache
def least_known(name, data):
    """Least objective that a run over a set has found."""
    make, stretch = DATA[data]
    return fw.minimize(fw.Problem(*make(), "logistic", SETS[name](stretch)), "corrective", tol=1e-9, max_passes=1e3).fun


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize(("method", "name"), RUNS)
def test_ends_certified_or_honest(method, name, data):
    make, stretch = DATA[data]
    X, y = make()
    problem = fw.Problem(X, y, "logistic", SETS[name](stretch))
    result = fw.minimize(problem, method, tol=TOL, max_passes=PASSES, random_state=0, trace=0)
    gap, rounding = exact_gap(X, y, problem.constraint, result.x)
    tolerance = TOL * np.log(2.0)
    assert problem.constraint.contains(result.x)
    assert result.passes <= 2.0 * PASSES  # a corrective round ends what it has begun
    assert np.isnan(result.fw_gap) or result.fw_gap == pytest.approx(gap, rel=1e-6, abs=rounding)
    assert not result.gap > result.fw_gap
    # a bound from the dual is above no point that was reached
    assert result.lower_bound <= least_known(name, data) + rounding
    assert result.status in (fw.Status.CONVERGED, fw.Status.MAX_PASSES, fw.Status.STALLED)
    if result.success:
        assert result.gap <= tolerance + rounding
    else:
        assert gap > tolerance - rounding
        assert f" is {result.gap:.3g}, the tolerance" in result.message
    assert result.success or not must_converge(method, name, data)


def test_the_point_whose_gap_ends_the_run_is_the_one_returned(monkeypatch):
    # near the optimum objectives are equal up to rounding, and an earlier point may have the lower one
    found = [PointCertificate(0.5, 0.3, 0.3), PointCertificate(0.5 + 1e-16, 1e-9, 1e-9)]
    monkeypatch.setattr(Certifier, "_checked", lambda self, w, known, at_end: (found.pop(0), w, 1.0))
    result = fw.minimize(cases.problem(), "sfw", tol=1e-6, max_passes=1000, trace=0)
    assert found == []
    assert result.success
    assert result.gap == 1e-9
