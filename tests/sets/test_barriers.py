"""Barriers of the sets: derivatives against differences, self-concordance, and what they say of their sets."""

import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.sets.base import for_shape
from frankwolfe.sets.polytopes import polytope_barrier
from tests import cases
from tests.own_parts import WeightedL1Ball

D = 9

TRIED = {type(each).__name__: lambda d, each=each: each for each in cases.SETS} | cases.SIZED_SETS
MADE = {name: make for name, make in TRIED.items() if for_shape(make(D), D).barrier(D) is not None}
WIDE = fw.TraceBall(2.0, (3, 5))


def set_and_barrier(name):
    constraint = for_shape(MADE[name](D), D)
    return constraint, constraint.barrier(D)


def random_move(found, rng):
    """Return a random move in local coordinates that keeps the equations."""
    e = rng.normal(size=len(found.gradient))
    if found.equations is not None:
        e -= np.linalg.pinv(found.equations) @ (found.equations @ e)
    return e / np.sqrt(e @ hessian_of(found) @ e)


def hessian_of(found):
    return np.diag(found.hessian) if found.hessian.ndim == 1 else found.hessian


def moved(moves, e):
    return moves * e if moves.ndim == 1 else moves @ e


def with_best_auxiliaries(barrier, y):
    """Move auxiliary variables only, until they are the best for their weights."""
    for _ in range(100):
        found = barrier.at(y)
        change, step = found.recover(np.zeros(len(found.gradient))), 1.0 / (1.0 + np.sqrt(found.rest))
        y = y + (step if found.rest > 0.05 else 1.0) * change
        if found.rest < 1e-24:
            break
    return y


def points(barrier, rng, count=4):
    """Yield points inside, farther and farther from the middle, and the barrier there."""
    y = barrier.start()
    for _ in range(count):
        y = with_best_auxiliaries(barrier, y)
        found = barrier.at(y)
        yield y, found
        change, step = found.recover(random_move(found, rng)), 0.9
        while not np.isfinite(barrier.value(y + 1.1 * step * change)):
            step *= 0.7
        y = y + step * change


@pytest.mark.parametrize("name", MADE)
def test_derivatives_are_those_of_the_value(name):
    constraint, barrier = set_and_barrier(name)
    rng, h = np.random.default_rng(0), 1e-3
    for y, found in points(barrier, rng):
        assert constraint.contains(barrier.weights(y), 1e-12)
        e = random_move(found, rng)
        # the best auxiliary variables follow to first order, which is enough for the second derivative
        low, here, high = (barrier.value(y + found.recover(t * e)) for t in (-h, 0.0, h))
        assert (high - low) / (2.0 * h) == pytest.approx(found.gradient @ e, abs=1e-4)
        assert (high - 2.0 * here + low) / h**2 == pytest.approx(1.0, rel=1e-4)
        there = barrier.weights(y + found.recover(h * e)) - barrier.weights(y + found.recover(0.0 * e))
        np.testing.assert_allclose(there, moved(found.moves, h * e), atol=1e-12)


@pytest.mark.parametrize("name", MADE)
def test_the_parameter_bounds_the_gap_on_the_path(name):
    """On the path of ``<c, w> + mu B`` the gap of the linear function is at most ``nu mu``."""
    constraint, barrier = set_and_barrier(name)
    rng = np.random.default_rng(1)
    for y, found in points(barrier, rng):
        # the linear function whose path passes here has the slope -B' in local coordinates
        moves = np.diag(found.moves) if found.moves.ndim == 1 else found.moves
        rows = moves.T if found.equations is None else np.hstack([moves.T, found.equations.T])
        c = np.linalg.lstsq(rows, -found.gradient, rcond=None)[0]
        if np.abs(rows @ c + found.gradient).max() > 1e-8:
            continue  # moves that change no weight: not every slope is one of the weights
        w, c = barrier.weights(y), c[: len(moves)]
        assert c @ w + constraint.support(-c) <= barrier.nu * (1.0 + 1e-9)


@pytest.mark.parametrize("name", MADE)
def test_steps_that_self_concordance_promises_stay_inside(name):
    _, barrier = set_and_barrier(name)
    rng = np.random.default_rng(2)
    for y, found in points(barrier, rng):
        change = found.recover(0.95 * random_move(found, rng)) - found.recover(np.zeros(len(found.gradient)))
        assert np.isfinite(barrier.value(y + change))


def test_scaled_and_translated_sets_have_scaled_and_translated_barriers():
    inner, shift = fw.LpBall(3.0, 2.0), np.linspace(-1.0, 1.0, D)
    barrier = fw.sets.Translated(fw.sets.Scaled(inner, 4.0), shift).barrier(D)
    plain = inner.barrier(D)
    y = np.concatenate([np.full(D, 0.1), np.full(D, 0.05)])
    np.testing.assert_allclose(barrier.weights(y), 4.0 * plain.weights(y) + shift)
    np.testing.assert_allclose(barrier.at(y).moves, 4.0 * plain.at(y).moves)
    assert plain.weights(y)[0] == pytest.approx(0.2)  # the wrapped set's own is left alone


def test_wide_and_tall_matrices_are_the_same():
    wide, tall = WIDE.barrier(15), fw.TraceBall(2.0, (5, 3)).barrier(15)
    W = 0.1 * np.random.default_rng(0).normal(size=(3, 5))
    for one, matrix in ((wide, W), (tall, W.T)):
        y = np.concatenate([matrix.ravel(), 0.3 * np.eye(3).ravel()])
        assert one.value(y) == pytest.approx(wide.value(np.concatenate([W.ravel(), 0.3 * np.eye(3).ravel()])))
    y_wide, y_tall = (np.concatenate([m.ravel(), 0.3 * np.eye(3).ravel()]) for m in (W, W.T))
    found, other = wide.at(y_wide), tall.at(y_tall)
    np.testing.assert_allclose(found.gradient.reshape(3, 5), other.gradient.reshape(5, 3).T)


def test_a_set_need_not_have_a_barrier():
    own = fw.sets.Scaled(WeightedL1Ball(1.0, np.ones(3)), 2.0)
    assert own.barrier(3) is None
    assert fw.Product([fw.L2Ball(1.0), own], [2, 3]).barrier(5) is None


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_inequalities_that_are_equations_in_disguise_are_found(unit):
    # w_0 <= 1 and -w_0 <= -1, and a square in the other two
    A = np.array([[1.0, 0, 0], [-1.0, 0, 0], [0, 1.0, 0], [0, -1.0, 0], [0, 0, 1.0], [0, 0, -1.0]])
    b = unit * np.array([1.0, -1.0, 1.0, 0.0, 2.0, 0.0])
    barrier = polytope_barrier(A, b, None, None, 3)
    assert barrier.nu == 4.0
    w = barrier.weights(barrier.start())
    assert w[0] == pytest.approx(unit, rel=1e-12)
    assert 0.0 < w[1] < unit
    assert 0.0 < w[2] < 2.0 * unit


def test_a_polytope_of_one_point_has_no_interior():
    eye = np.eye(2)
    assert polytope_barrier(np.vstack([eye, -eye]), np.array([1.0, 2.0, -1.0, -2.0]), None, None, 2) is None
    assert polytope_barrier(np.vstack([eye, -eye]), np.zeros(4), None, None, 2) is None


@pytest.mark.parametrize("name", ["Simplex", "Birkhoff", "Spectrahedron", "TraceBall", "L1Ball", "Product"])
def test_tiny_weights_are_dropped_and_the_point_stays_in_the_set(name):
    constraint, barrier = set_and_barrier(name)
    rng = np.random.default_rng(0)
    corner = constraint.vertex(rng.normal(size=D))
    w = (1.0 - 1e-6) * corner + 1e-6 * barrier.weights(barrier.start())
    found = barrier.without_tiny(w, 1e-5)
    assert constraint.contains(w, 1e-13)
    assert constraint.contains(found, 1e-13)
    np.testing.assert_allclose(found, corner, atol=1e-5)
    assert _rank(name, found) == _rank(name, corner)


def _rank(name, w):
    """Return the number of weights, or of singular values of a matrix, that are not zero."""
    return np.linalg.matrix_rank(w.reshape(3, 3)) if name in ("Spectrahedron", "TraceBall") else np.count_nonzero(w)


@pytest.mark.parametrize("unit", [2.0**-26, 2.0**40])
@pytest.mark.parametrize("exhausted", [False, True])
def test_barriers_of_budgets_have_no_units(unit, exhausted):
    def made(scale):
        if exhausted:
            return fw.CappedSimplex(0.7 * scale, 1.3 * scale).barrier(4)
        return fw.Budget([-0.3 * scale, 0.0, -np.inf], [np.inf, 0.9 * scale, np.inf], 1.3 * scale).barrier(3)

    plain, other = made(1.0), made(unit)
    assert np.array_equal(plain.start(), other.start())
    assert plain.value(plain.start()) == other.value(other.start())
    assert np.array_equal(unit * plain.weights(plain.start()), other.weights(other.start()))
