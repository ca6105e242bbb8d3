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
_limits: list[Any] = []  # one for each block that is open, in whatever thread: the first has set the limit


@cache
def _libraries() -> Any:
    """Return the libraries that are loaded; None where threadpoolctl, which comes with scikit-learn, is missing."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_thread() -> Iterator[None]:
    """Let linear algebra use one thread inside the block, where threadpoolctl is installed.

    The number of threads belongs to the process. Runs in several threads may be inside at a time: the first to enter
    sets it and the last to leave restores it, else one would restore what another had set.
    """
    libraries = _libraries()
    if libraries is None:
        yield
        return
    with _lock:
        _limits.append(None if _limits else libraries.limit(limits=1))
    try:
        yield
    finally:
        with _lock:
            if len(_limits) > 1:
                _limits.pop()
            else:
                _limits.pop().restore_original_limits()
