"""Side constraints and losses with a kink by shcgm: the recursion, optima, what is proven, and what is refused.

Side constraints on smooth losses by the corrective method are in ``tests/solvers/corrective/test_conditions.py``.
"""

from contextlib import nullcontext

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

import frankwolfe as fw
import frankwolfe.rows as blocks
from frankwolfe.solvers.dual_bound import balanced
from tests import cases
from tests.fuzz.optimum import PROGRAMS
from tests.programs import described
from tests.reference import textbook

OFF = 0.1
"""How far the bounds are from the optimum over the set alone."""


def posed(loss=None, side=True, constraint=None, intercept=False, off=OFF, **shape):
    """A problem with a loss; side constraints, a range, one side and an equation, cut off its optimum by a little."""
    loss = fw.Logistic() if loss is None else loss
    shape = {"n": 60, "d": 6, "density": 1.0} | shape
    X, y = cases.vector_table(loss, **shape) if loss.is_vector else cases.table(loss, **shape)
    constraint = fw.L1Ball(3.0) if constraint is None else constraint
    problem = fw.Problem(X, y, loss, constraint, intercept=intercept)
    if not side:
        return problem
    A = np.random.default_rng(3).normal(size=(3, problem.size))
    at = A @ solved(problem)[1]
    bounds = fw.LinearBounds(A, at + [-off, -np.inf, off], at + [off, -off, off])
    return fw.Problem(X, y, loss, constraint, intercept=intercept, side=bounds)


def solved(problem):
    """The least objective of those who keep to everything, and where it is, by a solver of convex programs."""
    w, b = cp.Variable(problem.size), cp.Variable() if problem.intercept else 0.0
    z = problem.X @ cp.reshape(w, problem.shape, order="C") if problem.outputs else problem.X @ w + b
    conditions = described(problem.constraint, w)
    if problem.side is not None:
        A, lower, upper = problem.side.A, problem.side.lower, problem.side.upper
        conditions += [(A @ w)[np.isfinite(lower)] >= lower[np.isfinite(lower)]]
        conditions += [(A @ w)[np.isfinite(upper)] <= upper[np.isfinite(upper)]]
    objective = PROGRAMS[type(problem.loss)](problem.loss, z, problem.y, problem.samples.weights)
    program = cp.Problem(cp.Minimize(objective), conditions)
    program.solve(solver=cp.CLARABEL)
    assert program.status == cp.OPTIMAL
    return program.value, w.value


def optimum(problem):
    """The least objective of those who keep to everything."""
    return solved(problem)[0]


POSED = {
    "logistic, side": posed,
    "squared, side, box": lambda: posed(fw.Squared(), constraint=fw.Box(-1.0, 1.0)),
    "logistic, side, intercept": lambda: posed(intercept=True),
    "hinge": lambda: posed(fw.Hinge(), side=False),
    "hinge, side, intercept": lambda: posed(fw.Hinge(), intercept=True),
    "pinball, intercept": lambda: posed(fw.Pinball(0.3), side=False, intercept=True),
    "pinball, side, l2": lambda: posed(fw.Pinball(0.3), constraint=fw.L2Ball(2.0)),
    "multinomial, side": lambda: posed(fw.Multinomial(3)),
}
every_problem = pytest.mark.parametrize("name", POSED)


# --- the recursion, and solvers -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_the_recursion_is_the_textbooks(layout):
    problem, beta0, seen = posed(n=20), 0.7, []
    A, lower, upper = problem.side.A, problem.side.lower, problem.side.upper
    if layout == "csr":
        side = fw.LinearBounds(sparse.csr_array(A), lower, upper)
        problem = fw.Problem(problem.X, problem.y, problem.loss, problem.constraint, side=side)
    method = fw.methods.METHODS["shcgm"]._replace(estimate=fw.methods.SmoothedMomentum(beta0))
    fw.minimize(problem, method, batch_size=20, tol=0, max_passes=80, callback=lambda state: seen.append(state.x))
    unit = problem.side_reach**2 / problem.zero_value
    expected = textbook.shcgm(
        problem.X,
        problem.y,
        textbook.logistic,
        textbook.l1_ball(3.0),
        [range(20)] * 80,
        np.zeros(problem.d),
        (A, lower, upper),
        beta0 * unit,
    )
    assert problem.violation(expected[-1]) > 0.0  # it pulls
    for found in seen:
        assert np.abs(expected - found).max(axis=1).min() < 1e-10
    np.testing.assert_allclose(seen[-1], expected[-1], atol=1e-10)


@pytest.mark.usefixtures("interpreted")
@every_problem
def test_a_solver_agrees_and_no_bound_is_above_its_optimum(name):
    problem, bounds = POSED[name](), []
    best, scale = optimum(problem), problem.zero_value

    def watch(state):
        solver = state.solver
        at = problem.objective.point(problem.objective.predict(solver.point()), problem.guess)
        slopes = balanced(problem, at, solver.evidence().table)
        bounds.append(problem.dual_value(slopes, solver.evidence().multipliers))

    how = {"batch_size": 6, "tol": 1e-9, "max_passes": 500, "random_state": 0, "trace": 3}
    result = fw.minimize(problem, "shcgm", callback=watch, **how)
    assert problem.constraint.contains(result.x.ravel())
    assert abs(result.fun - best) <= 1e-2 * scale
    assert max(bounds) <= best + 1e-7 * scale
    assert best - 0.1 * scale <= result.lower_bound <= best + 1e-7 * scale
    assert (result.trace.fun - result.trace.gap <= best + 1e-7 * scale).all()
    if problem.side is None:
        assert result.violation is None
        assert result.gap >= 0.0
    else:
        assert result.violation == problem.violation(result.x)
        assert problem.side.distance(result.x.ravel()) <= 1e-2 * problem.side_reach
        assert result.trace.violation[1] > result.trace.violation[-1]


@pytest.mark.usefixtures("interpreted")
def test_violation_and_objective_keep_to_the_proven_pace():
    # O(k^(-1/3)) and O(k^(-5/12)) in expectation (Locatello et al. 2019): means over seeds, over a factor of 64 in k
    problem = posed()
    best, off = optimum(problem), []
    for seed in range(6):
        seen = {}

        def watch(state, seen=seen):
            if state.nit in (50, 3200):
                seen[state.nit] = abs(problem.value(state.x) - best), problem.side.distance(state.x)

        how = {"batch_size": 1, "tol": 0, "max_passes": 3200 / 60, "random_state": seed, "trace": 1000}
        fw.minimize(problem, "shcgm", callback=watch, **how)
        off.append([seen[50], seen[3200]])
    early, late = np.mean(off, axis=0)
    assert late[0] <= early[0] * 64.0 ** (-1.0 / 3.0)
    assert late[1] <= early[1] * 64.0 ** (-5.0 / 12.0)


# --- what is certified ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("interpreted")
def test_success_needs_both_the_gap_and_the_violation():
    problem = posed(fw.Squared(), off=1.0)
    careless = fw.methods.METHODS["shcgm"]._replace(estimate=fw.methods.SmoothedMomentum(1e4))  # next to no pull
    result = fw.minimize(problem, careless, batch_size=60, tol=0.02, max_passes=300, random_state=0)
    how = {"tol": 0.05, "side_tol": 0.15, "batch_size": 60, "max_passes": 2000}
    careful = fw.minimize(problem, "shcgm", random_state=0, **how)
    assert result.fun < careful.lower_bound  # below the optimum of those who keep to the constraints
    assert result.violation > result.violation_tolerance == 1e-6
    assert not result.success
    assert "side constraint is violated by" in result.message
    assert "violation" in repr(result)
    assert careful.success
    assert careful.gap <= careful.tolerance
    assert careful.violation <= careful.violation_tolerance == 0.15
    assert "These break a rule by 0.1" in careful._repr_html_()
    assert "less than 0.0" in careful._repr_html_()
    again = fw.minimize(problem, "shcgm", random_state=1, x0=careful, **how)
    assert (again.nit, again.success) == (0, True)  # by the slopes and multipliers that the result keeps
    np.testing.assert_array_equal(again.x, careful.x)


BROKEN = {
    "a sum of one, by many columns in a box": (fw.Box(np.zeros(400), np.full(400, 0.1)), np.ones((1, 400)), 1.0, 1.0),
    "a cap on weights that sum to one": (fw.Simplex(1.0), np.eye(400), None, 0.1),
}


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("name", BROKEN)
def test_a_loose_tolerance_of_the_objective_is_none_of_the_constraints(name):
    constraint, A, lower, upper = BROKEN[name]
    X = 0.01 * np.random.default_rng(0).normal(size=(50, 400))
    y = X[:, :3].mean(axis=1)
    problem = fw.Problem(X, y, "squared", constraint, side=fw.LinearBounds(A, lower, upper))
    result = fw.minimize(problem, "shcgm", tol=0.5, max_passes=20, batch_size=50, random_state=0)
    products = A @ result.x
    excess = np.maximum(products - upper, 0.0 if lower is None else lower - products)
    relative = np.maximum(excess, 0.0) / (np.abs(A) @ np.abs(result.x) + upper)
    assert result.violation == pytest.approx(relative.max(), rel=1e-12)
    assert result.success == (result.gap <= result.tolerance and relative.max() <= 1e-6)
    assert relative.max() > 1e-3  # or nothing would be tested
    assert result.gap <= result.tolerance


@pytest.mark.usefixtures("interpreted")
def test_a_violation_is_one_constraints_own_in_any_units():
    A, w = np.array([[1.0, -1.0], [2.0, 1.0], [0.0, 0.0]]), np.array([1.0, 2.0])
    for units in (1e-200, 1.0, 1e200):
        bounds = fw.LinearBounds(A * [[units], [1e9], [1.0]], [0.0, -np.inf, -1.0], [np.inf, 4e9 - 1.0, 1.0])
        assert bounds.violation(w) == 1.0 / 3.0  # of the first, whose terms are 1 and -2
        assert bounds.violation(0.0 * w) == 0.0
    assert fw.LinearBounds(sparse.csr_array(A), 5.0).violation(w) == 1.0  # zero terms cannot reach a bound


@every_problem
@pytest.mark.usefixtures("interpreted")
def test_any_multipliers_bound_the_optimum(name):
    problem, rng = POSED[name](), np.random.default_rng(0)
    best, w = optimum(problem), problem.default_start()
    alpha = problem.evaluate(w).alpha
    for size in (0.0, 0.01, 0.1, 1.0):
        multipliers = size * rng.normal(size=3) * np.array([1.0, 0.0, 1.0]) + size * np.array([0.0, rng.random(), 0.0])
        assert problem.dual_value(alpha, multipliers if problem.side is not None else None) <= best + 1e-8
    if problem.side is not None:
        assert problem.dual_value(alpha, [0.0, -0.1, 0.0]) == -np.inf  # there is no lower bound to pull at
        with pytest.raises(ValueError, match="multipliers has 2 entries, but there are 3 side constraints"):
            problem.dual_value(alpha, [0.0, 1.0])


@pytest.mark.usefixtures("interpreted")
def test_threads_and_traces_leave_the_bits_alone(monkeypatch):
    for name, value in (("SMALL", 0), ("LEAST", 16), ("PER_COLUMN", 0)):
        monkeypatch.setattr(blocks, name, value)
    found = [
        fw.minimize(
            posed(fw.Hinge(), intercept=True), "shcgm", tol=1e-3, max_passes=12, random_state=2, n_threads=n, trace=n
        )
        for n in (1, 2)
    ]
    assert found[0].x.tobytes() == found[1].x.tobytes()
    assert (found[0].fun, found[0].gap, found[0].violation) == (found[1].fun, found[1].gap, found[1].violation)


# --- the intercept ------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("loss", cases.KINKED_LOSSES, ids=cases.name_of)
def test_the_best_intercept_is_at_a_kink_and_its_slopes_sum_to_zero(loss):
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 40):
        X, y = cases.table(loss, n=n, d=3, seed=n)
        problem = fw.Problem(X, y, loss, fw.L1Ball(1.0), sample_weight=rng.random(n) + 0.1, intercept=True)
        w = rng.dirichlet(np.ones(3))
        found, z = problem.evaluate(w), X @ w
        candidates = [sum(p * loss.value(u + b, t) for p, u, t in zip(problem.samples.weights, z, y, strict=True))
                      for b in y - z]  # fmt: skip
        assert found.value == pytest.approx(min(candidates), rel=1e-12, abs=1e-15)
        assert abs(found.alpha.sum()) <= 1e-15
        assert np.isfinite(problem.dual_value(found.alpha))


def test_a_constant_model_is_the_quantile():
    y = np.random.default_rng(0).normal(size=101)
    with fw.python_mode():
        result = fw.minimize(fw.Problem(np.zeros((101, 1)), y, fw.Pinball(0.9), fw.L1Ball(1.0), intercept=True))
    assert result.intercept == np.quantile(y, 0.9, method="inverted_cdf")
    assert result.success


# --- what is refused, before anything runs --------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted({*fw.methods.METHODS} - {"auto", "corrective", "shcgm"}))
def test_other_methods_say_who_can(name):
    with pytest.raises(ValueError, match=f"method '{name}' needs .* without side constraints, .*: use .*'auto'"):
        fw.minimize(posed(), name)
    with pytest.raises(
        ValueError, match=f"'{name}' needs a smooth loss, but Hinge has a kink: .*'shcgm'.*'squared-hinge'"
    ):
        fw.minimize(posed(fw.Hinge(), side=False), name)


def test_the_neighbour_of_a_pinball_is_huber():
    with pytest.raises(ValueError, match=r"Pinball has a kink: use method='auto' .* or a smooth loss such as 'huber'"):
        fw.minimize(posed(fw.Pinball(), side=False), "sfw")


def test_a_step_rule_that_looks_at_the_objective_is_refused():
    with pytest.raises(ValueError, match=r"the exact objective .* use method='shcgm' with its own steps"):
        fw.minimize(posed(), "shcgm", step="line-search")


X, Y = np.eye(3), np.array([1.0, -1.0, 1.0])


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (lambda: fw.LinearBounds([[1.0, 1.0]]), "there is no bound; give lower or upper"),
        (lambda: fw.LinearBounds([[1.0], [2.0]], [0.0, 2.0], 1.0), "not be above upper, but it is in row 1: 2 and 1"),
        (lambda: fw.LinearBounds([[1.0]], lower=np.nan), "lower holds NaN: leave a bound out by -infinity"),
        (lambda: fw.LinearBounds([[1.0]], upper=-np.inf), "upper must not be -inf"),
        (lambda: fw.LinearBounds([[1.0]], upper=[1.0, 2.0]), r"upper has shape \(2,\), but A has 1 rows"),
        (lambda: fw.LinearBounds([1.0], 0.0), "A must be a matrix"),
        (lambda: fw.LinearBounds([[np.inf]], 0.0), "A holds NaN or infinity"),
        (lambda: fw.Problem(X, Y, side=fw.LinearBounds([[1.0]], 0.0), constraint=fw.L1Ball(1.0)), "A has 1 columns"),
        (
            lambda: fw.Problem(X, Y, "sigmoid", side=fw.LinearBounds(X, 0.0), constraint=fw.L1Ball(1.0)),
            "side needs a convex loss, to bound the optimum, but Sigmoid is not convex",
        ),
        (
            lambda: fw.minimize(fw.Problem(X, Y, side=fw.LinearBounds(X, [0.0, 0.0, 5.0]), constraint=fw.L1Ball(2.0))),
            "no weights of the set L1Ball satisfy row 2: its product with them is between -2 and 2, its bounds are 5",
        ),
    ],
)  # fmt: skip
def test_bounds_that_cannot_be_meant_are_refused(bounds, message):
    with pytest.raises(ValueError, match=message):
        bounds()


def test_what_is_no_side_constraint_is_refused():
    with pytest.raises(TypeError, match=r"side must be fw.LinearBounds\(A, lower, upper\), got ndarray"):
        fw.Problem(X, Y, constraint=fw.L1Ball(1.0), side=X)


# --- estimators ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("interpreted")
def test_estimators_take_losses_with_a_kink():
    X, y = cases.table(fw.Squared(), n=60, d=4, density=1.0)
    upper = fw.FrankWolfeRegressor(fw.Pinball(0.9), radius=5.0, max_passes=60, random_state=0).fit(X, y)
    assert np.mean(y <= upper.predict(X)) == pytest.approx(0.9, abs=0.05)
    machine = fw.FrankWolfeClassifier("hinge", radius=5.0, max_passes=60, random_state=0).fit(X, y > 0.0)
    assert machine.score(X, y > 0.0) > 0.9
    assert machine.result_.method == "auto: corrective"


def test_a_bound_is_as_exact_as_the_terms_of_its_row():
    flat = fw.Polytope(np.vstack([np.eye(3), -np.eye(3)]), np.ones(6), np.ones((1, 3)), [0.0])
    for miss, said in ((1e-16, False), (1e-6, True)):
        side = fw.LinearBounds(np.ones((1, 3)), miss, np.inf)  # all sums are zero, of terms that are about one
        problem = fw.Problem(np.eye(3), [1.0, 0.0, 2.0], "squared", flat, side=side)
        with nullcontext() if not said else pytest.raises(ValueError, match="satisfy row 0"):
            problem.side_reach  # noqa: B018
    point = fw.ConvexHull([[2.0, 3.0, 1.0]])
    problem = fw.Problem(np.eye(3), np.ones(3), "squared", point, side=fw.LinearBounds(np.ones((1, 3)), 0.0, 9.0))
    assert problem.side_reach == 6.0
