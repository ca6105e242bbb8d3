"""Memory that threads keep."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np

from frankwolfe.linalg.threads import ROOM, scratch


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
