"""Sets as objects: copied, stored, given another radius, put together, and refused where they do not fit."""

import copy
import pickle

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import frankwolfe as fw
from frankwolfe.cli import main
from frankwolfe.compile.part import short
from frankwolfe.sets import outside
from frankwolfe.sets.named import SETS as NAMED
from frankwolfe.sets.polytopes import ScaledProgram
from tests import cases

D = 9
WRAPPERS = {
    "counted": fw.sets.Counted,
    "cached": lambda inner: fw.sets.Cached(inner, 3),
    "scaled": lambda inner: fw.sets.Scaled(inner, 2.0),
    "translated": lambda inner: fw.sets.Translated(inner, np.linspace(-0.1, 0.1, D)),
    "product": lambda inner: fw.Product([inner], [D]),
}
EVERY_SET = pytest.mark.parametrize("name", cases.SIZED_SETS)
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(20, 4)), RNG.normal(size=(20, 3))


def regression(constraint, targets=Y, data=X):
    loss = "multitask-squared" if np.ndim(targets) == 2 else "squared"
    return fw.Problem(data, targets, loss, constraint)


# --- copies ------------------------------------------------------------------------------------------------------

COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda part: pickle.loads(pickle.dumps(part)),
    "clone": lambda part: clone(fw.FrankWolfeRegressor(constraint=part)).constraint,
}


@pytest.mark.parametrize("make", COPIES.values(), ids=COPIES)
@EVERY_SET
def test_every_set_and_wrapper_can_be_copied(name, make):
    inner = cases.SIZED_SETS[name](D)
    for constraint in (inner, *(wrap(inner) for wrap in WRAPPERS.values())):
        for ready in (constraint, constraint.for_size(D), constraint.for_size(D).for_run()):
            twin = make(ready)
            assert type(twin) is type(ready)
            assert twin == ready
            assert hash(twin) == hash(ready)
            direction = np.linspace(-1.0, 2.0, D)
            assert twin.support(direction) == ready.support(direction)
            assert " at 0x" not in repr(twin)


def test_a_copy_counts_on_by_itself():
    counted = fw.sets.Counted(fw.L1Ball(1.0))
    counted.vertex(np.ones(3))
    twin = copy.deepcopy(counted)
    twin.vertex(np.ones(3))
    assert (counted.calls, twin.calls) == (1, 2)


def test_copies_share_no_matrix():
    A = sparse.csr_array(np.vstack([np.eye(2), -np.eye(2)]))
    polytope = fw.Polytope(A, np.ones(4))
    twin = copy.deepcopy(polytope)
    twin.A.value.data[:] = 5.0
    assert polytope == fw.Polytope(A, np.ones(4))


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(
    "constraint",
    [
        fw.LatentGroupBall([[0, 1], [1, 2, 3]], 1.0),
        fw.Polytope(sparse.csr_array(np.vstack([np.eye(4), -np.eye(4)])), np.full(8, 0.5)),
        fw.sets.Cached(fw.sets.Scaled(fw.L1Ball(1.0), 2.0)),
    ],
    ids=cases.name_of,
)
def test_cross_validation_takes_every_set(constraint):
    scores = cross_val_score(fw.FrankWolfeRegressor(constraint=constraint), X, X @ [1.0, 0.0, -1.0, 0.5], cv=2)
    assert np.isfinite(scores).all()


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
@pytest.mark.parametrize("name", ["GroupBall", "LatentGroupBall", "Polytope", "TraceBall", "Product"])
def test_models_over_wrapped_sets_are_stored(name, wrap, tmp_path):
    data = np.random.default_rng(1).normal(size=(12, D))
    problem = regression(wrap(cases.SIZED_SETS[name](D)), data[:, 0], data)
    model = fw.FittedModel.of(problem, fw.minimize(problem, max_passes=20))
    model.save(tmp_path / "model.npz")
    again = fw.load_model(tmp_path / "model.npz")
    assert again.constraint == problem.constraint
    np.testing.assert_array_equal(again.predict(data), model.predict(data))


# --- radii -------------------------------------------------------------------------------------------------------

RADIAL = {
    "L1Ball": fw.L1Ball(3.0),
    "Simplex": fw.Simplex(3.0),
    "NonNegativeL1Ball": fw.NonNegativeL1Ball(3.0),
    "L2Ball": fw.L2Ball(3.0),
    "LinfBall": fw.LinfBall(3.0),
    "LpBall": fw.LpBall(3.0, 3.0),
    "GroupBall": fw.GroupBall([0, 0, 1, 1], 3.0),
    "LatentGroupBall": fw.LatentGroupBall([[0, 1], [1, 2, 3]], 3.0),
    "KSupportBall": fw.KSupportBall(2, 3.0),
    "OWLBall": fw.OWLBall([2.0, 1.0, 1.0, 0.5], 3.0),
    "Ellipsoid": fw.Ellipsoid([1.0, 2.0, 3.0, 4.0], 3.0),
    "TraceBall": fw.TraceBall(3.0, (2, 2)),
    "Budget": fw.Budget(-1.0, [0.5, 1.0, 2.0, 3.0], 3.0),
    "CappedSimplex": fw.CappedSimplex(0.9, 3.0),
    "Counted": fw.sets.Counted(fw.L1Ball(3.0)),
    "Cached": fw.sets.Cached(fw.LinfBall(3.0)),
    "Scaled": fw.sets.Scaled(fw.L1Ball(1.5), 2.0),
    "Translated": fw.sets.Translated(fw.L2Ball(3.0), 0.1),
    "Product": fw.Product([fw.L1Ball(3.0)], [4]),
}
TARGETS = X @ [1.0, -2.0, 0.0, 1.0]
EDGE_OF_GRID = pytest.mark.filterwarnings("ignore:.*of the 2 that were tried")


@EDGE_OF_GRID
@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("constraint", RADIAL.values(), ids=RADIAL)
def test_every_set_with_a_radius_has_a_path_and_a_search(constraint):
    assert constraint.own_radius() == pytest.approx(3.0)
    path = fw.radius_path(X, TARGETS, loss="squared", constraint=constraint, radii=[0.5, 1.0], tol=1e-3)
    assert path.success.all()
    for k, radius in enumerate(path.radii):
        assert constraint.with_radius(radius).for_size(4).contains(path.coef(k), 1e-8)
    assert len(fw.radius_path(X, TARGETS, loss="squared", constraint=constraint, n_radii=2, tol=1e-2)) == 2
    search = fw.FrankWolfeRegressorCV(constraint=constraint, radii=[0.5, 1.0], cv=2, tol=1e-2).fit(X, TARGETS)
    assert search.radius_ in (0.5, 1.0)
    assert constraint.with_radius(search.radius_).for_size(4).contains(search.coef_, 1e-8)


@EDGE_OF_GRID
@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("name", NAMED)
def test_every_name_has_a_path_and_a_search(name):
    targets, loss = (Y, "multitask-squared") if name in ("trace", "group") else (TARGETS, "squared")
    assert fw.radius_path(X, targets, loss=loss, constraint=name, n_radii=2, tol=1e-2).success.all()
    search = fw.FrankWolfeRegressorCV(constraint=name, radii=[0.5, 1.0], cv=2, tol=1e-2).fit(X, targets)
    assert search.radius_ in (0.5, 1.0)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("command", ["fit", "path", "info"])
@pytest.mark.parametrize("name", sorted(NAMED))
def test_every_name_works_in_the_commands(name, command, tmp_path):
    several = name in ("trace", "group")
    columns = {f"x{j}": X[:, j] for j in range(4)} | ({"y": Y[:, 0], "z": Y[:, 1]} if several else {"y": TARGETS})
    rows = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    (tmp_path / "data.csv").write_text("\n".join(rows))
    targets = ["-t", "y", "-t", "z", "--loss", "multitask-squared"] if several else ["-t", "y"]
    options = {"fit": ["--radius", "0.5", "-o", f"{tmp_path}/model.npz", "--tol", "1e-2"], "path": ["--n-radii", "2"]}
    arguments = [command, f"{tmp_path}/data.csv", "--set", name, *targets, *options.get(command, [])]
    outcome = CliRunner().invoke(main, arguments)
    assert outcome.exit_code == 0, outcome.output


def test_a_path_of_a_moved_set_goes_on_where_it_was():
    moved = fw.sets.Translated(fw.L1Ball(1.0), [0.5, -0.5, 0.0, 0.25])
    with fw.python_mode():
        path = fw.radius_path(X, TARGETS, loss="squared", constraint=moved, radii=[0.1, 0.5, 1.0, 2.0], tol=1e-8)
        for k, radius in enumerate(path.radii):
            alone = fw.minimize(regression(moved.with_radius(radius), TARGETS), tol=1e-8)
            assert path.funs[k] == pytest.approx(alone.fun, abs=1e-7 * alone.fun + alone.gap + path.gaps[k])


@pytest.mark.parametrize("constraint", RADIAL.values(), ids=RADIAL)
def test_a_set_and_a_second_radius_are_refused(constraint):
    model = fw.FrankWolfeRegressor(constraint=constraint, radius=5.0)
    assert model.get_params()["radius"] == 5.0  # kept as given; told when it is fitted
    with pytest.raises(ValueError, match=r"two radii: radius=5, .* leave radius out"):
        model.fit(X, TARGETS)


@pytest.mark.parametrize("constraint", [fw.Box(0.0, 1.0), fw.Box(-1.0, [1.0, 2.0, 1.0, 1.0]), fw.Birkhoff(2)])
def test_sets_without_a_radius_say_so(constraint):
    assert constraint.own_radius() is None
    for wrapped in (constraint, fw.sets.Counted(constraint), fw.Product([constraint], [4])):
        with pytest.raises(ValueError, match="has no radius to change"):
            fw.radius_path(X, TARGETS, loss="squared", constraint=wrapped, radii=[1.0])
    with pytest.raises(ValueError, match="Product has no radius to change, for each of its sets may have one"):
        fw.Product([fw.L1Ball(1.0), fw.L1Ball(1.0)], [2, 2]).with_radius(2.0)


@pytest.mark.parametrize("radius", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("constraint", RADIAL.values(), ids=RADIAL)
def test_radii_that_are_none_are_refused(constraint, radius):
    with pytest.raises(ValueError, match=r"radius|lower"):
        constraint.with_radius(radius)


# --- several outputs ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("interpreted")
def test_a_product_over_columns_holds_one_set_for_each_block_of_rows():
    sets, sizes = [fw.TraceBall(0.5), fw.sets.Counted(fw.L1Ball(0.7)), fw.GroupBall([0, 1], 0.6)], [3, 2, 2]
    data = np.zeros((30, 7))
    for k, (low, high) in enumerate([(0, 3), (3, 5), (5, 7)]):
        data[10 * k : 10 * (k + 1), low:high] = RNG.normal(size=(10, high - low))
    targets = RNG.normal(size=(30, 3))
    whole = fw.minimize(regression(fw.Product(sets, sizes), targets, data), tol=1e-6, max_passes=2000)
    assert whole.success
    parts = []
    for k, (inner, low, high) in enumerate(zip(sets, [0, 3, 5], [3, 5, 7], strict=True)):
        rows = slice(10 * k, 10 * (k + 1))
        parts.append(fw.minimize(regression(inner, targets[rows], data[rows, low:high]), tol=1e-8, max_passes=2000))
    assert whole.fun == pytest.approx(np.mean([part.fun for part in parts]), abs=whole.gap + 1e-7)
    assert np.linalg.svd(whole.x[:3], compute_uv=False).sum() <= 0.5 * (1 + 1e-9)


def test_overlapping_groups_of_columns_hold_rows_of_the_weights():
    groups, outputs = [[0, 1], [1, 2, 3]], 3
    constraint = regression(fw.sets.Counted(fw.LatentGroupBall(groups, 1.0))).constraint
    entries = [[j * outputs + c for j in group for c in range(outputs)] for group in groups]
    plain = fw.LatentGroupBall(entries, 1.0)
    for r in RNG.normal(size=(5, 12)):
        np.testing.assert_array_equal(constraint.vertex(r), plain.vertex(r))
    again = regression(fw.L1Ball(1.0)).over(constraint.with_radius(2.0)).constraint  # as paths do
    assert again.set == plain.with_radius(2.0)
    assert regression(plain).constraint == plain  # these are groups of weights as they stand
    assert regression(fw.LatentGroupBall([[0]], 1.0)).constraint.vertex(np.ones(12)).nonzero()[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("wrap", [lambda inner: inner, *WRAPPERS.values()], ids=["bare", *WRAPPERS])
@pytest.mark.parametrize(
    ("inner", "columns", "outputs", "message"),
    [
        (fw.TraceBall(1.0, (1, 9)), 3, 3, r"shape is \(1, 9\), but the weights are 3 x 3"),
        (fw.Spectrahedron(1.0), 9, 1, "matrices are square, but the weights are 9 x 1"),
        (fw.Birkhoff(3), 9, 1, "size is 3, but the weights are 9 x 1"),
        (fw.GroupBall(np.arange(4), 1.0), 3, 3, "groups has 4 entries"),
        (fw.LatentGroupBall([[0, 9]], 1.0), 3, 3, "group 0 has index 9"),
        (fw.OWLBall([1.0, 0.5, 0.2], 1.0), 3, 3, "weights has 3 entries"),
        (fw.KSupportBall(10, 1.0), 3, 3, "k must be at most the number of columns, 9"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, tuple) else None,
)
def test_what_no_weight_matrix_can_be_is_refused(inner, columns, outputs, message, wrap):
    data, targets = np.ones((5, columns)), np.ones((5, outputs))
    with pytest.raises(ValueError, match=message):
        regression(wrap(inner), targets, data)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fw.sets.Scaled(fw.L1Ball(1.0), 0.0), "Scaled: factor must be positive"),
        (lambda: fw.sets.Scaled(fw.L1Ball(1.0), -2.0), "Scaled: factor must be positive"),
        (lambda: fw.sets.Scaled(fw.L1Ball(1.0), np.nan), "Scaled: factor must be finite"),
        (lambda: fw.sets.Translated(fw.L1Ball(1.0), np.nan), "Translated: shift must be finite"),
        (lambda: fw.sets.Translated(fw.L1Ball(1.0), [0.0, np.inf]), "Translated: shift holds NaN or infinity"),
        (lambda: regression(fw.sets.Translated(fw.L1Ball(1.0), [0.0, 1.0])), "shift has 2 entries"),
        (lambda: regression(fw.Product([fw.L1Ball(1.0), fw.L2Ball(1.0)], [2, 3])), "sizes sum to 5"),
        (
            lambda: regression(fw.Product([fw.L1Ball(1.0), fw.GroupBall([0, 1, 2], 1.0)], [2, 2]), TARGETS),
            "Product: set 1, for a block of size 2: GroupBall: groups has 3 entries",
        ),
        (lambda: regression(fw.sets.Counted(fw.TraceBall(1.0)), TARGETS), "say which matrix they are"),
    ],
)
def test_wrappers_that_do_not_fit_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# --- the smallest, the compiled, the shown -----------------------------------------------------------------------


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(
    "wrap", [fw.sets.Counted, fw.sets.Cached, lambda inner: fw.sets.Translated(fw.sets.Scaled(inner, 2.0), 0.5)]
)
def test_one_weight_is_enough(wrap):
    one = np.linspace(-1.0, 1.0, 6)[:, None]
    sets = [make(1) for name, make in cases.SIZED_SETS.items() if name not in ("Product", "Product-called-back")]
    for constraint in [*cases.SETS, *sets]:
        for targets in (one[:, 0] ** 2, one**2):
            assert fw.minimize(regression(wrap(constraint), targets, one), max_passes=500).success


COMPILED = [
    (fw.sets.Counted(fw.sets.Cached(fw.L1Ball(1.5), 2)), "pairwise", TARGETS),
    (fw.sets.Scaled(fw.Simplex(1.5), 2.0), "away", TARGETS),
    (fw.sets.Translated(fw.sets.Counted(fw.Box(-0.5, 1.0)), 0.1), "blended-pairwise", TARGETS),
    (fw.sets.Cached(fw.L2Ball(1.5), 2), "fw", Y),
    (fw.Product([fw.L2Ball(1.0), fw.sets.Scaled(fw.L1Ball(1.0), 2.0)], [2, 2]), "sfw", Y),
]


@pytest.mark.parametrize(("constraint", "method", "targets"), COMPILED, ids=[case[1] for case in COMPILED])
def test_compiled_wrappers_do_what_interpreted_ones_do(constraint, method, targets):
    problem = regression(constraint, targets)
    options = {"tol": 0.0, "max_passes": 6, "random_state": 0, "batch_size": 5, "trace": 0}
    compiled = fw.minimize(problem, method, **options)
    with fw.python_mode():
        interpreted = fw.minimize(problem, method, **options)
    np.testing.assert_allclose(compiled.x, interpreted.x, rtol=0.0, atol=1e-10)
    assert compiled.gap == pytest.approx(interpreted.gap, abs=1e-10)


@pytest.mark.usefixtures("interpreted")
def test_signs_see_through_wrappers():
    model = fw.FrankWolfeRegressor(constraint=fw.sets.Counted(fw.sets.Scaled(fw.L1Ball(1.0), 2.0)), signs=1).fit(
        X, TARGETS
    )
    assert model.coef_.min() >= 0.0
    assert model.coef_.sum() == pytest.approx(2.0)


def test_a_cache_does_not_stand_in_for_a_surer_support_function():
    class Sloppy:
        """The l2 ball, with vertices that are only about right."""

        def vertex(self, r):
            return -r / np.linalg.norm(r) * 0.9

        def support(self, direction):
            return np.linalg.norm(direction)

        def contains(self, w, tolerance):
            return bool(np.linalg.norm(w) <= 1.0 + tolerance)

    cached = fw.sets.Cached(outside(Sloppy()))
    cached.vertex(np.ones(4))
    assert cached.support(-np.ones(4)) == 2.0
    matrix = np.random.default_rng(0).normal(size=300 * 200)
    ball = fw.TraceBall(1.0, (300, 200))
    assert fw.sets.Cached(ball).support(matrix) == ball.support(matrix)


def test_wrapped_sets_are_shown_with_what_they_wrap():
    assert short(fw.Product([fw.sets.Counted(fw.L1Ball(3.0)), fw.LinfBall(1.0)], [2, 2])) == (
        "Product(Counted(L1Ball(radius=3)), Box(lower=-1, upper=1))"
    )
    assert short(fw.LinfBall(2.0).for_size(3)) == "Box(lower=-2, upper=2)"


def test_the_support_of_a_polytope_is_proven_by_the_dual(monkeypatch):
    """A solver that stops where it is merely good, as tolerances allow, must not make gaps too small."""
    solve, box = ScaledProgram.solve, fw.Polytope(np.vstack([np.eye(2), -np.eye(2)]), np.ones(4))

    def not_quite(program, costs):
        found = solve(program, costs)
        found.x = (1.0 - 1e-9) * found.x
        return found

    monkeypatch.setattr(ScaledProgram, "solve", not_quite)
    direction = np.array([3.0, -1.0])
    assert direction @ box.vertex(-direction) < 4.0 - 1e-9
    assert box.support(direction) == pytest.approx(4.0, rel=1e-14)
