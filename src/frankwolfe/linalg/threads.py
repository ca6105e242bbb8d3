"""Limit BLAS to one thread, and choose the number of threads for the library's own work.

A threaded BLAS splits sums by the number of threads, so the rounding depends on that number. Every public function
whose result depends on such a sum therefore runs with one BLAS thread (decorator `single_threaded`). For large data the
library uses its own threads, whose sums do not depend on the number of threads (`frankwolfe.shards.local`).

One BLAS thread is also faster on small matrices. NumPy and SciPy load a BLAS each, and the idle threads of both spin:
models of a few hundred weights take several times as long with two threads as with one.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from ctypes import CDLL
from functools import cache, wraps
from pathlib import Path
from threading import Lock, local
from typing import NamedTuple, TypeVar, cast

import numpy as np

Function = TypeVar("Function", bound=Callable)

_lock = Lock()
_open: list[list[int]] = []  # one entry per open block, in any thread; the first holds the previous numbers of threads

SYMBOLS = (
    *(
        (f"{prefix}openblas_get_num_threads{suffix}", f"{prefix}openblas_set_num_threads{suffix}")
        for prefix in ("scipy_", "")
        for suffix in ("64_", "_64", "")
    ),
    ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),
    ("bli_thread_get_num_threads", "bli_thread_set_num_threads"),
)
"""Functions that return and set the number of threads: of OpenBLAS under the names in wheels, of MKL and of BLIS."""


class Library(NamedTuple):
    """A BLAS library: functions that return and set its number of threads."""

    threads: Callable[[], int]
    set_threads: Callable[[int], object]


@cache
def _libraries() -> list[Library]:
    """Return the BLAS libraries of NumPy and SciPy.

    threadpoolctl is not used: it lets only the first thread of the process that calls it change the number of threads
    of OpenBLAS. Runs in other threads would not be limited.
    """
    import numpy.linalg._umath_linalg as of_numpy
    import scipy.linalg._fblas as of_scipy

    return [library for module in (of_numpy, of_scipy) if (library := _library_of(str(module.__file__))) is not None]


def _library_of(extension: str) -> Library | None:
    """Return the BLAS that an extension module is linked to; None if its number of threads cannot be read."""
    package = Path(extension).parents[1]
    # the extension itself exposes the symbols of a linked library, except on Windows
    for path in (extension, *package.parent.glob(f"{package.name}.libs/*openblas*")):
        loaded = CDLL(str(path))
        for names in SYMBOLS:
            with suppress(AttributeError):
                return Library(*(loaded[name] for name in names))
    return None


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit linear algebra to one thread inside the block.

    The limit applies to the whole process. Several threads may be inside at a time: the first to enter sets the limit,
    and the last to leave removes it.
    """
    libraries = _libraries()
    with _lock:
        _open.append([] if _open else [library.threads() for library in libraries])
        if len(_open) == 1:
            _set(libraries, [1] * len(libraries))
    try:
        yield
    finally:
        with _lock:
            before = _open.pop()
            if not _open:
                _set(libraries, before)


def single_threaded(function: Function) -> Function:
    """Make a function run with one thread of linear algebra: a decorator."""

    @wraps(function)
    def limited(*args, **kwargs):
        with one_thread():
            return function(*args, **kwargs)

    return cast(Function, limited)


def _set(libraries: list[Library], numbers: list[int]) -> None:
    """Set the number of threads of each library."""
    for library, number in zip(libraries, numbers, strict=True):
        library.set_threads(number)


# --- threads of the library -------------------------------------------------------------------------------------------

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""Environment variables that limit the number of threads of a process; the smallest applies."""


def available_cores() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_threads() -> int:
    """Return the default number of threads: the available cores, or fewer if an environment variable limits it.

    Examples
    --------
    >>> default_threads() >= 1
    True
    """
    limits = [int(value) for name in VARIABLES if (value := os.environ.get(name, "")).isdigit() and int(value) > 0]
    return min([available_cores(), *limits])


ROOM = 2**18
"""Maximum size of a reused array in floats: 2 MB for each purpose and thread."""


class _Kept(local):
    """Scratch arrays of each thread, by purpose.

    If freed memory returns to the system at once, allocating memory for a block of rows takes longer than the work on
    it. This is the case on Dask workers, which start with `MALLOC_TRIM_THRESHOLD_` set.
    """

    def __init__(self) -> None:
        self.numbers: dict[str, np.ndarray] = {}


_kept = _Kept()


def scratch(purpose: str, n: int, width: int) -> np.ndarray:
    """Return an uninitialised array of floats. The same thread gets the same memory for the same purpose.

    Arrays larger than `ROOM` are new.

    Examples
    --------
    >>> first = scratch("example", 2, 3)
    >>> first.shape, np.shares_memory(first, scratch("example", 4, 1))
    ((2, 3), True)
    """
    if n * width > ROOM:
        return np.empty((n, width))
    numbers = _kept.numbers.get(purpose)
    if numbers is None or len(numbers) < n * width:
        # an array that grows once will grow again
        numbers = _kept.numbers[purpose] = np.empty(n * width if numbers is None else ROOM)
    return numbers[: n * width].reshape(n, width)
