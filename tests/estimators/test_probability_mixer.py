"""The mixture of probabilities: the least log-loss by another solver, the loss's conjugate, and clear errors."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.metrics import log_loss

import frankwolfe as fw
from frankwolfe.losses.mixture import Mixture

RNG = np.random.default_rng(0)


def tables(models, n, classes, sharp=1.0, zeros=0.0):
    """Return probabilities of models of different quality, and the true classes; some are exactly zero."""
    y = RNG.integers(classes, size=n)
    found = []
    for quality in np.linspace(0.2, 2.0, models):
        scores = sharp * RNG.normal(size=(n, classes)) + quality * np.eye(classes)[y]
        p = np.exp(scores) * (RNG.uniform(size=scores.shape) >= zeros)
        p[:, 0] += p.sum(axis=1) == 0.0
        found.append(p / p.sum(axis=1, keepdims=True))
    lost = np.mean([p[np.arange(n), y] for p in found], axis=0) == 0.0
    return [p[~lost] for p in found], y[~lost]


@pytest.mark.parametrize(
    ("models", "n", "classes", "sharp", "zeros"),
    [(5, 300, 2, 1.0, 0.0), (20, 2000, 3, 2.0, 0.0), (8, 400, 4, 3.0, 0.5), (40, 60, 2, 1.0, 0.6)],
)
def test_the_mixture_has_the_least_log_loss(models, n, classes, sharp, zeros):
    P, y = tables(models, n, classes, sharp, zeros)
    weights = RNG.uniform(0.0, 2.0, len(y))
    weights[::7] = 0.0
    mixer = fw.ProbabilityMixer(tol=1e-9).fit(P, y, weights)
    assert mixer.weights_.sum() == pytest.approx(1.0)
    assert mixer.weights_.min() >= 0.0

    true, w = np.array([p[np.arange(len(y)), y] for p in P]).T, cp.Variable(models, nonneg=True)
    share = weights / weights.sum()
    best = cp.Problem(cp.Minimize(-(share[share > 0] @ cp.log(true[share > 0] @ w))), [cp.sum(w) == 1])
    best.solve(solver="CLARABEL")
    assert mixer.log_loss_ == pytest.approx(best.value, abs=1e-6)
    assert -share[share > 0] @ np.log(true[share > 0] @ mixer.weights_) == pytest.approx(mixer.log_loss_, rel=1e-12)
    assert mixer.log_loss_ - mixer.gap_ <= best.value + 1e-8
    assert mixer.average_log_loss_ == pytest.approx(-share[share > 0] @ np.log(true[share > 0].mean(axis=1)))


def test_named_classes_and_predictions():
    P, y = tables(3, 200, 3)
    names = np.array(["c", "a", "b"])
    mixer = fw.ProbabilityMixer().fit(P, names[y], classes=names)
    mixed = mixer.predict_proba(P)
    assert mixed == pytest.approx(sum(w * p for w, p in zip(mixer.weights_, P, strict=True)))
    assert log_loss(y, mixed) == pytest.approx(mixer.log_loss_)
    assert (mixer.predict(P) == names[mixed.argmax(axis=1)]).all()
    two = fw.ProbabilityMixer().fit([[0.9, 0.2, 0.6], [0.6, 0.3, 0.8]], [1, 0, 1])
    assert two.predict_proba([[0.5], [0.1]]) == pytest.approx(
        np.array([1.0 - two.weights_ @ [0.5, 0.1], two.weights_ @ [0.5, 0.1]])[None, :]
    )


@pytest.mark.parametrize("y", [0.1, 1.0])
def test_the_loss_its_derivatives_and_its_conjugate(y):
    loss, step = Mixture(), 1e-6
    for z in (-0.9, -0.2, 0.0, 0.7, 30.0):
        assert loss.value(z, y) == pytest.approx(-np.log(y * (1.0 + z)))
        slope = (loss.value(z + step, y) - loss.value(z - step, y)) / (2.0 * step)
        assert loss.derivative(z, y) == pytest.approx(slope, rel=1e-6)
        bend = (loss.derivative(z + step, y) - loss.derivative(z - step, y)) / (2.0 * step)
        assert loss.curvature(z, y) == pytest.approx(bend, rel=1e-6)
        for a in (-3.0, -0.5, -0.01):
            top = minimize_scalar(
                lambda t, a=a: -(a * (np.exp(t) - 1.0) - loss.value(np.exp(t) - 1.0, y)), bracket=(-1, 1), tol=1e-12
            )
            assert loss.conjugate(a, y) == pytest.approx(-top.fun, abs=1e-9)
            terms = loss.value(z, y), loss.conjugate(a, y), -a * z
            assert loss.residual(z, y, a) == pytest.approx(sum(terms), abs=1e-12 * (1.0 + sum(map(abs, terms))))
    assert loss.value(-1.0, y) == loss.conjugate(0.0, y) == loss.residual(-1.0, y, -1.0) == np.inf
    assert np.isfinite(loss.conjugate(loss.nearest_slope(0.5, y), y))


@pytest.mark.parametrize(
    ("P", "y", "classes", "message"),
    [
        ([[[0.5, 0.5]], [[0.2, 0.2]]], [0], [0, 1], r"probabilities\[1\] must be between 0 and 1 and sum to one"),
        ([[[0.5, 0.5]], [[0.2, 0.3, 0.5]]], [0], [0, 1], r"probabilities\[1\] must have shape \(1, 2\)"),
        ([[[1.0, 0.0]], [[1.0, 0.0]]], ["b"], ["a", "b"], "no model gives row 0 a positive probability of its class"),
        ([[[1.0, 0.0]]], ["d"], ["a", "b"], "the class .*'d'.*, which is not among classes"),
        ([[[1.0, 0.0]]], ["a", "b"], None, "y has 2 entries, but there are probabilities of 1 rows"),
        ([], ["a", "b"], None, "at least one model"),
    ],
)
def test_errors_say_what_is_wrong(P, y, classes, message):
    with pytest.raises(ValueError, match=message):
        fw.ProbabilityMixer().fit(P, y, classes=classes)
