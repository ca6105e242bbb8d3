"""Advice on scales: given where the scale of columns or a small radius keeps a model from fitting, and nowhere else."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import datasets
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import scale

import frankwolfe as fw
from frankwolfe.advice import LITTLE, UNLIKE, WORTHWHILE, advice_on, unlikeness


@pytest.fixture(autouse=True)
def interpreted():
    with fw.python_mode():
        yield


def solved(X, y, radius, loss="squared", intercept=True, constraint=fw.L1Ball, **options):
    problem = fw.Problem(X, y, loss=loss, constraint=constraint(radius), intercept=intercept)
    return problem, fw.minimize(problem, **{"tol": 1e-3, "max_passes": 60, "trace": 0, **options})


def diabetes(scaled=True):
    return datasets.load_diabetes(return_X_y=True, scaled=scaled)


# --- columns ------------------------------------------------------------------------------------------------------

TABLES = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
    "diabetes": datasets.load_diabetes,
    "linnerud": datasets.load_linnerud,
    "friedman2": lambda return_X_y: datasets.make_friedman2(300, random_state=0),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_in_unlike_units_are_told_from_the_others(name):
    X, _ = TABLES[name](return_X_y=True)
    in_unlike_units = name in ("wine", "cancer", "friedman2")
    assert (unlikeness(X) > 10.0 * UNLIKE) if in_unlike_units else (unlikeness(X) < 0.2 * UNLIKE)
    assert unlikeness(scale(X)) < 0.2 * UNLIKE
    assert unlikeness(sparse.csr_array(scale(X))) < 0.2 * UNLIKE


def test_rare_words_and_rare_ones_are_not_small():
    rng = np.random.default_rng(0)
    seldom = (rng.random((3000, 40)) < np.geomspace(0.5, 0.002, 40)).astype(float)
    assert unlikeness(seldom) == pytest.approx(1.0)
    assert unlikeness(sparse.csr_array(seldom)) == pytest.approx(1.0)
    assert unlikeness(1.0 - seldom) == pytest.approx(1.0)
    assert unlikeness(seldom + 5000.0) == pytest.approx(1.0)  # an offset is the intercept's business
    assert unlikeness(seldom * np.where(np.arange(40) < 20, 1.0, 1e-3)) == pytest.approx(1e3)


@pytest.mark.parametrize(
    "X", [np.ones((5, 3)), np.zeros((1, 1)), sparse.csr_array((4, 3)), np.eye(3, dtype=np.float32)]
)
def test_columns_that_say_nothing_are_alike(X):
    assert unlikeness(X) == 1.0


def test_advice_on_columns_where_they_matter():
    X, y = datasets.load_breast_cancer(return_X_y=True)
    _, found = solved(X, 2 * y - 1, 5.0, "logistic")
    (sentence,) = found.advice
    assert "factor of about 100,000" in sentence
    assert "StandardScaler" in sentence
    assert solved(scale(X), 2 * y - 1, 5.0, "logistic")[1].advice == []


def test_no_advice_where_the_radius_does_not_bind():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)) * [1.0, 1.0, 1e4]
    y = X @ [1.0, 2.0, 3e-4]
    assert len(solved(X, y, 0.5)[1].advice) == 1
    assert solved(X, y, 50.0)[1].advice == []


def test_sets_that_mean_their_units_get_no_advice():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)) * [1.0, 1.0, 1e4]
    for constraint in (fw.Simplex(1.0), fw.Box(0.0, 1e-6), fw.ConvexHull([[0.0, 0.0, 0.0], [1e-9, 0.0, 0.0]])):
        problem = fw.Problem(X, X[:, 0], loss="squared", constraint=constraint)
        assert fw.minimize(problem, max_passes=20).advice == []


def test_balls_of_all_kinds_get_advice_and_sets_made_from_them():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)) * [1.0, 1.0, 1e4]
    y = X @ [1.0, 2.0, 3e-4]
    small = fw.L1Ball(0.5)
    for constraint in (
        fw.LinfBall(0.5),
        fw.sets.Counted(small),
        fw.sets.Cached(small),
        fw.sets.Scaled(small, 2.0),
        fw.L2Ball(0.5),
    ):
        assert len(solved(X, y, 0.5, constraint=lambda _, found=constraint: found)[1].advice) == 1, constraint


def test_which_sets_say_that_they_are_balls():
    pairs = [[0, 1], [1, 2]]
    balls = [fw.L1Ball(2.0), fw.L2Ball(2.0), fw.LinfBall(2.0), fw.LpBall(3.0, 2.0), fw.NonNegativeL1Ball(2.0)]
    balls += [fw.KSupportBall(2, 2.0), fw.OWLBall([2.0, 1.0, 1.0], 2.0), fw.TraceBall(2.0, (3, 1))]
    balls += [fw.GroupBall([0, 0, 1], 2.0), fw.LatentGroupBall(pairs, 2.0), fw.Box([-2.0] * 3, [2.0] * 3)]
    others = [fw.Simplex(2.0), fw.Box(0.0, 2.0), fw.Box(-2.0, [2.0, 2.0, 1.0]), fw.ConvexHull(np.eye(3))]
    others += [fw.MonotoneBox(-1.0, 1.0), fw.Ellipsoid(np.eye(3)), fw.sets.Translated(fw.L1Ball(2.0), 1.0)]
    others += [fw.Product([fw.L1Ball(2.0), fw.L1Ball(2.0)], [1, 2])]
    for constraint in balls:
        for kind in (
            constraint,
            fw.sets.Scaled(constraint, 3.0),
            fw.sets.Counted(constraint),
            fw.Product([constraint], [3]),
        ):
            assert kind.is_ball(), kind
            assert kind.own_radius() is not None
    for constraint in others:
        assert not constraint.is_ball(), constraint
        assert not fw.sets.Scaled(constraint, 3.0).is_ball()


# --- the radius ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("radius", [1.0, 10.0])
def test_a_radius_that_lets_nothing_be_fitted_is_told_with_a_better_one(radius):
    X, y = diabetes()
    problem, found = solved(X, y, radius)
    fitted = 1.0 - found.fun / problem.zero_value
    assert fitted < LITTLE
    (sentence,) = found.advice
    words = sentence.split()
    assert words[:2] == ["Radius", f"{radius:g}"]
    better = float(sentence.split("Try radius ")[1].split(",")[0])
    told = float(sentence.split("lower it by more than ")[1].split("%")[0]) / 100.0
    # what it promises of the larger radius, a run there keeps
    _, larger = solved(X, y, better)
    reached = 1.0 - larger.fun / problem.zero_value
    assert reached >= told > WORTHWHILE
    assert larger.advice == []


def text(classes=5, n=150, words=400):
    """Return tf-idf rows of as many topics as there are classes."""
    rng = np.random.default_rng(0)
    common = rng.dirichlet(np.full(words, 0.05))
    topics = [0.85 * common + 0.15 * rng.dirichlet(np.full(words, 0.01)) for _ in range(classes)]
    y = rng.integers(0, classes, n)
    counts = np.array([rng.multinomial(60, topics[c]) for c in y])
    return TfidfTransformer().fit_transform(counts), y


def test_text_that_the_default_radius_hardly_fits_is_told_of_a_larger_one():
    X, y = text()
    with pytest.warns(
        fw.exceptions.ScaleWarning, match="Radius 10 lowers the objective by only .*, while .* Try radius "
    ) as told:
        model = fw.FrankWolfeClassifier().fit(X, y)
    better = float(str(told[0].message).split("Try radius ")[1].split(",")[0])
    larger = fw.FrankWolfeClassifier(radius=better).fit(X, y)
    assert larger.score(X, y) > 0.9 > 0.7 > model.score(X, y)
    assert model.result_.advice  # and it is kept
    assert fw.FrankWolfeClassifier(radius=10.0).fit(X, y).result_.advice == []  # who chose it may mean it


def test_noise_gets_no_advice_however_small_the_radius():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 10)), rng.normal(size=400)
    for radius in (1e-6, 1e-3, 1.0):
        assert solved(X, y, radius)[1].advice == []
    assert solved(X, np.ones(400), 1.0)[1].advice == []  # the intercept alone fits
    assert solved(X, np.zeros(400), 1.0, intercept=False)[1].advice == []


def test_a_radius_is_not_blamed_for_weights_that_must_not_be_negative():
    X = np.random.default_rng(0).normal(size=(60, 3))
    for columns, told in ((X[:, :1], 0), (X, 1)):  # all of it needs a negative weight, or only a part
        problem = fw.Problem(
            columns, columns @ [-3.0, 2.0, 2.0][: columns.shape[1]], "squared", fw.NonNegativeL1Ball(1e-3)
        )
        assert len(fw.minimize(problem).advice) == told


def test_columns_of_zeros_get_no_advice():
    assert fw.minimize(fw.Problem(np.zeros((20, 3)), np.arange(20.0), "squared", fw.L1Ball(1e-3))).advice == []


def test_advice_does_not_depend_on_units():
    X = np.random.default_rng(0).normal(size=(50, 3))
    y = X @ [100.0, 50.0, 0.0]
    first, *others = (solved(s * X, s * y, 0.1)[1].advice for s in (1.0, 1e-100, 1e100))
    assert first
    assert others == [first, first]


def test_separable_labels_are_offered_a_finite_radius():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4))
    _, found = solved(X, np.sign(X[:, 0]), 1e-2, "logistic")
    (sentence,) = found.advice
    assert "Try radius" in sentence
    assert "inf" not in sentence


def test_several_outputs_and_other_balls():
    X, y = datasets.load_iris(return_X_y=True)
    X, y = scale(X)[::10], y[::10]
    for kind in (fw.TraceBall, fw.L2Ball, fw.L1Ball):
        _, found = solved(X, y, 1e-3, "multinomial", constraint=kind, intercept=False)
        assert len(found.advice) == 1
        _, found = solved(X, y, 3.0, "multinomial", constraint=kind, intercept=False, max_passes=10, tol=0.1)
        assert found.advice == []


def test_a_run_without_a_certificate_says_nothing_of_the_radius():
    X, y = diabetes()
    _, found = solved(X, y, 10.0, tol=1e-12, max_passes=0.5, method="sfw", random_state=0)
    assert not found.success
    assert found.advice == []


# --- where it is shown --------------------------------------------------------------------------------------------


def test_results_show_it_and_keep_it():
    problem, found = solved(*diabetes(), 10.0)
    assert f"advice: {found.advice[0]}" in repr(found)
    assert found.advice[0] in found._repr_html_()
    untouched = fw.minimize(problem, tol=1e-3)
    for kept in (pickle.loads(pickle.dumps(found)), pickle.loads(pickle.dumps(untouched)), copy.copy(found)):
        assert kept.advice == found.advice
    assert advice_on(problem, found) == found.advice
    _, fine = solved(*diabetes(), 600.0)
    assert "advice" not in repr(fine)
    assert '<p class="advice"' not in fine._repr_html_()


def test_asking_changes_nothing_and_looks_at_few_rows():
    problem, found = solved(*diabetes(), 600.0)
    before = (found.x.copy(), found.fun, found.gap, problem.X.copy())
    reads = []
    rows = problem.samples.rows
    kind = type(rows)
    whole = kind.dot_all
    try:
        kind.dot_all = lambda self, w: reads.append(w) or whole(self, w)
        assert found.advice == []
    finally:
        kind.dot_all = whole
    assert reads == []  # all rows are read only where next to nothing is fitted
    np.testing.assert_array_equal(found.x, before[0])
    assert (found.fun, found.gap) == before[1:3]
    np.testing.assert_array_equal(problem.X, before[3])


def test_estimators_warn_once_a_fit():
    X, y = diabetes()
    with pytest.warns(
        fw.exceptions.ScaleWarning, match="FrankWolfeRegressor: Radius 10 lowers the objective by only"
    ) as told:
        model = fw.FrankWolfeRegressor().fit(X, y)
    assert len(told) == 1
    assert model.result_.advice  # the result has let go of the data, and keeps the advice
    assert model.result_.trace.problem is None
    X, y = datasets.load_breast_cancer(return_X_y=True)
    with pytest.warns(fw.exceptions.ScaleWarning, match="FrankWolfeClassifier: The columns") as told:
        fw.FrankWolfeClassifier(radius=5.0).fit(X, y)
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fw.FrankWolfeClassifier(radius=5.0).fit(scale(X), y)


def test_of_a_radius_that_held_out_rows_chose_only_its_place_is_doubted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    model = fw.FrankWolfeRegressorCV(radii=[1e-4, 1e-3], cv=3)
    with pytest.warns(fw.exceptions.ScaleWarning, match="CV: The chosen radius 0.001 is the largest of the 2") as told:
        assert len(model.fit(X, X[:, 0]).result_.advice) == 1  # who asks is told
    assert len(told) == 1
    assert "Radius 0.001" not in str(told[0].message)
    with pytest.warns(fw.exceptions.ScaleWarning, match="The columns"):
        model.fit(X * [1.0, 1.0, 1e5], X[:, 0])


@pytest.mark.parametrize(
    ("radii", "advice"),
    [
        ([3.0, 5.0], "is the smallest of the 2 that were tried: .* Extend the grid downwards, for instance to 0.3"),
        ([0.1, 0.5], "is the largest of the 2 that were tried: .* Extend the grid upwards, for instance to 5"),
        ([0.1, 1.0, 5.0], ""),
        ([1.0], ""),
    ],
)
def test_a_radius_at_the_edge_of_its_grid_is_told(radii, advice):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 20))
    y = X[:, 0] + 0.7 * rng.normal(size=30)
    model = fw.FrankWolfeRegressorCV(radii=radii, cv=3)
    if not advice:
        model.fit(X, y)
        return
    with pytest.warns(fw.exceptions.ScaleWarning, match=advice) as told:
        model.fit(X, y)
    assert told[0].filename == __file__


def test_a_grid_that_ends_where_nothing_binds_is_long_enough():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    model = fw.FrankWolfeRegressorCV(radii=[1.0, 20.0], cv=3).fit(X, X @ [1.0, -2.0, 1.0])
    assert model.radius_ == 20.0


def test_every_fit_of_a_fold_warns_once():
    from sklearn.model_selection import cross_val_score

    X, y = diabetes()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        cross_val_score(fw.FrankWolfeRegressor(), X, y, cv=5)
        assert [warning.category for warning in told] == [fw.exceptions.ScaleWarning] * 5
