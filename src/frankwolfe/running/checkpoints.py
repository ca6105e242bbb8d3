"""Checkpoints: the state of a run in a file, from time to time, so that another run can go on from it.

A state is kept between two calls into compiled code, or two rounds, where nothing is half done; and only as long as the
budget has had no part in the run, so that one with a larger budget may go on from it. In between it is also copied in
memory: that is what a run leaves that is broken off in the middle of something.
"""

import os
from collections.abc import Mapping
from time import perf_counter
from typing import Any, Final, Protocol

import numpy as np

from frankwolfe.arguments.settings import as_budget, warn_user
from frankwolfe.compile.part import short
from frankwolfe.exceptions import CheckpointWarning
from frankwolfe.methods.steps import STEPS
from frankwolfe.methods.table import METHODS, Method, as_method
from frankwolfe.problem import Problem
from frankwolfe.problem.data import digest, fingerprint
from frankwolfe.problem.requirements import check
from frankwolfe.result import Result
from frankwolfe.running.certifier import Start
from frankwolfe.running.driver import Driver
from frankwolfe.running.limits import Limits
from frankwolfe.solvers.loop import generator_of
from frankwolfe.solvers.protocol import Solver
from frankwolfe.solvers.state import (
    PLAIN,
    below,
    copied,
    require_entries,
    require_like,
    require_plain,
    require_trace,
    under,
)
from frankwolfe.solvers.stepwise import StepwiseSolver
from frankwolfe.storage.archive import is_flat, read_flat, reason, write_flat
from frankwolfe.storage.files import remove_unfinished

KIND, VERSION = "checkpoint", 1
"""What the files are, and the version of what is in them: solvers' states among it, so it changes with them."""

COPYING_SHARE = 0.02
"""Part of the time that copies in memory may take."""


class Run(Protocol):
    """What checkpoints are of."""

    solver: Solver

    def state(self) -> dict[str, Any]:
        """Return all that a later run needs to go on; the arrays are the run's own."""


class Checkpoints:
    """Keeps the state of a run.

    Writing is not charged to the method, and changes nothing in the run.

    Parameters
    ----------
    path : str or Path
        The file, replaced with every checkpoint.
    every : float
        Seconds between two of them.
    about : mapping
        What goes into every file beside the state: settings, what tells the problem from others.
    """

    def __init__(self, path: str | os.PathLike, every: float, about: Mapping[str, Any]):
        self.path, self.every, self.about = path, every, dict(about)
        self._next_write = self._next_copy = 0.0
        self._latest: dict[str, Any] | None = None  # what is newer than the file
        self._warned = False

    def begin(self, run: Run) -> None:
        """Write the first one, before the first step: a place that cannot be written to is an OSError now."""
        remove_unfinished(self.path)
        self._write(run.state())
        self._next_copy = perf_counter()

    def offer(self, run: Run) -> None:
        """Take the state if it is time to; between two steps of the run."""
        now = perf_counter()
        if now < min(self._next_write, self._next_copy) or not run.solver.unhindered:
            return
        if now >= self._next_write:
            self._write_or_warn(run.state())
            return
        # what is outside of the solver is replaced, and never changed in place
        self._latest = {
            name: copied(part) if name.startswith("solver.") else part for name, part in run.state().items()
        }
        done = perf_counter()
        self._next_copy = done + (done - now) / COPYING_SHARE

    def end(self, run: Run | None = None) -> None:
        """Write the last one: of a run that has come to its end, or the last copy of one that was broken off."""
        if run is not None and run.solver.unhindered:
            self._write_or_warn(run.state())
        elif self._latest is not None:
            self._write_or_warn(self._latest)

    def _write_or_warn(self, state: Mapping[str, Any]) -> None:
        """Write a checkpoint; what keeps it from being written is said once, and the run goes on."""
        try:
            self._write(state)
        except OSError as error:
            self._next_write = perf_counter() + self.every
            if not self._warned:
                self._warned = True
                warn_user(
                    f"no checkpoint could be written to {self.path} ({error.strerror or error}): the run goes on, the "
                    "last one that was written is kept, and writing is tried again",
                    CheckpointWarning,
                )

    def _write(self, state: Mapping[str, Any]) -> None:
        write_flat(self.path, KIND, VERSION, self.about | dict(state))
        self._latest, self._next_write = None, perf_counter() + self.every


def read_checkpoint(path: str | os.PathLike) -> dict[str, Any]:
    """Return all that a checkpoint holds; raise ValueError, with the name of the file, if it is none or is damaged."""
    return read_flat(path, KIND, VERSION)


def as_checkpoint_path(path: Any) -> str | os.PathLike:
    """Return where checkpoints go; raise an error rather than overwrite what is none."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"checkpoint must be the name of a file, got {type(path).__name__}")
    if os.path.isdir(path):
        raise ValueError(f"checkpoint must be the name of a file, but {path} is a folder")
    if os.path.exists(path) and not is_flat(path, KIND):
        raise ValueError(f"{path} exists and is no checkpoint: it is not overwritten, choose another name")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise ValueError(f"checkpoint cannot be written to {path}: there is no folder {folder}")
    return path


class AsBefore:
    """Stands for a setting that stays as it was."""

    def __repr__(self) -> str:
        return "<as before>"


AS_BEFORE: Final[AsBefore] = AsBefore()

SETTINGS = {
    **dict.fromkeys(("run.method", "run.key", "run.solver", "run.step", "run.parts"), ""),
    **dict.fromkeys(("run.batch_size", "run.likely"), 0),
    **dict.fromkeys(("run.every", "limits.tol", "limits.passes", "limits.seconds", "limits.side_tol"), 0.0),
}
"""Entries of every checkpoint, and of which kinds they are."""


def settings_of(
    problem: Problem,
    method: Method,
    given: Any,
    step: Any,
    batch_size: int,
    limits: Limits,
    every: float,
    likely: bool,
) -> dict[str, Any]:
    """Return what a checkpoint says of a run beside its state.

    ``given`` and ``step`` are the method and the step rule as they were asked for. Only what has a name can be looked
    up again.
    """
    known = isinstance(given, str) or given is METHODS.get(given.name)
    named = known and (step is None or isinstance(step, str))
    run = {
        "method": method.name,
        "key": _key(method) if named else "",
        "solver": method.solver,
        "step": step if named and step is not None else "",
        "parts": _parts_of(method),
        "batch_size": batch_size,
        "every": every,
        "likely": int(likely),
    }
    return under("run", run) | under("limits", vars(limits)) | under("problem", fingerprint(problem))


def _key(method: Method) -> str:
    """Return the name in the table of methods of what a run was, whatever its result calls it."""
    return "corrective" if method.solver == "few-reads" else method.name.removeprefix("auto: ").partition(", ")[0]


def _parts_of(method: Method) -> str:
    """Return what tells a method from others: its parts, whatever it is called."""
    return digest((method.solver, *method[:3]))


class SavedRun:
    """A run that was broken off, or has ended.

    Parameters
    ----------
    path : str or Path
        Where it comes from.
    values : mapping
        All that the file holds.
    """

    def __init__(self, path: str | os.PathLike, values: Mapping[str, Any]):
        self.path, self.values, self.settings = path, values, below("run", values)

    @classmethod
    def read(cls, path: str | os.PathLike) -> "SavedRun":
        """Return the run in a file."""
        found = cls(path, read_checkpoint(path))
        try:
            require_plain(found.values)
            require_like(SETTINGS, found.values)
        except ValueError as error:
            raise found._unfit(error) from None
        return found

    @property
    def every(self) -> float:
        """Seconds between two checkpoints."""
        return float(self.settings["every"])

    @property
    def likely(self) -> bool:
        """Whether a likely bound ends the run."""
        return bool(self.settings["likely"])

    def require_same(self, problem: Problem) -> None:
        """Raise ValueError, with what differs, unless the run was on this problem."""
        kept, here = below("problem", self.values), fingerprint(problem)
        other = [name for name in here | kept if kept.get(name) != here.get(name)]
        if other:
            differs = " and its ".join(other)
            raise ValueError(f"{self.path} is a run on another problem: this one, {problem}, differs in its {differs}")

    def method(self, problem: Problem, given: Any, step: Any) -> Method:
        """Return the method of the run: by its name, or the given one if it is the same."""
        name, key, rule = (self.settings[part] for part in ("method", "key", "step"))
        if given is None and not key:
            raise ValueError(
                f"{self.path} is a run of {name!r}, which was given as an object: pass it again, as method= or step="
            )
        if (key and key not in METHODS) or (rule and step is None and rule not in STEPS):
            raise self._unfit(ValueError(f"there is no method {key!r} with the step {rule!r}"))
        found = as_method(key if given is None else given, (rule or None) if step is None else step)
        if found.solver == "auto" and key:
            found = METHODS[key]  # it was chosen when the run began
        if self.settings["solver"] == "few-reads" and found.solver == "corrective":
            found = found._replace(solver="few-reads")
        if _parts_of(found) != self.settings["parts"]:
            raise ValueError(f"{self.path} is a run of {name!r}, and {found.name!r} has other parts: {_shown(found)}")
        check(problem, found)
        return found._replace(name=name)

    def limits(self, tol: Any, max_passes: Any, max_seconds: Any, side_tol: Any) -> Limits:
        """Return the limits of the run, those that are given instead of its own."""
        own = below("limits", self.values)
        return Limits(
            own["tol"] if tol is AS_BEFORE else as_budget("tol", tol),
            own["passes"] if max_passes is AS_BEFORE else as_budget("max_passes", max_passes, optional=True),
            own["seconds"] if max_seconds is AS_BEFORE else as_budget("max_seconds", max_seconds, optional=True),
            own["side_tol"] if side_tol is AS_BEFORE else as_budget("side_tol", side_tol),
        )

    def settings_with(self, limits: Limits, every: float) -> dict[str, Any]:
        """Return the settings with other limits."""
        settings = under("run", self.settings | {"every": every}) | under("limits", vars(limits))
        return settings | under("problem", below("problem", self.values))

    def solver(self, problem: Problem, method: Method) -> Solver:
        """Return the solver, where it was; ``problem`` becomes its own."""
        solver: Solver
        try:
            state = below("solver", self.values)
            start = Start.from_state(below("certifier.start", self.values))
            if start.intercept is not None:
                problem.expect(start.w, start.intercept)
            if method.solver != "loop":
                # imported here: a good deal of code that the other methods do without
                from frankwolfe.solvers.corrective import restored_solver

                solver = restored_solver(problem, state, method.solver == "few-reads")
            else:
                batch_size = int(self.settings["batch_size"])
                solver = StepwiseSolver.from_state(problem, state, method, batch_size, generator_of(state))
            _require_same_kinds(solver.state(), state)
            if not problem.constraint.contains(solver.point()):
                raise ValueError("its point is not in the constraint set")
            return solver
        except Exception as error:  # what does not fit together can make anything raise anything
            raise self._unfit(error) from error

    def restore(self, driver: Driver) -> None:
        """Take a driver, of the solver, to where the run was."""
        try:
            certifier = below("certifier", self.values)
            own = driver.state()
            require_like({name: own[name] for name in own if isinstance(own[name], PLAIN)}, self.values)
            if not driver.solver.problem.on_cluster:
                require_entries(driver.solver.problem, certifier)
                require_trace(driver.solver.problem, below("observer.trace", self.values))
            if driver.solver.problem.side is None and not driver.solver.problem.on_cluster:
                _require_below(self.values, driver.solver)
            driver.restore(self.values)
        except Exception as error:
            raise self._unfit(error) from error

    def require_true(self, problem: Problem, result: Result) -> None:
        """Raise ValueError if a resumed run reports a success that the data contradict: its evidence is from a file.

        This evaluates the point, and the slopes that prove its gap, once more: a pass and a half over the data. A gap
        that an earlier point of the run has proven cannot be checked, since its slopes are not kept.
        """
        if not result.success or problem.on_cluster:
            return
        found, slopes = problem.evaluate(result.x), result.state.get("slopes")
        gap, room = found.gap, 1e-6 * (result.tolerance + abs(found.value))
        if slopes is not None:
            gap = min(gap, found.value - problem.dual_value(slopes, result.state.get("multipliers")))
        elif not result.fw_gap <= result.gap:
            gap = result.gap
        x = problem.flat("x", result.x)
        true = problem.constraint.contains(x) and abs(found.value - result.fun) <= room
        if problem.side is not None:
            true = true and problem.side.violation(x) <= 2.0 * (result.violation_tolerance or 0.0)
        if not true or not gap <= 2.0 * result.tolerance + room:
            raise self._unfit(ValueError("the objective or the gap that it records for its best point is wrong"))

    def _unfit(self, error: Exception) -> ValueError:
        return ValueError(f"{self.path} cannot be resumed: {reason(error)}")


def _require_below(values: Mapping[str, Any], solver: Solver) -> None:
    """Raise ValueError if a lower bound on the optimum is above the objective at a point of the run.

    Where the file records no such value, this evaluates the objective at the iterate: half a pass.
    """
    bounds = {name: values[name] for name in ("certifier.bound", "solver.lower_bound") if name in values}
    if not any(bound > -np.inf or np.isnan(bound) for bound in bounds.values()):
        return
    points = [values[name] for name in ("certifier.best.value", "solver.at.value") if name in values]
    lowest = min(points) if points else solver.problem.value(solver.point())
    for name, bound in bounds.items():
        if not bound <= lowest + 1e-9 * abs(lowest):
            raise ValueError(f"its entry {name} is {bound}, above the objective {lowest} at a point of the run")


def _require_same_kinds(found: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Raise ValueError unless a solver has taken over all of a state: the same names, and arrays of the same kinds."""
    kinds = [
        {name: part.dtype.str if isinstance(part, np.ndarray) else "" for name, part in parts.items()}
        for parts in (found, state)
    ]
    other = sorted(name for name in kinds[0] | kinds[1] if kinds[0].get(name) != kinds[1].get(name))
    if other:
        raise ValueError(f"it does not have what the solver has, or something else: {', '.join(other)}")


def _shown(method: Method) -> str:
    """Say what a method is made of."""
    return ", ".join(map(short, method[:3]))
