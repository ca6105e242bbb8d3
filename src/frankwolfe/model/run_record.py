"""`Run`: how the answer that became a model was found."""

from dataclasses import dataclass

from frankwolfe.problem import Problem
from frankwolfe.result import Result, Status


@dataclass(frozen=True)
class Run:
    """How the answer was found: what a `Result` says, without the answer itself.

    Attributes
    ----------
    fun, gap, tolerance : float
        Exact objective, proven gap, and what the gap had to meet.
    convex : bool
        Whether the loss is convex, so that the objective is at most ``gap`` above its minimum.
    status, message, method : str
        How the run ended, and which method it was.
    passes, seconds : float
        What it took.
    rows : int
        Rows of the data.
    seed : int or None
        Of the batches.
    """

    fun: float
    gap: float
    tolerance: float
    convex: bool
    status: str
    message: str
    method: str
    passes: float
    seconds: float
    rows: int
    seed: int | None

    @classmethod
    def of(cls, problem: Problem, result: Result, seed: int | None) -> "Run":
        """Return what there is to know of the run that ended with a result."""
        return cls(
            fun=float(result.fun),
            gap=float(result.gap),
            tolerance=float(result.tolerance),
            convex=result.convex,
            status=str(result.status),
            message=result.message,
            method=result.method,
            passes=float(result.passes),
            seconds=float(result.seconds),
            rows=problem.n,
            seed=seed,
        )

    @property
    def success(self) -> bool:
        """Whether the proven gap met the tolerance."""
        return self.status == Status.CONVERGED
