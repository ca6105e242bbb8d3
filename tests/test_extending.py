"""Parts of one's own: used through the public face, they run interpreted and compiled with the same result."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import linprog

import frankwolfe as fw
from frankwolfe.sets import outside
from frankwolfe.sets.base import vertex_of
from tests import cases
from tests.own_parts import CappedSimplex, ConstantThenDecay, LogCosh, SmoothedTable, SpanningTrees, WeightedL1Ball

D = 8
PRICE = np.linspace(0.5, 2.0, D)


def problem(loss="squared", constraint=None, **options):
    """Small problem with real targets."""
    X, y = cases.table(fw.Squared(), n=30, d=D)
    return fw.Problem(X, y, loss, fw.L1Ball(1.5) if constraint is None else constraint, **options)


def both_modes(task, method, **options):
    """Result of a run, after a check that the compiled and the interpreted one agree."""
    compiled = fw.minimize(task, method, random_state=0, **options)
    with fw.python_mode():
        python = fw.minimize(task, method, random_state=0, **options)
    assert (compiled.nit, compiled.status) == (python.nit, python.status)
    np.testing.assert_allclose(compiled.x, python.x, rtol=0.0, atol=1e-12)
    assert compiled.fun == pytest.approx(python.fun, rel=1e-12)
    return compiled


# --- a loss -----------------------------------------------------------------------------------------------------


def test_own_loss():
    loss = LogCosh()
    for z in (-3.0, 0.2, 40.0):
        h = 1e-5
        slope = (loss.value(z + h, 0.5) - loss.value(z - h, 0.5)) / (2 * h)
        curvature = (loss.derivative(z + h, 0.5) - loss.derivative(z - h, 0.5)) / (2 * h)
        assert loss.derivative(z, 0.5) == pytest.approx(slope, abs=1e-8)
        assert loss.curvature(z, 0.5) == pytest.approx(curvature, abs=1e-8)
    line_search = fw.methods.Method(
        fw.methods.FullGradient(), fw.methods.Toward(), fw.methods.LineSearch(), name="fw, line search"
    )
    result = both_modes(problem(loss), line_search, tol=1e-3, max_passes=500)
    assert result.success
    assert result.convex


class Quartic(NamedTuple):
    """``(z - y)^4 / 12`` without its far ends, and no word on what it is beyond the four methods."""

    def value(self, z, y):
        return (z - y) ** 4 / 12.0

    def derivative(self, z, y):
        return (z - y) ** 3 / 3.0

    def curvature(self, z, y):
        return (z - y) ** 2

    def smoothness(self):
        return 100.0


@pytest.mark.parametrize("method", ["auto", "sfw"])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_loss_that_says_only_what_it_must(method, intercept):
    task = problem(Quartic(), intercept=intercept)
    assert not task.loss.is_vector
    assert not task.loss.has_residual
    result = fw.minimize(task, method, tol=1e-2, max_passes=2000, random_state=0)
    assert result.success
    assert not result.convex  # nothing was said
    assert fw.FittedModel.of(task, result).predict(task.X).shape == (30,)


class HalfAVectorLoss(NamedTuple):
    """Says that it has several outputs, and lacks what they need."""

    outputs: int = 2
    value = derivative = curvature = smoothness = Quartic.value


def test_a_loss_of_several_outputs_is_asked_for_more():
    with pytest.raises(TypeError, match="HalfAVectorLoss is not a loss of several outputs: it has no method hessian_"):
        problem(HalfAVectorLoss())


# --- sets -------------------------------------------------------------------------------------------------------


def test_own_set_with_sparse_vertices():
    constraint = WeightedL1Ball(3.0, PRICE)
    for r in np.random.default_rng(0).normal(size=(20, D)):
        s = vertex_of(constraint, r)
        assert constraint.contains(s)
        # scaled by the prices, the set is the l1 ball
        assert r @ s == pytest.approx(-3.0 * np.max(np.abs(r) / PRICE))
        assert constraint.support(-r) == pytest.approx(-(r @ s))
    short = fw.methods.Method(
        fw.methods.FullGradient(), fw.methods.Toward(), fw.methods.ShortStep(), name="fw, short step"
    )
    result = both_modes(problem(constraint=constraint), short, tol=1e-2, max_passes=400)
    assert result.success
    assert constraint.contains(result.x)
    # the same model in other units, with the set that the package brings
    X, y = cases.table(fw.Squared(), n=30, d=D)
    scaled = fw.minimize(fw.Problem(X / PRICE, y, "squared", fw.L1Ball(3.0)), short, tol=1e-2, max_passes=400)
    np.testing.assert_allclose(result.x * PRICE, scaled.x, rtol=0.0, atol=1e-10)


def test_own_set_with_dense_vertices():
    constraint = CappedSimplex(0.3)
    for r in np.random.default_rng(1).normal(size=(20, D)):
        s = vertex_of(constraint, r)
        assert constraint.contains(s)
        best = linprog(r, A_eq=np.ones((1, D)), b_eq=[1.0], bounds=(0.0, 0.3)).fun
        assert r @ s == pytest.approx(best, abs=1e-12)
        assert constraint.support(-r) == pytest.approx(-best, abs=1e-12)
    task = problem(constraint=constraint)
    seen = []
    result = both_modes(task, "sfw", tol=0.0, max_passes=40, callback=lambda state: seen.append(state.x))
    assert all(constraint.contains(w) for w in seen)
    assert result.gap < 0.1 * task.gap(task.default_start())


def test_own_set_in_plain_python():
    edges = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (3, 4), (2, 4)]
    constraint = outside(SpanningTrees(edges))
    trees = [tree for tree in combinations(range(D), 4) if _spans(edges, tree)]
    corners = np.array([np.isin(np.arange(D), tree) for tree in trees], dtype=np.float64)
    assert len(trees) == 40
    for r in np.random.default_rng(2).normal(size=(20, D)):
        s = vertex_of(constraint, r)
        assert r @ s == pytest.approx((corners @ r).min(), abs=1e-12)
        assert constraint.support(-r) == pytest.approx(-(r @ s), abs=1e-12)
        assert constraint.contains(s)
        assert constraint.contains(0.5 * (s + corners[3]))
        assert not constraint.contains(s - 1e-6 * r / np.linalg.norm(r))
    task = problem(constraint=constraint)
    short = fw.methods.Method(
        fw.methods.FullGradient(), fw.methods.Toward(), fw.methods.ShortStep(), name="fw, short step"
    )
    result = both_modes(task, short, tol=0.0, max_passes=200)
    assert constraint.contains(result.x)
    assert result.gap < 0.1 * task.gap(task.default_start())
    best = fw.minimize(fw.Problem(task.X, task.y, "squared", fw.ConvexHull(corners)), "corrective", tol=1e-8)
    assert -best.gap <= result.fun - best.fun <= result.gap  # both are certified, and no more than that


def _spans(edges, tree):
    reached = {0}
    for _ in tree:
        reached |= {node for j in tree if reached & set(edges[j]) for node in edges[j]}
    return len(reached) == 5


# --- a gradient estimate ----------------------------------------------------------------------------------------


def test_own_estimate():
    task = problem()
    method = fw.methods.Method(
        SmoothedTable(0.5), fw.methods.Toward(), fw.methods.OpenLoop(), batch_size=3, name="smoothed"
    )
    result = both_modes(task, method, tol=0.0, max_passes=60)
    assert (result.method, result.batch_size) == ("smoothed", 3)
    assert result.gap < 0.1 * task.gap(task.default_start())
    # all the way to the fresh derivative is the paper's own estimate
    with fw.python_mode():
        whole = fw.methods.Method(SmoothedTable(1.0), fw.methods.Toward(), fw.methods.OpenLoop(), batch_size=3)
        ours, paper = (
            fw.minimize(task, entry, batch_size=3, tol=0.0, max_passes=10, random_state=0) for entry in (whole, "sfw")
        )
    np.testing.assert_allclose(ours.x, paper.x, rtol=0.0, atol=1e-12)


# --- a step rule ------------------------------------------------------------------------------------------------


def test_own_step_rule():
    rule = ConstantThenDecay(0.2, hold=10.0)
    assert [rule.length(None, None, None, None, t) for t in (1, 10, 20)] == [0.2, 0.2, 0.1]
    task = problem()
    result = both_modes(
        task, fw.methods.Method(fw.methods.SagTable(), fw.methods.Toward(), rule, name="held"), tol=0.0, max_passes=60
    )
    assert result.gap < 0.1 * task.gap(task.default_start())
    with fw.python_mode():
        chosen = fw.minimize(task, "sfw", step=rule, tol=0.0, max_passes=60, random_state=0)
    assert chosen.method == "sfw, ConstantThenDecay"
    np.testing.assert_allclose(chosen.x, result.x, rtol=0.0, atol=1e-12)


# --- all together -----------------------------------------------------------------------------------------------


def test_own_parts_fit_together_on_sparse_data():
    X, y = cases.table(fw.Squared(), n=30, d=D)
    dense, sparse = (
        fw.Problem(cases.LAYOUTS[layout](X), y, LogCosh(), WeightedL1Ball(3.0, PRICE))
        for layout in ("dense64", "csr64")
    )
    method = fw.methods.Method(
        SmoothedTable(0.7), fw.methods.Toward(), ConstantThenDecay(0.3, 5.0), batch_size=2, name="mine"
    )
    result = both_modes(sparse, method, tol=0.0, max_passes=60)
    assert result.gap < 0.2 * sparse.gap(sparse.default_start())
    with fw.python_mode():
        np.testing.assert_allclose(
            fw.minimize(dense, method, tol=0.0, max_passes=60, random_state=0).x, result.x, rtol=0.0, atol=1e-10
        )
