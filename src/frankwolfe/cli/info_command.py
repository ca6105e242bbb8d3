"""``frankwolfe info``: describe a file, and suggest radii."""

from pathlib import Path
from typing import Any

import click

from frankwolfe.cli.options import COLUMNS, DATA, PROBLEM, Options
from frankwolfe.cli.output import answering, show


@click.command(short_help="Describe a file, and suggest radii.")
@DATA
@PROBLEM
@COLUMNS
def info(data: Path, **given: Any) -> None:
    """Describe the file DATA: its size, its target, how evenly rows share a step, and radii to try."""
    with answering():
        import numpy as np

        from frankwolfe.cli.problems import facts, specify
        from frankwolfe.path import radius_grid

        spec = specify(data, Options(**given))
        problem, preparation = spec.problem()
        stored = problem.X.nnz if problem.samples.rows.is_sparse else np.count_nonzero(problem.X)
        radii = ", ".join(f"{float(f'{radius:.2g}'):g}" for radius in radius_grid(problem, 5))  # two digits
        kappa = problem.kappa() / problem.n
        rows = [
            *facts(data, spec, problem, preparation),
            ("density", f"{stored / (problem.n * problem.d):.3g}"),
            ("kappa / n", f"{kappa:.3g} (from 1 / n to 1; stochastic steps gain where it is small)"),
            ("radii to try", f"{radii} (the constraint hardly matters at the last)"),
        ]
    show(rows)
