"""What the parts of a method must define, their defaults, and how a run makes them.

A part is a NamedTuple of settings. When a run starts, its ``for_run(setting)`` returns the *state*: a NamedTuple of
arrays with the methods that the loop compiles. A part without memory is its own state.

Every part has a list ``needs`` of what it needs of a problem (`frankwolfe.problem.requirements`). Defaults are added to
a class when an object of it enters the library, so internal code never checks for optional members.
"""

from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.arguments.types import ConstraintSet
from frankwolfe.compile.part import FIXED, Part, defaults_from, finite, part, positive, require
from frankwolfe.compile.verbs import routine
from frankwolfe.problem.requirements import IN_MEMORY, NO_SIDE, ONE_PROCESS, ROWS_AGAIN, SMOOTH_LOSS, WHOLE_ATOMS


class Epochs(NamedTuple):
    """Epochs, each of which begins with an exact gradient: when they begin, and how large the batches in them are.

    Attributes
    ----------
    starts : array of int
        Numbers of the steps with which epochs begin, in order, 1 the first.
    period : int
        From the last of them on, an epoch begins after every so many steps.
    base, growth : array of shape (epochs,)
        Step ``k`` of an epoch, counted from 1, draws ``base + growth k`` rows.
    """

    starts: np.ndarray
    period: int
    base: np.ndarray
    growth: np.ndarray

    def index_ranges(self) -> dict[str, Any]:
        """Return what the index arrays of restored epochs must be like."""
        return dict.fromkeys(("starts", "base", "growth"), FIXED)

    def batch_sizes(self, steps: np.ndarray) -> np.ndarray:
        """Rows in the batches of the steps with these numbers.

        An epoch's first step is at the point of the exact gradient and needs no batch: it draws one row, the least
        possible.
        """
        epoch = np.searchsorted(self.starts, steps, side="right") - 1
        k = steps - self.starts[epoch]
        k = 1 + np.where(epoch == len(self.starts) - 1, k % self.period, k)
        return np.where(k == 1, 1.0, self.base[epoch] + self.growth[epoch] * k)

    def next_start(self, t: int) -> int:
        """Return the number of the step, ``t`` or a later one, with which an epoch begins."""
        k, length = place_in_epoch(self.starts, self.period, t)
        return t if k == 1 else int(t + length + 1 - k)


FOREVER = 2**62
"""More steps than a run will make."""

ONE_EPOCH = Epochs(np.ones(1, dtype=np.int64), FOREVER, np.zeros(1), np.zeros(1))
"""Those of an estimate that has none: one epoch that does not end."""


def epochs_of(lengths: list[int], base: list[float], growth: list[float]) -> Epochs:
    """Return epochs of these lengths; the last is the length of all that follow."""
    starts = 1 + np.cumsum([0, *lengths[:-1]])
    return Epochs(starts.astype(np.int64), lengths[-1], np.array(base, dtype=np.float64), np.array(growth, dtype=float))


@routine
def place_in_epoch(starts, period, t):
    """Return which step of its epoch step number ``t`` is, counted from 1, and how many steps the epoch has."""
    epoch, last = len(starts) - 1, len(starts) - 1
    while starts[epoch] > t:
        epoch -= 1
    if epoch == last:
        return 1 + (t - starts[epoch]) % period, period
    return 1 + t - starts[epoch], starts[epoch + 1] - starts[epoch]


class Units(NamedTuple):
    """What smoothing is measured in, so that the numbers of users have no units.

    Attributes
    ----------
    loss : float
        Of losses: the square of a prediction divided by a loss.
    side : float
        Of side constraints: the square of a product ``a' w`` divided by a loss.
    """

    loss: float = 1.0
    side: float = 1.0


NO_LINEAR = np.zeros(0)
"""Coefficients of the linear term of an objective that has none."""


class Setting(NamedTuple):
    """What a part may need to know when a run starts.

    Attributes
    ----------
    samples : Samples
        Rows, targets, weights and loss.
    batch_size : int
        Rows looked at in a step.
    w : array
        Where the run starts.
    constraint : set
        What the run is confined to.
    remembered : dict
        Arrays of the estimate's state in the run that this one continues, by name; empty if there is none.
    steps : int
        Steps made before this run: the first one of the run has the number ``steps + 1``.
    generator : numpy.random.Generator, optional
        Where the batches come from, for a state that tosses coins too, between calls of the loop.
    side : LinearBounds, optional
        Side constraints.
    units : Units
        What smoothing is measured in.
    horizon : float
        Steps that the budget of the run allows, as far as their costs are known when it starts; infinity where nothing
        bounds them. Only directions and step rules receive it: the costs depend on the estimate.
    size : int
        Entries of ``r``.
    epochs : Epochs
        Those of the estimate, which is made first; one that does not end where it has none.
    objective : Objective, optional
        Computes sums over all rows by tasks, where the loop does not have all of them in memory.
    linear : array
        Coefficients of the objective's linear term; empty if there is none. ``r`` starts there: an estimate that
        recomputes or fades ``r`` adds them again (`frankwolfe.methods.gradient.add_linear`).
    """

    samples: Any
    batch_size: int
    w: np.ndarray
    constraint: ConstraintSet
    remembered: dict[str, np.ndarray] = {}  # noqa: RUF012 - never written to
    steps: int = 0
    generator: Any = None
    side: Any = None
    units: Units = Units()
    horizon: float = inf
    size: int = 0
    epochs: Epochs = ONE_EPOCH
    objective: Any = None
    linear: np.ndarray = NO_LINEAR

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.samples.shape[0]

    def room(self) -> np.ndarray:
        """Return an array with an entry, or a row, for each sample; none where tasks on the shards replace the loop."""
        return self.samples.table() if self.objective is None else np.zeros(0)

    def column_norms(self) -> np.ndarray:
        """Return the norms of the columns, rows counted by their weights: a read of the data."""
        if self.objective is not None:
            return self.objective.column_norms()
        return self.samples.rows.column_norms(self.samples.weights, len(self.w))

    def table(self) -> np.ndarray:
        """One derivative a sample: those of the run that is continued, else zeros (the paper's initialisation)."""
        alpha = self.remembered.get("alpha")
        return self.samples.table() if alpha is None else alpha.copy()


class PartDefaults:
    """What a part does unless it defines it: it has no state of its own."""

    def for_run(self, setting):
        """Return the state of the part at the start of a run: the part itself."""
        return self


class EstimateDefaults(PartDefaults):
    """What a gradient estimate is unless it defines it.

    Attributes
    ----------
    state : type
        Class of the state that ``for_run`` returns: see `EstimateStateDefaults`.
    needs : tuple of str
        What it needs of a problem. By default the most that any estimate needs. An estimate may leave out `IN_MEMORY`
        if ``row_arrays`` are all that it remembers of single rows: its steps are then made on a group of the rows, with
        the entries that belong to them. The number of all rows is in the gradient's counters, not the length of an
        array. Only the exact gradient and the table of `SagTable` leave out `ONE_PROCESS`: these the solver can also
        compute by tasks on the shards (`frankwolfe.solvers.task_steps`).
    reads_all_rows : bool
        Every step reads the whole data. No batches are drawn.
    reads_upcoming : bool
        A step also reads the batch of the next step, which it receives as ``upcoming``. Others receive an empty one.
    two_batches : bool
        A step receives two independent batches, one after the other.
    row_arrays : tuple of str
        Names of the state's arrays that have an entry for each row.
    """

    needs = (SMOOTH_LOSS, NO_SIDE, IN_MEMORY, ONE_PROCESS, ROWS_AGAIN)
    reads_all_rows = False
    reads_upcoming = False
    two_batches = False

    @property
    def state(self):
        """Return its own class: without ``for_run`` a part is its own state."""
        return type(self)

    @property
    def row_arrays(self):
        """Return the name of the table, if there is one."""
        return () if self.state.alpha is None else ("alpha",)

    @property
    def smooths(self):
        """Whether kinks and side constraints are smoothed."""
        return self.state.side is not None

    @property
    def has_table(self):
        """Whether steps are made by a table of derivatives, one a sample."""
        return self.state.alpha is not None and not self.smooths

    @property
    def exact_table(self):
        """Whether the table stands for the derivatives at the iterate, which may replace it."""
        return self.state.alpha is not None and self.state.renew is not None

    @property
    def samples_error(self):
        """Whether what a step changes in the table is an unbiased sample of the table's error.

        It is if each entry is replaced by the derivative at the iterate, and ``r`` changes with the table alone.
        """
        state = self.state
        others = state.surplus, state.total, state.next_snapshot
        return self.exact_table and all(other is None for other in others)


class EstimateStateDefaults:
    """What the state of an estimate has unless it defines it. It must define ``refresh``.

    Attributes
    ----------
    alpha : array
        One weighted derivative a sample. Between steps ``r = X' alpha``, unless there is a ``total`` or a ``side``. A
        later run can take the table over.
    total : array
        ``X' alpha``, where ``r`` is something else. The solver fills it in when a run starts, and before ``renew``.
    side : NamedTuple
        Losses with kinks and side constraints are smoothed, and ``alpha`` only certifies. An array ``mean`` of ``side``
        has the multipliers of the side constraints.
    surplus : frankwolfe.methods.gradient.Correction
        What is added to ``r`` for the current step only. The loop takes it back once the iterate has moved.
    conjugates : array of shape (2,)
        ``sum_i p_i f_i*(alpha_i / p_i)`` for a convex loss, and the sum of the sizes of its terms. NaN before the
        first step.
    epochs : Epochs
        When snapshots are due, for directions and step rules that restart with each epoch.
    batch_sizes : method
        ``batch_sizes(steps)`` returns the numbers of rows in the batches of some steps, where batches grow.
    next_snapshot : method
        ``next_snapshot(t)`` returns the step, ``t`` or later, before which the exact gradient is taken; infinity if
        none is known yet. Steps far ahead may be guesses: they only serve to plan.
    renew : method
        ``renew(alpha)`` takes over the exact derivatives at the iterate. ``r`` is then the exact gradient.
    """

    alpha = total = side = surplus = conjugates = None
    batch_sizes = next_snapshot = renew = None
    epochs = ONE_EPOCH

    def follow(self, samples, iterate, move, gradient, batch, upcoming, t):
        """Do nothing once the move is known."""


class DirectionStateDefaults:
    """What the state of a direction has unless it defines it. It must define ``choose``."""

    def gradient_point(self, iterate, t):
        """Return the point at which step ``t`` needs the gradient: the iterate."""
        return iterate


class DirectionDefaults(PartDefaults, DirectionStateDefaults):
    """What a direction is unless it defines it.

    ``needs``: as for an estimate. With `WHOLE_ATOMS`, a run may store atoms, as whole vectors unless the set's vertices
    have one non-zero entry. A direction with a ``gradient_point`` of its own also needs `ONE_PROCESS`.
    ``mixes_vertices``: every new iterate is a convex combination of the iterate and a vertex.
    """

    needs = (WHOLE_ATOMS,)
    mixes_vertices = False


class StepDefaults(PartDefaults):
    """What a step rule is unless it defines it. Its state must define ``length``.

    ``needs``: as for an estimate. ``reads_all_rows``: a step reads the whole data. ``searches_line``: of such a rule,
    that its state has ``search(line, fall, most, t)``, which returns the length from sums along a line
    (`frankwolfe.methods.steps`). Only these run on data that is not in memory.
    """

    needs = ()
    reads_all_rows = False
    searches_line = False

    def part_left(self, first, last):
        """Return a lower bound on the product of ``1 - gamma_t``, ``first < t <= last``; NaN if it is not known."""
        return np.nan


def checked_decay(rule: Any, why: str) -> Any:
    """Return a part with numbers ``numerator / (k + offset)^power``, ``k`` from 1 on, with its settings checked.

    None of the numbers may be above 1; ``why`` says what would happen. Without a field ``power`` it is 1.
    """
    name, settings, formula = type(rule).__name__, rule._asdict(), "1 + offset"
    found = {"numerator": positive(name, "numerator", rule.numerator), "offset": finite(name, "offset", rule.offset)}
    most = 1.0 + found["offset"]
    if "power" in settings:
        found["power"] = positive(name, "power", rule.power, 1.0, ": the average would soon stand still")
        most, formula = max(most, 0.0) ** found["power"], "(1 + offset)^power"
    if found["numerator"] > most:
        raise ValueError(f"{name}: numerator must be at most {formula} = {most:g}, got {rule.numerator:g}: {why}")
    return rule._replace(**found)


KINDS: dict[str, tuple[str, type]] = {
    "a gradient estimate": ("refresh", EstimateDefaults),
    "a direction": ("choose", DirectionDefaults),
    "a step rule": ("length", StepDefaults),
}
"""The three kinds of parts, what the state of each must define, and defaults for the others."""


def estimate(state: type | None = None, **members: Any) -> Callable[[type[Part]], type[Part]]:
    """Return a class decorator for the package's gradient estimates; ``members`` replace `EstimateDefaults`.

    Without a state, the estimate is its own.
    """

    def define(kind: type[Part]) -> type[Part]:
        defaults_from(EstimateStateDefaults)(state or kind)
        return _defined(kind, EstimateDefaults, members | ({"state": state} if state else {}))

    return define


def direction(**members: Any) -> Callable[[type[Part]], type[Part]]:
    """Return a class decorator for the package's directions; ``members`` replace `DirectionDefaults`."""
    return lambda kind: _defined(kind, DirectionDefaults, members)


def step_rule(defaults: type[StepDefaults] = StepDefaults, **members: Any) -> Callable[[type[Part]], type[Part]]:
    """Return a class decorator for the package's step rules; ``members`` replace ``defaults``."""
    return lambda kind: _defined(kind, defaults, members)


def _defined(kind: type[Part], defaults: type, members: dict[str, Any]) -> type[Part]:
    # a NamedTuple's body may only define fields, properties and methods, so other members are set from outside
    for name, value in members.items():
        setattr(kind, name, value)
    return part(defaults_from(defaults)(kind))


def accept(argument: str, given: Any, purpose: str) -> None:
    """Check a part that a user passes, which must be one of `KINDS`; add defaults to its class."""
    method, defaults = KINDS[purpose]
    require(argument, given, ("for_run" if callable(getattr(given, "for_run", None)) else method,), purpose)
    defaults_from(defaults)(type(given))
    if defaults is EstimateDefaults:
        kind, state = type(given).__name__, given.state
        if not callable(getattr(state, method, None)):
            raise TypeError(
                f"{argument}: {kind} is not {purpose}: its state, {state.__name__}, has no method {method}. "
                "Name the class that for_run returns: state = ..."
            )
        defaults_from(EstimateStateDefaults)(state)


def estimate_for_run(method: Any, setting: Setting) -> Any:
    """Return the state of a method's estimate at the start of a run: the first that is made."""
    return _state(method.estimate, setting, "a gradient estimate")


def others_for_run(method: Any, setting: Setting) -> tuple[Any, Any]:
    """Return the states of a method's direction and step rule at the start of a run."""
    direction = _state(method.direction, setting, "a direction")
    defaults_from(DirectionStateDefaults)(type(direction))
    return direction, _state(method.step, setting, "a step rule")


def _state(given: Any, setting: Setting, purpose: str) -> Any:
    state = given.for_run(setting)
    require(f"{type(given).__name__}.for_run", state, KINDS[purpose][:1], f"the state of {purpose}")
    return state
