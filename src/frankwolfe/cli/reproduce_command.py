"""``frankwolfe reproduce``: the paper's experiments."""

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import click

from frankwolfe.cli.options import OUT
from frankwolfe.cli.output import answering, echo, print_table, progress_bar

if TYPE_CHECKING:
    from frankwolfe.paper.reproduce import Findings


@click.command(short_help="Run the paper's experiments, and write a report.")
@OUT(default="reproduction", show_default=True, help="Folder for the report.")
@click.option("--quick", is_flag=True, help="Fewer seeds and passes: done within a minute.")
@click.option("--seeds", type=click.IntRange(1), help="Number of seeds.  [default: 5; 2 with --quick]")
@click.option("--passes", type=click.FloatRange(1.0), help="Passes of each run.  [default: 50; 20 with --quick]")
@click.option(
    "--source",
    type=click.Choice(["auto", "folder", "original", "stand-in"]),
    default="auto",
    show_default=True,
    help="Where data may come from: the folder in FRANKWOLFE_DATA, scikit-learn's fetchers, or generated stand-ins.",
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
    pieces, done = plan.pieces(), count(1)
    with answering(), progress_bar("reproduce", pieces, "pieces") as bar:
        findings = paper.reproduce(out, plan, lambda text: bar.update(next(done), text))
    _show(findings, out)


def _show(findings: "Findings", out: Path) -> None:
    """Print the comparison as tables, and the path of the report."""
    from frankwolfe.paper.reproduce import verdict

    heads = ("method", "passes", "relative suboptimality", "F - F*", "exact gap", "slope", "seconds")
    for race in findings.races:
        rows = [
            [
                name,
                f"{curve.passes[-1]:.0f}",
                f"{race.relative(curve)[:, -1].mean():.2e}",
                f"{race.suboptimality(curve)[:, -1].mean():.2e}",
                f"{curve.gap[:, -1].mean():.2e}",
                f"{race.slope(curve):.2f}",
                f"{curve.seconds[-1]:.2f}",
            ]
            for name, curve in race.curves.items()
        ]
        echo(f"{race.table.label}: {race.problem.n} x {race.problem.d}")
        print_table(heads, rows, left=1)
        echo(f"{verdict(race)}\n")
    echo(f"Report: {out / 'report.html'}")
