"""What ends a run, and the clock that one of the limits is read from."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

SIDE_TOL = 1e-6
"""Relative violation of side constraints that counts as none: they are not a tolerance on the objective."""


@dataclass(frozen=True)
class Limits:
    """What ends a run: a relative tolerance, a number of passes, a time; and how far side constraints must hold."""

    tol: float
    passes: float
    seconds: float
    side_tol: float = SIDE_TOL

    def require_an_end(self) -> None:
        """Raise ValueError if nothing but a certificate would end the run."""
        if self.passes == self.seconds == float("inf"):
            raise ValueError("max_passes=None needs max_seconds: something must end the run")


@dataclass
class Stopwatch:
    """Time of a method: what is charged to it, the part that went into certificates, and compilation apart."""

    seconds: float = 0.0
    certificate_seconds: float = 0.0
    compile_seconds: float = 0.0

    def charged(self, certificate: bool = False) -> "Charged":
        """Charge the time of the block to the method, and if so said to its certificates."""
        return Charged(self, certificate)

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Count the time of the block as compilation."""
        begun = perf_counter()
        try:
            yield
        finally:
            self.compile_seconds += perf_counter() - begun


class Charged:
    """A block whose time is charged (a class: as a generator it would cost a small problem several per cent)."""

    __slots__ = ("begun", "certificate", "watch")

    def __init__(self, watch: Stopwatch, certificate: bool):
        self.watch, self.certificate = watch, certificate

    def __enter__(self) -> None:
        self.begun = perf_counter()

    def __exit__(self, *_: object) -> None:
        spent = perf_counter() - self.begun
        self.watch.seconds += spent
        if self.certificate:
            self.watch.certificate_seconds += spent
