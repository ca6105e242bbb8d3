"""Run all experiments and write the report, Figure 1 and the traces to a folder."""

import csv
import platform
import shutil
import tempfile
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path
from string import Template
from typing import NamedTuple

import numpy as np

from frankwolfe import __version__
from frankwolfe.datasets import RECIPES, load
from frankwolfe.paper import experiments
from frankwolfe.paper.experiments import EXTRA_METHODS, PAPER_METHODS, Measured, NonConvexRuns, Notify, Race, Stopping
from frankwolfe.paper.report import Cell, Line, Panel, chart, draw, table

FILES = ("report.html", "figure1.png", "figure1.svg", "traces.csv")

THEORY_EXPONENTS = {"sfw": -1.0, "mokhtari": -1 / 3, "lu-freund": -1.0, "momentum": -1 / 3, "fw": -1.0}
"""Exponents of t in the convex rates of the paper's Table 1."""

COLOURS = {"sfw": "#0072b2", "mokhtari": "#e69f00", "lu-freund": "#009e73", "momentum": "#cc79a7", "fw": "#7f7f7f"}
"""Okabe and Ito's palette: distinguishable without telling red from green."""

STOPPING_COLOURS = ("#9aa5b1", "#56b4e9", "#d55e00", "#009e73", "#0072b2")


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
        """Return how often progress is reported."""
        runs = sum(1 if method == "fw" else len(self.seeds) for method in self.methods)
        return len(RECIPES) * (runs + 4) + 2


QUICK = Plan(seeds=(0, 1), passes=20.0, theory_seeds=60)


class Findings(NamedTuple):
    """The results of all experiments."""

    plan: Plan
    races: list[Race]
    stoppings: list[Stopping]
    descents: list[NonConvexRuns]
    measured: dict[int, Measured]


def investigate(plan: Plan, notify: Notify) -> Findings:
    """Run every experiment of the plan."""
    found = Findings(plan, [], [], [], {})
    for key in RECIPES:
        notify(f"{key}: data")
        table = load(key, plan.source)
        found.races.append(experiments.race(table, plan.methods, plan.seeds, plan.passes, notify))
        notify(f"{table.title}: the gap as a stopping rule")
        found.stoppings.append(experiments.observe(table, found.races[-1].optimum.fun, plan.passes))
        notify(f"{table.title}: a non-convex loss")
        found.descents.append(experiments.descend(table, plan.seeds, plan.passes))
    steps = np.unique(np.geomspace(2, 2000, 25).astype(int)).tolist()
    for batch_size in (1, 5):
        notify(f"theory, batch size {batch_size}")
        found.measured[batch_size] = experiments.measure(
            experiments.small_problem(), batch_size, steps, plan.theory_seeds
        )
    return found


def reproduce(folder: Path, plan: Plan, notify: Notify = lambda text: None) -> Findings:
    """Run the plan and write its files to a folder.

    The files replace earlier ones only when all are complete. `notify` receives a line before each piece of work.
    """
    folder.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=folder))
    try:
        findings = investigate(plan, notify)
        notify("report")
        report, png, svg, traces = (scratch / name for name in FILES)
        report.write_text(compose(findings), encoding="utf-8")
        draw_figure_one(findings.races, [png, svg])
        write_traces(findings.races, traces)
        for name in FILES:
            (scratch / name).replace(folder / name)
        return findings
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def write_traces(races: Sequence[Race], path: Path) -> None:
    """Write every traced point of every run as one row of a CSV file."""
    heads = ["data", "source", "method", "seed", "nit", "passes", "seconds"]
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow([*heads, "fun", "gap", "gap_estimate", "relative_suboptimality", "suboptimality"])
        for each in races:
            for name, curve in each.curves.items():
                columns = (curve.fun, curve.gap, curve.gap_estimate, each.relative(curve), each.suboptimality(curve))
                for seed, rows in enumerate(zip(*columns, strict=True)):
                    for values in zip(curve.nit, curve.passes, curve.seconds, *rows, strict=True):
                        writer.writerow([each.table.title, each.table.source, name, seed, *values])


def draw_figure_one(races: Sequence[Race], paths: Sequence[Path]) -> None:
    """Save the paper's Figure 1: relative suboptimality against gradient evaluations, one log-log panel per problem."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.4 * len(races), 3.9), layout="constrained")
    for ax, each in zip(figure.subplots(1, len(races), squeeze=False)[0], races, strict=True):
        lines = [
            Line(name, run.passes * each.problem.n, each.relative(run), COLOURS[name])
            for name, run in each.curves.items()
        ]
        draw(ax, Panel("gradient evaluations", "", lines))
        ax.set_title(each.table.label)
    figure.axes[0].set_ylabel("relative suboptimality")
    figure.axes[0].legend(frameon=False, fontsize="small", loc="lower left")
    for path in paths:
        figure.savefig(path, dpi=160)


# --- The report -----------------------------------------------------------------------------------------------


def compose(findings: Findings) -> str:
    """Return the report: the prose of ``report.html``, with tables and charts of the findings."""
    plan, races = findings.plan, findings.races
    facts = [
        ("Library", f"frankwolfe {__version__}, Python {platform.python_version()}, NumPy {np.__version__}"),
        ("Runs", f"{plan.passes:g} passes, batches of floor(n / 100) rows, seeds {', '.join(map(str, plan.seeds))}"),
        *((each.table.label, each.table.origin) for each in races),
    ]
    places = {
        "facts": "\n".join(f"<dt>{escape(label)}</dt><dd>{escape(words)}</dd>" for label, words in facts),
        "verdicts": "\n".join(f"<p>{escape(verdict(each))}</p>" for each in races),
        "races": "\n".join(map(_race_chart, races)),
        **_rates(races),
        **_stopping(findings.stoppings),
        **_theory(findings.measured),
        **_nonconvex(findings.descents),
    }
    page = resources.files("frankwolfe.paper").joinpath("report.html").read_text(encoding="utf-8")
    return Template(page).substitute(places)


def verdict(race: Race) -> str:
    """Say whether the paper's claim holds on a problem: ``"sfw"`` ends lowest of the paper's three methods."""
    ends = ", ".join(f"{name} {end:.2g}" for name, end in race.ends().items())
    claim = "as in the paper, sfw" if race.winner() == "sfw" else f"unlike in the paper, {race.winner()}"
    return (
        f"{race.table.label}: {claim} ends lowest of {', '.join(PAPER_METHODS)}. "
        f"Mean relative suboptimality at the end: {ends}."
    )


def _race_chart(race: Race) -> str:
    runs = race.curves.items()
    relative = "relative suboptimality"
    panels = [
        Panel("passes over the data", relative, [Line(k, c.passes, race.relative(c), COLOURS[k]) for k, c in runs]),
        Panel(
            "passes over the data", "F - F*", [Line(k, c.passes, race.suboptimality(c), COLOURS[k]) for k, c in runs]
        ),
        Panel("passes over the data", "exact gap", [Line(k, c.passes, c.gap, COLOURS[k]) for k, c in runs]),
        Panel("seconds", relative, [Line(k, c.seconds, race.relative(c), COLOURS[k]) for k, c in runs]),
    ]
    note = f"F* = {race.optimum.fun:.10g}, certified to {race.optimum.gap:.1g}."
    return chart(race.table.label, panels, note)


def _rates(races: Sequence[Race]) -> dict[str, str]:
    slopes = {name: [each.slope(each.curves[name]) for each in races] for name in races[0].curves}
    kept = [slope <= THEORY_EXPONENTS[name] for name, found in slopes.items() for slope in found]
    rows: list[list[Cell]] = [[name, *found, THEORY_EXPONENTS[name]] for name, found in slopes.items()]
    sizes: list[list[Cell]] = []
    for data, problem, *_ in races:
        measured = problem.n, problem.d, problem.kappa() / problem.n
        where = f"l1 ball, radius {data.radius:g}"
        sizes.append([data.label, data.source, *measured, data.paper_kappa, data.loss, where])
    heads = ["data", "source", "n", "d", "kappa / n", "paper's kappa / n", "loss", "set"]
    title = "Table 1: slope of log(F - F*) against log(passes), fitted to the tail"
    return {
        "kept": f"{sum(kept)} of the {len(kept)}",
        "tail": f"{experiments.TAIL:.0%}",
        "slopes": table(title, ["method", *(each.table.label for each in races), "theory (convex)"], rows),
        "sizes": table("Table 2: the problems", heads, sizes),
    }


def _stopping(stoppings: Sequence[Stopping]) -> dict[str, str]:
    charts, rows = [], list[list[Cell]]()
    for found in stoppings:
        lines = [
            Line(name, found.passes, column, colour, dashed="bar" in name)
            for colour, (name, column) in zip(STOPPING_COLOURS, found.curves.items(), strict=True)
        ]
        charts.append(chart(found.table.label, [Panel("passes over the data", "gap or error", lines)]))
        early = None if np.isnan(found.early) else f"{found.early:.0%}"
        share = f"{found.certified.certificate_seconds / found.certified.seconds:.1%}"
        covered, checks = f"{found.covered:.1%}", found.certified.checks
        rows.append([found.table.label, covered, early, found.overshoot, checks, share])
    heads = ["data", "error within the bar", "stops early", "overshoot", "certificates", "share of the time"]
    return {
        "covered": f"{min(found.covered for found in stoppings):.1%}",
        "stopping": "\n".join(charts),
        "stops": table("Stopping by the estimate, and the cost of certificates", heads, rows),
    }


def _theory(measured: dict[int, Measured]) -> dict[str, str]:
    quantities = (
        ("table_error", "E H_t", "Lemma 3: error of the table"),
        ("gap_error", "E |g - g^|", "Proposition 1: error of the estimated gap"),
        ("suboptimality", "E [F - F*]", "Theorem 1: suboptimality"),
    )
    charts = []
    for key, label, title in quantities:
        lines = []
        for b, found in measured.items():
            mean, bound = getattr(found, key).mean(axis=0), getattr(found.bounds, key)(found.t)
            lines.append(Line(f"measured, b = {b}", found.t, mean, "#0072b2", dashed=b > 1))
            lines.append(Line(f"bound, b = {b}", found.t, bound, "#d55e00", dashed=b > 1))
        charts.append(chart(title, [Panel("step t", label, lines)]))
    some = next(iter(measured.values()))
    slack = min(float(found.gap_slack.min()) for found in measured.values())
    seeds = str(len(some.table_error))
    return {"rows": str(some.bounds.n), "seeds": seeds, "slack": f"{slack:.2g}", "theory": "\n".join(charts)}


def _nonconvex(descents: Sequence[NonConvexRuns]) -> dict[str, str]:
    charts, rows = [], list[list[Cell]]()
    for found in descents:
        lines = [Line(name, run.passes, run.gap, COLOURS[name]) for name, run in found.curves.items()]
        charts.append(chart(found.title, [Panel("passes over the data", "exact gap", lines)]))
        rows.append([found.title, *map(found.least_gap, found.curves), float(found.curves["sfw"].gap[:, 0].mean())])
    heads = ["problem", "sfw", "fw", "at the start"]
    return {"nonconvex": "\n".join(charts), "least": table("Smallest exact gap", heads, rows)}
