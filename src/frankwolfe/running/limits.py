"""The limits of a run, and the stopwatch that measures its time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter

from frankwolfe.compile.waiting import Waiting, waiting

SIDE_TOL = 1e-6
"""Default of the largest relative violation of a side constraint. It is independent of the tolerance on the gap."""


@dataclass(frozen=True)
class Limits:
    """Limits of a run: the relative tolerance, the passes, the seconds, and the violation of side constraints."""

    tol: float
    passes: float
    seconds: float
    side_tol: float = SIDE_TOL

    def require_an_end(self) -> None:
        """Raise ValueError if neither passes nor seconds are limited."""
        if self.passes == self.seconds == float("inf"):
            raise ValueError("max_passes=None needs max_seconds: something must end the run")


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
