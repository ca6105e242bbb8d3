"""All experiments in one go, written to a folder: report, figure, traces."""

import csv
import platform
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from frankwolfe import __version__
from frankwolfe.datasets import RECIPES, load
from frankwolfe.paper.bounds import measure, small_problem
from frankwolfe.paper.convergence import EXTRA_METHODS, PAPER_METHODS, Race, race
from frankwolfe.paper.figures import figure_one
from frankwolfe.paper.nonconvex_losses import descend
from frankwolfe.paper.pages import Findings, compose
from frankwolfe.paper.render import render
from frankwolfe.paper.stopping import observe


class Plan(NamedTuple):
    """How much to run.

    Attributes
    ----------
    seeds : sequence of int
        Seeds of the comparison and of the non-convex runs.
    passes : float
        Budget of each run.
    theory_seeds : int
        Seeds that the measured expectations are averaged over.
    methods : sequence of str
        Methods to compare; the paper's three must be among them.
    source : str
        Where data may come from (see `frankwolfe.datasets.load`).
    """

    seeds: Sequence[int] = (0, 1, 2, 3, 4)
    passes: float = 50.0
    theory_seeds: int = 400
    methods: Sequence[str] = PAPER_METHODS + EXTRA_METHODS
    source: str = "auto"

    def pieces(self) -> int:
        """Return how often progress will be told."""
        runs = sum(1 if method == "fw" else len(self.seeds) for method in self.methods)
        return len(RECIPES) * (runs + 4) + 2


QUICK = Plan(seeds=(0, 1), passes=20.0, theory_seeds=60)

FILES = ("report.html", "figure1.png", "figure1.svg", "traces.csv")


def investigate(plan: Plan, tell: Callable[[str], None] = lambda text: None) -> Findings:
    """Run every experiment of the plan."""
    races, stoppings, descents = [], [], []
    for key in RECIPES:
        tell(f"{key}: data")
        table = load(key, plan.source)
        races.append(race(table, plan.methods, plan.seeds, plan.passes, tell))
        tell(f"{table.title}: the gap as a stopping rule")
        stoppings.append(observe(table, races[-1].reference, plan.passes))
        tell(f"{table.title}: a non-convex loss")
        descents.append(descend(table, plan.seeds, plan.passes))
    measured = {}
    for batch_size in (1, 5):
        tell(f"theory, batch size {batch_size}")
        steps = np.unique(np.geomspace(2, 2000, 25).astype(int)).tolist()
        measured[batch_size] = measure(small_problem(), batch_size, steps, plan.theory_seeds)
    return Findings(races, stoppings, measured, descents, _facts(plan))


def _facts(plan: Plan) -> list[tuple[str, str]]:
    return [
        ("Library", f"frankwolfe {__version__}, Python {platform.python_version()}, NumPy {np.__version__}"),
        ("Runs", f"{plan.passes:g} passes, batches of floor(n / 100) rows, seeds {', '.join(map(str, plan.seeds))}"),
    ]


def reproduce(folder: Path, plan: Plan, tell: Callable[[str], None] = lambda text: None) -> Findings:
    """Run the plan and write its files to a folder; a run that breaks off leaves what was there before.

    Parameters
    ----------
    folder : Path
        Made if it does not exist.
    plan : Plan
        How much to run.
    tell : callable
        Called with a line before each piece of work.

    Returns
    -------
    Findings
    """
    folder.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=folder))
    try:
        findings = investigate(plan, tell)
        tell("report")
        report, png, svg, traces = (scratch / name for name in FILES)
        report.write_text(render(compose(findings)), encoding="utf-8")
        figure_one(findings.races, [png, svg])
        _write_traces(findings.races, traces)
        for name in FILES:
            (scratch / name).replace(folder / name)
        return findings
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _write_traces(races: Sequence[Race], path: Path) -> None:
    """Write every traced point of every run as one row."""
    heads = ("data", "source", "method", "seed", "nit", "passes", "seconds")
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow([*heads, "fun", "gap", "gap_estimate", "relative_suboptimality", "suboptimality"])
        for found in races:
            for curve in found.curves.values():
                rows = (curve.fun, curve.gap, curve.gap_estimate, found.relative(curve), found.suboptimality(curve))
                for seed in range(len(curve.fun)):
                    fixed = (found.table.title, found.table.source, curve.method, seed)
                    moving = zip(curve.nit, curve.passes, curve.seconds, *(row[seed] for row in rows), strict=True)
                    writer.writerows([*fixed, *values] for values in moving)
