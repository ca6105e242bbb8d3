"""Time that a run waits for compiled code, and the notice that says so.

A new combination of loss, set and method takes seconds to compile, once. Without a notice that looks like a hang.
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
"""Seconds of compilation, cache hits aside, after which a run says that it compiles."""

POLL = 0.1
"""Seconds between two looks whether a kernel that was to be loaded is compiled."""

QUIET = "FRANKWOLFE_QUIET"
"""Environment variable that turns notices off."""

Listener = Callable[[str], None]


class Waiting:
    """Counts the time of a run that goes into compiled code: importing numba, loading from the cache, compiling.

    Attributes
    ----------
    seconds : float
        That time. Where several threads compile at once, it is counted once.
    what : str
        What is compiled, for the notice.
    listener : callable or None
        What the notice is passed to; None: see `notices_to`.
    """

    def __init__(self, what: str = "numerical code"):
        self.seconds, self.what, self.listener = 0.0, what, cast("Listener | None", None)
        self._lock, self._inside, self._begun = Lock(), 0, 0.0
        self._compiled, self._told = 0.0, False

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count the time of the block. Blocks may be nested, and open in several threads."""
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
        """Count the time in which a dispatcher of numba loads or compiles; say so once it compiles for long."""
        misses, begun, done = _misses(dispatcher), perf_counter(), Event()
        listener = self.listener or _listener.get() or _print

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
_outside = Waiting()  # of kernels that are called outside of a run
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def waiting() -> Waiting:
    """Return what counts the time of the present run."""
    return _current.get(_outside)


def timed(function: Function) -> Function:
    """Make a function count the time that it waits for compiled code from zero: a decorator."""

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
    if sys.stderr is not None:  # as it is where a program is started without one
        print(f"frankwolfe: {text}", file=sys.stderr, flush=True)


def _misses(dispatcher: Any) -> int:
    return sum(dispatcher.stats.cache_misses.values())


def _how_often(dispatcher: Any) -> str:
    if dispatcher.stats.cache_path is None:
        return "this happens once in a process (code with parts of your own is not kept on disk)"
    return "this happens once, later runs load it from disk"
