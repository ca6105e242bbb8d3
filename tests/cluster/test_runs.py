"""Runs on a cluster: they stop, go on and are watched as others are, and leave nothing behind."""

import warnings

import numpy as np
import pytest

import frankwolfe as fw
from tests.cluster.tables import ROWS, chunked, table

da = pytest.importorskip("dask.array", reason="dask is not installed")

X, Y = table(shift=1.0)
SETS = {
    "l1": fw.L1Ball(1.5),
    "l2": fw.L2Ball(0.5),
    "hull": fw.ConvexHull(np.random.default_rng(2).normal(size=(14, 6))),
}


def posed(kind="l1", intercept=True, **given):
    return fw.Problem(chunked(X), chunked(Y), "logistic", SETS[kind], intercept=intercept, **given)


def kept(part, cluster):
    """Return how many things a part keeps; a task."""
    return len(part._kept)


def same(one, other):
    np.testing.assert_array_equal(one.x, other.x)
    assert (one.fun, one.gap, one.nit, one.passes, one.status) == (
        other.fun,
        other.gap,
        other.nit,
        other.passes,
        other.status,
    )


@pytest.mark.parametrize("kind", SETS)
def test_a_run_that_goes_on_ends_with_the_same_bits(client, kind, tmp_path):
    problem, path = posed(kind), tmp_path / "run.ckpt"
    whole = fw.minimize(problem, tol=1e-10)
    for rounds in (1, 2):
        stopped = fw.minimize(
            problem,
            tol=1e-10,
            checkpoint=path,
            checkpoint_every=0.0,
            callback=lambda state, last=rounds: state.nit >= last,
        )
        assert stopped.status == "callback"
        same(fw.resume(path, problem), whole)
        path.unlink()


def test_other_data_is_refused(client, tmp_path):
    fw.minimize(posed(), tol=1e-3, checkpoint=tmp_path / "run.ckpt")
    other = fw.Problem(chunked(X + 1e-3), chunked(Y), "logistic", SETS["l1"], intercept=True)
    with pytest.raises(ValueError, match="data"):
        fw.resume(tmp_path / "run.ckpt", other)


def test_watching_changes_no_bit(client):
    problem, seen = posed(), []
    plain = fw.minimize(problem, tol=1e-10)
    watched = fw.minimize(problem, tol=1e-10, trace=50, callback=lambda state: seen.append(state.gap_estimate))
    same(plain, watched)
    assert seen
    assert np.isfinite(watched.trace.fun).all()


def test_ctrl_c_returns_the_best_point(client, ctrl_c):
    ctrl_c(run=1, look=2)
    found = fw.minimize(posed(), tol=1e-12)
    assert found.status == "interrupted"
    assert np.isfinite(found.fun)
    assert fw.minimize(posed(), tol=1e-8).success  # whatever the call in hand has left


@pytest.mark.parametrize(("way", "limit"), [("broadcast", 2**28), ("gathered", -1)])
def test_ctrl_c_in_a_call(client, monkeypatch, way, limit):
    problem = posed()
    connection, calls = problem.objective.shards.cluster.connection, []
    real = getattr(connection, way)

    def waited_for(*given):
        calls.append(given)
        if len(calls) == 20:
            raise KeyboardInterrupt
        return real(*given)

    monkeypatch.setattr("frankwolfe.cluster.calls.DIRECT_BYTES", limit)
    monkeypatch.setattr(connection, way, waited_for)
    assert fw.minimize(problem, tol=1e-12).status == "interrupted"
    assert fw.minimize(problem, tol=1e-10).success


def test_limits(client):
    assert fw.minimize(posed(), tol=1e-14, max_seconds=1e-9).status == "max-seconds"
    assert fw.minimize(posed(), tol=1e-14, callback=lambda state: True).status == "callback"


def test_auto_with_an_intercept_and_few_passes(client):
    assert fw.minimize(posed(), tol=1e-14, max_passes=2).status == "max-passes"


def test_nothing_is_kept_that_nobody_holds(client):
    problem = posed()
    cluster, sizes = problem.objective.shards.cluster, []
    for _ in range(4):
        fw.minimize(problem, tol=1e-10)
        sizes.append(max(cluster.each(kept, None)))
    assert sizes[-1] <= sizes[0] + 1
    assert sizes[-1] < 12
    assert not cluster.sent.dropped or len(cluster.sent.keys) < 50


def test_rows_never_come_to_the_client(client, monkeypatch):
    received, wide = (
        [],
        fw.Problem(
            chunked(np.tile(X, (20, 1)), 400), chunked(np.tile(Y, 20), 400), "logistic", SETS["l1"], intercept=True
        ),
    )
    monkeypatch.setattr("dask.base.compute", lambda *given, **more: pytest.fail("computed on the client"))
    cluster = wide.objective.shards.cluster
    real = cluster._answers

    def answers(*given):
        found = real(*given)
        received.append(sum(np.asarray(value).nbytes for answer in found for value in answer))
        return found

    monkeypatch.setattr(cluster, "_answers", answers)
    assert fw.minimize(wide, tol=1e-10).success
    assert max(received) < 20 * ROWS * 8 / 4  # a quarter of one column


def test_calls_are_few_and_none_is_made_twice(client):
    problem = posed()
    fw.minimize(problem, tol=1e-8)
    cluster = problem.objective.shards.cluster
    assert next(cluster._numbers) == cluster.calls
    assert cluster.reloads == cluster.placement.moves == 0


def test_large_calls_go_without_a_warning(client, monkeypatch):
    from frankwolfe.cluster import calls

    problem = posed()
    expected = fw.minimize(problem, tol=1e-8)
    monkeypatch.setattr(calls, "LARGE", 10)
    import dask

    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "20 kB"}), warnings.catch_warnings():
        warnings.simplefilter("error")
        same(fw.minimize(problem, tol=1e-8), expected)


def test_sums_of_many_parts_are_added_on_workers(client, monkeypatch):
    from frankwolfe.cluster import calls, loading

    monkeypatch.setattr(loading.Connection, "workers", lambda self: sorted(client.nthreads()) * 5)
    monkeypatch.setattr(calls, "FAN_IN", 3)
    problem = fw.Problem(chunked(X, 9), chunked(Y, 9), "logistic", SETS["l1"])
    assert len(problem.objective.shards.cluster.parts) == 10
    local = fw.minimize(fw.Problem(X, Y, "logistic", SETS["l1"]), tol=1e-10)
    assert fw.minimize(problem, tol=1e-10).fun == pytest.approx(local.fun, abs=1e-10)
