"""The corrective method for losses with a kink: optima of other solvers, proven by slopes of smoothed losses."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.linear_model import QuantileRegressor
from sklearn.svm import LinearSVC

import frankwolfe as fw
from frankwolfe.losses.kinked import SmoothedLoss
from tests import cases
from tests.fuzz.optimum import PROGRAMS
from tests.programs import described

SETS = {str(constraint): lambda d, made=constraint: made for constraint in cases.SETS} | {
    name: cases.SIZED_SETS[name] for name in ("Budget", "GroupBall", "Birkhoff") if name in cases.SIZED_SETS
}
SETS["TraceBall"] = lambda d: fw.TraceBall(1.5, (3, 3))


def solved(problem, offset):
    """Return the optimum of a problem by a solver of convex programs."""
    w, b = cp.Variable(problem.d), cp.Variable() if problem.intercept else 0.0
    objective = PROGRAMS[type(problem.loss)](
        problem.loss, problem.X @ w + b + offset, problem.y, problem.samples.weights
    )
    objective += problem.linear @ w if problem.linear is not None else 0.0
    conditions = described(problem.constraint, w)
    if problem.side is not None:
        conditions += [problem.side.A @ w <= problem.side.upper]
    program = cp.Problem(cp.Minimize(objective), conditions)
    program.solve(solver=cp.CLARABEL)
    assert program.status == cp.OPTIMAL
    return program.value


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("loss", cases.KINKED_LOSSES, ids=cases.name_of)
@pytest.mark.parametrize("name", SETS)
def test_auto_certifies_the_optimum_of_another_solver(name, loss):
    rng = np.random.default_rng(sum(map(ord, name)))
    X, y = cases.table(loss, n=60, d=9, density=1.0)
    plain = {}
    full = {
        "sample_weight": rng.random(60) + 0.1,
        "intercept": True,
        "offset": 0.3 * rng.normal(size=60),
        "linear": 0.05 * rng.normal(size=9),
    }
    for given in (plain, full):
        problem = fw.Problem(X, y, loss, SETS[name](9), **given)
        result = fw.minimize(problem, tol=1e-7, max_passes=2000)
        best, scale = solved(problem, given.get("offset", 0.0)), problem.zero_value
        assert result.success, result.message
        assert result.method == "auto: corrective"
        assert result.fun == pytest.approx(problem.value(result.x), rel=1e-12)
        assert problem.constraint.contains(result.x.ravel())
        assert best - 1e-6 * scale <= result.fun <= best + 1e-6 * scale
        assert result.lower_bound <= best + 1e-6 * scale
        assert result.fun - result.lower_bound <= 1e-7 * scale
        again = problem.dual_value(result.state["slopes"])
        assert again == pytest.approx(result.lower_bound, rel=0.0, abs=1e-9 * scale)


@pytest.mark.usefixtures("interpreted")
def test_conditions_hold_at_a_certified_optimum():
    loss = fw.Pinball(0.3)
    X, y = cases.table(loss, n=60, d=9, density=1.0)
    A = np.vstack([np.ones(9), np.arange(9.0) - 4.0])
    for constraint in (fw.L1Ball(3.0), fw.L2Ball(1.5)):
        free = fw.minimize(fw.Problem(X, y, loss, constraint, intercept=True), tol=1e-6, max_passes=2000)
        side = fw.LinearBounds(A, upper=A @ free.x - 0.1)
        problem = fw.Problem(X, y, loss, constraint, intercept=True, side=side)
        result = fw.minimize(problem, tol=1e-7, max_passes=2000)
        assert result.success, result.message
        assert result.violation <= 1e-9
        assert result.fun == pytest.approx(solved(problem, 0.0), rel=1e-6)
        assert result.prices["side"].max() > 0.0


@pytest.mark.usefixtures("interpreted")
def test_quantiles_are_scikit_learns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(151, 4))
    y = X @ [1.0, -2.0, 0.0, 3.0] + rng.standard_t(3, size=151)
    for quantile in (0.1, 0.5):
        theirs = QuantileRegressor(quantile=quantile, alpha=0.0, solver="highs").fit(X, y)
        ours = fw.FrankWolfeRegressor(fw.losses.Pinball(quantile), radius=50.0, tol=1e-9, max_passes=2000).fit(X, y)
        assert ours.result_.success
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-5)


@pytest.mark.usefixtures("interpreted")
def test_the_hinge_reaches_the_objective_of_liblinear():
    X, y = cases.table(fw.Hinge(), n=80, d=6, density=1.0)
    theirs = LinearSVC(C=0.05, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=10**6).fit(X, y).coef_[0]
    result = fw.minimize(fw.Problem(X, y, "hinge", fw.L2Ball(np.linalg.norm(theirs))), tol=1e-8, max_passes=2000)
    assert result.success
    assert result.fun == pytest.approx(np.maximum(0.0, 1.0 - y * (X @ theirs)).mean(), rel=1e-6)


@pytest.mark.parametrize("loss", cases.KINKED_LOSSES, ids=cases.name_of)
def test_the_smoothed_loss_is_the_moreau_envelope(loss):
    rng = np.random.default_rng(0)
    for _ in range(40):
        y = float(rng.choice([-1.0, 1.0])) if loss.targets == "labels" else float(rng.normal())
        z, beta = y + float(rng.normal()), float(rng.choice([1e-3, 0.5, 3.0]))
        smoothed = SmoothedLoss(loss, beta)
        nearest = minimize_scalar(
            lambda x, z=z, y=y, beta=beta: loss.value(x, y) + (x - z) ** 2 / (2.0 * beta),
            bracket=(z, y) if z != y else (z - 1.0, z + 1.0),
            tol=1e-12,
        )
        assert smoothed.value(z, y) == pytest.approx(nearest.fun, rel=1e-6, abs=1e-12)
        assert smoothed.derivative(z, y) == pytest.approx(loss.smoothed_derivative(z, y, beta), abs=0.0)
        h = 1e-6 * beta
        slope = (smoothed.value(z + h, y) - smoothed.value(z - h, y)) / (2.0 * h)
        assert smoothed.derivative(z, y) == pytest.approx(slope, abs=1e-5)
        low, high = loss.kink_slopes(y)
        for a in (low, high, 0.5 * (low + high), smoothed.derivative(z, y)):
            left = smoothed.value(z, y) + smoothed.conjugate(a, y) - a * z
            assert smoothed.residual(z, y, a) == pytest.approx(left, abs=1e-12)
            assert smoothed.residual(z, y, a) >= 0.0
        assert np.isinf(smoothed.conjugate(high + 0.1, y))
        assert np.isinf(smoothed.residual(z, y, low - 0.1))
