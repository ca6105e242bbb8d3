"""Runs on real data against optima known to twelve digits, and the comparisons that the paper makes."""

import numpy as np
import pytest

import frankwolfe as fw
from tests import cases

PLANS = {
    "breast_cancer": {"method": "sfw", "max_passes": 20},
    "rcv1_subset": {"method": "sfw", "max_passes": 20},
    "w8a": {"method": "sfw", "max_passes": 20},
    "california_housing": {"method": "fw", "step": "line-search", "max_passes": 200},
}


def _optimum(table, constraint):
    """The known optimum of a table over a set."""
    (known,) = [
        best
        for name, _, allowed, best in cases.REFERENCE_OPTIMA
        if name == table and type(allowed) is type(constraint) and allowed == constraint
    ]
    return known


@pytest.mark.parametrize(
    ("table", "loss", "constraint", "optimum"),
    [
        pytest.param(*row, id=f"{row[0]}-{type(row[2]).__name__}-{max(np.abs(row[2])):g}")
        for row in cases.REFERENCE_OPTIMA
    ],
)
def test_objective_and_gap_enclose_the_optimum(table, loss, constraint, optimum):
    X, y = cases.data(table)
    problem = fw.Problem(X, y, loss, constraint)
    result = fw.minimize(problem, tol=0.0, random_state=0, trace=5, **PLANS[table])
    trace = result.trace
    assert (trace.fun >= optimum - 1e-10).all()
    assert (trace.fun - trace.gap <= optimum + 1e-10).all()
    assert optimum - 1e-10 <= result.fun <= optimum + result.gap + 1e-10
    # the enclosure would hold for a run that goes nowhere: it must also have come much closer
    assert result.fun - optimum < 0.2 * (trace.fun[0] - optimum)


@pytest.mark.parametrize(
    ("table", "radius", "passes", "enough", "factor"),
    [("rcv1_subset", 100.0, 10, 3e-4, 5.0), ("breast_cancer", 5.0, 50, 5e-5, 10.0)],
    ids=["rcv1_subset", "breast_cancer"],
)
def test_sfw_beats_its_rivals(table, radius, passes, enough, factor):
    X, y = cases.data(table)
    constraint = fw.L1Ball(radius)
    problem, optimum = fw.Problem(X, y, "logistic", constraint), _optimum(table, constraint)

    def mean_distance(method):
        found = [
            fw.minimize(problem, method, batch_size=0.01, tol=0.0, max_passes=passes, random_state=seed, trace=0).fun
            for seed in (0, 1, 2)
        ]
        return np.mean(found) - optimum

    ours = mean_distance("sfw")
    assert ours <= enough
    for rival in ("mokhtari", "lu-freund"):
        assert mean_distance(rival) >= factor * ours, rival
