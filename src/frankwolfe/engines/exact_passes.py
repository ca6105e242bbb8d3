"""Whole passes between steps: the intercept that is made optimal, and snapshots of the exact gradient."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from frankwolfe.engines.entries import require_entries
from frankwolfe.engines.state import built, flat
from frankwolfe.methods.lifecycle import Abilities
from frankwolfe.objective.point import Guess, Point
from frankwolfe.problem import Evaluation, Problem


class ExactPasses:
    """The passes over all rows that a run takes between two steps, and what is left of them.

    Where there is an intercept, it is made the best one for the iterate at fixed steps. A snapshot is the exact
    gradient, before the steps that the estimate names. It makes the intercept optimal too, and certifies the iterate.

    Parameters
    ----------
    problem : Problem
        What is minimised. Its loss knows the shift of the predictions, which the passes change.
    estimate : NamedTuple
        The state of the gradient estimate.
    abilities : Abilities
        What the estimate can do.
    clock : array of two int
        Steps made, and the rows that those of this run have read: the engine's own.
    """

    def __init__(self, problem: Problem, estimate: Any, abilities: Abilities, clock: np.ndarray):
        self.problem, self.estimate, self.abilities, self.clock = problem, estimate, abilities, clock
        self.next_intercept = self.steps
        self.cost = 0  # rows
        self.left_out = False  # whether a pass was, for want of budget
        self._exact: tuple[int, Evaluation] | None = None
        self._guess: Guess | None = None  # of the intercept: the one found last

    @property
    def steps(self) -> int:
        """Steps made, those of the run that is continued included."""
        return int(self.clock[0])

    @property
    def rows_read(self) -> int:
        """Gradient evaluations made: the rows that steps have read, and whole passes."""
        return int(self.clock[1]) + self.cost

    @property
    def intercept_is_due(self) -> bool:
        """Whether the intercept is to be made optimal before the next step."""
        return self.problem.intercept and self.steps == self.next_intercept

    def steps_to_snapshot(self) -> float:
        """Return the number of steps until a snapshot is due, as far as that is known; infinity if none is planned."""
        if not self.abilities.takes_snapshots:
            return np.inf
        first = self.steps + (2 if self.certificate() is not None else 1)
        return float(self.estimate.next_snapshot(first) - self.steps - 1)

    def steps_to_certificate(self) -> float:
        """Return the number of steps until a snapshot will tell the exact gap; infinity if none is planned.

        To optimise an intercept may change the plan, which is then told again.
        """
        if not (self.abilities.takes_snapshots and self.problem.intercept):
            return self.steps_to_snapshot()
        return min(self.steps_to_snapshot(), max(1.0, self.next_intercept - self.steps))

    def steps_to_pass(self) -> float:
        """Return the number of steps, one at least, until the next pass is due; infinity if none is planned."""
        ahead = max(1.0, self.steps_to_snapshot())
        return min(ahead, self.next_intercept - self.steps) if self.problem.intercept else ahead

    def certificate(self) -> Evaluation | None:
        """Return the exact evaluation of a snapshot, if one was taken at the iterate."""
        return self._exact[1] if self._exact is not None and self._exact[0] == self.steps else None

    def snapshot(self, w: Any) -> Evaluation:
        """Return the exact evaluation of the iterate ``w``, with the best intercept."""
        self.cost += self.problem.n
        found = self.problem.evaluate(w)
        self._exact = self.steps, found
        if self.problem.intercept:
            rows, shift = self.problem.samples.rows, self.problem.samples.loss.shift
            shift[:] = found.intercept + rows.mean_prediction(w)
        return found

    def price_of_intercept(self, w: Any) -> int:
        """Return the rows that the best intercept costs: none at zero, where all predictions are known."""
        return self.problem.n if w.any() else 0

    def optimise_intercept(self, w: Any) -> Point:
        """Make the intercept the best one for the iterate ``w``; return what is then known of it."""
        objective, samples = self.problem.objective, self.problem.samples
        cost = self.price_of_intercept(w)
        self.cost += cost
        z = objective.predict(w) if cost else samples.table()
        at = objective.point(z, self._guess or self.problem.guess)
        assert at.shift is not None and at.mean is not None  # noqa: PT018 - there is an intercept
        self._guess = Guess(at.shift, at.mean, at.curve)
        samples.loss.shift[:] = at.shift
        return at

    def state(self) -> dict[str, Any]:
        """Return all that a later run needs to go on; the arrays are the run's own."""
        found: dict[str, Any] = {"next_intercept": self.next_intercept, "rows_read_in_passes": self.cost}
        if self.problem.intercept:
            found["shift"] = self.problem.samples.loss.shift
        return found | flat("intercept", self._guess) | flat("snapshot", self.certificate())

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where the one with this state was; the clock has been set to its steps."""
        self.next_intercept, self.cost = state["next_intercept"], state["rows_read_in_passes"]
        require_entries(self.problem, state)
        if self.problem.intercept and self.next_intercept < self.steps:
            raise ValueError("its next intercept was due before the step that it has come to")
        if "snapshot.value" in state:
            self._exact = self.steps, built(Evaluation, "snapshot", state)
        if "intercept.shift" in state:
            self._guess = built(Guess, "intercept", state)
        if self.problem.intercept:
            self.problem.samples.loss.shift[:] = state["shift"]
