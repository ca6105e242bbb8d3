"""Output of commands: exit codes, errors in one line, summaries, tables, progress."""

import csv
import errno
import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import zip_longest
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TextIO

import click

from frankwolfe.exceptions import ClusterError

if TYPE_CHECKING:
    from frankwolfe.display import Progress
    from frankwolfe.model.fitted_model import FittedModel

INTERRUPTED = 1
BAD_INPUT = 2
NOT_CERTIFIED = 3
NOT_WRITTEN = 4

NO_PRICE = 1e-6
"""Prices that are a smaller part of the largest one are rounding errors."""

WIDTH = 120
"""Columns of text if the output is no terminal."""


class Complaint(click.ClickException):
    """An error in one line: by default a mistake in the command or its data."""

    def __init__(self, message: object, exit_code: int = BAD_INPUT):
        super().__init__(" ".join(str(message).split()))
        self.exit_code = exit_code  # type: ignore[misc]


@contextmanager
def answering() -> Iterator[None]:
    """Turn errors in a command or its data into one line."""
    try:
        yield
    except (ValueError, TypeError, ImportError, OSError) as error:
        raise Complaint(error) from error
    except ClusterError as error:
        raise Complaint(error, INTERRUPTED) from error
    except MemoryError as error:
        raise Complaint(f"there is not enough memory: {error or 'the data is too large'}") from error


def _not_written(where: object, error: OSError) -> Complaint:
    return Complaint(f"{where} could not be written: {error.strerror or error}", NOT_WRITTEN)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn errors of writing a file into one line."""
    try:
        yield
    except OSError as error:
        raise _not_written(path, error) from error


class CommandGroup(click.Group):
    """A group of commands that reports a full or closed standard output in one line, like any other error."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command and flush its output."""
        try:
            try:
                return super().main(*args, **extra)
            finally:
                if sys.stdout is not None:  # None if the process was started without one
                    sys.stdout.flush()
        except OSError as error:
            with suppress(OSError, ValueError):  # the rest cannot be written either
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if error.errno == errno.EPIPE:  # the reader has gone, as with a pipe to head
                sys.exit(INTERRUPTED)
            _not_written(error.filename or "standard output", error).show()
            sys.exit(NOT_WRITTEN)


def echo(text: str, err: bool = False, **style: Any) -> None:
    """Print a text, in a style on a terminal. Characters that the encoding lacks are escaped."""
    stream = sys.stderr if err else sys.stdout
    if isinstance(stream, io.TextIOWrapper):  # not a replaced stream
        stream.reconfigure(errors="backslashreplace")
    on_screen = stream is not None and stream.isatty()
    print(click.style(text, **style) if on_screen and style else text, file=stream)


def show(rows: list[tuple[str, str]], colours: dict[str, str] | None = None) -> None:
    """Print names and texts, some in a colour. Texts are wrapped at the width of the terminal."""
    names = max(len(name) for name, _ in rows)
    width = get_terminal_size().columns if sys.stdout is not None and sys.stdout.isatty() else WIDTH
    for name, text in rows:
        lines = wrap(text, max(20, width - names - 2), break_on_hyphens=False) or [""]
        for label, line in zip_longest([name], lines, fillvalue=""):
            echo(f"{label.rjust(names)}  {line}", fg=(colours or {}).get(name))


def print_table(heads: Iterable[str], rows: Iterable[Iterable[str]], left: int = 0) -> None:
    """Print a table of numbers: columns are aligned on the right, but for the first ``left``."""
    from frankwolfe.summary import aligned

    echo(aligned([[*heads], *map(list, rows)], left))


def show_weights(model: "FittedModel", most: int) -> None:
    """Print up to ``most`` of the largest weights by name, on the scale of the columns, and how many are zero."""
    if not most:
        return
    import numpy as np

    own, flat = model.unscaled()[0].ravel(), model.weights.ravel()
    columns = model.weight_names or [str(model.features.first + j) for j in range(len(model.weights))]
    outputs = model.output_names
    labels = [[column, output] for column in columns for output in outputs] if outputs else [[name] for name in columns]
    scaled = model.preparation.scale is not None
    nonzero = int(np.count_nonzero(flat))
    order = np.argsort(-np.abs(flat), kind="stable")[: min(most, nonzero)].tolist()
    title = f"\n{flat.size:,} weight{'s' * (flat.size > 1)}, {flat.size - nonzero:,} of them zero"
    title += f"; the {most} largest" * (most < nonzero)
    if model.classes is not None and not outputs:
        title += f"; positive ones favour {model.classes[1]}"
    echo(title)
    if order:
        rows = [[*labels[k], f"{own[k]:.6g}", *([f"{flat[k]:.6g}"] * scaled)] for k in order]
        heads = ["column", *(["output"] * bool(outputs)), "weight", *(["standardised"] * scaled)]
        print_table(heads, rows, left=len(labels[0]))


def show_prices(model: "FittedModel") -> None:
    """Print which rules bind, and how much the objective would fall per unit by which each is relaxed."""
    if not model.rules:
        return
    binding = model.summary().binding
    rules = {rule: price for rule, price in binding.items() if price > NO_PRICE * max(binding.values())}
    if not rules:
        echo("\nnone of the rules binds")
        return
    echo("\nwhat binds, and how much the objective would fall per unit of relaxation")
    print_table(["rule", "price"], ([rule, f"{price:.4g}"] for rule, price in rules.items()), left=1)


def write_csv(path: Path | None, columns: Mapping[str, Iterable]) -> None:
    """Write columns to a CSV file, whole or not at all, or to standard output."""
    if path is None:
        try:
            _write_rows(sys.stdout, columns)
        except UnicodeEncodeError as error:
            letter = error.object[error.start]
            message = f"standard output, in {error.encoding}, has no letter {letter!a}: write to a file with --out"
            raise Complaint(message, NOT_WRITTEN) from error
        return
    from frankwolfe.store.files import replacing

    with writing(path), replacing(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        _write_rows(text, columns)
        text.detach()  # flush without closing the stream


def save_figure(path: Path, plot: Callable[[], Any]) -> None:
    """Write the figure of the axes that a function draws on to a file, whole or not at all."""
    with answering(), writing(path):
        import matplotlib as mpl

        mpl.use("Agg")
        from frankwolfe.store.files import replacing

        figure = plot().figure
        with replacing(path) as stream:
            figure.savefig(stream, format=path.suffix[1:] or "png", dpi=150, bbox_inches="tight")


def _write_rows(stream: TextIO, columns: Mapping[str, Iterable]) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))


def progress_bar(title: str, total: float, unit: str, quiet: bool = False) -> "Progress":
    """Return a progress bar on standard error, which is off if quiet, or if that is no terminal."""
    from frankwolfe.display import Progress

    return Progress(on_terminal(quiet), title, total, unit)


def on_terminal(quiet: bool = False) -> bool:
    """Return whether to show progress: standard error is a terminal, and the command is not quiet."""
    return not quiet and sys.stderr is not None and sys.stderr.isatty()
