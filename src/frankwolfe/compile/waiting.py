"""Measure the time that a run spends on compilation, and print a notice if it takes long.

A new combination of loss, set and method takes seconds to compile, once. Without a notice this looks like a hang.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from threading import Event, Lock, Thread
from time import perf_counter
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable)

NOTICE_AFTER = 1.0
"""Seconds of compilation, excluding loading from the cache, after which the notice appears."""

POLL = 0.1
"""Seconds between two checks whether a kernel was missing from the cache and is being compiled."""

QUIET = "FRANKWOLFE_QUIET"
"""Environment variable that turns notices off."""

Listener = Callable[[str], None]


class Waiting:
    """Timer of a run for importing numba, loading kernels from the cache, and compiling them.

    Attributes
    ----------
    seconds : float
        Total time. Time in which several threads compile at once is counted once.
    what : str
        Description of the compiled code, for the notice.
    """

    def __init__(self, what: str = "numerical code"):
        self.seconds, self.what = 0.0, what
        self._lock, self._inside, self._begun = Lock(), 0, 0.0
        self._compiled, self._told = 0.0, False

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Add the time of the block to `seconds`. Blocks may be nested, and open in several threads."""
        with self._lock:
            if self._inside == 0:
                self._begun = perf_counter()
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    self.seconds += perf_counter() - self._begun

    @contextmanager
    def loading(self, dispatcher: Any) -> Iterator[None]:
        """Time the block, in which a numba dispatcher loads or compiles, and issue the notice if that takes long."""
        misses, begun, done = _misses(dispatcher), perf_counter(), Event()
        listener = _listener.get() or _print

        def watch() -> None:
            delay = max(0.0, NOTICE_AFTER - self._compiled)
            while not done.wait(delay) and not self._told:
                if _misses(dispatcher) > misses:
                    self._told = True
                    listener(f"compiling {self.what}: {_how_often(dispatcher)}")
                delay = POLL

        if not (self._told or os.environ.get(QUIET)):
            Thread(target=watch, daemon=True, name="frankwolfe notice").start()
        try:
            with self.counted():
                yield
        finally:
            done.set()
            if _misses(dispatcher) > misses:
                self._compiled += perf_counter() - begun


_current: ContextVar[Waiting] = ContextVar("waiting")
_outside = Waiting()  # for kernels called outside of a run
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def waiting() -> Waiting:
    """Return the timer of the current run."""
    return _current.get(_outside)


def timed(function: Function) -> Function:
    """Decorate a function to run with a new `Waiting` timer."""

    @wraps(function)
    def run(*args, **kwargs):
        token = _current.set(Waiting())
        try:
            return function(*args, **kwargs)
        finally:
            _current.reset(token)

    return cast(Function, run)


@contextmanager
def notices_to(listener: Listener) -> Iterator[None]:
    """Pass notices to a function inside the block, instead of printing them to stderr."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def _print(text: str) -> None:
    if sys.stderr is not None:  # None in programs started without stderr
        print(f"frankwolfe: {text}", file=sys.stderr, flush=True)


def _misses(dispatcher: Any) -> int:
    return sum(dispatcher.stats.cache_misses.values())


def _how_often(dispatcher: Any) -> str:
    if dispatcher.stats.cache_path is None:
        return "this happens once in a process (code with parts of your own is not kept on disk)"
    return "this happens once, later runs load it from disk"
