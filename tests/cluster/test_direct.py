"""Calls that go to the workers directly: the answers of tasks, and tasks take over where anything is amiss."""

import asyncio
import logging
import os
import signal
import time
from contextlib import contextmanager
from threading import Timer
from types import SimpleNamespace

import numpy as np
import pytest

import frankwolfe as fw
from tests.cluster.tables import ROWS, chunked, table

pytest.importorskip("dask.array", reason="dask is not installed")

from frankwolfe.cluster import calls, connection, loading
from frankwolfe.cluster.kept import Call, threads_here

X, Y = table(shift=1.0)
WAYS = {"direct": calls.DIRECT_BYTES, "tasks": -1}


def posed(size=25, intercept=True):
    return fw.Problem(chunked(X, size), chunked(Y, size), "logistic", fw.L1Ball(1.5), intercept=intercept)


@pytest.fixture
def cluster(client):
    return posed().objective.shards.cluster


@pytest.fixture(params=WAYS)
def either(cluster, request, monkeypatch):
    """A cluster whose calls go one way only."""

    def other_way(*given):
        pytest.fail("a call went the other way")

    monkeypatch.setattr(calls, "DIRECT_BYTES", WAYS[request.param])
    monkeypatch.setattr(*(cluster, "_by_tasks") if request.param == "direct" else (calls, "answers_of"), other_way)
    return cluster


@contextmanager
def made(cluster, direct=0, by_tasks=0):
    """Hold how many calls are made in either way."""
    before = cluster.calls, cluster.direct
    yield
    assert (cluster.direct - before[1], cluster.calls - before[0]) == (direct, direct + by_tasks)


def number(part):
    return part.number


def rows(part):
    return (sum(len(chunk.weights) for chunk in part.chunks),)


def keys(part):
    return [*part._kept]


def fails(part):
    raise LookupError(f"part {part.number} has no such thing")


def value_of(part, value):
    return (value,)


ONE = Call(lambda part: 1.0, ())


# --- where all is well ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [False, True])
def test_both_ways_give_the_same_bits(client, monkeypatch, intercept):
    found = {}
    for way, limit in WAYS.items():
        monkeypatch.setattr(calls, "DIRECT_BYTES", limit)
        problem = posed(intercept=intercept)
        found[way] = fw.minimize(problem, tol=1e-10)
        assert (problem.objective.shards.cluster.direct > 0) is (way == "direct")
    one, other = found.values()
    np.testing.assert_array_equal(one.x, other.x)
    assert (one.fun, one.gap, one.nit, one.passes) == (other.fun, other.gap, other.nit, other.passes)


def test_several_parts_on_a_worker(client, monkeypatch):
    monkeypatch.setattr(loading.Connection, "workers", lambda self: sorted(client.nthreads()) * 2)
    cluster = posed().objective.shards.cluster
    with made(cluster, direct=2):
        assert cluster.each(number) == [0, 1, 2, 3]
        assert cluster.run(rows) == (ROWS,)
    assert len(cluster.placement.addresses()) == 2
    monkeypatch.setattr(calls, "FAN_IN", 3)
    with made(cluster, by_tasks=1):
        assert cluster.run(rows) == (ROWS,)


def test_a_part_has_the_threads_of_its_worker(either):
    assert either.each(lambda part: threads_here()) == [1, 1]


def test_what_is_forgotten(either):
    handle = either.handle(ONE)
    assert either.run(value_of, handle) == (2.0,)
    key = handle.key
    assert all(key in kept for kept in either.each(keys))
    del handle
    assert not any(key in kept for kept in either.each(keys))
    assert not either.sent.dropped


def test_what_is_missing_is_made_again(either):
    handle = either.handle(ONE)
    either.run(value_of, handle)
    either.run(lambda part: (part.forget([*part._kept]) or 0,))
    assert either.run(value_of, handle) == (2.0,)


def test_long_calls_and_large_parts_are_tasks(cluster, monkeypatch):
    with made(cluster, by_tasks=1):
        cluster.run(lambda part, text: rows(part), "x" * 2 * calls.LARGE)
    for name, value in {"DIRECT_BYTES": 1000, "UNSEEN_FOR": 0.0}.items():
        with monkeypatch.context() as patch, made(cluster, by_tasks=1):
            patch.setattr(calls, name, value)
            cluster.run(rows)
    with made(cluster, direct=1):
        cluster.run(rows)


def test_a_call_that_takes_long(cluster, monkeypatch):
    monkeypatch.setattr(connection, "POLL", 0.05)
    with made(cluster, direct=1):
        assert cluster.run(lambda part: time.sleep(0.3) or (1,)) == (2,)


# --- errors of the function -------------------------------------------------------------------------------------------


def test_errors_are_raised_as_they_are(either):
    with pytest.raises(LookupError, match=r"part \d has no such thing") as caught:
        either.run(fails)
    assert "fails" in [entry.name for entry in caught.traceback]  # where it was raised, on the worker
    assert either.run(rows) == (ROWS,)


def test_errors_that_cannot_be_packed(either):
    def fails(part):
        raise RuntimeError("with a lock", part.lock)

    with pytest.raises(Exception, match="with a lock"):
        either.run(fails)


def test_other_rows_are_noticed(either):
    either.parts[1].digest = "of other rows"
    with pytest.raises(fw.exceptions.ClusterError, match="chunks 2, 3 had other rows"):
        either.run(rows)


# --- where anything is amiss ------------------------------------------------------------------------------------------


def test_parts_that_are_elsewhere(cluster):
    handle = cluster.handle(ONE)
    cluster.run(value_of, handle)
    key, homes = handle.key, cluster.placement.homes
    del handle
    for part, home in zip(cluster.parts, reversed(homes), strict=True):
        part.home = home
    with made(cluster, by_tasks=1):
        assert not any(key in kept for kept in cluster.each(keys))
    assert cluster.placement.homes == homes
    assert not cluster.sent.dropped
    with made(cluster, direct=1):
        cluster.run(rows)


def test_a_part_whose_place_is_not_known(cluster):
    homes = cluster.placement.homes
    cluster.parts[0].home = None
    with made(cluster, by_tasks=1):
        assert cluster.run(rows) == (ROWS,)
    with made(cluster, direct=1):
        assert cluster.run(rows) == (ROWS,)
    assert cluster.placement.homes == homes


def test_a_worker_that_dies_of_a_call(client, cluster, tmp_path):
    def dies(part, path):
        if part.number == 0 and path.exists():
            path.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return rows(part)

    (tmp_path / "once").touch()
    with made(cluster, by_tasks=1):
        assert cluster.run(dies, tmp_path / "once") == (ROWS,)
    client.wait_for_workers(2, timeout=60)


def test_a_worker_that_is_gone_while_a_call_lasts(cluster, monkeypatch, tmp_path):
    import cloudpickle

    monkeypatch.setattr(connection, "POLL", 0.1)
    monkeypatch.setattr(cluster.connection, "_workers", dict)
    packed = cloudpickle.dumps((Call(waits_for, (tmp_path / "end",)), ()))
    with pytest.raises(connection.Moved, match="a worker is gone: tcp"):
        calls.answers_of(cluster.connection, cluster._within_reach(b""), packed, [])
    (tmp_path / "end").touch()


def waits_for(part, path):
    """Last until a file is there: whoever waits for the answer waits for a minute."""
    for _ in range(600):
        if path.exists():
            break
        time.sleep(0.1)
    return (1,)


@pytest.mark.parametrize("error", [OSError("lost"), RuntimeError("no such thing"), AssertionError()])
def test_messages_that_cannot_be_passed_on(cluster, monkeypatch, error):
    async def run(*args, **given):
        raise error

    monkeypatch.setattr(cluster.client, "run", run)
    with made(cluster, by_tasks=1):
        assert cluster.run(rows) == (ROWS,)


def test_errors_of_a_worker_are_no_answer(cluster, monkeypatch):
    monkeypatch.setattr(calls, "answer_here", lambda *given: 1 / 0)
    with made(cluster, by_tasks=1):
        assert cluster.run(rows) == (ROWS,)


def test_ctrl_c_ends_the_waiting(cluster, tmp_path):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background may ignore it
    try:
        Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            cluster.run(waits_for, tmp_path / "end")
    finally:
        signal.signal(signal.SIGINT, before)
        (tmp_path / "end").touch()
    assert cluster.run(rows) == (ROWS,)  # once the workers are done with what nobody waits for


# --- on a worker ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("status", "data"), [("paused", {"part": 1}), ("running", {})])
def test_what_a_worker_leaves_to_tasks(status, data, caplog):
    from distributed.core import Status

    worker = SimpleNamespace(status=Status[status], data=data, contact_address="here")
    asked = [calls.PartCall("part", "here", ""), calls.PartCall("other", "elsewhere", "")]
    assert asyncio.run(calls.answer_here(asked, b"", [], dask_worker=worker)) == {}
    log = logging.getLogger("distributed.worker")
    with caplog.at_level(logging.INFO, log.name):
        for name in ("answer_here", "whoami"):
            log.info("Run out-of-band function %r", name)
    assert caplog.messages == ["Run out-of-band function 'whoami'"]
