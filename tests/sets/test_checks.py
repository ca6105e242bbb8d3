"""Bad arguments of the sets: each is refused at once, by an error that names the set and says what is wrong."""

import numpy as np
import pytest
from scipy import sparse

import frankwolfe as fw

NAN, INF = float("nan"), float("inf")
SQUARE = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]


def fit(constraint, d=3):
    return fw.Problem(np.ones((4, d)), np.ones(4), "squared", constraint)


def radius_cases(name, make):
    return [
        (f"{name}-radius-zero", lambda: make(0.0), ValueError, f"{name}: radius must be positive, got 0"),
        (f"{name}-radius-negative", lambda: make(-1.0), ValueError, f"{name}: radius must be positive"),
        (f"{name}-radius-nan", lambda: make(NAN), ValueError, f"{name}: radius must be finite"),
        (f"{name}-radius-text", lambda: make("1"), TypeError, f"{name}: radius must be a number, got str"),
    ]


RADIAL = {
    "GroupBall": lambda radius: fw.GroupBall([0, 0, 1], radius),
    "LatentGroupBall": lambda radius: fw.LatentGroupBall([[0, 1]], radius),
    "KSupportBall": lambda radius: fw.KSupportBall(2, radius),
    "OWLBall": lambda radius: fw.OWLBall([2.0, 1.0], radius),
    "LpBall": lambda radius: fw.LpBall(3.0, radius),
    "Ellipsoid": lambda radius: fw.Ellipsoid([1.0, 1.0], radius),
    "Budget": lambda radius: fw.Budget(-1.0, 1.0, radius),
    "CappedSimplex": lambda radius: fw.CappedSimplex(1.0, radius),
}

GROUPS = [
    (
        "groups-overlap",
        lambda: fw.GroupBall([[0, 1], [2], [3, 1]], 1.0),
        ValueError,
        "GroupBall: groups 0 and 2 both have coordinate 1",
        "LatentGroupBall takes",
    ),
    ("groups-twice", lambda: fw.GroupBall([[0, 0]], 1.0), ValueError, "group 0 names coordinate 0 twice"),
    (
        "groups-hole",
        lambda: fw.GroupBall([[0, 1], [3]], 1.0),
        ValueError,
        "group 1 has index 3",
        "coordinate 2 is in no group",
        "cover every coordinate",
    ),
    ("groups-far", lambda: fw.GroupBall([[0, 1], [99]], 1.0), ValueError, "group 1 has index 99", "coordinate 2"),
    ("groups-negative", lambda: fw.GroupBall([[0, -1]], 1.0), ValueError, "index -1", "counted from 0"),
    ("groups-empty-one", lambda: fw.GroupBall([[0], []], 1.0), ValueError, "group 1 is empty"),
    ("groups-none", lambda: fw.GroupBall([], 1.0), ValueError, "groups is empty"),
    ("groups-text", lambda: fw.GroupBall("ab", 1.0), TypeError, "list of lists of coordinates, got str"),
    ("groups-number", lambda: fw.GroupBall(3, 1.0), TypeError, "list of lists of coordinates, got int"),
    ("groups-mixed", lambda: fw.GroupBall([[0, 1], 2], 1.0), TypeError, "group 1 must be a list", "got int"),
    ("groups-floats", lambda: fw.GroupBall([[0.5], [1.0]], 1.0), TypeError, "group 0 must hold the numbers"),
    ("groups-nan-label", lambda: fw.GroupBall([0.0, NAN], 1.0), ValueError, "groups holds NaN", "labels"),
    ("groups-columns", lambda: fit(fw.GroupBall([0, 1], 1.0)), ValueError, "groups has 2 entries", "3 columns"),
    ("groups-norm", lambda: fw.GroupBall([0, 1], 1.0, norm=1), ValueError, "GroupBall: norm must be 2 or inf, got 1"),
    ("groups-weights", lambda: fw.GroupBall([0, 1], 1.0, 2, [1.0]), ValueError, "weights has 1 entries", "2 groups"),
    (
        "groups-weights-zero",
        lambda: fw.GroupBall([0, 1], 1.0, 2, [1.0, 0.0]),
        ValueError,
        "positive, got 0 for group 1",
    ),
    ("groups-weights-nan", lambda: fw.GroupBall([0, 1], 1.0, 2, [1.0, NAN]), ValueError, "weights holds NaN"),
    (
        "latent-columns",
        lambda: fit(fw.LatentGroupBall([[0, 1], [1, 5]], 1.0)),
        ValueError,
        "group 1 has index 5",
        "3 columns",
    ),
    ("latent-labels", lambda: fw.LatentGroupBall([0, 1, 1], 1.0), TypeError, "group 0 must be a list of coordinates"),
    ("latent-empty", lambda: fw.LatentGroupBall([], 1.0), ValueError, "LatentGroupBall: groups is empty"),
]

BALLS = [
    ("k-zero", lambda: fw.KSupportBall(0, 1.0), ValueError, "KSupportBall: k must be at least 1, got 0"),
    ("k-float", lambda: fw.KSupportBall(1.5, 1.0), TypeError, "KSupportBall: k must be an int, got float"),
    ("k-bool", lambda: fw.KSupportBall(True, 1.0), TypeError, "KSupportBall: k must be an int, got bool"),
    ("k-large", lambda: fit(fw.KSupportBall(4, 1.0)), ValueError, "k must be at most the number of columns, 3; got 4"),
    ("k-norm", lambda: fw.KSupportBall(2, 1.0, norm=1), ValueError, "KSupportBall: norm must be 2 or inf"),
    ("owl-rising", lambda: fw.OWLBall([2.0, 1.0, 1.5], 1.0), ValueError, "entry 1 is 1 and entry 2 is 1.5", "sort"),
    ("owl-negative", lambda: fw.OWLBall([2.0, -1.0], 1.0), ValueError, "OWLBall: weights must not be negative"),
    ("owl-zero", lambda: fw.OWLBall([0.0, 0.0], 1.0), ValueError, "OWLBall: weights", "the first positive"),
    ("owl-nan", lambda: fw.OWLBall([NAN], 1.0), ValueError, "OWLBall: weights holds NaN"),
    ("owl-empty", lambda: fw.OWLBall([], 1.0), ValueError, "OWLBall: weights", "at least one entry"),
    ("owl-text", lambda: fw.OWLBall(["a"], 1.0), TypeError, "OWLBall: weights must be a vector of numbers"),
    ("owl-columns", lambda: fit(fw.OWLBall([2.0, 1.0], 1.0)), ValueError, "weights has 2 entries", "3 columns"),
    ("budget-crossed", lambda: fw.Budget(1.0, [2.0, 0.0], 9.0), ValueError, "at entry 1 lower = 1 > upper = 0"),
    ("budget-lengths", lambda: fw.Budget([0.0], [1.0, 1.0], 1.0), ValueError, "lower has 1 entries and upper has 2"),
    ("budget-nan", lambda: fw.Budget(-1.0, [NAN, 1.0], 1.0), ValueError, "Budget: upper holds NaN"),
    ("budget-nan-number", lambda: fw.Budget(NAN, 1.0, 1.0), ValueError, "Budget: lower must be finite, got nan"),
    ("budget-text", lambda: fw.Budget("1", 1.0, 1.0), TypeError, "Budget: lower must be a number, got str"),
    ("budget-infinite", lambda: fw.Budget(INF, INF, 1.0), ValueError, "Budget: the set is empty", "at least inf"),
    ("budget-empty", lambda: fw.Budget([0.6, -1.0], [1.0, -0.5], 1.0), ValueError, "at least 1.1", "radius = 1"),
    ("budget-columns", lambda: fit(fw.Budget([0.0, 0.0], 1.0, 1.0)), ValueError, "lower has 2 entries", "3 columns"),
    ("budget-empty-later", lambda: fit(fw.Budget(0.4, 1.0, 1.0)), ValueError, "the set is empty", "3 weights"),
    ("capped-negative", lambda: fw.CappedSimplex([0.5, -0.1]), ValueError, "cap must not be negative, got -0.1"),
    ("capped-nan", lambda: fw.CappedSimplex([NAN, 1.0]), ValueError, "CappedSimplex: cap holds NaN"),
    ("capped-empty", lambda: fw.CappedSimplex([0.5, 0.4]), ValueError, "caps of 2 weights sum to 0.9", "radius = 1"),
    ("capped-empty-later", lambda: fit(fw.CappedSimplex(0.3)), ValueError, "caps of 3 weights sum to 0.9", "raise cap"),
    ("capped-columns", lambda: fit(fw.CappedSimplex([1.0, 1.0])), ValueError, "cap has 2 entries", "3 columns"),
    ("lp-one", lambda: fw.LpBall(1, 1.0), ValueError, "LpBall: p", "use L1Ball(radius)"),
    ("lp-inf", lambda: fw.LpBall(INF, 1.0), ValueError, "LpBall: p", "use LinfBall(radius)"),
    ("lp-small", lambda: fw.LpBall(0.5, 1.0), ValueError, "LpBall: p must be larger than 1", "not convex"),
    ("lp-nan", lambda: fw.LpBall(NAN, 1.0), ValueError, "LpBall: p must be finite"),
    ("lp-text", lambda: fw.LpBall("2", 1.0), TypeError, "LpBall: p must be a number, got str"),
    (
        "ellipsoid-asymmetric",
        lambda: fw.Ellipsoid([[1.0, 0.5], [0.0, 1.0]]),
        ValueError,
        "symmetric",
        "(0, 1) is 0.5 and (1, 0) is 0",
    ),
    ("ellipsoid-indefinite", lambda: fw.Ellipsoid([[1.0, 2.0], [2.0, 1.0]]), ValueError, "positive definite", "-1"),
    ("ellipsoid-singular", lambda: fw.Ellipsoid([[1.0, 1.0], [1.0, 1.0]]), ValueError, "positive definite"),
    ("ellipsoid-oblong", lambda: fw.Ellipsoid(np.ones((2, 3))), ValueError, "a vector or a square matrix", "(2, 3)"),
    ("ellipsoid-axis", lambda: fw.Ellipsoid([1.0, 0.0]), ValueError, "half-axes must be positive, got 0 at entry 1"),
    ("ellipsoid-nan", lambda: fw.Ellipsoid([1.0, NAN]), ValueError, "Ellipsoid: shape holds NaN"),
    ("ellipsoid-centre", lambda: fw.Ellipsoid([1.0, 1.0], 1.0, [0.0]), ValueError, "centre has 1 entries", "has 2"),
    ("ellipsoid-columns", lambda: fit(fw.Ellipsoid([1.0, 1.0])), ValueError, "shape has 2 entries", "3 columns"),
]

POLYTOPES = [
    ("birkhoff-size", lambda: fw.Birkhoff(0), ValueError, "Birkhoff: size must be at least 1"),
    ("birkhoff-float", lambda: fw.Birkhoff(2.0), TypeError, "Birkhoff: size must be an int"),
    ("birkhoff-columns", lambda: fit(fw.Birkhoff(2)), ValueError, "size 2 has 4 entries", "3 columns"),
    ("hull-1d", lambda: fw.ConvexHull([1.0, 2.0]), ValueError, "points must be a matrix", "(2,)"),
    ("hull-ragged", lambda: fw.ConvexHull([[1.0], [1.0, 2.0]]), TypeError, "points must be a matrix", "equal length"),
    ("hull-empty", lambda: fw.ConvexHull(np.zeros((0, 2))), ValueError, "at least one row"),
    ("hull-nan", lambda: fw.ConvexHull([[NAN]]), ValueError, "points holds NaN"),
    ("hull-columns", lambda: fit(fw.ConvexHull([[1.0, 2.0]])), ValueError, "a point has 2 entries", "3 columns"),
    ("monotone-crossed", lambda: fw.MonotoneBox(1.0, 0.0), ValueError, "lower = 1 > upper = 0"),
    ("monotone-inf", lambda: fw.MonotoneBox(0.0, INF), ValueError, "MonotoneBox: upper must be finite"),
    ("monotone-vector", lambda: fw.MonotoneBox([0.0], 1.0), TypeError, "MonotoneBox: lower must be a number"),
    ("monotone-flag", lambda: fw.MonotoneBox(0.0, 1.0, "no"), TypeError, "increasing must be True or False"),
    ("signs-odd", lambda: fw.Box.signed([1, 2], 1.0), ValueError, "signs must be -1, 0 or 1, got 2 at entry 1"),
    ("signs-bound", lambda: fw.Box.signed([1, 1], -1.0), ValueError, "bound must not be negative"),
    ("signs-length", lambda: fw.Box.signed([1, 1], [1.0, 1.0, 1.0]), ValueError, "bound has 3 entries"),
    (
        "polytope-unbounded",
        lambda: fw.Polytope(SQUARE[:3], np.ones(3)),
        ValueError,
        "the set is unbounded along coordinate 1",
        "HiGHS",
    ),
    ("polytope-line", lambda: fw.Polytope(E=[[1.0, 1.0]], e=[0.0]), ValueError, "the set is unbounded", "HiGHS"),
    ("polytope-strip", lambda: fw.Polytope([[1.0, 1.0], [-1.0, -1.0]], [1.0, 1.0]), ValueError, "unbounded"),
    (
        "polytope-empty",
        lambda: fw.Polytope(SQUARE, [1.0, 1.0, -2.0, 1.0]),
        ValueError,
        "no w satisfies all constraints",
        "HiGHS",
        "nfeasible",
    ),
    ("polytope-nothing", fw.Polytope, ValueError, "Polytope: pass A and b, or E and e"),
    ("polytope-no-b", lambda: fw.Polytope(SQUARE), ValueError, "A goes with b, which is missing"),
    ("polytope-no-E", lambda: fw.Polytope(SQUARE, np.ones(4), e=[1.0]), ValueError, "e goes with E"),
    ("polytope-rows", lambda: fw.Polytope(SQUARE, np.ones(3)), ValueError, "b has 3 entries, but A has 4 rows"),
    (
        "polytope-widths",
        lambda: fw.Polytope(SQUARE, np.ones(4), [[1.0]], [0.0]),
        ValueError,
        "A has 2 columns and E has 1",
    ),
    ("polytope-nan", lambda: fw.Polytope([[NAN]], [1.0]), ValueError, "Polytope: A holds NaN"),
    ("polytope-sparse-inf", lambda: fw.Polytope(sparse.eye_array(2) * INF, [1, 1]), ValueError, "A holds NaN or inf"),
    ("polytope-b-inf", lambda: fw.Polytope([[1.0]], [INF]), ValueError, "Polytope: b holds NaN or infinity"),
    ("polytope-columns", lambda: fit(fw.Polytope(SQUARE, np.ones(4))), ValueError, "has 2 entries", "3 columns"),
]

COMPOSED = [
    ("product-sizes", lambda: fw.Product([fw.L1Ball(1.0)], [1, 2]), ValueError, "got 1 sets, 2 sizes"),
    ("product-empty", lambda: fw.Product([], []), ValueError, "at least one set"),
    ("product-size", lambda: fw.Product([fw.L1Ball(1.0)], [0]), ValueError, "Product: size 0 must be at least 1"),
    ("product-class", lambda: fw.Product([fw.L1Ball], [1]), TypeError, "Product: set 0 must be an instance"),
    ("product-sum", lambda: fit(fw.Product([fw.L1Ball(1.0)] * 2, [1, 1])), ValueError, "sum to 2", "3 columns"),
    ("product-inner", lambda: fit(fw.Product([fw.OWLBall([1.0], 1.0)], [3])), ValueError, "OWLBall", "3 columns"),
    ("translated-no-set", lambda: fw.sets.Translated(3, 1.0), TypeError, "Translated: set must be a constraint set"),
    ("translated-nan", lambda: fw.sets.Translated(fw.L1Ball(1.0), NAN), ValueError, "Translated: shift must be finite"),
    (
        "translated-length",
        lambda: fit(fw.sets.Translated(fw.L1Ball(1.0), [1.0, 2.0])),
        ValueError,
        "shift has 2 entries",
    ),
    ("scaled-zero", lambda: fw.sets.Scaled(fw.L1Ball(1.0), 0.0), ValueError, "Scaled: factor must be positive"),
    ("scaled-negative", lambda: fw.sets.Scaled(fw.L1Ball(1.0), -2.0), ValueError, "Scaled: factor must be positive"),
    (
        "scaled-loss",
        lambda: fw.sets.Scaled(fw.Logistic(), 1.0),
        TypeError,
        "Logistic is not a constraint set",
        "oracle",
    ),
    ("cached-size", lambda: fw.sets.Cached(fw.L1Ball(1.0), 0), ValueError, "Cached: size must be at least 1"),
    ("counted-class", lambda: fw.sets.Counted(fw.L1Ball), TypeError, "Counted: set must be an instance"),
]

TABLE = [case for name, make in RADIAL.items() for case in radius_cases(name, make)]
TABLE += GROUPS + BALLS + POLYTOPES + COMPOSED


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(("call", "error", "words"), [pytest.param(*c[1:3], c[3:], id=c[0]) for c in TABLE])
def test_refused_with_a_reason(call, error, words):
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert [word for word in words if word not in message] == [], message


def test_no_case_twice():
    ids = [case[0] for case in TABLE]
    assert len(ids) == len(set(ids))


# --- what is taken, in every way it may be written ----------------------------------------------------------------


@pytest.mark.parametrize(
    "groups",
    [
        [[0, 1], [2]],
        ((1, 0), np.array([2])),
        [{0, 1}, range(2, 3)],
        [0, 0, 1],
        np.array([5, 5, 9]),
        ["a", "a", "b"],
        np.array(["a", "a", "b"]),
    ],
    ids=str,
)
def test_groups_may_be_lists_or_labels(groups):
    ball = fw.GroupBall(groups, 5.0)
    np.testing.assert_array_equal(ball.groups, [0, 0, 1])
    np.testing.assert_allclose(ball.vertex([3.0, -4.0, 2.0]), [-3.0, 4.0, 0.0], rtol=1e-15)


def test_sets_keep_copies_of_their_arrays():
    points = np.eye(2)
    hull = fw.ConvexHull(points)
    points[:] = 9.0
    np.testing.assert_array_equal(hull.points, np.eye(2))


@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array, sparse.coo_matrix], ids=["dense", "csr", "coo"])
def test_polytope_takes_dense_and_sparse_matrices(stored):
    square = fw.Polytope(stored(np.array(SQUARE)), np.ones(4))
    np.testing.assert_array_equal(square.vertex([1.0, -1.0]), [-1.0, 1.0])
    flat = fw.Polytope(stored(np.array(SQUARE)), np.ones(4), stored(np.array([[1.0, 1.0]])), [0.5])
    np.testing.assert_allclose(flat.vertex([1.0, 0.0]), [-0.5, 1.0], atol=1e-12)
    assert flat.contains([0.25, 0.25])
    assert not flat.contains([0.0, 0.0])


def test_constraints_of_zeros_say_nothing():
    square = fw.Polytope([*SQUARE, [0.0, 0.0]], [1.0, 1.0, 1.0, 1.0, 1e15])
    np.testing.assert_array_equal(square.vertex([1.0, -1.0]), [-1.0, 1.0])


def test_signed_boxes():
    box = fw.Box.signed([1, -1, 0], [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(box.lower, [0.0, -2.0, -3.0])
    np.testing.assert_array_equal(box.upper, [1.0, 0.0, 3.0])
