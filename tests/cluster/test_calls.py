"""How many calls a run on a cluster makes, and which: each is a round trip."""

import numpy as np
import pytest
from scipy import sparse

import frankwolfe as fw
from frankwolfe.solvers.corrective import fully_corrective
from tests.cluster.tables import chunked

da = pytest.importorskip("dask.array", reason="dask is not installed")

ROWS, COLUMNS = 4_000, 6
RNG = np.random.default_rng(3)
X = RNG.normal(size=(ROWS, COLUMNS)) * (RNG.random((ROWS, COLUMNS)) < 0.7)
SCORES = X @ np.linspace(-1.0, 1.0, COLUMNS) + RNG.normal(size=ROWS)
Y = np.where(SCORES > 0.0, 1.0, -1.0)
WITHOUT = np.where(np.arange(ROWS) % fully_corrective.SAMPLED == 0, 0.0, 1.0)  # rows of the samples have no weight

CASES = {
    "dense": (X, Y, "logistic", fw.L1Ball(1.5), {}),
    "sparse": (sparse.csr_array(X), Y, "logistic", fw.NonNegativeL1Ball(0.7), {}),
    "single": (X.astype(np.float32), Y, "logistic", fw.L1Ball(1.5), {}),
    "wrapped": (X, Y, "logistic", fw.sets.Counted(fw.sets.Cached(fw.L1Ball(1.5))), {}),
    "simplex": (X, SCORES, "huber", fw.Simplex(1.0), {}),
    "translated": (X, SCORES, "squared", fw.sets.Translated(fw.L1Ball(0.5), np.linspace(-0.2, 0.2, COLUMNS)), {}),
    "intercept": (X + 10.0, Y, "logistic", fw.L1Ball(1.5), {"intercept": True}),
    "classes": (X, np.digitize(SCORES, [-1.0, 1.0]), "multinomial", fw.L1Ball(3.0), {}),
    "without weight": (X, Y, "logistic", fw.L1Ball(1.5), {"sample_weight": WITHOUT}),
    "sorted": (X[np.argsort(Y)], np.sort(Y), "logistic", fw.L1Ball(1.5), {}),  # a class on each worker
}


@pytest.fixture
def sampled(monkeypatch):
    """Let small data start from samples."""
    monkeypatch.setattr(fully_corrective, "LEAST_ENTRIES", {"sparse": 0, "dense": 0})


def posed(name, chunk=1_000):
    """Return a problem on the cluster."""
    X, y, loss, constraint, given = CASES[name]
    return fw.Problem(chunked(X, chunk), chunked(y, chunk), loss, constraint, **given)


def calls_of(problem, monkeypatch, **how):
    """Return the result of a run, and the names of its calls."""
    cluster, names = problem.objective.shards.cluster, []
    plain = cluster._call
    monkeypatch.setattr(cluster, "_call", lambda call, *a, **k: names.append(call.name) or plain(call, *a, **k))
    return fw.minimize(problem, **how), names


@pytest.mark.parametrize("name", CASES)
def test_samples_on_workers_lead_to_the_same_answer(client, name, sampled, monkeypatch):
    X, y, loss, constraint, given = CASES[name]
    result, names = calls_of(posed(name), monkeypatch, method="corrective", tol=1e-11)
    expected = fw.minimize(fw.Problem(X, y, loss, constraint, **given), "corrective", tol=1e-11)
    assert result.success
    assert names.count("sample_optimum") == 1
    assert result.fun == pytest.approx(expected.fun, rel=1e-10, abs=1e-10)


def tall(n=40_000, d=12):
    """Return a problem with many rows and little noise, of which a sample tells nearly all."""
    rows = np.random.default_rng(4).normal(size=(n, d))
    labels = np.where(rows @ np.linspace(-1.0, 1.0, d) + 0.3 * RNG.normal(size=n) > 0.0, 1.0, -1.0)
    return fw.Problem(chunked(rows, n // 4), chunked(labels, n // 4), "logistic", fw.L1Ball(10.0))


def test_a_sample_saves_calls_and_the_last_steps_share_a_hessian(client, sampled, monkeypatch):
    problem = tall()
    with monkeypatch.context() as patch:
        result, names = calls_of(problem, patch, tol=1e-4)
    assert result.success
    # at zero, where the run starts; the samples, and the point that they lead to; a model, and the steps it is worth
    assert names == ["exact_pass", "sample_optimum", "exact_pass", "model_sums", "exact_pass", "exact_pass"]
    with monkeypatch.context() as patch:
        patch.setattr(fully_corrective, "LEAST_ENTRIES", {"sparse": 10**9, "dense": 10**9})
        others = calls_of(problem, patch, tol=1e-4)[1]
    assert others.count("model_sums") > 1
    assert len(others) > len(names)


def test_no_pass_is_taken_at_zero_where_no_run_starts(client, monkeypatch):
    _, names = calls_of(posed("simplex"), monkeypatch, tol=1e-6)
    assert names[:2] == ["evaluate", "exact_pass"]


def test_runs_of_one_problem_are_alike(client, sampled):
    problem = posed("dense")
    first, second = (fw.minimize(problem, tol=1e-9) for _ in range(2))
    np.testing.assert_array_equal(first.x, second.x)
    assert (first.fun, first.gap, first.nit, first.passes) == (second.fun, second.gap, second.nit, second.passes)


@pytest.mark.parametrize("name", ["dense", "sparse", "intercept"])
def test_a_run_that_was_broken_off_goes_on_to_the_same_bits(client, name, sampled, tmp_path):
    problem, path = posed(name), tmp_path / "run.ckpt"
    how = {"method": "corrective", "tol": 1e-10}
    whole = fw.minimize(problem, **how)
    for last in range(1, whole.nit):
        fw.minimize(
            problem, **how, checkpoint=path, checkpoint_every=0.0, callback=lambda state, k=last: state.nit >= k
        )
        onward = fw.resume(path, problem)
        np.testing.assert_array_equal(onward.x, whole.x)
        assert (onward.fun, onward.gap, onward.nit, onward.passes) == (whole.fun, whole.gap, whole.nit, whole.passes)
        path.unlink()
