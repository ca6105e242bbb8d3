"""Run all experiments and write the report, Figure 1 and the traces to a folder."""

import csv
import platform
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from frankwolfe import __version__
from frankwolfe.datasets import RECIPES, load
from frankwolfe.paper.experiments import (
    EXTRA_METHODS,
    PAPER_METHODS,
    TAIL,
    Descent,
    Measured,
    Race,
    Stopping,
    Tell,
    descend,
    measure,
    observe,
    race,
    small_problem,
)
from frankwolfe.paper.report import Cell, Chart, DataTable, Report, Section, Series, draw, render

FILES = ("report.html", "figure1.png", "figure1.svg", "traces.csv")

THEORY_EXPONENTS = {"sfw": -1.0, "mokhtari": -1 / 3, "lu-freund": -1.0, "momentum": -1 / 3, "fw": -1.0}
"""Exponents of t in the convex rates of the paper's Table 1."""

COLOURS = {"sfw": "#0072b2", "mokhtari": "#e69f00", "lu-freund": "#009e73", "momentum": "#cc79a7", "fw": "#7f7f7f"}
"""Okabe and Ito's palette: distinguishable without telling red from green."""

STOPPING_COLOURS = ("#9aa5b1", "#56b4e9", "#d55e00", "#009e73", "#0072b2")

PASSES = [("passes", "passes over the data")]


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
    descents: list[Descent]
    measured: dict[int, Measured]


def investigate(plan: Plan, tell: Tell) -> Findings:
    """Run every experiment of the plan."""
    found = Findings(plan, [], [], [], {})
    for key in RECIPES:
        tell(f"{key}: data")
        table = load(key, plan.source)
        found.races.append(race(table, plan.methods, plan.seeds, plan.passes, tell))
        tell(f"{table.title}: the gap as a stopping rule")
        found.stoppings.append(observe(table, found.races[-1].optimum.fun, plan.passes))
        tell(f"{table.title}: a non-convex loss")
        found.descents.append(descend(table, plan.seeds, plan.passes))
    steps = np.unique(np.geomspace(2, 2000, 25).astype(int)).tolist()
    for batch_size in (1, 5):
        tell(f"theory, batch size {batch_size}")
        found.measured[batch_size] = measure(small_problem(), batch_size, steps, plan.theory_seeds)
    return found


def reproduce(folder: Path, plan: Plan, tell: Tell = lambda text: None) -> Findings:
    """Run the plan and write its files to a folder.

    The files replace earlier ones only when all are complete. `tell` receives a line before each piece of work.
    """
    folder.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=folder))
    try:
        findings = investigate(plan, tell)
        tell("report")
        report, png, svg, traces = (scratch / name for name in FILES)
        report.write_text(render(compose(findings)), encoding="utf-8")
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
        curves = [
            _band(name, {"evaluations": curve.passes * each.problem.n}, {"relative": each.relative(curve)})
            for name, curve in each.curves.items()
        ]
        draw(ax, curves, ("evaluations", "gradient evaluations"), ("relative", ""))
        ax.set_title(each.table.label)
    figure.axes[0].set_ylabel("relative suboptimality")
    figure.axes[0].legend(frameon=False, fontsize="small", loc="lower left")
    for path in paths:
        figure.savefig(path, dpi=160)


# --- The report -----------------------------------------------------------------------------------------------


def compose(findings: Findings) -> Report:
    """Turn findings into text, tables and charts."""
    plan, races = findings.plan, findings.races
    seeds = ", ".join(map(str, plan.seeds))
    facts = [
        ("Library", f"frankwolfe {__version__}, Python {platform.python_version()}, NumPy {np.__version__}"),
        ("Runs", f"{plan.passes:g} passes, batches of floor(n / 100) rows, seeds {seeds}"),
        *((each.table.label, each.table.origin) for each in races),
    ]
    subtitle = (
        "The experiments of Negiar et al., Stochastic Frank-Wolfe for Constrained Finite-Sum Minimization (ICML 2020), "
        "run again, with the theory's bounds and with certificates."
    )
    sections = [
        _comparison(races),
        _rates(races),
        _stopping(findings.stoppings),
        _theory(findings.measured),
        _nonconvex(findings.descents),
    ]
    return Report("Stochastic Frank-Wolfe, reproduced", subtitle, facts, sections)


def verdict(race: Race) -> str:
    """Say whether the paper's claim holds on a problem: ``"sfw"`` ends lowest of the paper's three methods."""
    ends = ", ".join(f"{name} {end:.2g}" for name, end in race.ends().items())
    claim = "as in the paper, sfw" if race.winner() == "sfw" else f"unlike in the paper, {race.winner()}"
    return (
        f"{race.table.label}: {claim} ends lowest of {', '.join(PAPER_METHODS)}. "
        f"Mean relative suboptimality at the end: {ends}."
    )


def _band(name: str, x: dict[str, np.ndarray], rows: dict[str, np.ndarray]) -> Series:
    """Return the curve of a method: means over seeds, with a band from the lowest to the highest."""
    mean, low, high = ({key: of(row, axis=0) for key, row in rows.items()} for of in (np.mean, np.min, np.max))
    return Series(name, x | mean, COLOURS[name], low=low, high=high)


def _comparison(races: Sequence[Race]) -> Section:
    charts = []
    for each in races:
        series = []
        for name, curve in each.curves.items():
            x = {"passes": curve.passes, "seconds": curve.seconds}
            rows = {"relative": each.relative(curve), "suboptimality": each.suboptimality(curve), "gap": curve.gap}
            series.append(_band(name, x, rows))
        horizontal = [*PASSES, ("seconds", "seconds")]
        vertical = [("relative", "relative suboptimality"), ("suboptimality", "F - F*"), ("gap", "exact gap")]
        note = f"F* = {each.optimum.fun:.10g}, certified to {each.optimum.gap:.1g}."
        charts.append(Chart(f"race-{each.table.key}", each.table.label, horizontal, vertical, series, note=note))
    text = (
        "Relative suboptimality is the paper's (F - f_min) / (f_max - f_min), with the extremes of the objective over "
        "all compared runs. The run that attains f_min is zero there, which a logarithmic axis cannot show; F - F* "
        "against a certified optimum has no such flaw. Lines are means over seeds; bands run from the lowest "
        "seed to the highest. With the same seed, all stochastic methods see the same rows in the same order."
    )
    return Section("Figure 1: the methods compared", [text, *map(verdict, races)], charts=charts)


def _rates(races: Sequence[Race]) -> Section:
    names = list(races[0].curves)
    slopes = {name: [each.slope(each.curves[name]) for each in races] for name in names}
    kept = sum(slope <= THEORY_EXPONENTS[name] for name in names for slope in slopes[name])
    sizes: list[list[Cell]] = []
    for table, problem, *_ in races:
        measured = problem.n, problem.d, problem.kappa() / problem.n
        where = f"l1 ball, radius {table.radius:g}"
        sizes.append([table.label, table.source, *measured, table.paper_kappa, table.loss, where])
    text = (
        "The theory's exponents are worst cases: a slope satisfies the theory if it is as steep or steeper. "
        f"{kept} of the {len(names) * len(races)} slopes do, within the passes that were made."
    )
    table_1 = DataTable(
        "Table 1: slope of log(F - F*) against log(passes), fitted to the tail",
        ["method", *(each.table.label for each in races), "theory (convex)"],
        [[name, *slopes[name], THEORY_EXPONENTS[name]] for name in names],
        note=f"Tail: the passes beyond {TAIL:.0%} of the budget; mean over seeds.",
    )
    heads = ["data", "source", "n", "d", "kappa / n", "paper's kappa / n", "loss", "set"]
    return Section(
        "Tables 1 and 2: rates and data", [text], [], [table_1, DataTable("Table 2: the problems", heads, sizes)]
    )


def _stopping(stoppings: Sequence[Stopping]) -> Section:
    charts = []
    rows: list[list[Cell]] = []
    for found in stoppings:
        series = [
            Series(name, {"passes": found.passes, "value": column}, colour, dashed="bar" in name)
            for colour, (name, column) in zip(STOPPING_COLOURS, found.curves.items(), strict=True)
        ]
        charts.append(Chart(f"stop-{found.table.key}", found.table.label, PASSES, [("value", "gap or error")], series))
        early = None if np.isnan(found.early) else f"{found.early:.0%}"
        share = found.certified.certificate_seconds / found.certified.seconds
        covered, checks = f"{found.covered:.1%}", found.certified.checks
        rows.append([found.table.label, covered, early, found.overshoot, checks, f"{share:.1%}"])
    text = [
        "The estimated gap comes free with every step, and so does its error bar. In expectation, a step changes "
        "the table of derivatives by the part b / n of the table's error H, and D_inf H bounds the error "
        "of the estimate. The bar itself is an estimate: here it covers the error at "
        f"{min(found.covered for found in stoppings):.1%} of the points or more, on each problem.",
        "The bar is of first order in the table's error, and the Frank-Wolfe gap is itself a loose bound. The table "
        "proves more: it is a point of the dual, so the estimated gap plus the "
        "table's mean Fenchel-Young residual, of second order, bounds F - F* (docs/certificates.md). Each step samples "
        "residuals at no cost, so a run knows when to check. A check needs predictions only, half a pass, and its "
        "result is proven.",
    ]
    heads = [
        "data",
        "error within the bar",
        "F - F* above the tolerance where the estimate meets it",
        "proven gap / tolerance where the online estimate meets it (median)",
        "certificates",
        "share of the time",
    ]
    note = "Certificates: of a run with an unreachable tolerance, which takes all it is allowed."
    table = DataTable("Stopping by the estimate, and the cost of certificates", heads, rows, note)
    return Section("The gap as a stopping rule", text, charts, [table])


def _theory(measured: dict[int, Measured]) -> Section:
    quantities = (
        ("table_error", "E H_t", "Lemma 3: error of the table"),
        ("gap_error", "E |g - g^|", "Proposition 1: error of the estimated gap"),
        ("suboptimality", "E [F - F*]", "Theorem 1: suboptimality"),
    )
    charts = []
    for key, label, title in quantities:
        series = []
        for batch_size, found in measured.items():
            columns = {"measured": getattr(found, key).mean(axis=0), "bound": getattr(found.bounds, key)(found.t)}
            for name, colour in (("measured", "#0072b2"), ("bound", "#d55e00")):
                values = {"t": found.t, key: columns[name]}
                series.append(Series(f"{name}, b = {batch_size}", values, colour, dashed=batch_size > 1))
        charts.append(Chart(f"theory-{key}", title, [("t", "step t")], [(key, label)], series))
    some = next(iter(measured.values()))
    worst = min(float(found.gap_slack.min()) for found in measured.values())
    text = [
        f"A small problem ({some.bounds.n} rows) with exact diameters, mean over {len(some.table_error)} seeds. "
        "With b rows per step the paper's rho = 1 - 1/n becomes 1 - b/n, and every constant is derived again.",
        f"|g - g^| <= D_inf H must hold at every step, not only on average: the smallest slack seen is {worst:.2g}.",
    ]
    return Section("Theory: measured against bound", text, charts)


def _nonconvex(descents: Sequence[Descent]) -> Section:
    charts = []
    rows: list[list[Cell]] = []
    for number, found in enumerate(descents):
        series = [_band(name, {"passes": curve.passes}, {"gap": curve.gap}) for name, curve in found.curves.items()]
        charts.append(Chart(f"nonconvex-{number}", found.title, PASSES, [("gap", "exact gap")], series))
        start = float(found.curves["sfw"].gap[:, 0].mean())
        rows.append([found.title, *map(found.least_gap, found.curves), start])
    text = (
        "Without convexity the exact gap measures stationarity: it is zero only where no feasible direction is a "
        "descent direction. Theorem 2 states that its lower limit is zero. The table has the smallest gap of each run."
    )
    table = DataTable("Smallest exact gap", ["problem", "sfw", "fw", "at the start"], rows)
    return Section("Non-convex losses", [text], charts, [table])
