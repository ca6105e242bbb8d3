"""Whether a point is in a set is a matter of proportions: nothing changes where set and point are scaled together."""

import inspect
import pkgutil
from functools import cache
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import frankwolfe as fw
from frankwolfe import sets
from frankwolfe.sets.base import for_shape, widths
from tests import cases

D = 4
A = np.vstack([np.random.default_rng(0).normal(size=(6, D)), np.eye(D), -np.eye(D)])
B = np.concatenate([np.random.default_rng(1).uniform(0.5, 1.0, size=6), np.full(2 * D, 1.5)])
POINTS = np.random.default_rng(2).normal(size=(7, D))
STEPS = np.linspace(0.1, 0.4, D)

AT_SCALE = {
    "L1Ball": lambda c: fw.L1Ball(1.5 * c),
    "Simplex": lambda c: fw.Simplex(2.0 * c),
    "NonNegativeL1Ball": lambda c: fw.NonNegativeL1Ball(1.5 * c),
    "L2Ball": lambda c: fw.L2Ball(1.2 * c),
    "LinfBall": lambda c: fw.LinfBall(0.7 * c),
    "Box": lambda c: fw.Box(-0.5 * c, c * np.linspace(0.0, 1.0, D)),
    "MonotoneBox": lambda c: fw.MonotoneBox(-0.5 * c, c),
    "GroupBall": lambda c: fw.GroupBall(np.arange(D) // 2, 1.5 * c),
    "LatentGroupBall": lambda c: fw.LatentGroupBall([[0, 1, 2], [2, 3]], 1.5 * c),
    "KSupportBall": lambda c: fw.KSupportBall(2, 1.5 * c),
    "KSupportBall-inf": lambda c: fw.KSupportBall(2, 1.5 * c, norm=np.inf),
    "Budget": lambda c: fw.Budget(-0.5 * c, c * np.linspace(0.1, 2.0, D), 1.5 * c),
    "Budget-signed": lambda c: fw.Budget(c * np.array([0.2, 0.0, -np.inf, -1.0]), [c, 0.0, np.inf, -0.1 * c], 2.0 * c),
    "CappedSimplex": lambda c: fw.CappedSimplex(c * np.linspace(0.2, 0.8, D), 1.5 * c),
    "OWLBall": lambda c: fw.OWLBall(np.linspace(2.0, 0.5, D), 1.5 * c),
    "LpBall": lambda c: fw.LpBall(3, 1.2 * c),
    "Ellipsoid": lambda c: fw.Ellipsoid(np.diag(STEPS) + 0.1, 0.8 * c, centre=c * STEPS),
    "Ellipsoid-axes": lambda c: fw.Ellipsoid(STEPS, c, centre=-c * STEPS),
    "ConvexHull": lambda c: fw.ConvexHull(c * POINTS),
    "Polytope": lambda c: fw.Polytope(A, c * B),
    "Polytope-equation": lambda c: fw.Polytope(A, c * B, np.ones((1, D)), [0.1 * c]),
    "Polytope-corner": lambda c: fw.Polytope(np.vstack([-np.eye(D), np.arange(1.0, D + 1.0)]), c * np.eye(D + 1)[D]),
    "Polytope-skewed": lambda c: fw.Polytope(1e5 * np.array([[1, 1, 0, 0], [-1, -1, 0, 0], [1, -1, 0, 0], [-1, 1, 0, 0],
        [0, 0, 1, 1], [0, 0, -1, -1], [0, 0, 1, -1], [0, 0, -1, 1]]), 1e5 * c * np.ones(8)),
    "TraceBall": lambda c: fw.TraceBall(1.5 * c, (2, 2)),
    "Spectrahedron": lambda c: fw.Spectrahedron(1.5 * c),
    "Birkhoff": lambda c: fw.sets.Scaled(fw.Birkhoff(2), c),
    "Product": lambda c: fw.Product([fw.L1Ball(c), fw.Box(-0.5 * c, c)], [2, 2]),
    "Translated": lambda c: fw.sets.Translated(fw.L1Ball(c), c * STEPS),
    "Scaled": lambda c: fw.sets.Scaled(fw.OWLBall(np.linspace(2.0, 0.5, D), 1.0), c),
    "Cached": lambda c: fw.sets.Cached(fw.KSupportBall(2, c), 4),
    "Counted": lambda c: fw.sets.Counted(fw.L2Ball(c)),
}  # fmt: skip
AT_SCALE |= {  # of those that have no row here
    name: lambda c, make=make: fw.sets.Scaled(make(D), c)
    for name, make in cases.SIZED_SETS.items()
    if name.split("-")[0] not in AT_SCALE
}
FAR = {
    "Box": lambda c: fw.Box(1.0, 1.0 + c),
    "MonotoneBox": lambda c: fw.MonotoneBox(1.0, 1.0 + c),
    "Ellipsoid": lambda c: fw.Ellipsoid(STEPS, c, centre=np.ones(D)),
    "ConvexHull": lambda c: fw.ConvexHull(1.0 + c * POINTS),
    "Translated": lambda c: fw.sets.Translated(fw.L1Ball(c), np.ones(D)),
    "Translated-LpBall": lambda c: fw.sets.Translated(fw.LpBall(3, c), np.ones(D)),
}
"""Sets of size ``c`` about one, where numbers are rounded to 1e-16 however small the set is."""

SCALES = st.integers(-12, 12).map(lambda exponent: 10.0**exponent)
SEEDS = st.integers(0, 2**32 - 1)


FEW = settings(max_examples=12, deadline=None)


@cache
def at_scale(name, c=1.0):
    return for_shape(AT_SCALE[name](c), D)


def corners(constraint, seed, count=5):
    rng = np.random.default_rng(seed)
    return [(r, constraint.vertex(r)) for r in rng.normal(size=(count, D))]


def test_every_set_is_tried():
    kinds = {
        kind.__name__
        for file in pkgutil.iter_modules(sets.__path__, sets.__name__ + ".")
        for _, kind in inspect.getmembers(import_module(file.name), inspect.isclass)
        if kind.__module__ == file.name and hasattr(kind, "contains") and hasattr(kind, "vertex")
    }
    assert kinds & set(sets.__all__) <= {name.split("-")[0] for name in AT_SCALE}


@pytest.mark.parametrize("name", AT_SCALE)
@FEW
@given(c=SCALES, seed=SEEDS)
def test_sets_contain_their_vertices_and_what_lies_between_at_every_scale(name, c, seed):
    constraint, rng = at_scale(name, c), np.random.default_rng(seed)
    vertices = [s for _, s in corners(constraint, seed)]
    for s in vertices:
        assert constraint.contains(s)
    assert constraint.contains(rng.dirichlet(np.ones(len(vertices))) @ np.array(vertices))


@pytest.mark.parametrize("name", AT_SCALE)
@FEW
@given(c=SCALES, seed=SEEDS)
def test_sets_refuse_what_is_visibly_outside_at_every_scale(name, c, seed):
    constraint = at_scale(name, c)
    for r, s in corners(constraint, seed, 2):
        outside = s - 1e-3 * c * r / np.linalg.norm(r)  # beyond a plane that no point of the set is beyond
        assert not constraint.contains(outside)


@pytest.mark.parametrize("name", AT_SCALE)
@FEW
@given(c=SCALES, seed=SEEDS, distance=st.sampled_from([-0.5, -1e-3, -1e-6, 1e-6, 1e-3, 0.5]))
def test_scaling_set_and_point_together_changes_nothing(name, c, seed, distance):
    (r, s), *_ = corners(at_scale(name), seed, 1)
    w = s - distance * r / np.linalg.norm(r)
    assert at_scale(name, c).contains(c * w) == at_scale(name).contains(w)


@pytest.mark.parametrize("name", FAR)
@FEW
@given(c=st.sampled_from([1e-8, 1e-4, 1.0]), seed=SEEDS)
def test_small_sets_far_from_zero(name, c, seed):
    constraint, rng = for_shape(FAR[name](c), D), np.random.default_rng(seed)
    found = corners(constraint, seed)
    for r, s in found:
        assert constraint.contains(s)
        assert not constraint.contains(s - 0.01 * c * r / np.linalg.norm(r))
    assert constraint.contains(rng.dirichlet(np.ones(len(found))) @ np.array([s for _, s in found]))


@pytest.mark.parametrize(
    "wrapped", [lambda inner: inner, fw.sets.Cached, fw.sets.Counted], ids=["plain", "cached", "counted"]
)
@pytest.mark.usefixtures("interpreted")
def test_a_single_point_far_from_zero(wrapped):
    rng = np.random.default_rng(0)
    for _ in range(20):
        point, shift = rng.normal(size=D), 1e3 * rng.normal(size=D)
        constraint = for_shape(fw.sets.Translated(wrapped(fw.ConvexHull([point])), shift), D)
        assert constraint.contains(point + shift)
        assert not constraint.contains(point + shift + 1e-9)
        assert not constraint.contains(shift)


def test_a_single_point_beside_a_large_set_far_from_zero():
    shift = np.array([1e3, -9e2, -738.54629815])
    constraint = fw.sets.Translated(fw.Product([fw.Box(-6e4, 6e4), fw.ConvexHull([[1.00720123]])], [2, 1]), shift)
    corner = constraint.vertex(np.ones(3))
    assert constraint.contains(corner)
    assert not constraint.contains(corner + [0.0, 0.0, 1e-9])
    assert not constraint.contains(corner - [1.0, 0.0, 0.0])


@pytest.mark.parametrize("c", [1e-8, 1e8])
def test_vertices_of_a_polytope_are_right_at_every_scale(c):
    """HiGHS takes what is within 1e-10 for zero: a tiny polytope would be a point, or its vertices outside."""
    one, other = at_scale("Polytope-equation"), at_scale("Polytope-equation", c)
    for r, s in corners(one, 0, 20):
        np.testing.assert_allclose(other.vertex(r), c * s, rtol=0.0, atol=1e-12 * c)
    np.testing.assert_allclose(widths(other, D), c * widths(one, D), rtol=1e-9)


@pytest.mark.parametrize("constraint", [fw.L1Ball, lambda c: fw.Polytope(A, c * B)], ids=["L1Ball", "Polytope"])
@pytest.mark.usefixtures("interpreted")
def test_a_tiny_problem_is_solved_within_its_constraints(constraint):
    rng, c = np.random.default_rng(3), 1e-8
    X = rng.normal(size=(30, D))
    y = X @ rng.normal(size=D)
    tiny = fw.minimize(fw.Problem(X / c, y, "squared", constraint(c)), tol=1e-7, max_passes=200)
    plain = fw.minimize(fw.Problem(X, y, "squared", constraint(1.0)), tol=1e-7, max_passes=200)
    assert tiny.success
    assert plain.success
    np.testing.assert_allclose(tiny.x / c, plain.x, atol=1e-3)
    assert tiny.fun == pytest.approx(plain.fun, abs=1e-6 * plain.tolerance / 1e-7)
