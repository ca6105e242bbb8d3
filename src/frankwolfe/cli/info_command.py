"""``frankwolfe info``: describe a file, and suggest radii."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from frankwolfe.cli.options import COLUMNS, DATA, PROBLEM, ColumnOptions, ProblemOptions
from frankwolfe.cli.output import answering, show

if TYPE_CHECKING:
    from frankwolfe.problem import Problem


@click.command(short_help="What a file holds, and which radii to try.")
@DATA
@PROBLEM
@COLUMNS
def info(data: Path, problem: ProblemOptions, columns: ColumnOptions) -> None:
    """Say what the file DATA holds: its size, its target, how evenly rows share a step, and radii to try."""
    with answering():
        from frankwolfe.cli.problems import facts, specify

        spec = specify(data, problem, columns)
        specified, preparation = spec.problem()
        rows = [*facts(data, spec, specified, preparation), *_measured(specified)]
    show(rows)


def _measured(problem: "Problem") -> list[tuple[str, str]]:
    """Return density, kappa / n and radii."""
    import numpy as np

    from frankwolfe.path import radius_grid

    stored = problem.X.nnz if problem.samples.rows.is_sparse else np.count_nonzero(problem.X)
    radii = ", ".join(f"{float(f'{radius:.2g}'):g}" for radius in radius_grid(problem, 5))  # two digits
    return [
        ("density", f"{stored / (problem.n * problem.d):.3g}"),
        ("kappa / n", f"{problem.kappa() / problem.n:.3g} (from 1 / n to 1; stochastic steps gain where it is small)"),
        ("radii to try", f"{radii} (the constraint hardly matters at the last)"),
    ]
