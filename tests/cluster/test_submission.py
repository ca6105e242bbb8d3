"""What the scheduler is told and asked: little, and together."""

from contextlib import nullcontext

import dask
import numpy as np
import pytest

import frankwolfe as fw
from tests.cluster.tables import chunked, table

pytest.importorskip("dask.array", reason="dask is not installed")

from frankwolfe.cluster.connection import Connection
from frankwolfe.cluster.loading import Submission

X, Y = table()


def posed(X, y):
    return fw.Problem(X, y, "logistic", fw.L1Ball(1.5))


@pytest.fixture
def told(client, monkeypatch):
    """What the scheduler is asked, and the messages of tasks that it gets."""
    found, query, submit = [], Connection.query, Submission.submit

    def noted_query(self, name, **given):
        found.append(name)
        return query(self, name, **given)

    def noted_submit(self, client, keys):
        found.append(len(keys))
        return submit(self, client, keys)

    monkeypatch.setattr(Connection, "query", noted_query)
    monkeypatch.setattr(Submission, "submit", noted_submit)
    return found


def test_the_first_call_is_one_question_and_one_message(told):
    posed(chunked(X), chunked(Y))
    assert told == ["ncores", 4]  # two parts are loaded and asked


def test_where_chunks_are_persisted_their_workers_are_known(client, told):
    rows, targets = chunked(X).persist(), chunked(Y).persist()
    dask.distributed.wait([rows, targets])
    problem = posed(rows, targets)
    homes = problem.objective.shards.cluster.placement.addresses()
    assert told == ["who_has", 2 * len(homes)]
    assert homes == {*client.nthreads()} & {worker for some in client.who_has(rows).values() for worker in some}


@pytest.mark.parametrize(("share", "warnings"), [(0.7, 0), (0.3, 1)])
def test_dask_warns_of_parts_that_come_from_the_client_and_are_large(client, share, warnings):
    rows, targets = chunked(np.tile(X, (10, 1)), 250), chunked(np.tile(Y, 10), 250)
    with (
        dask.config.set({"distributed.admin.large-graph-warning-threshold": int(share * rows.nbytes)}),
        pytest.warns(UserWarning, match="large graph") if warnings else nullcontext(),
    ):
        posed(rows, targets)  # in one message, of two parts
