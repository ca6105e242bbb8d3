"""What ends a run, and the clock that one of the limits is read from."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter


@dataclass(frozen=True)
class Limits:
    """What ends a run: a relative tolerance, a number of passes, a time."""

    tol: float
    passes: float
    seconds: float


@dataclass
class Stopwatch:
    """Time of a method: what is charged to it, the part that went into certificates, and compilation apart."""

    seconds: float = 0.0
    certificate_seconds: float = 0.0
    compile_seconds: float = 0.0

    @contextmanager
    def charged(self, certificate: bool = False) -> Iterator[None]:
        """Charge the time of the block to the method, and if so said to its certificates."""
        begun = perf_counter()
        try:
            yield
        finally:
            spent = perf_counter() - begun
            self.seconds += spent
            self.certificate_seconds += spent if certificate else 0.0

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Count the time of the block as compilation."""
        begun = perf_counter()
        try:
            yield
        finally:
            self.compile_seconds += perf_counter() - begun
