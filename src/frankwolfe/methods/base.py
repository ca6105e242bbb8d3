"""What the parts of a method are, and how a run makes them.

A part is a NamedTuple of settings. When a run starts, its ``for_run(setting)`` returns the *state*: a NamedTuple of
arrays with the methods that the loop compiles. A part without memory is its own state. An estimate states what it does
in its `Abilities`, so that internal code never looks for methods or arrays by name.
"""

from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.part import Part, lent, part, require
from frankwolfe.methods.snapshots import ONE_EPOCH, Epochs


class Abilities(NamedTuple):
    """What a gradient estimate can do, and what it needs. All is False unless it says so.

    Attributes
    ----------
    reads_all_rows : bool
        Every step reads the whole data; it is dealt no batches.
    has_table : bool
        The state has an array ``alpha``, one weighted derivative a sample, and between steps ``r = X' alpha``, unless
        it says ``sums_table``. A later run can take the table over.
    exact_table : bool
        The derivatives of all samples at the iterate, where they are at hand, are what the table stands for: the
        state's ``renew(alpha)`` takes them over.
    samples_error : bool
        What a step changes in the table is an unbiased sample of the table's error.
    sums_conjugates : bool
        The state has an array ``conjugates`` of two numbers, NaN before the first step: for a convex loss
        ``sum_i p_i f_i*(alpha_i / p_i)``, and the sum of the sizes of what that is made of.
    reads_upcoming : bool
        A step also reads the batch of the next step, which is shown to it. Others are shown an empty one.
    grows : bool
        Batches differ in size: the state's ``batch_sizes(steps)`` returns the rows in the batches of the steps with
        these numbers, arrays both. All rows are the most.
    takes_snapshots : bool
        Now and then the state wants the exact gradient at the iterate, a pass over the data: before the step that its
        ``next_snapshot(t)`` names, ``t`` itself or a later one (infinity: none is known yet). ``r`` is then that
        gradient, and ``renew(alpha)`` takes over the derivatives. Steps far ahead may be guesses: they only serve to
        plan.
    corrects_once : bool
        The state has a `frankwolfe.methods.gradient.Correction` named ``surplus``: what is added to ``r`` for the
        step at hand only. The loop takes it back once the iterate has moved.
    sums_table : bool
        ``r`` is not ``X' alpha``: the state has that in an array ``total``. It is filled in wherever the engine knows
        it: when a run starts, and before ``renew``.
    two_batches : bool
        A step is shown twice the rows: two batches, independent of each other, one after the other.
    smooths : bool
        It takes losses with kinks and side constraints, whose multipliers are in an array ``mean`` of the state's
        ``side``. The state has an array ``alpha`` of slopes, one a sample, that the steps do not need: it certifies.
    has_epochs : bool
        The state has ``epochs``, a `frankwolfe.methods.snapshots.Epochs`: when its snapshots fall due. Directions and
        step rules that follow them, such as `frankwolfe.methods.EpochStep`, are told.
    by_tasks : bool
        It is the exact gradient, or the table of `SagTable`: these the engine can also compute by tasks on the shards
        (`frankwolfe.engines.task_steps`), where the loop does not have the rows in memory.
    row_arrays : tuple of str or None
        Names of the state's arrays that have an entry for each sample, if these are all that it remembers of single
        rows: then steps can be made on a group of the rows, with the entries that belong to them, as for data that is
        larger than memory. The number of all rows is in the gradient's counters, not the length of any array. None:
        steps need all rows.
    """

    reads_all_rows: bool = False
    has_table: bool = False
    exact_table: bool = False
    samples_error: bool = False
    sums_conjugates: bool = False
    reads_upcoming: bool = False
    grows: bool = False
    takes_snapshots: bool = False
    smooths: bool = False
    corrects_once: bool = False
    sums_table: bool = False
    two_batches: bool = False
    has_epochs: bool = False
    by_tasks: bool = False
    row_arrays: tuple[str, ...] | None = None


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


class Setting(NamedTuple):
    """What a part may want to know when a run starts.

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
        bounds them. Directions and step rules are told; an estimate, on which the costs depend, is not.
    size : int
        Entries of ``r``.
    epochs : Epochs
        Those of the estimate, which is made first; one that does not end where it has none.
    objective : Objective, optional
        Computes sums over all rows by tasks, where the loop does not have all of them in memory.
    """

    samples: Any
    batch_size: int
    w: np.ndarray
    constraint: Any
    remembered: dict[str, np.ndarray] = {}  # noqa: RUF012 - never written to
    steps: int = 0
    generator: Any = None
    side: Any = None
    units: Units = Units()
    horizon: float = inf
    size: int = 0
    epochs: Epochs = ONE_EPOCH
    objective: Any = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.samples.shape[0]

    def room(self) -> np.ndarray:
        """Room for a number, or a row, for each sample; none where tasks on the shards take the place of the loop."""
        return self.samples.table() if self.objective is None else np.zeros(0)

    def column_norms(self) -> np.ndarray:
        """Norms of the columns, rows counted by their weights: a read of the data."""
        if self.objective is not None:
            return self.objective.column_norms()
        return self.samples.rows.column_norms(self.samples.weights, len(self.w))

    def table(self) -> np.ndarray:
        """One derivative a sample: those of the run that is continued, else zeros (the paper's initialisation)."""
        alpha = self.remembered.get("alpha")
        return self.samples.table() if alpha is None else alpha.copy()


class EstimateDefaults:
    """What a part does unless it defines it: it has no state of its own."""

    def for_run(self, setting):
        """Return the state of the part at the start of a run: the part itself."""
        return self


class DirectionStateDefaults:
    """What the state of a direction does unless it defines it."""

    def gradient_point(self, iterate, t):
        """Return the point at which step ``t`` needs the gradient: the iterate."""
        return iterate


class DirectionDefaults(EstimateDefaults, DirectionStateDefaults):
    """What a direction is unless it defines it.

    ``needs``: what it needs of a problem, phrases of `frankwolfe.problem.requirements`. ``keeps_atoms``: a run may
    store atoms, as whole vectors unless the set's vertices have one non-zero entry. ``mixes_vertices``: every new
    iterate is a convex combination of the iterate and a vertex. ``elsewhere``: steps want the gradient at another point
    than the iterate (``gradient_point``).
    """

    needs = ()
    keeps_atoms = True
    mixes_vertices = False
    elsewhere = False


class StepDefaults(EstimateDefaults):
    """What a step rule is unless it defines it.

    ``needs``: as for a direction. ``reads_all_rows``: a step reads the whole data. ``searches_line``: of such a rule,
    that its state has ``search(line, fall, most, t)``, which returns the length from sums along a line
    (`frankwolfe.methods.line_searches`). Only these run on data that is not in memory.
    """

    needs = ()
    reads_all_rows = False
    searches_line = False

    def part_left(self, first, last):
        """Return a lower bound on the product of ``1 - gamma_t``, ``first < t <= last``; NaN if it is not known."""
        return np.nan


ESTIMATE_METHODS, DIRECTION_METHODS, STEP_METHODS = ("refresh", "follow"), ("choose",), ("length",)
"""What the loop calls of the states."""


def estimate(**abilities: Any) -> Callable[[type[Part]], type[Part]]:
    """Return a class decorator for the package's gradient estimates: the arguments are their `Abilities`."""
    return lambda kind: _defined(kind, EstimateDefaults, {"abilities": Abilities(**abilities)})


def direction(**members: Any) -> Callable[[type[Part]], type[Part]]:
    """Return a class decorator for the package's directions: the arguments replace `DirectionDefaults`."""
    return lambda kind: _defined(kind, DirectionDefaults, members)


def step_rule(**members: Any) -> Callable[[type[Part]], type[Part]]:
    """Return a class decorator for the package's step rules: the arguments replace `StepDefaults`."""
    return lambda kind: _defined(kind, StepDefaults, members)


def _defined(kind: type[Part], defaults: type, members: dict[str, Any]) -> type[Part]:
    # a NamedTuple's body may only define fields, properties and methods, so other members are set from outside
    for name, value in members.items():
        setattr(kind, name, value)
    return part(lent(defaults)(kind))


def accept_estimate(argument: str, given: Any) -> None:
    """Check a gradient estimate that was handed in; give its class what it leaves to defaults."""
    _accept(argument, given, ESTIMATE_METHODS, "a gradient estimate", EstimateDefaults)
    if not isinstance(getattr(given, "abilities", None), Abilities):
        raise TypeError(
            f"{argument}: {type(given).__name__} does not say what it can do: give it a property "
            "abilities that returns frankwolfe.methods.base.Abilities(...)"
        )


def accept_direction(argument: str, given: Any) -> None:
    """Check a direction that was handed in; give its class what it leaves to defaults."""
    _accept(argument, given, DIRECTION_METHODS, "a direction", DirectionDefaults)


def accept_step(argument: str, given: Any) -> None:
    """Check a step rule that was handed in; give its class what it leaves to defaults."""
    _accept(argument, given, STEP_METHODS, "a step rule", StepDefaults)


def _accept(argument: str, given: Any, methods: tuple[str, ...], purpose: str, defaults: type) -> None:
    own_state = not callable(getattr(given, "for_run", None))
    require(argument, given, methods if own_state else ("for_run",), purpose)
    lent(defaults)(type(given))


def estimate_for_run(method: Any, setting: Setting) -> Any:
    """Return the state of a method's estimate at the start of a run: the first that is made."""
    return _state(method.estimate, setting, ESTIMATE_METHODS, "an estimate")


def others_for_run(method: Any, setting: Setting) -> tuple[Any, Any]:
    """Return the states of a method's direction and step rule at the start of a run."""
    direction = _state(method.direction, setting, DIRECTION_METHODS, "a direction")
    lent(DirectionStateDefaults)(type(direction))
    return direction, _state(method.step, setting, STEP_METHODS, "a step rule")


def _state(given: Any, setting: Setting, methods: tuple[str, ...], purpose: str) -> Any:
    state = given.for_run(setting)
    require(f"{type(given).__name__}.for_run", state, methods, f"the state of {purpose}")
    return state
