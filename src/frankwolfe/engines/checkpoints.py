"""Checkpoints: the state of a run in a file, from time to time, so that another run can go on from it.

A state is kept between two calls into compiled code, or two rounds, where nothing is half done; and only as long as the
budget has had no part in the run, so that one with a larger budget may go on from it. In between it is also copied in
memory: that is what a run leaves that is broken off in the middle of something.
"""

import os
from collections.abc import Mapping
from time import perf_counter
from typing import Any, Protocol

from frankwolfe.arguments.user_warnings import warn_user
from frankwolfe.engines.protocol import Engine
from frankwolfe.engines.state import copied
from frankwolfe.storage.archive import is_flat, read_flat, write_flat
from frankwolfe.storage.files import remove_unfinished

KIND, VERSION = "checkpoint", 1
"""What the files are, and the version of what is in them: engines' states among it, so it changes with them."""

COPYING_SHARE = 0.02
"""Part of the time that copies in memory may take."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written; the run goes on, and the file that was there before is still whole.

    Examples
    --------
    >>> import warnings, frankwolfe as fw
    >>> warnings.simplefilter("always", fw.CheckpointWarning)
    """


class Run(Protocol):
    """What checkpoints are of."""

    engine: Engine

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
        if now < min(self._next_write, self._next_copy) or not run.engine.unhindered:
            return
        if now >= self._next_write:
            self._write_or_warn(run.state())
            return
        # what is outside of the engine is replaced, and never changed in place
        self._latest = {
            name: copied(part) if name.startswith("engine.") else part for name, part in run.state().items()
        }
        done = perf_counter()
        self._next_copy = done + (done - now) / COPYING_SHARE

    def end(self, run: Run | None = None) -> None:
        """Write the last one: of a run that has come to its end, or the last copy of one that was broken off."""
        if run is not None and run.engine.unhindered:
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
