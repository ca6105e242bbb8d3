"""``frankwolfe info``: describe a file, and suggest radii."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from frankwolfe.cli.options import COLUMNS, DATA, PROBLEM
from frankwolfe.cli.output import answering, show

if TYPE_CHECKING:
    from frankwolfe.problem import Problem


@click.command(short_help="What a file holds, and which radii to try.")
@DATA
@PROBLEM
@COLUMNS
def info(data: Path, **problem: Any) -> None:
    """Say what the file DATA holds: its size, its target, how evenly rows share a step, and radii to try."""
    with answering():
        from frankwolfe.cli.posing import facts, specify

        spec = specify(data, **problem)
        posed = spec.pose()
        rows = [*facts(data, spec, posed), *_measured(posed.problem)]
    show(rows)


def _measured(problem: "Problem") -> list[tuple[str, str]]:
    """Return density, kappa / n and radii."""
    import numpy as np

    from frankwolfe.path import radius_grid

    stored = np.count_nonzero(problem.X) if isinstance(problem.X, np.ndarray) else problem.X.nnz
    radii = ", ".join(f"{float(f'{radius:.2g}'):g}" for radius in radius_grid(problem, 5))  # two digits
    return [
        ("density", f"{stored / (problem.n * problem.d):.3g}"),
        (
            "kappa / n",
            f"{problem.kappa() / problem.n:.3g} (from 1 / n to 1; stochastic steps gain where it is small)",
        ),
        (
            "radii to try",
            f"{radii} (the constraint hardly matters at the last)",
        ),
    ]
