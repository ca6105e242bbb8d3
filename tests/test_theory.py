"""Diameters and kappa against a look at every pair of vertices."""

import itertools
from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

import frankwolfe as fw
from frankwolfe.linalg import matrices
from tests import cases

SHAPES = [(6, 4), (1, 4), (6, 1), (1, 1), (3, 6), (2, 2)]
METRICS = {"one": "cityblock", "two": "euclidean", "inf": "chebyshev"}
LAYOUTS = pytest.mark.parametrize("layout", cases.LAYOUTS)

VERTICES = {
    fw.L1Ball: lambda ball, d: ball.radius * np.vstack([np.eye(d), -np.eye(d)]),
    fw.Simplex: lambda simplex, d: simplex.radius * np.eye(d),
    fw.NonNegativeL1Ball: lambda ball, d: ball.radius * np.vstack([np.zeros((1, d)), np.eye(d)]),
    fw.MonotoneBox: lambda box, d: np.where(np.tri(d + 1, d, -1) > 0.0, box.lower, box.upper),
    fw.Box: lambda box, d: np.array(
        list(itertools.product(*np.broadcast_to(np.c_[box.lower, box.upper], (d, 2)))), dtype=np.float64
    ),
}
"""All vertices of a polytope in ``d`` dimensions, one in a row."""


def data_matrix(shape, seed=0):
    """Random entries, a third of them zero, all exact in single precision."""
    rng = np.random.default_rng([seed, *shape])
    X = rng.normal(size=shape).astype(np.float32).astype(np.float64)
    return np.where(rng.random(shape) < 0.33, 0.0, X)


def problem_on(X, constraint):
    return fw.Problem(X, np.zeros(X.shape[0]), "squared", constraint)


def brute_force(X, constraint):
    """D_1, D_2 and D_inf by enumeration: of vertices or, for the l2 ball, of the signs of ``X (u - v)``."""
    if isinstance(constraint, fw.L2Ball):
        signs = np.array(list(itertools.product([-1.0, 1.0], repeat=X.shape[0])))
        return (
            2.0
            * constraint.radius
            * np.array(
                [
                    np.linalg.norm(signs @ X, axis=1).max(),
                    np.sqrt(np.linalg.eigvalsh(X.T @ X)[-1].clip(0.0)),
                    np.sqrt((X * X).sum(axis=1)).max(),
                ]
            )
        )
    images = VERTICES[type(constraint)](constraint, X.shape[1]) @ X.T
    return np.array([cdist(images, images, metric).max() for metric in METRICS.values()])


def assert_honest(found, truth, tolerance=1e-9):
    """What is called exact is; the rest are upper bounds."""
    for bound, exact, true in zip(found[:3], found.exact, truth, strict=True):
        assert isinstance(bound, float)
        if exact:
            assert bound == pytest.approx(true, rel=tolerance, abs=tolerance)
        else:
            assert bound >= true * (1.0 - tolerance)


# --- against brute force -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("constraint", cases.SETS, ids=cases.name_of)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_diameters_against_all_pairs(constraint, shape, stored):
    for seed in range(5):
        X = data_matrix(shape, seed)
        assert_honest(problem_on(stored(X), constraint).diameters(), brute_force(X, constraint))


@pytest.mark.parametrize("constraint", cases.SETS, ids=cases.name_of)
def test_which_diameters_are_exact(constraint):
    everywhere = problem_on(data_matrix((6, 4)), constraint).diameters().exact
    expected = {fw.L2Ball: (False, True, True), fw.Box: (False, False, True)}
    assert everywhere == expected.get(type(constraint), (True, True, True))


@pytest.mark.parametrize("constraint", cases.SETS, ids=cases.name_of)
def test_bounds_are_not_idle(constraint):
    # An infinite bound would be honest too: on ordinary data they are within a small factor.
    for seed in range(5):
        X = data_matrix((6, 4), seed)
        found = problem_on(X, constraint).diameters()
        assert (np.array(found[:3]) <= 2.5 * brute_force(X, constraint) + 1e-12).all()


def test_box_with_sides_of_different_length():
    constraint = fw.Box([-1.0, 0.0, 2.0, -0.1], [1.0, 0.0, 5.0, 0.1])
    X = data_matrix((5, 4))
    assert_honest(problem_on(X, constraint).diameters(), brute_force(X, constraint))


@pytest.mark.parametrize("constraint", cases.SETS, ids=cases.name_of)
@LAYOUTS
def test_layouts_agree(constraint, layout):
    X = data_matrix((30, 9))
    plain = problem_on(X, constraint)
    other = problem_on(cases.LAYOUTS[layout](X), constraint)
    assert other.diameters()[:3] == pytest.approx(plain.diameters()[:3], rel=1e-6)
    assert other.diameters().exact == plain.diameters().exact
    assert other.kappa() == pytest.approx(plain.kappa(), rel=1e-6)


@pytest.mark.parametrize("constraint", [fw.Simplex(2.0), fw.NonNegativeL1Ball(1.5)], ids=cases.name_of)
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_too_many_pairs_of_columns_give_bounds(constraint, stored, monkeypatch):
    monkeypatch.setattr(matrices, "PAIR_BUDGET", 0)
    for seed in range(5):
        X = data_matrix((6, 4), seed)
        found = problem_on(stored(X), constraint).diameters()
        assert found.exact == (False, False, True)
        assert_honest(found, brute_force(X, constraint))


# --- kappa -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("constraint", cases.SETS, ids=cases.name_of)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_kappa_is_the_ratio_and_lies_between_one_and_n(constraint, shape):
    for seed in range(5):
        X = data_matrix(shape, seed)
        problem, (one, _, inf) = problem_on(X, constraint), brute_force(X, constraint)
        if inf > 0.0 and problem.diameters().exact[0]:
            assert problem.kappa() == pytest.approx(one / inf, rel=1e-9)
        elif inf > 0.0:
            assert problem.kappa() >= one / inf * (1.0 - 1e-9)
        assert 1.0 - 1e-12 <= problem.kappa() <= problem.n * (1.0 + 1e-12)


@pytest.mark.parametrize("constraint", [fw.Simplex(2.0), fw.NonNegativeL1Ball(1.5)], ids=cases.name_of)
def test_kappa_is_at_most_n_even_as_a_bound(constraint, monkeypatch):
    # Columns that hardly differ are far shorter apart than they are long: the ranges of the rows know better.
    monkeypatch.setattr(matrices, "PAIR_BUDGET", 0)
    problem = problem_on(1.0 + 1e-3 * data_matrix((6, 4)), constraint)
    assert 1.0 <= problem.kappa() <= problem.n


def test_kappa_of_the_l1_ball_by_its_formula():
    X = data_matrix((20, 7))
    assert problem_on(X, fw.L1Ball(3.0)).kappa() == pytest.approx(np.abs(X).sum(axis=0).max() / np.abs(X).max())


def test_kappa_extremes():
    assert problem_on(np.eye(5), fw.L1Ball(1.0)).kappa() == 1.0  # a step changes one prediction
    assert problem_on(np.ones((5, 3)), fw.L1Ball(1.0)).kappa() == 5.0  # a step changes all alike


@pytest.mark.parametrize("constraint", cases.SETS, ids=cases.name_of)
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_data_of_zeros_have_no_extent(constraint, stored):
    problem = problem_on(stored(np.zeros((6, 4))), constraint)
    assert problem.diameters()[:3] == (0.0, 0.0, 0.0)
    assert problem.kappa() == 1.0


@pytest.mark.parametrize(
    ("name", "loss", "constraint", "share"),
    [
        ("breast_cancer", "logistic", fw.L1Ball(5.0), 0.9297),
        ("rcv1_subset", "logistic", fw.L1Ball(100.0), 0.02257),
        ("california_housing", "squared", fw.L1Ball(0.1), 0.03995),
    ],
)
def test_kappa_of_known_tables(name, loss, constraint, share):
    X, y = cases.data(name)
    problem = fw.Problem(X, y, loss, constraint)
    assert problem.kappa() / problem.n == pytest.approx(share, rel=5e-4)
    assert problem.diameters().exact == (True, True, True)


# --- the norms beneath -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1, 2, np.inf])
@LAYOUTS
def test_row_and_column_norms(layout, p):
    X = data_matrix((8, 5))
    stored = cases.LAYOUTS[layout](X)
    np.testing.assert_allclose(matrices.column_norms(stored, p), np.linalg.norm(X, p, axis=0), rtol=1e-6)
    np.testing.assert_allclose(matrices.row_norms(stored, p), np.linalg.norm(X, p, axis=1), rtol=1e-6)


@pytest.mark.parametrize("size", [1e-30, 1e25])
@pytest.mark.parametrize("layout", ["dense32", "csr32"])
def test_norms_of_single_precision_data_are_taken_in_double(layout, size):
    # The squares of these entries are beyond what single precision can hold.
    stored = cases.LAYOUTS[layout](np.full((4, 3), size))
    np.testing.assert_allclose(matrices.column_norms(stored, 2), 2.0 * size, rtol=1e-6)
    np.testing.assert_allclose(matrices.row_norms(stored, 2), np.sqrt(3.0) * size, rtol=1e-6)


@pytest.mark.parametrize("with_zero", [False, True])
@LAYOUTS
def test_row_ranges(layout, with_zero):
    X = data_matrix((8, 5))
    X[0], X[1] = [1.0, 2.0, 3.0, 4.0, 5.0], [-1.0, -2.0, -3.0, -4.0, -5.0]  # rows that never touch zero
    seen = np.c_[X, np.zeros(8)] if with_zero else X
    np.testing.assert_allclose(
        matrices.row_ranges(cases.LAYOUTS[layout](X), with_zero), np.ptp(seen, axis=1), rtol=1e-6
    )


@pytest.mark.parametrize("shape", [(5, 3), (600, 7), (7, 600), (600, 2), (40, 900)], ids=str)
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_spectral_norm(shape, stored):
    X = data_matrix(shape)
    largest = np.linalg.svd(X, compute_uv=False)[0]
    assert matrices.spectral_norm(stored(X)) == pytest.approx(largest, rel=1e-9)
    assert matrices.spectral_norm(stored(X)) == matrices.spectral_norm(stored(X))


@pytest.mark.parametrize("shape", [(7, 600), (600, 7), (4, 9)], ids=str)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_spectral_norm_of_centred_data(shape, axis, stored):
    # Columns (or rows) that sum to zero send the vector of ones to zero: no place to start a power iteration.
    X = np.random.default_rng(0).integers(-9, 10, size=shape).astype(np.float64)
    if axis == 0:
        X[-1] -= X.sum(axis=0)
    else:
        X[:, -1] -= X.sum(axis=1)
    assert (X.sum(axis=axis) == 0.0).all()
    assert matrices.spectral_norm(stored(X)) == pytest.approx(np.linalg.svd(X, compute_uv=False)[0], rel=1e-9)


# --- sets from elsewhere -----------------------------------------------------------------------------------------


class Segment(NamedTuple):
    """All points between two ends that differ by ``length`` in every coordinate."""

    length: float

    def tracker(self, d):
        return fw.L1Ball(1.0).tracker(d)

    def oracle(self, tracker, r):
        raise NotImplementedError

    def support(self, direction):
        return self.length * max(0.0, float(np.sum(direction)))

    def contains(self, w, tolerance=1e-9):
        return bool(np.ptp(w) <= tolerance and -tolerance <= w[0] <= self.length + tolerance)


class MeasuredSegment(Segment):
    """A segment with a diameter of its own."""

    def diameter(self, d):
        return self.length * np.sqrt(d)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("kind", [Segment, MeasuredSegment])
def test_a_set_without_image_diameters_gets_bounds_from_its_support_function(shape, stored, kind):
    for seed in range(5):
        X = data_matrix(shape, seed)
        found = problem_on(stored(X), kind(2.0)).diameters()
        image = 2.0 * X.sum(axis=1)
        assert found.exact == (1 in shape, 1 in shape, True)
        assert_honest(found, [np.linalg.norm(image, p) for p in (1, 2, np.inf)])
