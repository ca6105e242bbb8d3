"""``frankwolfe path``: fit models along a grid of radii."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from frankwolfe.cli.options import COLUMNS, DATA, HELD_OUT, PROBLEM, RULES, RUN, Options, file_type
from frankwolfe.cli.output import (
    NOT_CERTIFIED,
    Complaint,
    Interrupted,
    answering,
    echo,
    print_table,
    progress_bar,
    save_figure,
    show,
    write_csv,
)

if TYPE_CHECKING:
    from frankwolfe.cli.validation import Scores
    from frankwolfe.model.preparation import Preparation
    from frankwolfe.path import RadiusPath
    from frankwolfe.problem import Problem
    from frankwolfe.result import Result

HEADS = ("radius", "objective", "certified gap", "non-zeros", "passes")


@click.command(short_help="Fit models at many radii: objective, certified gap, non-zeros.")
@DATA
@Options.declared(*PROBLEM, "class_weight")
@click.option("--radii", metavar="R1,R2,...", help="Radii, separated by commas.  [default: a grid that suits the data]")
@click.option("--n-radii", type=click.IntRange(1), default=10, show_default=True, help="Length of that grid.")
@Options.declared(*RULES, *COLUMNS, *HELD_OUT, *RUN)
@click.option("--csv", "table", type=file_type, help="Write the table to a CSV file.")
@click.option("--picture", type=file_type, help="Draw weights against radii: .png, .svg, .pdf.")
def path(data: Path, radii: str | None, n_radii: int, table: Path | None, picture: Path | None, **given: Any) -> None:
    """Fit models to the file DATA at many radii, each started from the one before.

    Prints radius, objective, certified gap and number of non-zero weights. With --holdout or --folds it also prints the
    loss (or --scoring) of each radius on rows held out, and the best radius.
    """
    options = Options(**given)
    with answering():
        from frankwolfe.cli.problems import facts, specify
        from frankwolfe.cli.validation import held_out, splits_of
        from frankwolfe.path import as_radii, collected, radius_grid, until_interrupted

        chosen = None if radii is None else as_radii(_numbers(radii))
        spec = specify(data, options)
        splits = splits_of(spec, options)
        problem, preparation = spec.problem()
        parts = [slice(None), *(split.train for split in splits)]
        grid = radius_grid(problem, n_radii, spec.least_radius(parts)) if chosen is None else chosen
        found = collected(problem, grid, until_interrupted(_followed(problem, grid, options)))
        folds = count(1)

        def follow_fold(part: "Problem", prepared: "Preparation") -> "Iterator[Result]":
            return _followed(part, found.radii, options, f", fold {next(folds)} of {len(splits)}")

        scores = [list(fold) for fold in zip(*held_out(spec, splits, follow_fold), strict=True)]  # by radius
    show(facts(data, spec, problem, preparation))
    _print(found, scores)
    if scores:
        _print_best(found, scores, problem)
    if table is not None:
        rows = [[*row, sure] for row, sure in zip(_rows(found), found.success.tolist(), strict=True)]
        names = list(scores[0][0]) if scores else []
        for row, at in zip(rows, scores, strict=False):
            row += [_mean(at, name) for name in names]
        write_csv(table, [*HEADS, "certified", *(f"held-out {name}" for name in names)], rows)
    if picture is not None:
        names_of_columns = spec.data.features.names
        labels = None if names_of_columns is None else preparation.names(names_of_columns)
        save_figure(picture, lambda: found.plot(names=labels))
    if len(found) < len(grid):
        raise Interrupted(f"interrupted: only the first {len(found)} of {len(grid)} radii")
    if not found.success.all():
        raise SystemExit(NOT_CERTIFIED)


def _numbers(text: str) -> list[float]:
    """Return the numbers of a list separated by commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise Complaint(f"--radii takes numbers separated by commas, such as 0.1,1,10; got {text!r}") from None


def _followed(problem: "Problem", radii: Any, options: Options, where: str = "") -> "Iterator[Result]":
    """Yield the results along the radii, with a progress bar."""
    from frankwolfe.path import follow

    with progress_bar(f"path{where}", len(radii), "radii", options.quiet) as bar:
        for done, result in enumerate(follow(problem, radii, **options.run), start=1):
            bar.update(done)
            yield result


def _rows(found: "RadiusPath") -> list[tuple[float, float, float, int, float]]:
    """Return radius, objective, gap, number of non-zero weights and passes for each radius."""
    nonzeros = found.coefs.indptr[1:] - found.coefs.indptr[:-1]
    columns = (found.radii, found.funs, found.gaps, nonzeros, found.passes)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _mean(scores: "list[Scores]", name: str) -> float:
    """Return the mean of a score over the folds."""
    return sum(one[name] for one in scores) / len(scores)


def _print(found: "RadiusPath", scores: "list[list[Scores]]") -> None:
    """Print a line for each radius, with the score to compare by and the accuracy."""
    from frankwolfe.cli.validation import told

    names = list(scores[0][0]) if scores else []
    names = [name for k, name in enumerate(names) if k == 0 or name == "accuracy"]
    rows = []
    for k, (radius, fun, gap, nonzeros, passes) in enumerate(_rows(found)):
        mark = "" if found.success[k] else " (not certified to tolerance)"
        row = [f"{radius:.4g}", f"{fun:.8g}", f"{gap:.2e}{mark}", f"{nonzeros:,}", f"{passes:.4g}"]
        rows.append(row + [told([{name: one[name]} for one in scores[k]]).removeprefix(name).strip() for name in names])
    print_table([*HEADS, *(f"held-out {name}" for name in names)], rows)


def _print_best(found: "RadiusPath", scores: "list[list[Scores]]", problem: "Problem") -> None:
    """Print the radius with the best score, and a warning if it is the first or the last one."""
    from frankwolfe.cli.validation import BETTER_IF_LARGER
    from frankwolfe.path import at_the_edge

    name = next(iter(scores[0][0]))
    means = [_mean(at, name) for at in scores]
    best = means.index(max(means) if name in BETTER_IF_LARGER else min(means))
    radius = float(found.radii[best])
    echo(f"best held-out {name}: {means[best]:.4g} at radius {radius:.4g}")
    there = problem.over(problem.constraint.with_radius(radius))
    for sentence in at_the_edge(found.radii, best, there, found.coef(best)):
        echo(sentence, fg="yellow")
