"""The interface between driver and solver: `Solver`, and `Evidence` about its iterate."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from frankwolfe.arguments.types import PerRow
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.result import Status
from frankwolfe.solvers.dual_bound import LowerBound


class Evidence(NamedTuple):
    """Estimates and exact quantities that a solver has for its iterate. Unknown ones are None, NaN or infinite.

    They cost no pass over the data, except one that the next step would make anyway. The next step may overwrite the
    arrays.

    Attributes
    ----------
    gap_estimate : float
        The estimated Frank-Wolfe gap, ``max_s <r, w - s>``.
    exact : Evaluation or None
        The exact evaluation at the iterate.
    steps_to_exact : float
        Number of steps until the next exact evaluation; infinity if none is planned.
    slopes : array or None
        The dual point of ``conjugates``.
    table : array or None
        One remembered derivative per sample, refreshed by the batches. It is a dual point.
    table_follows : bool
        Whether the table approximates the derivatives at the iterate, and so proves about as much as they do.
    gradient : array or None
        The ``r`` of ``gap_estimate``; ``X' table`` if there is a table.
    multipliers : array or None
        Multipliers of the side constraints, which together with the table or ``exact`` form a dual point.
    residual, residual_error : float
        An online estimate of the table's mean residual, and its standard error.
    table_change : float or None
        The sum of all changes of the table so far, if it can be used to estimate the table's error.
    conjugates : (float, float) or None
        The sum of the weighted conjugates at ``slopes``, and the sum of their absolute values, if a step has read all
        rows.
    part_left : callable or None
        Function from a step number ``s`` to the coefficient of the iterate ``w_s`` in the current iterate, if the
        current one is a convex combination of ``w_s`` and later vertices; else None.
    """

    gap_estimate: float
    exact: Evaluation | None = None
    steps_to_exact: float = float("inf")
    slopes: PerRow = None
    table: Any = None
    table_follows: bool = False
    gradient: np.ndarray | None = None
    multipliers: np.ndarray | None = None
    residual: float = float("nan")
    residual_error: float = float("nan")
    table_change: float | None = None
    conjugates: tuple[float, float] | None = None
    part_left: Callable[[int], float] | None = None


@runtime_checkable
class Solver(Protocol):
    """One run of a method, advanced in place.

    Only `begin` and `advance` change a solver. Calls of the other methods do not change the rest of the run in any bit.

    Attributes
    ----------
    problem : Problem
        The problem to minimise.
    batch_size : int
        Number of rows that a step draws; zero if it reads all rows.
    rows_a_step : int or None
        Number of rows that a step costs; None if that is known only after the step.
    deadline : float
        Time by `time.perf_counter` at which a step that may take long should end early.
    """

    problem: Problem
    batch_size: int
    rows_a_step: int | None
    deadline: float

    @property
    def steps(self) -> int:
        """Number of steps made, including those of the run that this one continues."""

    @property
    def rows_read(self) -> int:
        """Cost so far: gradient evaluations of single rows."""

    @property
    def unhindered(self) -> bool:
        """Whether the budget has not changed the run so far, and nothing has failed.

        A run with a larger budget then passes through the same `state`. That is not so if a step or a pass was
        shortened or skipped because the budget was almost exhausted.
        """

    def begin(self, budget: float, target: float, bound: LowerBound | None = None) -> None:
        """Compile the kernels, and start or continue with a budget, in rows read.

        ``target`` is the gap that ends the run; zero if none does. ``bound`` is the lower bound of the run, to which
        the solver offers what it proves.
        """

    def advance(self, steps: int) -> int:
        """Make up to ``steps`` steps and return their number. If it is smaller, `finished` returns the reason."""

    def finished(self) -> Status | None:
        """Return the reason why no further step can be made, or None."""

    def point(self) -> Any:
        """Return a copy of the iterate, in the type that the problem uses for its weights."""

    def evidence(self) -> Evidence:
        """Return the evidence about the iterate."""

    def state(self) -> dict[str, Any]:
        """Return the state from which `from_state` continues: arrays, numbers and strings by name.

        Arrays are not copied, and the next step may overwrite them. Runs of other methods or on other data can use some
        of the entries, too (`frankwolfe.solvers.state.handed_over`).
        """

    @classmethod
    def from_state(cls, problem: Problem, state: Mapping[str, Any], *args: Any, **how: Any) -> Self:
        """Return a solver that continues from a saved state, bitwise as the original would.

        The other arguments are those of the class that a state does not hold, such as the method.
        """
