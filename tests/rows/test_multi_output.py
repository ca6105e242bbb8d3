"""Several outputs: the losses against finite differences, the loop against the same problem posed with scalars."""

from contextlib import nullcontext
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy import sparse
from scipy.special import log_softmax, softmax

import frankwolfe as fw
from tests import cases

LAYOUTS = ("dense64", "csr64", "csr32")


def problem_of(loss, constraint=None, layout="dense64", **shape):
    X, y = cases.vector_table(loss, **shape)
    return fw.Problem(cases.LAYOUTS[layout](X), y, loss, fw.L1Ball(3.0) if constraint is None else constraint)


def targets_of(loss, k, rng):
    return float(rng.integers(k)) if loss.targets == "classes" else rng.normal(size=k)


# --- the losses ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", cases.VECTOR_LOSSES, ids=cases.name_of)
@pytest.mark.parametrize("seed", range(5))
def test_derivative_and_bend_match_finite_differences(loss, seed):
    rng = np.random.default_rng(seed)
    z, q, h = 3.0 * rng.normal(size=4), rng.normal(size=4), 1e-6
    y = targets_of(loss, 4, rng)
    slope = (loss.value(z + h * q, y) - loss.value(z - h * q, y)) / (2.0 * h)
    assert loss.derivative(z, y) @ q == pytest.approx(slope, abs=1e-7)
    change = (loss.derivative(z + h * q, y) - loss.derivative(z - h * q, y)) / (2.0 * h)
    np.testing.assert_allclose(loss.hessian_product(z, y, q), change, atol=1e-7)


@pytest.mark.parametrize("loss", cases.VECTOR_LOSSES, ids=cases.name_of)
@pytest.mark.parametrize("seed", range(20))
def test_the_derivative_is_lipschitz_with_the_stated_constant(loss, seed):
    rng = np.random.default_rng(seed)
    z, step = rng.normal(size=3), rng.normal(size=3)
    y = targets_of(loss, 3, rng)
    change = loss.derivative(z + step, y) - loss.derivative(z, y)
    assert np.linalg.norm(change) <= loss.smoothness() * np.linalg.norm(step) * (1.0 + 1e-12)


def test_the_multinomial_constant_is_attained_by_two_equal_classes():
    z, q = np.array([0.0, 0.0, -50.0]), np.array([1.0, -1.0, 0.0])
    product = fw.Multinomial(3).hessian_product(z, 0.0, q)
    assert np.linalg.norm(product) / np.linalg.norm(q) == pytest.approx(fw.Multinomial(3).smoothness(), rel=1e-9)


@pytest.mark.parametrize("size", [1e3, 1e150, 1e300])
def test_multinomial_stays_finite_for_huge_predictions(size):
    loss, z = fw.Multinomial(3), np.array([size, -size, 0.0])
    assert loss.value(z, 0.0) == 0.0
    assert loss.value(z, 2.0) == size
    np.testing.assert_array_equal(loss.derivative(z, 1.0), [1.0, -1.0, 0.0])


def _multinomial_in_many_digits(z, y, q):
    """Value, derivative, second derivative times ``q`` and the bounding diagonal, from the definitions."""
    with localcontext() as context:
        context.prec = 700
        odds = [Decimal(number).exp() for number in z]
        p = [number / sum(odds) for number in odds]
        mean = sum(share * Decimal(number) for share, number in zip(p, q, strict=True))
        value = -p[y].ln()
        derivative = [share - (c == y) for c, share in enumerate(p)]
        product = [share * (Decimal(number) - mean) for share, number in zip(p, q, strict=True)]
        return float(value), *(
            np.array(numbers, dtype=float)
            for numbers in (derivative, product, [2 * share * (1 - share) for share in p])
        )


@pytest.mark.parametrize("lead", [0.0, 1e-12, 1.0, 40.0, 300.0, 700.0])
def test_multinomial_keeps_its_digits_where_a_class_is_all_but_sure(lead):
    loss, rng = fw.Multinomial(3), np.random.default_rng(int(lead))
    for y in range(3):
        z, q = rng.normal(size=3), rng.normal(size=3)
        z[0] = z[1:].max() + lead
        value, derivative, product, diagonal = _multinomial_in_many_digits(z, y, q)
        within = {"rtol": 1e-15 * (10.0 + lead), "atol": 0.0}  # an exponent's rounding is its size times the unit's
        np.testing.assert_allclose(loss.value(z, float(y)), value, **within)
        np.testing.assert_allclose(loss.derivative(z, float(y)), derivative, **within)
        np.testing.assert_allclose(loss.curvature(z, float(y)), diagonal, **within)
        np.testing.assert_allclose(loss.hessian_product(z, float(y), q), product, rtol=1e-13 * (10.0 + lead), atol=0.0)


# --- the problem --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_multinomial_objective_and_gradient_match_scipy(layout):
    X, y = cases.vector_table(fw.Multinomial())
    problem = fw.Problem(cases.LAYOUTS[layout](X), y, "multinomial", fw.L1Ball(3.0))
    W = np.random.default_rng(2).normal(size=problem.shape)
    found = problem.evaluate(W)
    assert found.value == pytest.approx(-log_softmax(X @ W, axis=1)[np.arange(len(y)), y].mean(), rel=1e-6)
    P = softmax(X @ W, axis=1)
    P[np.arange(len(y)), y] -= 1.0
    np.testing.assert_allclose(found.gradient, X.T @ P / len(y), atol=1e-6)
    assert found.gradient.shape == problem.shape == (12, 3)
    np.testing.assert_array_equal(problem.evaluate(W.ravel()).gradient, found.gradient.ravel())


def test_the_design_maps_weights_to_predictions():
    problem = problem_of(fw.MultitaskSquared(), layout="csr64")
    W = np.random.default_rng(2).normal(size=problem.shape)
    np.testing.assert_allclose(problem.design @ W.ravel(), (problem.X @ W).ravel(), atol=1e-12)


@pytest.mark.parametrize("constraint", cases.SETS, ids=cases.name_of)
def test_diameters_are_those_of_the_problem_spelled_out(constraint):
    problem = problem_of(fw.MultitaskSquared(), constraint)
    spelled = fw.Problem(problem.design, problem.y.ravel(), "squared", constraint)
    assert problem.diameters()[:3] == pytest.approx(spelled.diameters()[:3])
    assert problem.diameters().exact == spelled.diameters().exact


# --- the loop -----------------------------------------------------------------------------------------------------


# a pairwise step with an exact search leaves its two atoms level: rounding decides between them in the next step
STABLE = [m for m in cases.METHODS if m.name in ("fw", "fw, LineSearch", "fw, Backtracking", "blended-pairwise")]


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("method", STABLE, ids=cases.name_of)
def test_deterministic_methods_walk_as_on_the_problem_spelled_out(method):
    """The squared loss of k outputs is k scalar ones: the same steps must come out, up to rounding."""
    problem = problem_of(fw.MultitaskSquared(), layout="csr64", n=30, d=6)
    spelled = fw.Problem(problem.design, problem.y.ravel(), "squared", fw.L1Ball(3.0))
    many, one = (fw.minimize(p, method, tol=0, max_passes=6, random_state=0) for p in (problem, spelled))
    np.testing.assert_allclose(many.x.ravel(), one.x, atol=1e-7)
    assert many.fun == pytest.approx(problem.outputs * one.fun, rel=1e-7)
    assert many.gap == pytest.approx(problem.outputs * one.gap, abs=1e-6)


# these step rules look at no prediction
SEE_PREDICTIONS = [
    m
    for m in cases.EVERY_PART
    if not isinstance(m.step, fw.methods.OpenLoop | fw.methods.LogAdaptive | fw.methods.ConstantStep)
]


@pytest.mark.parametrize("method", SEE_PREDICTIONS, ids=cases.name_of)
def test_compiled_and_interpreted_walk_alike(method):
    problem = problem_of(fw.Multinomial(), layout="csr64", n=15, d=5)
    options = {"tol": 0, "max_passes": 4, "random_state": 0, "batch_size": 3}
    compiled = fw.minimize(problem, method, **options)
    with fw.python_mode():
        interpreted = fw.minimize(problem, method, **options)
    np.testing.assert_allclose(compiled.x, interpreted.x, atol=1e-9)
    assert compiled.nit == interpreted.nit


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("constraint", [fw.L1Ball(1.5), fw.L2Ball(1.2), fw.Box(-0.5, 1.0)], ids=cases.name_of)
def test_the_gap_bounds_the_error_along_the_way(constraint):
    problem = problem_of(fw.Multinomial(), constraint)
    best = fw.minimize(problem, "corrective", tol=1e-9, max_passes=3000)
    assert best.success
    run = fw.minimize(problem, "sfw", tol=0, max_passes=30, batch_size=4, random_state=0)
    assert run.x.shape == problem.shape
    assert problem.constraint.contains(run.x.ravel())
    assert (run.trace.gap >= run.trace.fun - best.fun - 1e-12).all()
    assert run.trace.fun[-1] - best.fun <= 0.05 * problem.zero_value


@pytest.mark.parametrize(("layout", "mode"), [("dense64", fw.python_mode), ("csr64", nullcontext)])
def test_groups_of_columns_hold_whole_rows_of_the_weights(layout, mode):
    """The group lasso of several tasks: a feature is in for all outputs or for none."""
    by_column = problem_of(fw.MultitaskSquared(), fw.GroupBall(range(12), 2.0), layout)
    by_entry = problem_of(fw.MultitaskSquared(), fw.GroupBall(np.repeat(np.arange(12), 3), 2.0), layout)
    assert by_column.constraint == by_entry.constraint
    with mode():
        exact = fw.minimize(by_column, tol=1e-7, max_passes=1000)
        rough = fw.minimize(by_column, "sfw", tol=1e-2, max_passes=300, random_state=0, batch_size=2)
    assert exact.success
    assert np.linalg.norm(exact.x, axis=1).sum() == pytest.approx(2.0)
    assert set(np.count_nonzero(exact.x, axis=1)) == {0, 3}
    assert rough.success
    assert 0.0 <= rough.fun - exact.fun + exact.gap <= rough.gap


@pytest.mark.usefixtures("interpreted")
def test_weights_come_and_go_in_the_shape_of_the_problem():
    problem = problem_of(fw.Multinomial())
    seen = []
    first = fw.minimize(problem, "sfw", max_passes=3, random_state=0, callback=lambda state: seen.append(state.x.shape))
    assert set(seen) == {problem.shape} == {first.x.shape}
    for start in (first, first.x, first.x.ravel()):
        assert fw.minimize(problem, "fw", step="line-search", x0=start, max_passes=1).fun <= first.fun
    assert repr(problem).startswith("Problem(40 x 12 -> 3")


def test_sample_weights_count_rows():
    X, y = cases.vector_table(fw.Multinomial())
    twice = fw.Problem(np.vstack([X, X[:5]]), np.append(y, y[:5]), "multinomial", fw.L1Ball(3.0))
    weighted = fw.Problem(X, y, "multinomial", fw.L1Ball(3.0), sample_weight=np.where(np.arange(len(y)) < 5, 2.0, 1.0))
    W = np.random.default_rng(0).normal(size=twice.shape)
    assert weighted.value(W) == pytest.approx(twice.value(W))


# --- bad input ----------------------------------------------------------------------------------------------------

X = np.ones((4, 2))
BAD = {
    "labels": (lambda: fw.Problem(X, [-1, 1, 1, -1], "multinomial", fw.L1Ball(1.0)), ValueError, "class numbers 0, 1"),
    "fractions": (lambda: fw.Problem(X, [0, 1, 1.5, 0], "multinomial", fw.L1Ball(1.0)), ValueError, "1.5 at entry 2"),
    "words": (lambda: fw.Problem(X, list("abca"), "multinomial", fw.L1Ball(1.0)), TypeError, "return_inverse"),
    "one class": (lambda: fw.Problem(X, [0, 0, 0, 0], "multinomial", fw.L1Ball(1.0)), ValueError, "one class only"),
    "too few classes": (
        lambda: fw.Problem(X, [0, 1, 2, 3], fw.Multinomial(3), fw.L1Ball(1.0)),
        ValueError,
        "class 3, but Multinomial.3. has classes 0 to 2",
    ),
    "negative outputs": (lambda: fw.Multinomial(-1), ValueError, "must be 0"),
    "outputs a float": (lambda: fw.MultitaskSquared(2.0), TypeError, "must be an int"),
    "a vector": (lambda: fw.Problem(X, [1, 2, 3, 4], "multitask-squared", fw.L1Ball(1.0)), ValueError, "use Squared"),
    "sparse": (lambda: _multitask(sparse.eye_array(4)), TypeError, "dense matrix"),
    "rows": (lambda: _multitask(np.ones((3, 2))), ValueError, "3 rows, but there are 4"),
    "not finite": (lambda: _multitask(np.full((4, 2), np.nan)), ValueError, "first in row 0"),
    "columns": (
        lambda: fw.Problem(X, np.ones((4, 2)), fw.MultitaskSquared(3), fw.L1Ball(1.0)),
        ValueError,
        "y has 2 columns",
    ),
    "shape of w": (lambda: _multitask(np.ones((4, 3))).value(np.ones((3, 2))), ValueError, r"shape \(2, 3\)"),
    "size of w": (lambda: _multitask(np.ones((4, 3))).value(np.ones(5)), ValueError, "6 weights"),
}


def _multitask(Y):
    return fw.Problem(X, Y, "multitask-squared", fw.L1Ball(1.0))


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_explained(case):
    call, kind, message = BAD[case]
    with pytest.raises(kind, match=message):
        call()
