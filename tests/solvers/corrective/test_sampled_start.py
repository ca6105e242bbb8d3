"""Starts from a sample of the rows: a better beginning, never another answer."""

import numpy as np
import pytest
from scipy import sparse

import frankwolfe as fw
from frankwolfe.solvers.corrective import fully_corrective
from frankwolfe.solvers.corrective.fully_corrective import CorrectiveSolver


@pytest.fixture(autouse=True)
def small_samples(monkeypatch):
    monkeypatch.setattr(fully_corrective, "LEAST_ENTRIES", {"sparse": 0, "dense": 0})


def tall(n=4_000, d=6, noise=1.0, layout="dense", **options):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    y = np.where(X @ np.linspace(-1.0, 1.0, d) + noise * rng.normal(size=n) > 0.0, 1.0, -1.0)
    return fw.Problem(X if layout == "dense" else sparse.csr_array(X), y, "logistic", fw.L1Ball(1.5 / noise), **options)


def without_sample(monkeypatch, problem, **how):
    with monkeypatch.context() as patch:
        patch.setattr(fully_corrective, "LEAST_ENTRIES", {"sparse": 10**9, "dense": 10**9})
        return fw.minimize(problem, **how)


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("intercept", [False, True])
def test_same_optimum_with_fewer_passes(layout, intercept, monkeypatch):
    problem = tall(64_000, 30, 0.1, layout, intercept=intercept)
    plain = without_sample(monkeypatch, problem, tol=1e-6)
    result = fw.minimize(problem, tol=1e-6)
    assert result.success
    assert result.passes < plain.passes
    np.testing.assert_allclose(result.x, plain.x, atol=1e-3)


def test_the_objective_and_its_bound_are_those_of_all_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4_000, 4))
    truth = np.where(np.arange(4_000) % fully_corrective.SAMPLED == 0, -1.0, 1.0)  # the rows of the sample mislead
    result = fw.minimize(fw.Problem(X, truth * X[:, 0], "squared", fw.L1Ball(3.0)), tol=1e-8)
    best = np.linalg.lstsq(X, truth * X[:, 0], rcond=None)[0]
    assert result.success
    np.testing.assert_allclose(result.x, best, atol=1e-3)


def test_a_start_of_ones_own_is_begun_from(monkeypatch):
    def refuse(*_):
        raise AssertionError("a sample was taken")

    problem = tall()
    monkeypatch.setattr(fully_corrective, "sample_optimum", refuse)
    assert fw.minimize(problem, x0=np.full(problem.d, 0.1), tol=1e-6).success
    with pytest.raises(AssertionError, match="a sample was taken"):
        fw.minimize(problem, tol=1e-6)


def test_rows_without_weight_are_no_sample():
    weights = np.ones(4_000)
    weights[:: fully_corrective.SAMPLED] = 0.0
    problem = tall(sample_weight=weights)
    assert fully_corrective.start_from_sample(problem) == (None, 0)
    assert fw.minimize(problem, tol=1e-6).success


@pytest.mark.parametrize("loss", ["sigmoid", "logistic"])
def test_only_convex_losses_start_from_a_sample(loss):
    rng = np.random.default_rng(0)
    problem = fw.Problem(rng.normal(size=(4_000, 3)), np.sign(rng.normal(size=4_000)), loss, fw.L1Ball(1.0))
    assert fully_corrective.worth_sampling(problem) == (loss == "logistic")


def test_the_sample_is_charged():
    problem = tall()
    result = fw.minimize(problem, tol=1e-8)
    sampled_rows = result.passes * problem.n % problem.n
    assert sampled_rows > 0
    assert sampled_rows % (problem.n // fully_corrective.SAMPLED) == 0


def test_a_state_from_before_the_sample_leads_to_the_same_bits():
    problem = tall()
    solver = CorrectiveSolver(problem, problem.default_start())
    solver.begin(np.inf, 0.0)
    resumed = CorrectiveSolver.from_state(problem, solver.state())
    resumed.begin(np.inf, 0.0)
    solver.advance(3)
    resumed.advance(3)
    assert np.array_equal(solver.point(), resumed.point())


@pytest.mark.parametrize("max_passes", [1, 2, 3, 4, 6])
def test_the_budget_holds(max_passes):
    assert fw.minimize(tall(), tol=0.0, max_passes=max_passes).passes <= max_passes
