"""What the driver asks of an engine: the one face of everything that makes steps."""

from collections.abc import Mapping
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from frankwolfe.engines.sampled_gap import SampledGap
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.result import Status


@runtime_checkable
class Engine(Protocol):
    """One run of a method, advanced in place.

    `begin` and `advance` change an engine. Everything else is a question: it may be asked at any time, or not at all,
    and the rest of the run stays the same, bit for bit.
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
    def steps(self) -> int:
        """Steps made, those of the run that is continued included."""

    @property
    def rows_read(self) -> int:
        """Cost so far: gradient evaluations of single rows."""

    @property
    def certifies_itself(self) -> bool:
        """Whether an exact evaluation comes with the engine's own steps, so that none need be taken between them."""

    @property
    def lower_bound(self) -> float:
        """Best proven lower bound on the optimum that no certificate shows; minus infinity if there is none."""

    @property
    def slopes(self) -> Any:
        """The slopes that prove ``lower_bound`` or `dual_value`; None where they are those at a point of the run."""

    @property
    def table_follows(self) -> bool:
        """Whether the table stands for the derivatives at the iterate, and so proves about as much as they do."""

    @property
    def samples_gap(self) -> bool:
        """Whether `sampled_gap` is to trigger: the table follows the derivatives, but proves nothing.

        The loss is not convex, or does not know its conjugate.
        """

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

    def part_left(self, steps: int) -> float:
        """Return the part of the iterate after so many steps that is left in the present one; NaN where unknown.

        The rest is a mean of vertices. It may be told a little too low.
        """

    def gap_estimate(self) -> float:
        """Return the estimated gap at the iterate."""

    def certificate(self) -> Evaluation | None:
        """Return the exact evaluation at the iterate if it costs nothing, else None."""

    def steps_to_certificate(self) -> float:
        """Return the number of steps until an exact evaluation will cost nothing; infinity if none is planned."""

    def table(self) -> Any:
        """Return the table, slopes that bound the optimum, if there is one and the loss knows its conjugate.

        It is the engine's own: copy it before the next step.
        """

    @property
    def multipliers(self) -> np.ndarray | None:
        """Multipliers of side constraints that go with the table, if there are such constraints; the engine's own."""

    def mean_residual(self) -> tuple[float, float]:
        """Return an online estimate of the table's mean residual, and its standard error; NaN where there is none."""

    def sampled_gap(self, draws: int) -> SampledGap:
        """Estimate the gap from a sample of rows, and the error of that by so many draws of a bootstrap."""

    def dual_value(self, above: float) -> float:
        """Return the lower bound on the optimum that the last step proves, if it is above a number and costs no row.

        Else return minus infinity.
        """

    def table_change(self) -> float | None:
        """Return the sum of all changes of the table so far, if they sample its error; else None."""

    def handed_over(self) -> dict[str, Any]:
        """Return the part of `state` that a run of another method, or on other data, can use: what a result keeps.

        ``steps`` are the steps made, on which open-loop step sizes depend; ``rows`` is the number of rows of the data,
        and the rest is of use for as many rows only; ``gradient`` is the last gradient estimate; names that begin with
        ``estimate.`` are of what a gradient estimate remembers.
        """

    def state(self) -> dict[str, Any]:
        """Return all that a later run needs to go on: arrays, numbers and strings by name.

        The arrays are the engine's own: write or copy them before the next step.
        """

    @classmethod
    def from_state(cls, problem: Problem, state: Mapping[str, Any], *args: Any, **how: Any) -> Self:
        """Return an engine that goes on, to the same bits, where the one with this state was.

        The other arguments are those of the class that no state holds: a method, for instance.
        """
