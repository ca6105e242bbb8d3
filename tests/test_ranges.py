"""Ranges over all good models: proven ends beside those that a solver of convex programs finds."""

import cvxpy as cp
import numpy as np
import pytest

import frankwolfe as fw
from tests.fuzz.ranges import LOSSES, SETS, examine, targets, truth

PAIRS = [(loss, list(SETS)[k % len(SETS)]) for k, loss in enumerate(LOSSES)]
"""Each loss once, and each set; ``python -m tests.fuzz.ranges`` tries all pairs."""


@pytest.mark.parametrize(("loss", "name"), PAIRS)
def test_ranges_hold_the_true_ends_between_attained_and_proven_ones(loss, name):
    try:
        wrong, wide, count = examine([8, *map(ord, loss + name)], loss, name)
    except cp.SolverError:
        pytest.skip("Clarabel does not solve it")
    assert not wrong
    assert wide < max(count, 1)


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber", "squared-hinge", "hinge", "pinball"])
def test_ranges_of_predictions_have_the_intercept_in_them(loss):
    rng = np.random.default_rng(3)
    X, weights, offset = rng.normal(size=(60, 3)) + 2.0, rng.random(60), 0.3 * rng.normal(size=60)
    y = targets(rng, loss, 0.3 * X @ rng.normal(size=3))
    make, within_set = SETS["l1"]
    problem = fw.Problem(X, y, loss, make(3), weights, intercept=True, offset=offset)
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
    with fw.python_mode():
        single = fw.ranges(problem, fw.minimize(problem, tol=1e-9), of="price", within=1e-3)
    assert single.names == ["price"]


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
        ({"of": "weights"}, "no column 'weights'"),
        ({"of": 7}, "no column 7, the data has 2"),
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


def test_a_loss_that_is_not_convex_is_refused():
    problem = fw.Problem(np.eye(2), [1.0, 2.0], "cauchy", fw.L1Ball(1.0))
    with fw.python_mode(), pytest.raises(ValueError, match="needs a convex loss, got Cauchy"):
        fw.ranges(problem, fw.minimize(problem, max_passes=3))


def test_results_of_other_problems_are_refused():
    problem = fw.Problem(np.eye(2), [1.0, 2.0], "squared", fw.L1Ball(1.0))
    other = fw.minimize(fw.Problem(np.eye(3), [1.0, 2.0, 3.0], "squared", fw.L1Ball(1.0)))
    for function in (fw.ranges, fw.certificate):
        with pytest.raises(TypeError, match="result must be what"):
            function(problem, None)
        with pytest.raises(ValueError, match=r"weights of shape \(3,\), the problem of shape \(2,\)"):
            function(problem, other)
