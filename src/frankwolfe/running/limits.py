"""What ends a run, and the clock that one of the limits is read from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter

from frankwolfe.compile.waiting import Waiting, waiting

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
    waiting: Waiting = field(default_factory=waiting)
    earlier_compile_seconds: float = 0.0

    @property
    def compile_seconds(self) -> float:
        """Time that went into compiled code: importing numba, loading from the cache, compiling."""
        return self.earlier_compile_seconds + self.waiting.seconds

    def charged(self, certificate: bool = False) -> "Charged":
        """Charge the time of the block to the method, but for compilation, and if so said to its certificates."""
        return Charged(self, certificate)

    def state(self) -> dict[str, float]:
        """Return the times, for a run that goes on from here."""
        names = ("seconds", "certificate_seconds", "compile_seconds")
        return {name: getattr(self, name) for name in names}

    def restore(self, state: Mapping[str, float]) -> None:
        """Go on from the times of an earlier run."""
        self.seconds, self.certificate_seconds = state["seconds"], state["certificate_seconds"]
        self.earlier_compile_seconds = state["compile_seconds"]


class Charged:
    """A block whose time is charged (a class: as a generator it would cost a small problem several per cent)."""

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
