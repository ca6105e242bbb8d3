"""Workers and connections that are lost in mid-run: the right answer, or one clear error."""

import contextlib
import os
import signal
import time
from threading import Timer

import numpy as np
import pytest

import frankwolfe as fw
from tests.cluster.tables import chunked, table

da = pytest.importorskip("dask.array", reason="dask is not installed")

from frankwolfe.cluster import calls, connection  # noqa: E402
from frankwolfe.cluster.kept import Chunk, Part  # noqa: E402

X, Y = table(shift=1.0)


def posed(X=X, y=Y):
    return fw.Problem(chunked(X), chunked(y), "logistic", fw.L1Ball(1.5), intercept=True)


def at_call(problem, number, happens):
    """Let something happen just before a call of a problem's cluster."""
    cluster = problem.objective.shards.cluster
    real, count = cluster._answers, []

    def answers(*given):
        count.append(1)
        if len(count) == number:
            happens()
        return real(*given)

    cluster._answers = answers
    return cluster


@pytest.fixture(scope="module")
def optimum():
    return fw.minimize(fw.Problem(X, Y, "logistic", fw.L1Ball(1.5), intercept=True), tol=1e-10).fun


@pytest.fixture
def whole(client):
    """A client whose cluster has its two workers again afterwards."""
    yield client
    client.wait_for_workers(2, timeout=60)


def kill(client, number):
    for nanny in [*client.cluster.workers.values()][:number]:
        os.kill(nanny.pid, signal.SIGKILL)


@pytest.mark.parametrize("number", [1, 2])
def test_workers_killed(whole, optimum, number):
    problem = posed()
    cluster = at_call(problem, 8, lambda: kill(whole, number))
    found = fw.minimize(problem, tol=1e-10)
    assert found.success
    assert found.fun == pytest.approx(optimum, abs=1e-10)
    assert cluster.reloads or cluster.placement.moves or next(cluster._numbers) > cluster.calls


def test_tables_of_killed_workers_are_computed_again(whole):
    def posed():
        return fw.Problem(chunked(X), chunked(Y), "logistic", fw.L1Ball(1.5))

    given = {"batch_size": 9, "tol": 0.0, "max_passes": 4, "random_state": 0}
    expected, disturbed = fw.minimize(posed(), "sfw", **given), posed()
    cluster = at_call(disturbed, 25, lambda: kill(whole, 1))
    found = fw.minimize(disturbed, "sfw", **given)
    assert cluster.reloads or cluster.placement.moves or next(cluster._numbers) > cluster.calls
    np.testing.assert_array_equal(found.x, expected.x)
    assert (found.fun, found.gap, found.passes) == (expected.fun, expected.gap, expected.passes)


def test_parts_loaded_again_give_the_same_bits(whole):
    def posed():
        return fw.Problem(chunked(X), chunked(Y), "logistic", fw.L1Ball(1.5))

    found = [fw.minimize(posed(), tol=1e-10) for _ in range(3)]
    disturbed = posed()
    at_call(disturbed, 12, lambda: whole.loop.add_callback(whole.scheduler_comm.comm.abort))
    found.append(fw.minimize(disturbed, tol=1e-10))
    for other in found[1:]:
        np.testing.assert_array_equal(other.x, found[0].x)
        assert (other.fun, other.gap) == (found[0].fun, found[0].gap)


def test_a_connection_cut(whole, optimum):
    problem = posed()
    cluster = at_call(problem, 8, lambda: whole.loop.add_callback(whole.scheduler_comm.comm.abort))
    found = fw.minimize(problem, tol=1e-10)
    assert found.success
    assert found.fun == pytest.approx(optimum, abs=1e-10)
    assert cluster.reloads == 1


def test_chunks_persisted_before_a_connection_was_cut(whole, tmp_path, optimum):
    def persisted():
        return fw.Problem(chunked(X).persist(), chunked(Y).persist(), "logistic", fw.L1Ball(1.5), intercept=True)

    problem = persisted()
    at_call(problem, 20, lambda: whole.loop.add_callback(whole.scheduler_comm.comm.abort))
    with pytest.raises(fw.exceptions.ClusterError, match=r"persist the collection again.*fw\.resume"):
        fw.minimize(problem, tol=1e-10, checkpoint=tmp_path / "run.ckpt")
    found = fw.resume(tmp_path / "run.ckpt", persisted())
    assert found.success
    assert found.fun == pytest.approx(optimum, abs=1e-10)


def test_a_source_that_changes_is_noticed(whole, tmp_path):
    np.save(tmp_path / "X.npy", X)

    def read(block):
        return np.load(tmp_path / "X.npy")[: len(block)]

    problem = fw.Problem(chunked(X, 90).map_blocks(read, dtype=float), chunked(Y, 90), "logistic", fw.L1Ball(1.5))
    np.save(tmp_path / "X.npy", X + 0.1)
    at_call(problem, 3, lambda: whole.loop.add_callback(whole.scheduler_comm.comm.abort))
    with pytest.raises(fw.exceptions.ClusterError, match="chunk 0 had other rows when it was loaded again"):
        fw.minimize(problem, tol=1e-10)


def test_problems_that_share_their_data(whole, optimum):
    problems = [posed(), posed()]
    kill(whole, 2)
    for problem in problems:  # the first one still waits for what the second one needs
        assert fw.minimize(problem, tol=1e-10).fun == pytest.approx(optimum, abs=1e-10)


def test_a_worker_comes_and_parts_spread(whole, monkeypatch, optimum):
    monkeypatch.setattr("frankwolfe.cluster.connection.LOOK_AGAIN", 0.0)
    problem = posed()
    cluster = problem.objective.shards.cluster
    whole.cluster.scale(1)
    while len(whole.nthreads()) > 1:
        time.sleep(0.05)
    assert fw.minimize(problem, tol=1e-10).fun == pytest.approx(optimum, abs=1e-10)
    assert len({*cluster.placement.homes}) == 1
    whole.cluster.scale(2)
    whole.wait_for_workers(2, timeout=60)
    assert fw.minimize(problem, tol=1e-10).fun == pytest.approx(optimum, abs=1e-10)
    assert len({*cluster.placement.homes}) == 2


def test_nobody_to_work(client, monkeypatch):
    from dask.distributed import Client, LocalCluster

    monkeypatch.setattr(connection, "PATIENCE", 0.5)
    monkeypatch.setattr(connection, "POLL", 0.1)
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address="127.0.0.1:0") as empty,
        Client(empty, set_as_default=False) as other,
        other.as_current(),
        pytest.raises(fw.exceptions.ClusterError, match=r"no workers for 0\.5 seconds"),
    ):
        posed()


def test_a_client_that_is_closed(client, tmp_path):
    from dask.distributed import Client

    with Client(client.scheduler.address, set_as_default=False) as other, other.as_current():
        problem = posed()
        at_call(problem, 10, lambda: Timer(0.0, other.close).start())
        with pytest.raises(
            fw.exceptions.ClusterError, match="connection to the cluster was lost, and has not come back"
        ):
            [fw.minimize(problem, tol=1e-10) for _ in range(100)]


def test_errors_of_tasks_are_raised_as_they_are(client):
    def fails(part):
        raise OSError("of the task itself")

    cluster = posed().objective.shards.cluster
    before = next(cluster._numbers)
    with pytest.raises(OSError, match="of the task itself"):
        cluster.run(fails)
    assert next(cluster._numbers) == before + 2


def test_calls_are_given_up_in_the_end(client, monkeypatch):
    def lost(*given):
        raise connection.Moved("gone")

    monkeypatch.setattr(calls, "PAUSE", 0.0)
    cluster = posed().objective.shards.cluster
    for way in ("broadcast", "gathered"):
        monkeypatch.setattr(cluster.connection, way, lost)
    with pytest.raises(
        fw.exceptions.ClusterError, match="given up after 6 attempts, the last of which ended with Moved: gone"
    ):
        cluster.run(len)


def test_what_a_call_was_to_forget_is_forgotten_later(client):
    sent = posed().objective.shards.cluster.sent
    sent.dropped[:] = ["a", "b"]
    with contextlib.suppress(KeyboardInterrupt), sent.taken() as forget:
        assert forget == ["a", "b"]
        assert not sent.dropped
        raise KeyboardInterrupt
    assert sent.dropped == ["a", "b"]


def test_dask_knows_how_large_parts_are():
    from dask.sizeof import sizeof

    part = Part(0, [0], [Chunk(X, Y, np.ones(len(Y)), "")])
    assert X.nbytes + 2 * Y.nbytes <= sizeof(part) <= X.nbytes + 2 * Y.nbytes + 100
