"""Models that learn rows as they come: against the textbook, against batch fits, and in scikit-learn's manners."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

import frankwolfe as fw
from tests.reference import textbook

pytestmark = pytest.mark.usefixtures("interpreted")

D, RADIUS = 8, 3.0
TRUE = np.array([1.5, -1.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0])
BALL = fw.L1Ball(RADIUS)


def rows(n, seed):
    """Return rows, noisy targets with an intercept, and classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    target = X @ TRUE + 0.7 + 0.3 * rng.normal(size=n)
    return X, target, np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-target)), "yes", "no")


def classifier(**how):
    return fw.FrankWolfeClassifier(radius=RADIUS, **how)


def mean_loss(model, X, words):
    """Logistic loss, from its definition."""
    return np.mean(np.logaddexp(0.0, np.where(words == "yes", -1.0, 1.0) * model.decision_function(X)))


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_the_steps_are_those_of_the_textbook(layout):
    X, target, _ = rows(96, 0)
    model = fw.FrankWolfeRegressor(radius=RADIUS, fit_intercept=False)
    for chunk in (slice(0, 32), slice(32, 96)):
        model.partial_fit(layout(X[chunk]), target[chunk])
    batches = np.arange(96).reshape(3, 32)
    expected = textbook.momentum(X, target, textbook.squared, textbook.l1_ball(RADIUS), batches, np.zeros(D))
    np.testing.assert_allclose(model.coef_, expected[-1], atol=1e-12)
    assert (model.n_iter_, model.n_samples_seen_, model.intercept_) == (3, 96, 0.0)


def test_a_stream_ends_near_the_batch_fit_and_never_leaves_the_set():
    model = classifier()
    for seed in range(10):
        X, _, words = rows(1000, seed)
        model.partial_fit(X, words, classes=["no", "yes"])
        assert BALL.contains(model.coef_[0])
    X, _, words = rows(3000, 99)
    batch = classifier().fit(X, words)
    X, _, words = rows(3000, 100)
    best = mean_loss(batch, X, words)
    assert mean_loss(model, X, words) < 1.02 * best
    assert abs(model.intercept_[0] - batch.intercept_[0]) < 0.15
    assert abs(model.prequential_loss_ - best) < 0.05 * best  # rows are scored before they are learnt


@pytest.mark.parametrize(
    ("model", "size"),
    [
        (fw.FrankWolfeClassifier(radius=2.0), lambda coef: np.abs(coef).sum()),
        (fw.FrankWolfeClassifier("squared-hinge", radius=2.0), lambda coef: np.abs(coef).sum(axis=1).max()),
        (fw.LowRankClassifier(radius=2.0), lambda coef: np.linalg.norm(coef, "nuc")),
    ],
    ids=["multinomial", "one-vs-rest", "low rank"],
)
def test_several_classes(model, size):
    for seed in range(4):
        X, target, _ = rows(400, seed)
        model.partial_fit(X, np.digitize(target, [0.0, 1.5]), classes=[0, 1, 2])
        assert size(model.coef_) <= 2.0 * (1.0 + 1e-9)
    X, target, _ = rows(500, 50)
    classes = np.digitize(target, [0.0, 1.5])
    assert model.score(X, classes) > np.bincount(classes).max() / 500 + 0.1


def test_weights_count_within_the_whole_stream():
    X, target, _ = rows(192, 0)
    target[96:] *= -1.0  # where the halves disagree it matters which one counts
    weights = np.where(np.arange(192) < 96, 3.0, 0.5)
    halves = slice(0, 96), slice(96, 192)

    def learnt(factor):
        model = fw.FrankWolfeRegressor(radius=RADIUS)
        for half in halves:
            model.partial_fit(X[half], target[half], sample_weight=factor * weights[half])
        return model

    one, two = learnt(1.0), learnt(8.0)
    np.testing.assert_array_equal(one.coef_, two.coef_)  # proportions only
    plain = fw.FrankWolfeRegressor(radius=RADIUS)
    for half in halves:
        plain.partial_fit(X[half], target[half])
    assert np.abs(one.coef_ - plain.coef_).max() > 1e-3  # but those of different chunks too
    before = 0.5 * np.mean(target[:96] ** 2)  # the zero model
    assert plain.prequential_loss_ == pytest.approx((before + plain.chunk_loss_) / 2.0)
    assert one.prequential_loss_ == pytest.approx((3.0 * before + 0.5 * one.chunk_loss_) / 3.5)


def test_rows_without_weight_teach_nothing():
    X, _, words = rows(100, 0)
    weights = np.where(np.arange(100) % 3 == 0, 0.0, 2.0)
    one = classifier().partial_fit(X, words, ["no", "yes"], sample_weight=weights)
    two = classifier().partial_fit(X[weights > 0], words[weights > 0], ["no", "yes"])
    np.testing.assert_array_equal(one.coef_, two.coef_)
    three = classifier(class_weight={"no": 3.0, "yes": 1.0}).partial_fit(X, words, ["no", "yes"])
    four = classifier().partial_fit(X, words, ["no", "yes"], sample_weight=np.where(words == "no", 3.0, 1.0))
    np.testing.assert_array_equal(three.coef_, four.coef_)
    with pytest.raises(ValueError, match="nothing to learn"):
        classifier(class_weight={"no": 0.0}).partial_fit(X[words == "no"], words[words == "no"], ["no", "yes"])


def test_loss_and_gap_are_measured_before_a_chunk_is_learnt():
    X, target, _ = rows(60, 0)
    model = fw.FrankWolfeRegressor(radius=RADIUS).partial_fit(*rows(200, 1)[:2])
    before = copy.deepcopy(model)
    model.partial_fit(X, target)
    assert model.chunk_loss_ == pytest.approx(0.5 * np.mean((target - before.predict(X)) ** 2))
    shifted = fw.Problem(X, target - before.intercept_, loss="squared", constraint=BALL)
    assert model.gap_estimate_ == pytest.approx(shifted.gap(before.coef_))  # a chunk this small is the window


def test_the_error_of_the_gap_covers_it():
    X, target, _ = rows(4000, 0)
    model = fw.FrankWolfeRegressor(radius=RADIUS, fit_intercept=False).partial_fit(X, target)
    exact = fw.Problem(*rows(20000, 1)[:2], loss="squared", constraint=BALL).gap(model.coef_)
    off, errors = [], []
    for seed in range(30):
        after = copy.deepcopy(model).partial_fit(*rows(100, 100 + seed)[:2])
        off.append(abs(after.gap_estimate_ - exact))
        errors.append(after.gap_error_)
    assert np.mean(np.array(off) <= errors) >= 0.9
    assert np.mean(errors) < 10.0 * np.mean(off)
    assert copy.deepcopy(model).partial_fit(X[:3], target[:3]).gap_error_ == np.inf


def test_it_goes_on_from_what_was_fitted_and_fit_starts_anew():
    X, _, words = rows(800, 0)
    fitted = classifier().fit(X, words)
    held_out = rows(2000, 50)
    before = mean_loss(fitted, held_out[0], held_out[2])
    model = copy.deepcopy(fitted)
    for seed in range(1, 4):
        more, _, said = rows(100, seed)
        model.partial_fit(more, said)
        assert mean_loss(model, held_out[0], held_out[2]) < 1.005 * before
    assert np.abs(model.coef_ - fitted.coef_).max() > 0.0
    assert (model.gap_, model.result_, model.n_samples_seen_) == (np.inf, None, 1100)
    model.fit(X, words)
    np.testing.assert_array_equal(model.coef_, fitted.coef_)
    assert (model.gap_, model.n_samples_seen_) == (fitted.gap_, 800)
    assert np.isnan(model.gap_estimate_)


def test_a_pickled_model_goes_on_to_the_same_bits_and_does_not_grow():
    model, sizes = classifier(), []
    for seed in range(3):
        X, _, words = rows(100, seed)
        model.partial_fit(X, words, classes=["no", "yes"])
        sizes.append(len(pickle.dumps(model)))
    assert max(sizes) < sizes[0] + 200
    twin = pickle.loads(pickle.dumps(model))
    X, _, words = rows(100, 5)
    np.testing.assert_array_equal(model.partial_fit(X, words).coef_, twin.partial_fit(X, words).coef_)


def test_a_chunk_that_cannot_be_learnt_leaves_all_as_it_was():
    X, target, _ = rows(100, 0)
    model = fw.FrankWolfeRegressor(radius=RADIUS).partial_fit(X, target)
    known = pickle.dumps(model.__dict__)
    X[50] = 1e200
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(ValueError, match="not finite at step"):
        model.partial_fit(X, target)
    assert pickle.dumps(model.__dict__) == known


@pytest.mark.parametrize(
    ("how", "first", "then", "message"),
    [
        ({}, {}, {}, "classes must be passed on the first call"),
        ({}, {"classes": ["yes"]}, {}, "at least two classes"),
        ({}, {"classes": ["no", "maybe"]}, {}, "y has the class 'yes'"),
        ({}, {"classes": ["no", "yes"]}, {"classes": ["a", "b"]}, "are not those known so far"),
        ({"class_weight": "balanced"}, {"classes": ["no", "yes"]}, {}, "give a dict of weights"),
        (
            {"method": "sfw"},
            {"classes": ["no", "yes"]},
            {},
            "'sfw' needs rows that .* again.*'auto' or 'momentum'",
        ),
        ({"method": "corrective"}, {"classes": ["no", "yes"]}, {}, "needs rows that it can read again"),
    ],
)
def test_mistakes_are_told(how, first, then, message):
    X, _, words = rows(40, 0)
    model = classifier(**how)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, words, **first).partial_fit(X, words, **then)


def test_a_set_that_shrinks_under_the_weights_is_told():
    X, _, words = rows(40, 0)
    model = classifier().partial_fit(X, words, classes=["no", "yes"])
    with pytest.raises(ValueError, match="the set has changed between two calls"):
        model.set_params(radius=0.1).partial_fit(X, words)


def test_the_estimate_is_exchangeable():
    X, target, _ = rows(96, 0)
    method = fw.methods.Method(fw.methods.Momentum(), fw.methods.Toward(), fw.methods.OpenLoop(2.0, 2.0), batch_size=48)
    model = fw.SimplexRegressor(method=method).partial_fit(X, target)
    assert model.n_iter_ == 2
    assert fw.Simplex(1.0).contains(model.coef_)


# --- fits that are kept in files --------------------------------------------------------------------------------------


def words_of(target):
    """Return three classes."""
    return np.digitize(target, [0.0, 1.5])


FITTED = {
    "classifier": (classifier, lambda target: target > 0.7),
    "multinomial": (classifier, words_of),
    "low rank": (lambda **how: fw.LowRankClassifier(radius=RADIUS, **how), words_of),
    "regressor": (lambda **how: fw.FrankWolfeRegressor(radius=RADIUS, **how), lambda target: target),
    "several outputs": (
        lambda **how: fw.FrankWolfeRegressor(radius=RADIUS, **how),
        lambda target: np.c_[target, -2.0 * target],
    ),
    "simplex": (fw.SimplexRegressor, lambda target: 0.2 * target),
    "momentum": (lambda **how: classifier(method="momentum", max_passes=3, tol=0, **how), lambda target: target > 0.7),
    "warm": (lambda **how: classifier(warm_start=True, **how), lambda target: target > 0.7),
}
every_fitted = pytest.mark.parametrize("kind", FITTED)


def fitted_kind(kind):
    """Return a maker of models, and two chunks with targets that fit them."""
    make, targets = FITTED[kind]
    chunks = [(X, targets(target)) for X, target, _ in (rows(120, 0), rows(60, 1))]
    return lambda: make(random_state=0), chunks


def stream_of(model):
    """Return all arrays and numbers that a stream goes on from."""
    return pickle.dumps([(one.w, one.r, one.shift, one.steps, one.rows, one.curve) for one in model._streams])


@every_fitted
def test_a_stream_goes_on_from_a_fit_that_was_kept_in_a_file(kind, tmp_path):
    make, (first, then) = fitted_kind(kind)
    plain = make().fit(*first).partial_fit(*then)
    kept = make().fit(*first, checkpoint=tmp_path / "fit.ckpt")
    again = make().fit(*first, checkpoint=tmp_path / "fit.ckpt")  # ends where the file does
    assert kept.result_.nit == again.result_.nit
    for model in (kept, again):
        model.partial_fit(*then)
        np.testing.assert_array_equal(model.coef_, plain.coef_)
        assert stream_of(model) == stream_of(plain)
        assert model.gap_ == np.inf


@every_fitted
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_after_a_stream_is_kept_in_a_file_as_any_other(kind, tmp_path):
    make, (first, then) = fitted_kind(kind)
    extra = {"classes": np.unique(first[1])} if hasattr(make(), "decision_function") else {}
    model, path = make().partial_fit(*then, **extra), tmp_path / "fit.ckpt"
    most, method, plain = model.max_passes, model.method, copy.deepcopy(model).fit(*first)
    steady = "corrective" if method == "auto" else method  # with so few passes "auto" would be another one
    half = copy.deepcopy(model).set_params(max_passes=2, method=steady).fit(*first, checkpoint=path)  # broken off
    assert half.passes_ < plain.passes_
    assert np.isnan(half.gap_estimate_)
    half.set_params(method=method).partial_fit(*then)
    whole = half.set_params(max_passes=most).fit(*first, checkpoint=path)
    np.testing.assert_array_equal(whole.coef_, plain.coef_)
    assert (whole.gap_, whole.passes_) == (plain.gap_, plain.passes_)
    assert np.isnan(whole.gap_estimate_)
    if kind != "warm":
        np.testing.assert_array_equal(whole.coef_, make().fit(*first).coef_)  # a fit starts anew


def test_a_file_of_another_method_is_refused(tmp_path):
    X, target, _ = rows(60, 0)
    fw.FrankWolfeRegressor(random_state=0).fit(X, target, checkpoint=tmp_path / "fit.ckpt")
    with pytest.raises(ValueError, match=r"is a run of 'auto: corrective', and 'sfw' has other parts"):
        fw.FrankWolfeRegressor(method="sfw", random_state=0).fit(X, target, checkpoint=tmp_path / "fit.ckpt")


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [fw.Hinge(), fw.Pinball(0.3)], ids=["hinge", "pinball"])
@pytest.mark.parametrize("method", ["auto", "momentum"])
def test_losses_with_a_kink_are_left_to_fit(loss, method):
    X, target, words = rows(40, 0)
    model = (fw.FrankWolfeClassifier if loss.targets == "labels" else fw.FrankWolfeRegressor)(loss, method=method)
    given = (X, words, ["no", "yes"]) if loss.targets == "labels" else (X, target)
    with pytest.raises(ValueError, match=rf"{type(loss).__name__} has a kink: use fit, or a smooth loss such as"):
        model.partial_fit(*given)


def test_row_stores_are_left_to_fit(tmp_path):
    X, target, _ = rows(40, 0)
    store = fw.write_rows(tmp_path / "rows", X, target, shard=1000)
    model = fw.FrankWolfeRegressor(radius=RADIUS)
    for memory in (2 * store.largest_shard, store.bytes):
        with pytest.raises(TypeError, match="partial_fit needs rows in memory, but X is a row store"):
            model.partial_fit(fw.open_rows(store.path, memory=memory), target)
        assert not hasattr(model, "n_features_in_")
        model.fit(fw.open_rows(store.path, memory=memory)).partial_fit(X, target)
        model = fw.FrankWolfeRegressor(radius=RADIUS)
