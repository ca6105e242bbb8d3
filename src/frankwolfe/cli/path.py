"""``frankwolfe path``: the answers along a grid of radii."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from frankwolfe.cli.answers import BROKEN_OFF, NOT_CERTIFIED, Complaint, answering, console, show, write_csv, writing
from frankwolfe.cli.options import DATA, PROBLEM, RUN

if TYPE_CHECKING:
    from frankwolfe.path import RadiusPath
    from frankwolfe.problem import Problem

HEADS = ("radius", "objective", "certified gap", "non-zeros", "passes")


@click.command(short_help="Models at many radii: objective, certified gap, non-zeros.")
@DATA
@PROBLEM
@click.option("--radii", metavar="R1,R2,...", help="Radii, separated by commas.  [default: a grid that suits the data]")
@click.option("--n-radii", type=click.IntRange(1), default=10, show_default=True, help="Length of that grid.")
@RUN
@click.option("--csv", "table", type=click.Path(path_type=Path), help="Write the table to a CSV file.")
@click.option("--picture", type=click.Path(path_type=Path), help="Draw weights against radii: .png, .svg, .pdf.")
def path(
    data: Path,
    radii: str | None,
    n_radii: int,
    method: str,
    tol: float,
    max_passes: float,
    seed: int,
    table: Path | None,
    picture: Path | None,
    **problem: Any,
) -> None:
    """Fit models to the file DATA at many radii, each started from the one before.

    Prints radius, objective, certified gap and number of non-zero weights.
    """
    with answering():
        from frankwolfe.cli.questions import ask, facts
        from frankwolfe.path import as_radii, radius_grid

        chosen = None if radii is None else as_radii(_numbers(radii))
        question = ask(data, **problem)
        grid = radius_grid(question.problem, n_radii) if chosen is None else chosen
        options = {"method": method, "tol": tol, "max_passes": max_passes, "random_state": seed}
        found = _followed(question.problem, grid, options)
    show(facts(data, question))
    _print(found)
    if table is not None:
        rows = zip(_rows(found), found.success.tolist(), strict=True)
        write_csv(table, [*HEADS, "certified"], ([*row, sure] for row, sure in rows))
    if picture is not None:
        with answering(), writing(picture):
            _draw(picture, found)
    if len(found) < len(grid):
        raise Complaint(f"broken off: the first {len(found)} of {len(grid)} radii", BROKEN_OFF)
    if not found.success.all():
        raise SystemExit(NOT_CERTIFIED)


def _numbers(text: str) -> list[float]:
    """Return the numbers in a list that is separated by commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise Complaint(f"--radii takes numbers separated by commas, such as 0.1,1,10; got {text!r}") from None


def _followed(problem: "Problem", radii: Any, options: dict[str, Any]) -> "RadiusPath":
    """Follow the path, with a bar where somebody is looking on."""
    from rich.progress import track

    from frankwolfe.path import collected, follow, until_interrupted

    where = console(stderr=True)
    results = follow(problem, radii, **options)
    bar = track(results, "radii", total=len(radii), console=where, transient=True, disable=not where.is_terminal)
    return collected(problem, radii, until_interrupted(bar))


def _rows(found: "RadiusPath") -> list[tuple[float, float, float, int, float]]:
    nonzeros = found.coefs.indptr[1:] - found.coefs.indptr[:-1]
    columns = (found.radii, found.funs, found.gaps, nonzeros, found.passes)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _print(found: "RadiusPath") -> None:
    from rich.table import Table

    table = Table(*HEADS)
    for column in table.columns:
        column.justify = "right"
    for (radius, fun, gap, nonzeros, passes), sure in zip(_rows(found), found.success, strict=True):
        mark = "" if sure else " (not certified to tolerance)"
        table.add_row(f"{radius:.4g}", f"{fun:.8g}", f"{gap:.2e}{mark}", f"{nonzeros:,}", f"{passes:.4g}")
    console().print(table)


def _draw(out: Path, found: "RadiusPath") -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from frankwolfe.files.atomic import replacing

    figure = found.plot().figure
    with replacing(out) as stream:
        figure.savefig(stream, format=out.suffix[1:] or "png", dpi=150)
