"""What makes steps, as the driver sees it: a solver, and the evidence that it has about its iterate."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from frankwolfe.problem import Evaluation, Problem
from frankwolfe.result import Status


class Evidence(NamedTuple):
    """What a solver knows about its iterate; what it does not know is None, NaN or infinite.

    It costs no pass over the data beyond the one that the next step begins with. Arrays are the solver's own: copy them
    before the next step.

    Attributes
    ----------
    gap_estimate : float
        The estimated Frank-Wolfe gap, ``max_s <r, w - s>``.
    exact : Evaluation or None
        The exact evaluation at the iterate.
    steps_to_exact : float
        Steps until there will be an exact evaluation; infinity if none is planned.
    lower_bound : float
        The best proven lower bound on the optimum that does not come from ``exact`` or ``table``.
    slopes : array or None
        The slopes that prove ``lower_bound``, or that ``conjugates`` belongs to; None where they are those at a point
        of the run.
    table : array or None
        Remembered derivatives, one for each sample, that batches refresh: slopes that bound the optimum.
    table_follows : bool
        Whether the table stands for the derivatives at the iterate, and so proves about as much as they do.
    gradient : array or None
        The ``r`` of ``gap_estimate``: ``X' table`` where there is a table.
    multipliers : array or None
        Multipliers of side constraints that go with the table.
    residual, residual_error : float
        An online estimate of the table's mean residual, and its standard error.
    table_change : float or None
        The sum of all changes of the table so far, if they sample its error.
    conjugates : (float, float) or None
        The sum of the weighted conjugates at ``slopes``, and of their sizes, where a step has read all rows.
    part_left : callable or None
        The part of the iterate after so many steps that is left in the present one, which is otherwise a mean of
        vertices; None where the iterate is no such mixture.
    """

    gap_estimate: float
    exact: Evaluation | None = None
    steps_to_exact: float = float("inf")
    lower_bound: float = float("-inf")
    slopes: Any = None
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

    `begin` and `advance` change a solver. Everything else may be called at any time, or not at all, and the rest of
    the run stays the same, bit for bit.
    """

    @property
    def problem(self) -> Problem:
        """What is minimised."""

    @property
    def batch_size(self) -> int:
        """Rows that a step draws; zero if it reads all of them."""

    @property
    def rows_a_step(self) -> int | None:
        """Rows that a step is charged for; None where that is known only after the step."""

    @property
    def certifies_itself(self) -> bool:
        """Whether every step ends with an exact evaluation, so that no other need be taken."""

    @property
    def steps(self) -> int:
        """Steps made, those of the run that is continued included."""

    @property
    def rows_read(self) -> int:
        """Cost so far: gradient evaluations of single rows."""

    @property
    def unhindered(self) -> bool:
        """Whether the budget has had no part in what was done so far, and nothing has failed.

        Then a run with a larger budget comes through this very `state`. It does not where a step or a pass was cut
        short, or left out, because the budget ends.
        """

    def warm_up(self) -> None:
        """Compile, or load from the cache, without a step."""

    def begin(self, budget: float, target: float) -> None:
        """Start, or go on, within a budget of rows; ``target`` is the gap that will end the run, zero if none will."""

    def advance(self, steps: int) -> int:
        """Make up to ``steps`` steps; return how many were made. If fewer, `finished` says why."""

    def finished(self) -> Status | None:
        """Why no further step can be made, or None."""

    def point(self) -> Any:
        """Return the iterate as a new object, as the problem keeps its weights."""

    def evidence(self) -> Evidence:
        """Return what is known about the iterate."""

    def state(self) -> dict[str, Any]:
        """Return all that a later run needs to go on: arrays, numbers and strings by name.

        The arrays are the solver's own: write or copy them before the next step. Some entries are for runs of other
        methods, or on other data, too (`frankwolfe.solvers.state.handed_over`).
        """

    @classmethod
    def from_state(cls, problem: Problem, state: Mapping[str, Any], *args: Any, **how: Any) -> Self:
        """Return a solver that goes on, to the same bits, where the one with this state was.

        The other arguments are those of the class that no state holds: a method, for instance.
        """
