"""Every set against convex programs, brute force and itself: vertices, membership, diameters, compiled oracles."""

import pickle
import warnings
from functools import partial

import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import oracle, rebuild
from frankwolfe.sets.atoms import dense
from frankwolfe.sets.base import for_shape
from tests import cases
from tests.programs import Solver, has_program
from tests.reference.losses import wide
from tests.reference.sets import definition

EVERY_SET = pytest.mark.parametrize("name", cases.ALL_SETS)
UPPER_BOUND = {"Polytope"}
"""Sets that know an upper bound of their diameter only."""
UPPER_REACH = {"TraceBall", "Spectrahedron"}
"""Sets that know an upper bound of how far a row's predictions reach: the row's norm times their diameter."""
LOOSE = {"Polytope": 1e-8, "ConvexHull": 1e-8}
"""How far a vertex that comes out of a solver may be outside; the others are on the spot."""

DIRECTIONS = {
    "random": lambda rng, d: rng.normal(size=d),
    "tied": lambda rng, d: rng.choice([-1.0, 1.0], size=d),
    "equal": lambda rng, d: np.full(d, -0.25),
    "zero": lambda rng, d: np.zeros(d),
    "one entry": lambda rng, d: np.eye(d)[d // 2] * -3.0,
    "positive": lambda rng, d: rng.uniform(0.1, 1.0, size=d),
    "negative": lambda rng, d: -rng.uniform(0.1, 1.0, size=d),
    "huge": lambda rng, d: 1e200 * rng.normal(size=d),
    "tiny": lambda rng, d: 1e-300 * rng.normal(size=d),
    "uneven": lambda rng, d: rng.normal(size=d) * 10.0 ** rng.uniform(-3.0, 3.0, size=d),
}


def direction(kind, d, seed=0):
    return DIRECTIONS[kind](np.random.default_rng([seed, d]), d)


def test_every_set_is_exported_and_tested():
    from frankwolfe import sets

    tested = {type(make(4)) for make in cases.ALL_SETS.values()}
    assert tested == {kind for kind in map(partial(getattr, sets), sets.__all__) if hasattr(kind, "oracle")}


def made(name, d):
    return for_shape(cases.ALL_SETS[name](d), d)


def directions(d, seed=0):
    """Sixty directions: random, tied, sparse, zero, tiny, huge, uneven."""
    rng = np.random.default_rng([seed, d])
    kinds = [DIRECTIONS[kind](rng, d) for kind in DIRECTIONS]
    yield from kinds
    yield from rng.normal(size=(20, d))
    yield from rng.choice([-1.0, 0.0, 1.0], size=(12, d))
    yield from np.eye(d)[rng.integers(d, size=6)] * rng.normal(size=(6, 1))
    yield from rng.normal(size=(12, d)) * 10.0 ** rng.uniform(-250.0, 250.0, size=(12, 1))


@EVERY_SET
def test_vertex_and_support_agree_with_a_convex_program_or_the_definition(name):
    d = 9
    constraint, solver, count = made(name, d), None, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cvxpy's own
        solver = Solver(constraint, d) if has_program(constraint) else definition(constraint)
        for r in directions(d):
            before, size = r.copy(), np.abs(r).max()
            s = constraint.vertex(r)
            np.testing.assert_array_equal(r, before)
            assert s.shape == (d,)
            assert s.dtype == np.float64
            assert constraint.contains(s, LOOSE.get(name, 1e-12))
            best = solver.smallest(r) if isinstance(solver, Solver) else -float(solver.support(wide(-r)))
            assert r @ s == pytest.approx(best, rel=1e-6, abs=2e-6 * size)
            assert constraint.support(-r) == pytest.approx(-(r @ s), rel=1e-9, abs=1e-9 * size)
            count += 1
    assert count == 60


@pytest.mark.parametrize(
    ("name", "d"), [(name, d) for name in cases.ALL_SETS for d in (1, 4) if d > 1 or not name.startswith("Product")]
)
def test_vertex_in_few_dimensions(name, d):
    constraint = made(name, d)
    for kind in DIRECTIONS:
        r = direction(kind, d)
        s = constraint.vertex(r)
        assert constraint.contains(s, LOOSE.get(name, 1e-12))
        assert constraint.support(-r) == pytest.approx(-(r @ s), rel=1e-9, abs=1e-12 * np.abs(r).max())


@EVERY_SET
def test_vertices_are_extreme_and_new_arrays(name):
    # A vertex is the only point of the set that is best for some direction: nudged directions name it again.
    d = 9
    constraint, rng = made(name, d), np.random.default_rng(0)
    for r in rng.normal(size=(10, d)):
        s = constraint.vertex(r)
        near = constraint.vertex(r + 1e-9 * rng.normal(size=d))
        np.testing.assert_allclose(near, s, rtol=0.0, atol=1e-4)
        near[:] = 99.0
        np.testing.assert_array_equal(constraint.vertex(r), s)


@pytest.mark.parametrize(
    ("r", "message"),
    [
        ([], "at least one entry"),
        ([[1.0, 2.0]], r"got shape \(1, 2\)"),
        ([1.0, np.nan], "NaN or infinity"),
        ([np.inf, 0.0], "NaN or infinity"),
    ],
)
def test_vertex_refuses_what_is_no_direction(r, message):
    for constraint in (fw.L1Ball(1.0), fw.sets.Cached(fw.Box(0.0, 1.0))):
        with pytest.raises(ValueError, match=message):
            constraint.vertex(r)


# --- membership --------------------------------------------------------------------------------------------------


@EVERY_SET
@pytest.mark.parametrize("d", [4, 9])
def test_contains_mixtures_of_vertices_and_nothing_beyond(name, d):
    constraint, rng = made(name, d), np.random.default_rng(d)
    for _ in range(20):
        corners = np.array([constraint.vertex(rng.normal(size=d)) for _ in range(5)])
        assert constraint.contains(rng.dirichlet(np.ones(5)) @ corners)
        r = rng.normal(size=d)
        edge = constraint.vertex(-r)
        outside = edge + 1e-6 * r / np.linalg.norm(r)
        assert constraint.contains(edge)
        assert not constraint.contains(outside)
        assert constraint.contains(outside, tolerance=1e-4)
        assert not constraint.contains(edge + 100.0 * r / np.linalg.norm(r), tolerance=1e-4)


@EVERY_SET
def test_contains_no_nan(name):
    constraint = made(name, 4)
    w = constraint.vertex(np.ones(4))
    w[1] = np.nan
    assert constraint.contains(w) is False


# --- diameters ---------------------------------------------------------------------------------------------------

NORMS = {
    1: (lambda z: np.abs(z).sum(), np.sign),
    2: (np.linalg.norm, lambda z: z),
    np.inf: (lambda z: np.abs(z).max(), lambda z: z * (np.abs(z) == np.abs(z).max())),
}
"""A norm, and a direction in which it grows."""


def widest(constraint, X, p, starts=40):
    """Largest ``||X (u - v)||_p`` that climbing from many starts finds: never more than there is."""
    norm, ahead = NORMS[p]
    rng, most = np.random.default_rng(0), 0.0
    for _ in range(starts):
        r, found = rng.normal(size=X.shape[1]), -1.0
        while True:
            apart = X @ (constraint.vertex(-r) - constraint.vertex(r))
            if not norm(apart) > found * (1.0 + 1e-12):
                break
            found, r = norm(apart), X.T @ ahead(apart)
        most = max(most, found)
    return most


@EVERY_SET
def test_diameter_is_the_largest_distance(name):
    constraint = made(name, 4)
    found, seen = constraint.diameter(4), widest(constraint, np.eye(4), 2)
    if name in UPPER_BOUND:
        assert seen * (1.0 - 1e-9) <= found <= 2.0 * seen
    else:
        assert found == pytest.approx(seen, rel=1e-6)


@EVERY_SET
def test_image_diameters_are_what_they_are_called(name):
    constraint = made(name, 4)
    for rows in (1, 5):
        X = np.random.default_rng(rows).normal(size=(rows, 4))
        found = fw.Problem(X, np.zeros(rows), "squared", constraint).diameters()
        for p, bound, exact in zip(NORMS, found[:3], found.exact, strict=True):
            seen = widest(constraint, X, p, starts=20)
            if exact:
                assert bound == pytest.approx(seen, rel=1e-6)
            else:
                assert seen * (1.0 - 1e-9) <= bound <= 3.0 * seen
        assert found.exact[2] or name in UPPER_REACH


# --- compiled ----------------------------------------------------------------------------------------------------


@kernel
def ask(constraint, tracker, r):
    """Ask an oracle about a direction that its tracker has not seen before."""
    rebuild(tracker, r)
    return oracle(constraint, tracker, r)


def test_compiled_l2_oracle_keeps_to_the_sphere_for_subnormal_directions():
    # The reciprocal of a subnormal number is infinite, so a quotient must not become a product with one.
    ball = fw.L2Ball(1.2)
    r = 1e-310 * np.array([3.0, -4.0, 0.5, 1.0, 2.0])
    np.testing.assert_allclose(dense(ask(ball, ball.tracker(5), r), 5), ball.vertex(r), rtol=1e-9)


@EVERY_SET
def test_compiled_oracle_agrees(name):
    d = 9
    constraint = made(name, d)
    tracker = constraint.tracker(d)  # one for all directions: what it remembers must not matter
    interleaved = np.zeros((d, 2))  # as the loop has it beside the iterate
    for r in directions(d, seed=2):
        interleaved[:, 1] = r
        found = dense(ask(constraint, tracker, interleaved[:, 1]), d)
        size = np.abs(r).max() or 1.0
        # rounding may decide between equals: what must agree is the value, and that it is a point of the set
        assert (r / size) @ found == pytest.approx((r / size) @ constraint.vertex(r), rel=1e-12, abs=1e-12)
        assert constraint.contains(found, LOOSE.get(name, 1e-12))


# --- as values ---------------------------------------------------------------------------------------------------


@EVERY_SET
def test_equal_after_pickling_and_to_one_made_alike(name):
    constraint = cases.ALL_SETS[name](9)
    copy = pickle.loads(pickle.dumps(constraint))
    assert copy == constraint == cases.ALL_SETS[name](9)
    assert hash(copy) == hash(constraint)
    assert constraint != cases.ALL_SETS["Counted" if name == "Scaled" else "Scaled"](9)
    np.testing.assert_array_equal(copy.vertex(np.arange(9.0) - 4.0), constraint.vertex(np.arange(9.0) - 4.0))


@EVERY_SET
def test_the_price_of_a_radius_is_the_slope_of_the_support_function(name):
    d = 9
    constraint = for_shape(cases.ALL_SETS[name](d), d, 0)
    radius = constraint.own_radius()
    if radius is None:
        return
    for seed in range(5):
        c = np.random.default_rng(seed).normal(size=d)
        fall = constraint.support(c) - constraint.with_radius(radius * (1.0 - 1e-6)).support(c)
        assert constraint.radius_price(c) == pytest.approx(fall / (1e-6 * radius), rel=1e-5, abs=1e-8)
