"""What is killed: a table of scenarios. To add one, say how the work begins or goes on, and what must hold of it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np

import frankwolfe as fw
from frankwolfe.running.checkpoints import read_checkpoint
from frankwolfe.store.files import read_flat, write_flat
from tests import cases
from tests.solvers.test_protocol import OWN, PROBLEMS


@dataclass(frozen=True)
class Scenario:
    """Work in a folder that may be killed at any moment.

    Attributes
    ----------
    prepare : callable
        Makes ready what all processes share; before the first one.
    work : callable
        Begins the work in a folder, or goes on with what is there, and ends when it is done; in a process of its own.
    check : callable
        Raises an error if what a killed process has left in the folder is not whole.
    outcome : callable
        What is there once the work is done, as bytes by name: the same, however often it was killed.
    """

    prepare: Callable[[], object]
    work: Callable[[Path], None]
    check: Callable[[Path], None]
    outcome: Callable[[Path], dict[str, bytes]]


# --- runs with checkpoints --------------------------------------------------------------------------------------------

NUMBERS = ("fun", "gap", "fw_gap", "gap_estimate", "intercept", "nit", "passes", "checks", "certificate_passes")


@cache
def problem_of(kind):
    """A problem, made before processes are forked."""
    problem = PROBLEMS[kind]() if kind in PROBLEMS else cases.problem(n=5_000, d=3)
    with fw.python_mode():
        problem.zero_value  # noqa: B018 - known to all processes
    return problem


def train(method, kind, passes, folder):
    """Minimise with a checkpoint after every slice of steps, or go on from the one that is there."""
    path, problem = folder / "run.ckpt", problem_of(kind)
    with fw.python_mode():
        if path.exists():
            again = {} if isinstance(method, str) else {"method": method}
            result = fw.resume(path, problem, **again)
        else:
            given = {"method": method, "tol": 1e-9, "max_passes": passes, "random_state": 1}
            result = fw.minimize(problem, **given, checkpoint=path, checkpoint_every=0.0)
        found = {name: np.asarray(getattr(result, name)) for name in NUMBERS}
        found |= {f"trace.{name}": column for name, column in result.trace.items() if name != "seconds"}
    x = result.x if isinstance(result.x, np.ndarray) else np.concatenate([result.x.left, result.x.right])
    write_flat(folder / "result", "result", 1, found | {"x": x, "status": str(result.status)})


def whole_checkpoint(folder):
    """Whatever checkpoint is there can be read."""
    if (folder / "run.ckpt").exists():
        read_checkpoint(folder / "run.ckpt")


def trained(folder):
    """Return the result, but for times; and the names of what is left in the folder."""
    found = read_flat(folder / "result", "result", 1)
    arrays = {name: np.ascontiguousarray(part).tobytes() for name, part in found.items() if name != "status"}
    left = sorted(path.name for path in folder.glob(".run.ckpt.*"))
    return arrays | {"status": found["status"].encode(), "unfinished": repr(left).encode()}


def training(method, kind, passes):
    return Scenario(partial(problem_of, kind), partial(train, method, kind, passes), whole_checkpoint, trained)


# --- row stores -------------------------------------------------------------------------------------------------------

PIECE, PIECES = 40, 12
"""Rows that are written at a time, and how often."""


@cache
def pieces():
    """Blocks of rows and targets."""
    rng = np.random.default_rng(0)
    return [(rng.normal(size=(PIECE, 5)), np.sign(rng.normal(size=PIECE))) for _ in range(PIECES)]


def convert(folder):
    """Write a store at once, unless it is there."""
    if not (folder / "rows").exists():
        fw.write_rows(folder / "rows", iter(pieces()), shard=2_000)


def append(folder):
    """Write a store piece by piece, going on after those that are there."""
    written = len(fw.open_rows(folder / "rows").y) // PIECE if (folder / "rows").exists() else 0
    for X, y in pieces()[written:]:
        fw.write_rows(folder / "rows", X, y, shard=2_000, append=(folder / "rows").exists())


def whole_store(folder):
    """Whatever store is there has whole pieces, in order, as their checksums say."""
    if (folder / "rows").exists():
        store = fw.open_rows(folder / "rows", verify=True)
        number, rest = divmod(store.shape[0], PIECE)
        assert rest == 0
        np.testing.assert_array_equal(store.matrix(), np.concatenate([X for X, _ in pieces()[:number]]))
        np.testing.assert_array_equal(store.y, np.concatenate([y for _, y in pieces()[:number]]))


def stored(folder):
    """Return the rows and targets."""
    store = fw.open_rows(folder / "rows", verify=True)
    return {"X": store.matrix().tobytes(), "y": store.y.tobytes()}


RUNS = [
    *((name, "l1-intercept", 12.0) for name in ("sfw", "stochastic-pairwise", "lu-freund")),
    *((name, "l1", 12.0) for name in ("momentum", "mokhtari", "stochastic-away", "sfw")),
    *((name, "l1", 60.0) for name in ("fw", "away", "pairwise", "blended-pairwise")),
    *(("corrective", kind, 60.0) for kind in ("l1-csr", "l2", "groups", "trace", "multinomial", "completion")),
    *(("sfw", kind, 4.0) for kind in ("multinomial", "completion", "birkhoff")),
    ("sfw", "many rows", 0.05),  # writing takes longer than steps do
]

SCENARIOS = {f"{method} on {kind}": training(method, kind, passes) for method, kind, passes in RUNS}
SCENARIOS |= {f"own {name}": training(method, "l1-intercept", 12.0) for name, method in OWN.items()}
SCENARIOS |= {work.__name__: Scenario(pieces, work, whole_store, stored) for work in (convert, append)}
"""By name."""
