"""Measure the time of a run with and without compilation, and print a notice if compilation takes long.

A new combination of loss, set and method takes seconds to compile, once. Without a notice this looks like a hang.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
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


@dataclass
class Stopwatch:
    """Times of a run: of the method, of its certificates (which are included), and of compilation (which is not)."""

    seconds: float = 0.0
    certificate_seconds: float = 0.0
    waiting: Waiting = field(default_factory=waiting)
    earlier_compile_seconds: float = 0.0

    @property
    def compile_seconds(self) -> float:
        """Time of importing numba, loading kernels from the cache, and compiling."""
        return self.earlier_compile_seconds + self.waiting.seconds

    def charged(self, certificate: bool = False) -> "Charged":
        """Return a context manager that adds the time of its block, without compilation, to that of the method.

        With ``certificate``, the time is also added to that of certificates.
        """
        return Charged(self, certificate)

    def state(self) -> dict[str, float]:
        """Return the times as state entries."""
        names = ("seconds", "certificate_seconds", "compile_seconds")
        return {name: getattr(self, name) for name in names}

    def restore(self, state: Mapping[str, float]) -> None:
        """Set the times from a saved state."""
        self.seconds, self.certificate_seconds = state["seconds"], state["certificate_seconds"]
        self.earlier_compile_seconds = state["compile_seconds"]


class Charged:
    """Context manager of `Stopwatch.charged`. As a generator it would cost several per cent of a small problem."""

    __slots__ = ("begun", "certificate", "compiled", "watch")

    def __init__(self, watch: Stopwatch, certificate: bool):
        self.watch, self.certificate = watch, certificate

    def __enter__(self) -> None:
        self.compiled, self.begun = self.watch.waiting.seconds, perf_counter()

    def __exit__(self, *_: object) -> None:
        compiled = self.watch.waiting.seconds - self.compiled
        spent = max(0.0, perf_counter() - self.begun - compiled)
        self.watch.seconds += spent
        if self.certificate:
            self.watch.certificate_seconds += spent


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
