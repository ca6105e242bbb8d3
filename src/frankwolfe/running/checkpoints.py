"""Checkpoints: files with the state of a run, from which `resume` continues.

A state is saved between two calls into compiled code, or between two rounds, where it is consistent. It is saved only
while the budget has not changed the run (`Solver.unhindered`), so that a run with a larger budget can continue from it.
Between two files the state is also copied in memory. If a run is interrupted in the middle of a step, this copy is
written.
"""

import os
from collections.abc import Mapping
from time import perf_counter
from typing import Any, Final

import numpy as np

from frankwolfe.arguments.names import warn_user
from frankwolfe.compile.part import short
from frankwolfe.exceptions import CheckpointWarning
from frankwolfe.methods.registry import METHODS, Method, as_method
from frankwolfe.methods.steps import STEPS
from frankwolfe.problem import Problem
from frankwolfe.problem.requirements import check
from frankwolfe.result import Result
from frankwolfe.running.certifier import Start
from frankwolfe.running.driver import Driver, Limits
from frankwolfe.shards.sources import digest, fingerprint
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
from frankwolfe.store.files import is_flat, read_flat, reason, remove_unfinished, write_flat

KIND, VERSION = "checkpoint", 1
"""Kind and version of the files. The version changes when the state of a solver does."""


class Checkpoints:
    """Writer of the checkpoints of a run.

    Writing does not count as time of the method, and does not change the run.

    Parameters
    ----------
    path : str or Path
        The file. Every checkpoint replaces it.
    every : float
        Seconds between two checkpoints.
    about : mapping
        Further entries of every file: the settings of the run and the fingerprint of the problem.
    """

    def __init__(self, path: str | os.PathLike, every: float, about: Mapping[str, Any]):
        self.path, self.every, self.about = path, every, dict(about)
        self._next_write = self._next_copy = 0.0
        self._latest: dict[str, Any] | None = None  # a copy of the state that is newer than the file
        self._warned = False

    def begin(self, run: Driver) -> None:
        """Write the first checkpoint, before the first step. Raise OSError if the file cannot be written."""
        remove_unfinished(self.path)
        self._write(run.state())
        self._next_copy = perf_counter()

    def offer(self, run: Driver) -> None:
        """Write or copy the state if that is due. Call this between two steps of the run."""
        now = perf_counter()
        if now < min(self._next_write, self._next_copy) or not run.solver.unhindered:
            return
        if now >= self._next_write:
            self._write_or_warn(run.state())
            return
        # only the solver changes its arrays in place, so the other entries need no copy
        self._latest = {
            name: copied(part) if name.startswith("solver.") else part for name, part in run.state().items()
        }
        done = perf_counter()
        # Copies may take two percent of the time.
        self._next_copy = done + (done - now) / 0.02

    def end(self, run: Driver | None = None) -> None:
        """Write the last checkpoint: the state of a finished run or, if it was interrupted, the latest copy."""
        if run is not None and run.solver.unhindered:
            self._write_or_warn(run.state())
        elif self._latest is not None:
            self._write_or_warn(self._latest)

    def _write_or_warn(self, state: Mapping[str, Any]) -> None:
        """Write a checkpoint. If that fails, warn once and let the run continue."""
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
    """Return the entries of a checkpoint. Raise ValueError if the file is damaged or is not a checkpoint."""
    return read_flat(path, KIND, VERSION)


def as_checkpoint_path(path: Any) -> str | os.PathLike:
    """Return a checked path for checkpoints. Raise an error if it exists and is not a checkpoint."""
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
    """Default of arguments of `resume`: the value of the checkpoint."""

    def __repr__(self) -> str:
        return "<as before>"


AS_BEFORE: Final[AsBefore] = AsBefore()

SETTINGS = {
    **dict.fromkeys(("run.method", "run.key", "run.solver", "run.step", "run.parts"), ""),
    **dict.fromkeys(("run.batch_size", "run.likely"), 0),
    **dict.fromkeys(("run.every", "limits.tol", "limits.passes", "limits.seconds", "limits.side_tol"), 0.0),
}
"""Entries that every checkpoint has, with values of the right type."""


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
    """Return the entries of a checkpoint apart from the state: settings, limits and the problem's fingerprint.

    ``given`` and ``step`` are the user's arguments for method and step rule. Only those with a name can be restored
    from the file; others must be passed to `resume` again.
    """
    known = isinstance(given, str) or given is METHODS.get(given.name)
    named = known and (step is None or isinstance(step, str))
    # the key in `METHODS` may differ from the name in the result
    key = "corrective" if method.solver == "few-reads" else method.name.removeprefix("auto: ").partition(", ")[0]
    run = {
        "method": method.name,
        "key": key if named else "",
        "solver": method.solver,
        "step": step if named and step is not None else "",
        "parts": _parts_of(method),
        "batch_size": batch_size,
        "every": every,
        "likely": int(likely),
    }
    return under("run", run) | under("limits", vars(limits)) | under("problem", fingerprint(problem))


def _parts_of(method: Method) -> str:
    """Return a digest of a method's solver and parts, independent of its name."""
    return digest((method.solver, *method[:3]))


class SavedRun:
    """A run that was read from a checkpoint.

    Parameters
    ----------
    path : str or Path
        The file.
    values : mapping
        The entries of the file.
    """

    def __init__(self, path: str | os.PathLike, values: Mapping[str, Any]):
        self.path, self.values, self.settings = path, values, below("run", values)

    @classmethod
    def read(cls, path: str | os.PathLike) -> "SavedRun":
        """Return the run from a file. Raise ValueError if entries are missing or have the wrong type."""
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
        """Whether a likely bound stops the run."""
        return bool(self.settings["likely"])

    def require_same(self, problem: Problem) -> None:
        """Raise ValueError, with the differences, if the run was on another problem."""
        kept, here = below("problem", self.values), fingerprint(problem)
        other = [name for name in here | kept if kept.get(name) != here.get(name)]
        if other:
            differs = " and its ".join(other)
            raise ValueError(f"{self.path} is a run on another problem: this one, {problem}, differs in its {differs}")

    def method(self, problem: Problem, given: Any, step: Any) -> Method:
        """Return the method of the run, by its name or from the arguments of `resume`, which must agree with it."""
        name, key, rule = (self.settings[part] for part in ("method", "key", "step"))
        if given is None and not key:
            raise ValueError(
                f"{self.path} is a run of {name!r}, which was given as an object: pass it again, as method= or step="
            )
        if (key and key not in METHODS) or (rule and step is None and rule not in STEPS):
            raise self._unfit(ValueError(f"there is no method {key!r} with the step {rule!r}"))
        found = as_method(key if given is None else given, (rule or None) if step is None else step)
        if found.solver == "auto" and key:
            found = METHODS[key]  # the choice of the first part of the run
        if self.settings["solver"] == "few-reads" and found.solver == "corrective":
            found = found._replace(solver="few-reads")
        if _parts_of(found) != self.settings["parts"]:
            raise ValueError(f"{self.path} is a run of {name!r}, and {found.name!r} has other parts: {_shown(found)}")
        check(problem, found)
        return found._replace(name=name)

    def limits(self, tol: Any, max_passes: Any, max_seconds: Any, side_tol: Any) -> Limits:
        """Return the limits of the run, with the arguments of `resume` replacing those of the checkpoint."""
        own = below("limits", self.values)
        given = zip(("tol", "passes", "seconds", "side_tol"), (tol, max_passes, max_seconds, side_tol), strict=True)
        return Limits.checked(*(own[name] if value is AS_BEFORE else value for name, value in given))

    def settings_with(self, limits: Limits, every: float) -> dict[str, Any]:
        """Return the settings with new limits and a new interval between checkpoints."""
        settings = under("run", self.settings | {"every": every}) | under("limits", vars(limits))
        return settings | under("problem", below("problem", self.values))

    def solver(self, problem: Problem, method: Method) -> Solver:
        """Return the restored solver. It owns ``problem`` from now on."""
        solver: Solver
        try:
            state = below("solver", self.values)
            start = Start.from_state(below("certifier.start", self.values))
            if start.intercept is not None:
                problem.expect(start.w, start.intercept)
            if method.solver != "loop":
                # a late import: the other methods need none of this code
                from frankwolfe.solvers.corrective import restored_solver

                solver = restored_solver(problem, state, method.solver == "few-reads")
            else:
                batch_size = int(self.settings["batch_size"])
                solver = StepwiseSolver.from_state(problem, state, method, batch_size, generator_of(state))
            _require_same_kinds(solver.state(), state)
            if not problem.constraint.contains(solver.point()):
                raise ValueError("its point is not in the constraint set")
            return solver
        except Exception as error:  # inconsistent entries can raise errors of any type
            raise self._unfit(error) from error

    def restore(self, driver: Driver) -> None:
        """Restore the driver of the restored solver, after checks of the entries."""
        try:
            certifier = below("certifier", self.values)
            own = driver.state()
            require_like({name: own[name] for name in own if isinstance(own[name], PLAIN)}, self.values)
            require_entries(driver.solver.problem, certifier)
            require_trace(driver.solver.problem, below("trace", self.values))
            if driver.solver.problem.side is None:
                _require_below(self.values, driver.solver)
            driver.restore(self.values)
        except Exception as error:
            raise self._unfit(error) from error

    def require_true(self, problem: Problem, result: Result) -> None:
        """Raise ValueError if the data contradict the success that a resumed run reports.

        The evidence of a resumed run comes from a file, which may be wrong. This evaluates the point and the dual point
        of its gap again, in a pass and a half. A lower bound by an earlier point of the run cannot be checked, since
        its slopes are not stored.
        """
        if not result.success:
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
    """Raise ValueError if the lower bound on the optimum is above the objective at a point of the run.

    If the file has no objective value, evaluate the objective at the iterate, which takes half a pass.
    """
    bound = values["certifier.bound"]
    if bound == -np.inf:
        return
    points = [values[name] for name in ("certifier.best.value", "solver.at.value") if name in values]
    lowest = min(points) if points else solver.problem.value(solver.point())
    if not bound <= lowest + 1e-9 * abs(lowest):
        raise ValueError(f"its lower bound is {bound}, above the objective {lowest} at a point of the run")


def _require_same_kinds(found: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Raise ValueError unless a restored solver has the entries of the saved state, with the same types of arrays."""

    def kind(part: Any) -> Any:
        return part.dtype if isinstance(part, np.ndarray) else part is None

    other = sorted(name for name in {**found, **state} if kind(found.get(name)) != kind(state.get(name)))
    if other:
        raise ValueError(f"it does not have what the solver has, or something else: {', '.join(other)}")


def _shown(method: Method) -> str:
    """Return the parts of a method as text."""
    return ", ".join(map(short, method[:3]))
