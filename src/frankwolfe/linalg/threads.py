"""One thread for linear algebra on small matrices.

NumPy and SciPy bring a library of their own each, whose threads wait for work by turning round and round. Where calls
on small matrices take turns between the two, these threads stand in each other's way: models of a few hundred weights
take several times as long with two threads as with one. And one thread gives the same bits on every machine.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

_lock = Lock()
_open: list[list[int]] = []  # blocks that are open, in whatever thread; the first has the libraries' own threads


@cache
def _libraries() -> list[Any]:
    """Return the libraries that are loaded; none where threadpoolctl, which comes with scikit-learn, is missing."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return []
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let linear algebra use one thread inside the block, where threadpoolctl is installed.

    The number of threads belongs to the process. Runs in several threads may be inside at a time: the first to enter
    sets it and the last to leave restores it, else one would restore what another had set.
    """
    libraries = _libraries()
    with _lock:  # the libraries are asked one by one: threadpoolctl's own limits cost a small problem a per cent
        _open.append([] if _open else [library.get_num_threads() for library in libraries])
        if len(_open) == 1:
            _set(libraries, [1] * len(libraries))
    try:
        yield
    finally:
        with _lock:
            before = _open.pop()
            if not _open:
                _set(libraries, before)


def _set(libraries: list[Any], numbers: list[int]) -> None:
    """Tell each library how many threads to use."""
    for library, number in zip(libraries, numbers, strict=True):
        library.set_num_threads(number)
