"""The other commands: ``convert`` a file to a row store, ``warm-up`` compiled code, ``reproduce`` the paper."""

from itertools import count
from pathlib import Path
from typing import Any

import click

from frankwolfe.cli.options import COLUMN_ROLES, DATA, OUT, Options, loss_option, method_option, set_option
from frankwolfe.cli.output import answering, echo, on_terminal, print_table, progress_bar, show


@click.command(short_help="Convert a file to a row store, for data larger than memory.")
@DATA
@OUT(required=True, help="Folder to create.")
@Options.declared(*COLUMN_ROLES)
@click.option("--float32", is_flag=True, help="Keep seven digits: half the space, and half the time to read.")
@click.option("--shard", default="16MiB", show_default=True, help="Size of the pieces that are read.")
@click.option("--append", is_flag=True, help="Add to a store that exists.")
def convert(data: Path, out: Path, float32: bool, **given: Any) -> None:
    """Convert the file DATA to a row store: a folder from which 'frankwolfe fit' reads rows as it needs them.

    The file is read once, a piece at a time, and every value is checked. If there is a mistake, nothing is written.
    """
    with answering():
        from frankwolfe.store.write_rows import write_rows

        store = write_rows(out, data, dtype="float32" if float32 else None, progress=on_terminal(), **given)
    n, d = store.shape
    stored = f", {store.nnz:,} stored values" if store.is_sparse else ""
    targets = "none" if store.y is None else "numbers" if store.classes is None else f"{len(store.classes)} classes"
    show(
        [
            ("store", f"{out}: {n:,} rows, {d:,} columns{stored}, {store.dtype}"),
            ("target", targets),
            ("size", f"{store.bytes:,} bytes in {len(store.shards):,} shards"),
        ]
    )


@click.command("warm-up", short_help="Compile before the first fit, for containers and clusters.")
@loss_option("losses", multiple=True, help="{names}; may be repeated.  [default: logistic, multinomial, squared]")
@set_option("constraints", multiple=True, help="{names}; may be repeated.  [default: l1]")
@method_option("methods", multiple=True, help="{names}; may be repeated.  [default: auto]")
@Options.declared("quiet")
def warm_up(quiet: bool, **names: Any) -> None:
    """Compile combinations of losses, sets and methods, so that later commands and programs load them from disk.

    Each is compiled for dense and sparse rows, with and without an intercept. The code is kept where NUMBA_CACHE_DIR
    says, by default next to the package.
    """
    with answering():
        from frankwolfe.precompile import warm_up as compile_all

        chosen = {kind: given for kind, given in names.items() if given}
        seconds = compile_all(**chosen, progress=on_terminal(quiet))
    if not quiet:
        click.echo(f"compiled or loaded in {seconds:.3g} s: later processes load the code from disk")


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
        echo(f"{paper.verdict(race)}\n")
    echo(f"Report: {out / 'report.html'}")
