"""Constraint sets: oracles against linear programs, membership, diameters, and the bounds of boxes."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from scipy.optimize import linprog

import frankwolfe as fw
from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import oracle, rebuild
from frankwolfe.linalg.argmax import LazyArgmax
from frankwolfe.sets.atoms import dense
from tests import cases

EVERY_SET = pytest.mark.parametrize("constraint", cases.SETS, ids=cases.name_of)
EVERY_SIZE = pytest.mark.parametrize("d", [1, 2, 7, 40])

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
EVERY_DIRECTION = pytest.mark.parametrize("kind", DIRECTIONS)


def direction(kind, d, seed=0):
    return DIRECTIONS[kind](np.random.default_rng([seed, d]), d)


# --- the sets, described a second time ---------------------------------------------------------------------------


def _l1_program(ball, c):
    # w = u - v with u, v >= 0
    return linprog([*c, *-c], A_ub=np.ones((1, 2 * len(c))), b_ub=[ball.radius])


def _l2_program(ball, c):
    class Found:
        fun = -ball.radius * math.hypot(*c)

    return Found


PROGRAMS = {
    fw.L1Ball: _l1_program,
    fw.L2Ball: _l2_program,
    fw.Simplex: lambda simplex, c: linprog(c, A_eq=np.ones((1, len(c))), b_eq=[simplex.radius]),
    fw.NonNegativeL1Ball: lambda ball, c: linprog(c, A_ub=np.ones((1, len(c))), b_ub=[ball.radius]),
    fw.MonotoneBox: lambda box, c: linprog(
        c,
        A_ub=(np.eye(len(c)) - np.eye(len(c), k=1))[:-1] if len(c) > 1 else None,
        b_ub=np.zeros(len(c) - 1) if len(c) > 1 else None,
        bounds=(box.lower, box.upper),
    ),
    fw.Box: lambda box, c: linprog(c, bounds=np.broadcast_to(np.c_[box.lower, box.upper], (len(c), 2))),
}
"""Smallest ``<c, s>`` over a set, from a solver that knows nothing of oracles (the l2 ball: in closed form)."""


def smallest(constraint, r):
    """Smallest ``<r, s>`` over a set; the solver is shown a direction of ordinary size."""
    size = np.abs(r).max() or 1.0
    return size * PROGRAMS[type(constraint)](constraint, r / size).fun


VERTICES = {
    fw.L1Ball: lambda ball, d: ball.radius * np.vstack([np.eye(d), -np.eye(d)]),
    fw.Simplex: lambda simplex, d: simplex.radius * np.eye(d),
    fw.NonNegativeL1Ball: lambda ball, d: ball.radius * np.vstack([np.zeros((1, d)), np.eye(d)]),
    fw.MonotoneBox: lambda box, d: np.where(np.tri(d + 1, d, -1) > 0.0, box.lower, box.upper),
    fw.Box: lambda box, d: np.array(
        list(itertools.product(*np.broadcast_to(np.c_[box.lower, box.upper], (d, 2)))), dtype=np.float64
    ),
}
"""All vertices of a polytope in ``d`` dimensions, one in a row."""


def test_every_set_is_exported_and_tested():
    from frankwolfe import sets

    tested = {type(constraint) for constraint in cases.SETS}
    sized = {type(make(4)) for make in cases.SIZED_SETS.values()}
    assert tested | sized == {kind for kind in map(partial(getattr, sets), sets.__all__) if hasattr(kind, "oracle")}
    assert set(sets.__all__) - {"outside"} <= set(fw.__all__)
    assert tested == set(PROGRAMS) == set(VERTICES) | {fw.L2Ball}


# --- oracle and support function ---------------------------------------------------------------------------------


@EVERY_SET
@EVERY_SIZE
@EVERY_DIRECTION
def test_vertex_is_feasible_and_the_best(constraint, d, kind):
    r = direction(kind, d)
    before = r.copy()
    s = constraint.vertex(r)
    assert s.shape == (d,)
    assert s.dtype == np.float64
    assert constraint.contains(s, tolerance=1e-12)
    size = np.abs(r).max()
    assert r @ s == pytest.approx(smallest(constraint, r), rel=1e-9, abs=1e-9 * size)
    np.testing.assert_array_equal(r, before)


@EVERY_SET
@EVERY_SIZE
@EVERY_DIRECTION
def test_support_is_the_largest_inner_product(constraint, d, kind):
    r = direction(kind, d, seed=1)
    size = np.abs(r).max()
    assert constraint.support(r) == pytest.approx(-smallest(constraint, -r), rel=1e-9, abs=1e-9 * size)
    assert constraint.support(r) == pytest.approx(r @ constraint.vertex(-r), rel=1e-12, abs=1e-12 * size)


@EVERY_SET
@EVERY_SIZE
def test_vertices_are_corners(constraint, d):
    # Even where every point is as good, the answer is a vertex; and a new array every time.
    corners = [constraint.vertex(direction(kind, d)) for kind in DIRECTIONS]
    for s in corners:
        if isinstance(constraint, fw.L2Ball):
            assert math.hypot(*s) == pytest.approx(constraint.radius, rel=1e-12)
        elif d < 10:
            assert s.tolist() in VERTICES[type(constraint)](constraint, d).tolist()
    first = corners[0].copy()
    corners[0][:] = 99.0
    np.testing.assert_array_equal(constraint.vertex(direction("random", d)), first)


@EVERY_SET
@pytest.mark.parametrize(
    ("r", "message"),
    [
        ([], "at least one entry"),
        ([[1.0, 2.0]], r"got shape \(1, 2\)"),
        ([1.0, math.nan], "NaN or infinity"),
        ([math.inf, 0.0], "NaN or infinity"),
    ],
)
def test_vertex_refuses_what_is_no_direction(constraint, r, message):
    with pytest.raises(ValueError, match=message):
        constraint.vertex(r)


# --- membership --------------------------------------------------------------------------------------------------


@EVERY_SET
@EVERY_SIZE
def test_contains_mixtures_of_vertices(constraint, d):
    rng = np.random.default_rng(d)
    for _ in range(20):
        corners = np.array([constraint.vertex(rng.normal(size=d)) for _ in range(5)])
        assert constraint.contains(rng.dirichlet(np.ones(5)) @ corners)


@EVERY_SET
@EVERY_SIZE
def test_contains_nothing_beyond_a_supporting_plane(constraint, d):
    rng = np.random.default_rng(d)
    for _ in range(20):
        r = rng.normal(size=d)
        edge = constraint.vertex(-r)
        outside = edge + 1e-6 * r / np.linalg.norm(r)
        assert constraint.contains(edge)
        assert not constraint.contains(outside)
        assert constraint.contains(outside, tolerance=1e-4)
        assert not constraint.contains(edge + 100.0 * r / np.linalg.norm(r), tolerance=1e-4)


@EVERY_SET
def test_contains_no_nan(constraint):
    w = np.array([constraint.vertex([1.0, 2.0, -1.0])[0], np.nan, 0.0])
    assert constraint.contains(w) is False


# --- diameters ---------------------------------------------------------------------------------------------------


@EVERY_SET
@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_diameter_is_the_largest_distance(constraint, d):
    if isinstance(constraint, fw.L2Ball):
        largest = 2.0 * constraint.radius
    else:
        corners = VERTICES[type(constraint)](constraint, d)
        largest = np.linalg.norm(corners[:, np.newaxis] - corners, axis=2).max()
    assert constraint.diameter(d) == pytest.approx(largest, rel=1e-14, abs=0.0)


# --- compiled ----------------------------------------------------------------------------------------------------


@kernel
def ask(constraint, tracker, r):
    """Ask an oracle about a direction that its tracker has not seen before."""
    rebuild(tracker, r)
    return oracle(constraint, tracker, r)


COMPILED = [
    *(constraint for constraint in cases.SETS if isinstance(constraint.tracker(1), LazyArgmax)),
    fw.L2Ball(1.2),
]


@pytest.mark.parametrize("constraint", COMPILED, ids=cases.name_of)
def test_compiled_oracle_agrees(constraint):
    for d in (1, 7, 40, 1500):
        tracker = constraint.tracker(d)  # one for all directions: what it remembers must not matter
        for kind in DIRECTIONS:
            r = direction(kind, d, seed=2)
            found = dense(ask(constraint, tracker, r), d)
            np.testing.assert_allclose(found, constraint.vertex(r), rtol=1e-12, atol=0.0, err_msg=f"{kind}, d = {d}")


def test_compiled_l2_oracle_keeps_to_the_sphere_for_subnormal_directions():
    # The reciprocal of a subnormal number is infinite, so a quotient must not become a product with one.
    ball = fw.L2Ball(1.2)
    r = 1e-310 * np.array([3.0, -4.0, 0.5, 1.0, 2.0])
    np.testing.assert_allclose(dense(ask(ball, ball.tracker(5), r), 5), ball.vertex(r), rtol=1e-9)


# --- constructors ------------------------------------------------------------------------------------------------

RADIAL = pytest.mark.parametrize("kind", [fw.L1Ball, fw.L2Ball, fw.Simplex, fw.NonNegativeL1Ball, fw.LinfBall])


@RADIAL
@pytest.mark.parametrize("radius", [0, -1.0, math.nan, math.inf])
def test_radius_must_be_positive_and_finite(kind, radius):
    with pytest.raises(ValueError, match=f"{kind.__name__}: radius must be (positive|finite)"):
        kind(radius)


@RADIAL
@pytest.mark.parametrize("radius", ["1", None, True, [1.0]])
def test_radius_must_be_a_number(kind, radius):
    with pytest.raises(TypeError, match=f"{kind.__name__}: radius must be a number"):
        kind(radius)


@pytest.mark.parametrize(
    ("lower", "upper", "low", "high"),
    [
        (-1, 2, [-1.0, -1.0, -1.0], [2.0, 2.0, 2.0]),
        ([0, 1, 2], 2.5, [0.0, 1.0, 2.0], [2.5, 2.5, 2.5]),
        (-1.0, np.array([0.0, 1.0, 2.0], dtype=np.float32), [-1.0, -1.0, -1.0], [0.0, 1.0, 2.0]),
        (np.array([0, 1, 2]), (1, 2, 2), [0.0, 1.0, 2.0], [1.0, 2.0, 2.0]),
        (np.float32(0.5), np.array(0.5), [0.5, 0.5, 0.5], [0.5, 0.5, 0.5]),
    ],
    ids=["numbers", "list and number", "number and array", "integers and tuple", "a single point"],
)
def test_box_takes_numbers_and_vectors(lower, upper, low, high):
    box = fw.Box(lower, upper)
    low, high = np.array(low), np.array(high)
    fitted = box.for_size(3)
    np.testing.assert_array_equal(fitted.lower, low)
    np.testing.assert_array_equal(fitted.upper, high)
    assert fitted.lower.dtype == fitted.upper.dtype == np.float64
    r = np.array([1.0, -1.0, 2.0])
    for ready in (box, fitted):
        np.testing.assert_array_equal(ready.vertex(r), np.where(r > 0.0, low, high))
        assert ready.support(r) == pytest.approx(np.maximum(r * low, r * high).sum())
        assert ready.diameter(3) == pytest.approx(np.linalg.norm(high - low))
        assert ready.contains(0.5 * (low + high))
        assert not ready.contains(high + [0.0, 0.0, 0.01])
        assert not ready.contains(low - [0.01, 0.0, 0.0])


def test_box_keeps_a_copy_of_its_bounds():
    upper = np.array([1.0, 2.0])
    box = fw.Box(0.0, upper)
    fitted = box.for_size(2)
    upper[0], box.upper[1] = 50.0, 60.0
    np.testing.assert_array_equal(box.upper, [1.0, 60.0])
    np.testing.assert_array_equal(fitted.upper, [1.0, 2.0])


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [
        (2.0, 1.0, "at entry 0 lower = 2 > upper = 1"),
        ([0.0, 0.0, 3.0], [1.0, 1.0, 1.5], "at entry 2 lower = 3 > upper = 1.5"),
        ([0.0, 3.0, 0.0], [1.0, 1.5, 1.0], "at entry 1 lower = 3 > upper = 1.5"),
        ([7.0, 0.0], [1.0, 1.5], "at entry 0 lower = 7 > upper = 1"),
        (1.0, [2.0, 0.5, 2.0], "at entry 1 lower = 1 > upper = 0.5"),
        ([-1.0, 2.5, 9.0], 2.0, "at entry 1 lower = 2.5 > upper = 2"),
    ],
    ids=["numbers", "last entry", "middle entry", "first entry", "number and vector", "vector and number"],
)
def test_box_names_the_entry_whose_bounds_are_crossed(lower, upper, message):
    with pytest.raises(ValueError, match=f"Box: lower must not exceed upper, but {message}$"):
        fw.Box(lower, upper)


@pytest.mark.parametrize(
    ("lower", "upper", "error", "message"),
    [
        ([0.0, 0.0], [1.0, 1.0, 1.0], ValueError, "lower has 2 entries and upper has 3"),
        (0.0, math.inf, ValueError, "upper must be finite"),
        ([0.0, math.nan], 1.0, ValueError, "lower holds NaN or infinity"),
        (0.0, [[1.0, 1.0]], ValueError, r"upper must be a number or a vector .*, got shape \(1, 2\)"),
        ("a", 1.0, TypeError, "lower must be a number, got str"),
        (0.0, ["a", "b"], TypeError, "upper must be a number or a vector of numbers"),
        (None, 1.0, TypeError, "lower must be a number"),
    ],
)
def test_box_refuses_bounds_that_make_no_set(lower, upper, error, message):
    with pytest.raises(error, match=f"Box: {message}"):
        fw.Box(lower, upper)


@pytest.mark.parametrize(("bounds", "name"), [((0.0, [1.0, 2.0]), "upper"), (([0.0, 0.0], 1.0), "lower")])
def test_box_must_fit_the_number_of_columns(bounds, name):
    box = fw.Box(*bounds)
    message = f"Box: {name} has 2 entries, but there are 3 columns"
    with pytest.raises(ValueError, match=message):
        box.vertex([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=message):
        fw.Problem(np.ones((4, 3)), np.ones(4), "squared", box)
    assert fw.Problem(np.ones((4, 2)), np.ones(4), "squared", box).constraint.vertex([1.0, 1.0]).shape == (2,)
