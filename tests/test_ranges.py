"""Ranges over all good models: proven ends beside those that a solver of convex programs finds."""

import numpy as np
import pytest

import frankwolfe as fw

cp = pytest.importorskip("cvxpy")

LOSSES = {
    "squared": lambda z, y: 0.5 * cp.square(z - y),
    "logistic": lambda z, y: cp.logistic(-cp.multiply(y, z)),
    "huber": lambda z, y: 0.5 * cp.huber(z - y, 1.0),
    "squared-hinge": lambda z, y: cp.square(cp.pos(1.0 - cp.multiply(y, z))),
}
SETS = {
    "l1": (fw.L1Ball(1.0), lambda w: [cp.norm1(w) <= 1.0]),
    "simplex": (fw.Simplex(1.0), lambda w: [w >= 0.0, cp.sum(w) == 1.0]),
    "l2": (fw.L2Ball(1.0), lambda w: [cp.norm2(w) <= 1.0]),
    "box": (fw.Box(-0.2, 0.4), lambda w: [w >= -0.2, w <= 0.4]),
    "budget": (fw.Budget(-0.1, 0.5, 1.0), lambda w: [w >= -0.1, w <= 0.5, cp.norm1(w) <= 1.0]),
}


def truth(loss, within_set, X, y, weights, intercept, c, limit, A=None, share=0.0, offset=0.0):
    """Return the ends of ``c'w`` plus a share of the intercept over all good models, by Clarabel."""
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    value = weights @ LOSSES[loss](X @ w + (b if intercept else 0.0) + offset, y) / weights.sum()
    rules = [value <= limit, *within_set(w), *([] if A is None else [A @ w <= A.sum() / 4.0 + 0.1])]
    target = c @ w + share * b if share else c @ w
    return [sign * cp.Problem(cp.Minimize(sign * target), rules).solve("CLARABEL") for sign in (1.0, -1.0)]


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("loss", LOSSES)
def test_ranges_hold_the_true_ends_between_attained_and_proven_ones(loss, name):
    rng = np.random.default_rng(sum(map(ord, loss + name)))
    X, weights = rng.normal(size=(40, 4)), rng.random(40)
    y = X @ rng.normal(size=4) + rng.normal(size=40)
    y = y if loss in ("squared", "huber") else np.sign(y)
    constraint, within_set = SETS[name]
    intercept, A = bool(rng.random() < 0.5), rng.normal(size=(1, 4)) if rng.random() < 0.5 else None
    side = None if A is None else fw.LinearBounds(A, upper=A.sum() / 4.0 + 0.1)
    problem = fw.Problem(X, y, loss, constraint, weights, intercept=intercept, side=side)
    rows = np.vstack([np.eye(4)[:2], rng.normal(size=4)])
    with fw.python_mode():
        result = fw.minimize(problem, tol=1e-9)
        found = fw.ranges(problem, result, of=rows, within=0.05, n_threads=1)
        for k, row in enumerate(rows):
            low, high = truth(loss, within_set, X, y, weights, intercept, row, found.limit, A)
            room = 1e-5 * (high - low) + 1e-8
            assert found.low_proven[k] <= low + room
            assert low - room <= found.low_attained[k] <= found.high_attained[k] <= high + room
            assert high - room <= found.high_proven[k]
            wide = found.high_attained[k] - found.low_attained[k]
            assert found.high_proven[k] - found.low_proven[k] <= (1.0 + 2e-3) * wide + 1e-9
        for model in (*found.low_models, *found.high_models):
            assert problem.value(model) <= found.limit * (1.0 + 1e-12)
            assert constraint.contains(model)
            assert problem.violation(model) <= 1e-9


@pytest.mark.parametrize("loss", LOSSES)
def test_ranges_of_predictions_have_the_intercept_in_them(loss):
    rng = np.random.default_rng(3)
    X, weights, offset = rng.normal(size=(60, 3)) + 2.0, rng.random(60), 0.3 * rng.normal(size=60)
    y = X @ rng.normal(size=3) + rng.normal(size=60)
    y = y if loss in ("squared", "huber") else np.where(y > np.quantile(y, 0.7), 1.0, -1.0)
    constraint, within_set = SETS["l1"]
    problem = fw.Problem(X, y, loss, constraint, weights, intercept=True, offset=offset)
    rows = np.vstack([X[:1], weights @ X / weights.sum(), 3.0 * rng.normal(size=3), np.zeros(3)])
    with fw.python_mode():
        result = fw.minimize(problem, tol=1e-10)
        found = fw.ranges(problem, result, predict=rows, within=0.02, n_threads=1)
    np.testing.assert_allclose(found.estimate, rows @ result.x + result.intercept)
    for k, row in enumerate(rows):
        low, high = truth(loss, within_set, X, y, weights, True, row, found.limit, share=1.0, offset=offset)
        room = 1e-5 * (high - low) + 1e-8
        assert found.low_proven[k] <= low + room
        assert low - room <= found.low_attained[k] <= found.high_attained[k] <= high + room
        assert high - room <= found.high_proven[k]
        assert found.high_proven[k] - found.low_proven[k] <= (1.0 + 2e-3) * (high - low) + 1e-9
        assert found.low_models[k] @ row + found.low_intercepts[k] == pytest.approx(found.low_attained[k])
        assert found.high_models[k] @ row + found.high_intercepts[k] == pytest.approx(found.high_attained[k])


def test_names_choose_columns_and_facts_follow_from_the_ends():
    pd = pytest.importorskip("pandas")
    X = np.random.default_rng(0).normal(size=(60, 3))
    frame = pd.DataFrame(X, columns=["price", "tv_a", "tv_b"])
    problem = fw.Problem(frame, X @ [-1.0, 0.5, 0.0], "squared", fw.NonNegativeL1Ball(2.0))
    with fw.python_mode():
        found = fw.ranges(problem, fw.minimize(problem, tol=1e-9), of=["price", "tv_*"], within=1e-3)
    assert found.names == ["price", "tv_a", "tv_b"]
    table = found.to_frame()
    assert table.loc["tv_a", "always_used"]
    assert table.sign_certain.all()
    assert table.loc["price", "high_attained"] < 0.1
    assert "tv_a" in repr(found)


def test_a_plot_has_a_line_for_each_name():
    pytest.importorskip("matplotlib").use("agg")
    X = np.random.default_rng(1).normal(size=(30, 2))
    problem = fw.Problem(X, X @ [1.0, 0.2], "squared", fw.L1Ball(1.0))
    with fw.python_mode():
        ax = fw.ranges(problem, fw.minimize(problem, tol=1e-9), within_absolute=0.01).plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["x0", "x1"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"of": "weights"}, "of"),
        ({"of": ["prize"]}, "no column 'prize'"),
        ({"of": np.ones((1, 5))}, "rows of 2 finite numbers"),
        ({"within": 0.0}, "positive number"),
        ({"within_absolute": np.nan}, "positive number"),
        ({"names": ["a"]}, "1 entries, but there are 2"),
        ({"of": [0], "predict": np.ones((1, 2))}, "pass one of them"),
        ({"predict": np.ones((1, 3))}, "rows of 2 finite numbers"),
    ],
)
def test_what_means_nothing_is_refused(changes, message):
    problem = fw.Problem(np.eye(2), [1.0, 2.0], "squared", fw.L1Ball(1.0))
    result = fw.minimize(problem)
    with pytest.raises(ValueError, match=message):
        fw.ranges(problem, result, **changes)


def test_a_loss_with_a_kink_is_refused():
    problem = fw.Problem(np.eye(2), [1.0, 2.0], "pinball", fw.L1Ball(1.0))
    with pytest.raises(ValueError, match="smooth convex loss"):
        fw.ranges(problem, fw.minimize(problem, "shcgm", max_passes=3))
