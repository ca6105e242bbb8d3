"""`radius_path`: the same answers as run by run, at less cost; grids that end where the constraint goes slack."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.preprocessing import scale

import frankwolfe as fw
from frankwolfe.path import follow, radius_grid, until_interrupted
from tests import cases


def _cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), 2 * y - 1


@pytest.mark.parametrize("constraint", ["l1", "l2", "simplex", "nonnegative-l1", fw.LpBall(1.5, 1.0)], ids=str)
def test_each_answer_is_the_one_found_alone(constraint):
    X, y = load_diabetes(return_X_y=True)
    X, y = scale(X), y / y.std()
    path = fw.radius_path(X, y, loss="squared", constraint=constraint, radii=[0.2, 0.05, 0.8], intercept=True, tol=1e-7)
    assert path.success.all()
    np.testing.assert_array_equal(path.radii, [0.05, 0.2, 0.8])
    named = {"l1": fw.L1Ball, "l2": fw.L2Ball, "simplex": fw.Simplex, "nonnegative-l1": fw.NonNegativeL1Ball}
    for k, radius in enumerate(path.radii):
        ball = named[constraint](radius) if isinstance(constraint, str) else constraint._replace(radius=radius)
        problem = fw.Problem(X, y, "squared", ball, intercept=True)
        alone = fw.minimize(problem, tol=1e-7, max_passes=1000)
        assert abs(path.funs[k] - alone.fun) <= max(path.gaps[k], alone.gap) + 1e-12
        found = problem.evaluate(path.coef(k))
        assert found.value == pytest.approx(path.funs[k], rel=1e-12)
        assert found.gap <= path.gaps[k] * 1.01 + 1e-12
        assert path.intercepts[k] == pytest.approx(found.intercept, rel=1e-8)


def test_several_outputs_and_stochastic_methods():
    X, y = load_iris(return_X_y=True)
    path = fw.radius_path(scale(X), y, loss="multinomial", radii=[0.5, 2.0], tol=1e-5)
    assert path.shape == (4, 3)
    assert path.coef(1).shape == (4, 3)
    assert path.coefs.shape == (2, 12)
    X, y = _cancer()
    radii = [1.0, 2.0, 3.0]
    walked = fw.radius_path(X, y, radii=radii, method="stochastic-pairwise", tol=1e-3, random_state=0)
    assert walked.success.all()
    np.testing.assert_allclose(walked.funs, fw.radius_path(X, y, radii=radii, tol=1e-6).funs, atol=1e-3)


def test_the_grid_goes_from_near_zero_to_where_the_constraint_goes_slack():
    X, y = load_diabetes(return_X_y=True)
    X, y = scale(X), y - y.mean()
    path = fw.radius_path(X, y, loss="squared", tol=1e-8, max_passes=1e4)
    free = np.linalg.lstsq(X, y)[0]
    slack = 0.5 * np.mean((X @ free - y) ** 2)
    begin = 0.5 * np.mean(y**2)
    assert len(path) == 30
    assert path.funs[0] > 0.98 * begin
    assert path.funs[-1] - slack < 0.02 * (begin - slack)
    assert path.radii[-1] < 2.0 * np.abs(free).sum()
    np.testing.assert_allclose(np.diff(np.log(path.radii)), np.log(1000.0) / 29)


def test_the_grid_of_data_without_a_signal_is_a_grid():
    problem = fw.Problem(np.ones((4, 1)), [1.0, -1.0, 1.0, -1.0], "squared", fw.L1Ball(1.0))
    assert (radius_grid(problem, 3) > 0.0).all()
    assert len(radius_grid(problem, 1)) == 1


@pytest.mark.parametrize("constraint", ["l1", "l2", fw.Budget([0.1, *[-1.0] * 9], 1.0, 1.0)], ids=str)
def test_conditions_hold_at_every_radius_and_the_grid_begins_where_they_can(constraint):
    X, y = load_diabetes(return_X_y=True)
    side = fw.LinearBounds(np.vstack([np.ones(10), np.eye(10)[0] - np.eye(10)[2]]), [2.0, 0.0], [2.0, np.inf])
    X, given = scale(X), {"loss": "squared", "constraint": constraint, "side": side, "tol": 1e-6}
    path = fw.radius_path(X, y / y.std(), n_radii=6, **given)
    assert path.success.all()
    assert all(side.violation(path.coef(k)) <= 1e-12 for k in range(6))
    if constraint == "l1":  # the solver goes on: fewer passes than runs of their own
        problems = [fw.Problem(X, y / y.std(), "squared", fw.L1Ball(radius), side=side) for radius in path.radii]
        alone = [fw.minimize(problem, tol=1e-6) for problem in problems]
        assert path.passes.sum() < sum(result.passes for result in alone)
        np.testing.assert_allclose(path.funs, [result.fun for result in alone], atol=1e-6 * problems[0].zero_value)
    least = np.sqrt(0.4) if constraint == "l2" else 2.0
    assert least <= path.radii[0] <= 1.01 * least
    assert (np.diff(path.funs) <= path.gaps[1:]).all()
    with pytest.raises(ValueError, match=r"no weights of the set .* satisfy row 0"):
        fw.radius_path(X, y, radii=[0.5 * least], **given)
    side = fw.LinearBounds(np.ones((2, 10)), [1.0, 2.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="row 0 and row 1 together"):
        fw.radius_path(X, y, **(given | {"side": side}))


def test_a_path_costs_less_than_its_runs_one_by_one():
    X, y = cases.data("rcv1_subset")
    radii = np.geomspace(10.0, 1000.0, 20)
    path = fw.radius_path(X, y, radii=radii, tol=1e-4)
    problem = fw.Problem(X, y, "logistic", fw.L1Ball(1.0))
    alone = [fw.minimize(problem.over(fw.L1Ball(radius)), tol=1e-4, trace=0).passes for radius in radii]
    assert path.success.all()
    assert path.passes.sum() <= 0.65 * sum(alone)


@pytest.mark.parametrize("method", ["auto", "fw"])
def test_an_interrupted_path_ends_with_the_radius_it_has_come_to(method, ctrl_c):
    X, y = _cancer()
    whole = fw.radius_path(X, y, radii=[0.5, 1.0, 2.0, 4.0], method=method, tol=1e-3)
    ctrl_c(run=3)
    path = fw.radius_path(X, y, radii=[0.5, 1.0, 2.0, 4.0], method=method, tol=1e-3)
    np.testing.assert_array_equal(path.radii, [0.5, 1.0, 2.0])
    np.testing.assert_array_equal(path.funs[:2], whole.funs[:2])
    assert path.success.tolist() == [True, True, False]
    assert path.coefs.shape[0] == 3


def test_an_interrupt_between_two_radii_keeps_what_there_is():
    def answers(*found):
        yield from found
        raise KeyboardInterrupt

    assert until_interrupted(answers("one", "two")) == ["one", "two"]
    with pytest.raises(KeyboardInterrupt):
        until_interrupted(answers())


def test_an_interrupt_while_the_grid_is_sought_ends_the_search(ctrl_c):
    X, y = _cancer()
    ctrl_c(run=2)
    with pytest.raises(KeyboardInterrupt):
        fw.radius_path(X, y)


@pytest.mark.parametrize(
    ("radii", "n_radii", "message"),
    [([], 3, "at least one"), ([0.0, 1.0], 3, "positive"), (None, 0, "n_radii must be a positive int")],
)
def test_radii_that_do_not_fit_are_refused(radii, n_radii, message):
    with pytest.raises(ValueError, match=message):
        fw.radius_path(*_cancer(), radii=radii, n_radii=n_radii)
    with pytest.raises(ValueError, match="Box has no radius"):
        fw.radius_path(*_cancer(), constraint=fw.Box(0.0, 1.0))


def test_the_plot_shows_the_largest_weights():
    path = fw.radius_path(*_cancer(), n_radii=5)
    assert "30 weights" in repr(path.plot().get_title())
    assert len(path.plot(most=3).get_legend().get_texts()) == 4  # and the others
    assert repr(path).startswith("<RadiusPath: 5 radii")


def test_every_radius_heeds_the_limit_of_seconds(interpreted):
    problem = fw.Problem(np.eye(3), [1.0, 2.0, 3.0], "squared", fw.L1Ball(1.0))
    for result in follow(problem, [1.0, 2.0], max_seconds=0.0, tol=0.0):
        assert result.status == "max-seconds"
