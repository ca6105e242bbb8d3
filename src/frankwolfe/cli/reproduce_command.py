"""``frankwolfe reproduce``: the paper's experiments."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from frankwolfe.cli.output import answering

if TYPE_CHECKING:
    from collections.abc import Callable

    from frankwolfe.paper.experiments import Tell
    from frankwolfe.paper.reproduce import Findings


@click.command(short_help="The paper's experiments, as a report.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("reproduction"), show_default=True, help="Folder.")
@click.option("--quick", is_flag=True, help="Fewer seeds and passes: done within a minute.")
@click.option("--seeds", type=click.IntRange(1), help="Number of seeds  [5; 2 with --quick]")
@click.option("--passes", type=click.FloatRange(1.0), help="Passes of each run  [50; 20 with --quick]")
@click.option(
    "--source",
    type=click.Choice(["auto", "folder", "original", "stand-in"]),
    default="auto",
    show_default=True,
    help="Where data may come from: the folder in FRANKWOLFE_DATA, scikit-learn's fetchers, or made.",
)
@click.option("--paper-only", is_flag=True, help="Only the paper's three methods.")
def reproduce(out: Path, quick: bool, seeds: int | None, passes: float | None, source: str, paper_only: bool) -> None:
    """Run the paper's experiments and write a report that opens offline.

    Figure 1, Tables 1 and 2, the gap as a stopping rule, the theory's bounds and non-convex losses go to
    OUT/report.html, the figure alone to PNG and SVG files, and all traces to a CSV file.
    """
    from frankwolfe.paper import reproduce as paper

    plan = (paper.QUICK if quick else paper.Plan())._replace(source=source)
    if seeds is not None:
        plan = plan._replace(seeds=tuple(range(seeds)))
    if passes is not None:
        plan = plan._replace(passes=passes)
    if paper_only:
        plan = plan._replace(methods=paper.PAPER_METHODS)
    with answering():
        findings = _with_progress(lambda tell: paper.reproduce(out, plan, tell), plan.pieces())
    _show(findings, out)


def _with_progress(work: "Callable[[Tell], Findings]", total: int) -> "Findings":
    """Run ``work(tell)`` with a progress bar that advances with every line told."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("starting", total=total)

        return work(lambda text: progress.update(task, advance=1, description=text))


def _show(findings: "Findings", out: Path) -> None:
    """Print the comparison as tables, and the path of the report."""
    from rich.console import Console
    from rich.table import Table as RichTable

    from frankwolfe.paper.reproduce import verdict

    console = Console()
    for race in findings.races:
        table = RichTable(title=f"{race.table.label}: {race.problem.n} x {race.problem.d}")
        for head in ("method", "passes", "relative suboptimality", "F - F*", "exact gap", "slope", "seconds"):
            table.add_column(head, justify="left" if head == "method" else "right")
        for name, curve in race.curves.items():
            table.add_row(
                name,
                f"{curve.passes[-1]:.0f}",
                f"{race.relative(curve)[:, -1].mean():.2e}",
                f"{race.suboptimality(curve)[:, -1].mean():.2e}",
                f"{curve.gap[:, -1].mean():.2e}",
                f"{race.slope(curve):.2f}",
                f"{curve.seconds[-1]:.2f}",
            )
        console.print(table)
        console.print(verdict(race), highlight=False)
        console.print()
    console.print(f"Report: {out / 'report.html'}", highlight=False, soft_wrap=True)
