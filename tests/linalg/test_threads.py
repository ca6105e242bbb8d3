"""Linear algebra with one thread: the limit, and that no bit of an answer depends on thread settings."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

from frankwolfe.linalg import threads
from frankwolfe.linalg.threads import ROOM, scratch
from tests.fuzz.runner import ROOT
from tests.soak.thread_bits import differing


def numbers():
    """How many threads each library for linear algebra may use."""
    return [library.threads() for library in threads._libraries()]


@pytest.fixture
def two_threads():
    """Let the libraries use two threads; the suite itself runs with one."""
    libraries = threads._libraries()
    before = numbers()
    threads._set(libraries, [2] * len(libraries))
    yield
    threads._set(libraries, before)


def test_the_libraries_of_numpy_and_scipy_are_found(two_threads):
    infos = pytest.importorskip("threadpoolctl").threadpool_info()
    found = [info["num_threads"] for info in infos if "libscipy_openblas" in info["filepath"]]
    assert found == numbers() == [2, 2]


def test_the_limit_lasts_until_the_last_block_is_left(two_threads):
    one, other = threads.one_thread(), threads.one_thread()
    one.__enter__()
    other.__enter__()  # a run in another thread
    one.__exit__(None, None, None)
    assert numbers() == [1, 1]
    other.__exit__(None, None, None)
    assert numbers() == [2, 2]


def test_every_thread_of_the_process_may_set_the_limit(two_threads):
    def limited(_):
        with threads.one_thread():
            return numbers()

    assert limited(0) == [1, 1]
    with ThreadPoolExecutor(2) as pool:  # threadpoolctl would do nothing in these
        assert [*pool.map(limited, range(4))] == [[1, 1]] * 4
    assert numbers() == [2, 2]


def test_runs_where_no_library_is_known(monkeypatch):
    monkeypatch.setattr(threads, "_libraries", list)
    with threads.one_thread():
        assert threads._open == [[]]


def test_bits_do_not_depend_on_thread_settings_or_on_other_runs():
    cases = ["l2 logistic dense intercept", "l1 squared csr intercept"]
    assert not differing(cases, ROOT)


def test_purposes_and_threads_have_memory_of_their_own():
    together = Barrier(2)

    def mine(number):
        found = scratch("test", 10, 2)
        found[:] = number
        together.wait()  # both have theirs at the same time
        return found.copy()

    with ThreadPoolExecutor(2) as threads:
        for number, found in enumerate(threads.map(mine, range(2))):
            assert (found == number).all()
    assert not np.shares_memory(scratch("one", 3, 3), scratch("other", 3, 3))


def test_what_is_larger_than_the_room_is_new():
    first, second = scratch("large", ROOM, 2), scratch("large", ROOM, 2)
    assert first.shape == second.shape == (ROOM, 2)
    assert not np.shares_memory(first, second)


def test_it_grows():
    small = scratch("growing", 2, 2)
    small[:] = 1.0
    large = scratch("growing", 20, 20)
    assert large.shape == (20, 20)
    assert not np.shares_memory(small, large)
    assert np.shares_memory(large, scratch("growing", 50, 50))
