"""``frankwolfe tournament``: every method on every problem at hand."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from frankwolfe.cli.options import Name
from frankwolfe.cli.output import BROKEN_OFF, Complaint, answering, console, writing

if TYPE_CHECKING:
    from frankwolfe.experiments.tournament import Tournament


@click.command(short_help="Every method on every problem at hand, as a report.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("tournament"), show_default=True, help="Folder.")
@click.option("--quick", is_flag=True, help="A few small problems, fewer seeds and passes: done within two minutes.")
@click.option(
    "--problems",
    multiple=True,
    metavar="NAME",
    type=Name("frankwolfe.experiments.tournament.catalogue", "CATALOGUE"),
    help="Only these; several may be separated by commas, and 'kappa-*' means all that begin so.",
)
@click.option(
    "--methods",
    multiple=True,
    metavar="NAME",
    type=Name("frankwolfe.methods.table", "METHODS"),
    help="Only these; several may be separated by commas.",
)
@click.option("--seeds", type=click.IntRange(1), help="Seeds of stochastic methods  [3; 2 with --quick]")
@click.option("--max-passes", type=click.FloatRange(1.0), help="Passes of each run  [100; 30 with --quick]")
@click.option(
    "--max-seconds",
    type=click.FloatRange(0.0, min_open=True),
    default=20.0,
    show_default=True,
    help="Most time of each run.",
)
@click.option("--batch-size", type=float, help="Rows a step, or their fraction, for all.  [each method's own]")
@click.option(
    "--accuracies",
    default="1e-2,1e-3,1e-4",
    show_default=True,
    metavar="A1,A2,...",
    help="Costs are measured until F - F* is at most this part of F(0).",
)
@click.option("--jobs", type=click.IntRange(1), help="Processes, of one thread each.  [as many as there are cores]")
@click.option(
    "--source",
    type=click.Choice(["auto", "folder", "original", "stand-in"]),
    default="auto",
    show_default=True,
    help="Where data may come from: the folder in FRANKWOLFE_DATA, scikit-learn's fetchers, or made.",
)
def tournament(out: Path, problems: tuple[str, ...], methods: tuple[str, ...], accuracies: str, **options: Any) -> None:
    """Run every method on every problem with several seeds, and write a report that opens offline.

    The report goes to OUT/report.html, a table of all runs to OUT/runs.csv, and each run, as it finishes, to a small
    file in OUT/runs: after Ctrl-C the same command goes on where it was.
    """
    from frankwolfe.experiments.tournament import tournament as play

    batch_size = options.pop("batch_size")
    if batch_size is not None and batch_size >= 1.0 and batch_size.is_integer():
        batch_size = int(batch_size)
    with answering():
        found = _with_progress(
            lambda callback: play(
                _split(problems),
                _split(methods),
                accuracies=_numbers(accuracies),
                batch_size=batch_size,
                out=out,
                callback=callback,
                **options,
            )
        )
    if found.missing:
        done = len(found.runs)
        raise Complaint(f"broken off: {done} runs are kept in {out / 'runs'}; the same command goes on", BROKEN_OFF)
    with writing(out):
        found.report(out / "report.html")
        found.write_csv(out / "runs.csv")
    _show(found, out)


def _split(names: tuple[str, ...]) -> list[str] | None:
    """Return names that were given one by one or separated by commas; None where there are none."""
    found = [name.strip() for part in names for name in part.split(",") if name.strip()]
    return found or None


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        words = f"--accuracies takes numbers separated by commas, such as 1e-2,1e-3; got {text!r}"
        raise Complaint(words) from None


def _with_progress(work: Callable[[Callable[[Any], None]], "Tournament"]) -> "Tournament":
    """Run ``work(callback)`` under a progress bar that says how long the rest may take."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    # what comes last changes its length with every run: the bar should not move with it
    words = TextColumn("{task.fields[left]}"), TextColumn("{task.description}", style="dim")
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), *words)
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("making the problems", total=None, left="")

        def callback(progress: Any) -> None:
            seconds = progress.seconds_left
            left = f"about {_duration(seconds)} left" if seconds == seconds else ""
            bar.update(task, completed=progress.done, total=progress.total, description=progress.text, left=left)

        return work(callback)


def _duration(seconds: float) -> str:
    """Return a time in words, as exact as an estimate can be.

    Examples
    --------
    >>> _duration(8.0), _duration(42.0), _duration(754.0)
    ('10 s', '40 s', '13 min')
    """
    return f"{max(10, round(seconds, -1)):.0f} s" if seconds < 90.0 else f"{seconds / 60.0:.0f} min"


def _show(found: "Tournament", out: Path) -> None:
    """Print the ranking, what it says of the paper's method, what failed, and where everything went."""
    from rich.table import Table

    from frankwolfe.experiments.tournament.verdicts import when_right

    there = console()
    if found.names():
        standings = {by: {each.method: each for each in found.ranking(by=by)} for by in ("passes", "seconds")}
        number = len(found.names())
        words = f"{number} problem{'s' * (number != 1)}"
        table = Table(title=f"To F - F* <= {found.middle:g} F(0), over the best contender: {words}")
        for head in ("method", "by passes", "interval", "by seconds", "interval", "reached"):
            table.add_column(head, justify="left" if head == "method" else "right", no_wrap=True)
        for name, each in standings["passes"].items():
            other = standings["seconds"][name]
            label = f"{name} (reference)" if not each.contends else name
            cells = [f"{each.ratio:.2f}", _interval(each), f"{other.ratio:.2f}", _interval(other)]
            table.add_row(label, *cells, f"{each.reached:.0%}")
        there.print(table)
        for sentence in when_right(found):
            there.print(sentence, soft_wrap=not there.is_terminal)
    for note in found.notes:
        there.print(note)
    if found.failures:
        there.print(f"{len(found.failures)} runs failed; the report has the messages.", style="red")
    there.print(f"Report: {out / 'report.html'}", soft_wrap=True)
    sys.stdout.flush()


def _interval(standing: Any) -> str:
    return "-" if standing.low != standing.low else f"{standing.low:.2f} to {standing.high:.2f}"
