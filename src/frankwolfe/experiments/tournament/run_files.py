"""Runs on disk, one small file each: an interrupted tournament goes on where it was.

A file's name ends with a fingerprint of all that decides a run: the problem's data, loss and set, the method, the seed,
the budget, and the sources of the library that have a part in it. What was done under other conditions is not found.
"""

import json
import pickle
import re
from dataclasses import asdict
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import FunctionType
from typing import Any
from uuid import uuid4

import numpy as np
from scipy.sparse import issparse

import frankwolfe
from frankwolfe.experiments.tournament.runs import COLUMNS, Budget, Facts, Run, Task
from frankwolfe.problem import Problem
from frankwolfe.storage.files import replacing

FORMAT = 1
"""Raised whenever what is measured, or how it is stored, changes."""

NO_PART_IN_A_RUN = ("cli", "datasets", "display.py", "estimators", "experiments", "io", "model", "path", "plots.py")
"""Folders and modules whose sources cannot change a run: that of the data is seen in the data itself."""


WORKED_OUT = ("_X", "_samples", "_objective", "_zero_model", "_guess")
"""Attributes of a problem that are data, digested by itself, or follow from the others."""


@cache
def library_digest() -> str:
    """Digest of the version and of all sources that have a part in a run."""
    digest = sha256(frankwolfe.__version__.encode())
    folder = Path(frankwolfe.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        place = path.relative_to(folder)
        if place.parts[0] not in NO_PART_IN_A_RUN:
            digest.update(place.as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def problem_digest(problem: Problem) -> str:
    """Digest of data, weights, loss and set."""
    samples, X = problem.samples, problem.design
    arrays = [X.data, X.indices, X.indptr] if issparse(X) else [X]
    digest = sha256(repr((X.shape, str(X.dtype), bool(problem.intercept))).encode())
    for array in [*arrays, samples.targets, samples.weights]:
        digest.update(np.ascontiguousarray(array).tobytes())
    parts = {name: described(part) for name, part in sorted(vars(problem).items()) if name not in WORKED_OUT}
    digest.update(json.dumps(parts).encode())
    return digest.hexdigest()


def described(value: Any) -> Any:
    """Return a part as JSON can have it, the same in every process: names of classes and functions, fields, arrays.

    A function without a name, or an object that cannot be pickled, gets a description that never comes again.

    Examples
    --------
    >>> from frankwolfe.sets import L1Ball
    >>> described(L1Ball(2.0))
    ['frankwolfe.sets.norm_balls.L1Ball', 2.0]
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return [str(value.dtype), list(value.shape), sha256(np.ascontiguousarray(value).tobytes()).hexdigest()]
    if isinstance(value, tuple | list):
        return [_name_of(type(value)), *map(described, value)]
    if isinstance(value, type | FunctionType):
        return _name_of(value)
    try:
        return [_name_of(type(value)), sha256(pickle.dumps(value, protocol=5)).hexdigest()]
    except (pickle.PicklingError, AttributeError, TypeError):
        return uuid4().hex


def _name_of(value: Any) -> str:
    """Return the full name of a class or function; for one made inside of a function, that is not enough to know it."""
    name = f"{value.__module__}.{value.__qualname__}"
    return uuid4().hex if "<" in name else name


class RunFolder:
    """The files of a tournament's runs.

    Parameters
    ----------
    folder : Path
        Made if it does not exist.
    problems : dict of str to Problem
        By name.
    budget : Budget
        Of every run.
    """

    def __init__(self, folder: Path, problems: dict[str, Problem], budget: Budget):
        self.folder, self.budget = folder, budget
        self._digests = {key: problem_digest(problem) for key, problem in problems.items()}
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, task: Task) -> Path:
        """Return where a piece of work is kept: its names, for a reader, and its fingerprint."""
        decides = [FORMAT, library_digest(), self._digests[task.problem]]
        if task.method is not None:
            decides += [described(task.method), task.seed, list(self.budget)]
        fingerprint = sha256(json.dumps(decides).encode()).hexdigest()[:16]
        words = [task.problem, task.name, str(task.seed)] if task.method is not None else [task.problem, "optimum"]
        return self.folder / ("--".join([*map(_slug, words), fingerprint]) + ".json")

    def read(self, task: Task) -> Run | Facts | None:
        """Return what was kept of a piece of work, or None; what went wrong, or is damaged, is to be done again."""
        try:
            stored = json.loads(self.path(task).read_text(encoding="utf-8"))
            outcome = _run(stored) if task.method is not None else _facts(stored)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return None if outcome.failed else outcome

    def write(self, task: Task, outcome: Run | Facts) -> None:
        """Keep what came of a piece of work, whole or not at all."""
        with replacing(self.path(task)) as stream:
            stream.write(json.dumps(asdict(outcome), default=_plain).encode())


def _slug(name: str) -> str:
    """Return a name with nothing in it that a file's name cannot have."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-.")[:60] or "unnamed"


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be stored")


def _run(stored: dict[str, Any]) -> Run:
    columns = stored.pop("columns")
    return Run(**stored, columns={name: np.array(columns[name], dtype=float) for name in COLUMNS})


def _facts(stored: dict[str, Any]) -> Facts:
    return Facts(**stored)
