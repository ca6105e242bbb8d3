"""The tournament's report: one HTML file that opens offline."""

import platform
from collections.abc import Sequence

import numpy as np
from scipy.stats import gmean

import frankwolfe as fw

from ..report import Cell, Chart, DataTable, Report, Section, Series, render
from .analysis import LEVEL, PENALTY, Tournament
from .problems import TAILS
from .runs import REFERENCES, Run

PALETTE = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
    "#7f3c8d", "#8c6d31", "#b22222", "#5b6c00", "#1f7a8c", "#a0527a",
)  # fmt: skip
ALWAYS_SHOWN = ("sfw", "mokhtari", "lu-freund", "fw", *REFERENCES)
TAUS = np.geomspace(1.0, 100.0, 81)


def page(found: Tournament) -> str:
    """Return the report as HTML."""
    sections = [_ranking(found), _profiles(found), _problems(found), _kappa(found), _nonconvex(found), _measured(found)]
    seeds = f"{found.seeds} seeds for stochastic methods"
    facts = [
        ("Library", f"frankwolfe {fw.__version__}, Python {platform.python_version()}, NumPy {np.__version__}"),
        ("Runs", f"{len(found.runs)} runs: {len(found.methods)} methods, {len(found.facts)} problems, {seeds}"),
        ("Budget", f"{found.budget.max_passes:g} passes or {found.budget.max_seconds:g} seconds for each run"),
    ]
    subtitle = "All methods on all problems at equal budgets: who gets how far, in passes and in seconds."
    return render(Report("Projection-free methods, compared", subtitle, facts, [part for part in sections if part]))


def _series(found: Tournament, name: str, values: dict, **options) -> Series:
    """Return a curve with the colour and dash pattern of its method; with many methods, only the best have one."""
    index = found.methods.index(name)
    leaders = [each.method for by in ("passes", "seconds") for each in found.ranking(found.middle, by)[:4]]
    shown = len(found.methods) <= 8 or name in (*leaders, *ALWAYS_SHOWN)
    colour = "#111111" if name in REFERENCES else PALETTE[index % len(PALETTE)]
    dashed = name in REFERENCES or index // len(PALETTE) % 2 == 1
    return Series(name, values, colour, dashed=dashed, shown=shown, **options)


def _ranking(found: Tournament) -> Section:
    tables = []
    for by in ("passes", "seconds"):
        rows: list[Sequence[Cell]] = [
            [
                each.method + " (reference)" * (each.method in REFERENCES),
                each.ratio,
                None if np.isnan(each.low) else f"{each.low:.3g} to {each.high:.3g}",
                f"{each.reached:.0%}",
                f"{each.first:.0%}",
            ]
            for each in found.ranking(found.middle, by)
        ]
        heads = ["method", "ratio to the best", "interval", "cases reached", "cases first"]
        tables.append(DataTable(f"By {by} to F - F* <= {found.middle:g} F(0)", heads, rows))
    text = (
        "Ratio: cost over that of the best contender on the same problem with the same seed, as a geometric mean. "
        f"A run that does not reach the accuracy counts as {PENALTY:g} times the budget. Cases in which no contender "
        "reaches it are left out. The generated problems together weigh as much as one. Intervals are a bootstrap over "
        f"problems, at {LEVEL:.0%}."
    )
    return Section("Ranking", [text], tables=tables)


def _profiles(found: Tournament) -> Section | None:
    if not found.names("real", "kappa"):
        return None
    charts = []
    for number, accuracy in enumerate(found.accuracies):
        passes, seconds = (found.profile(accuracy, by, TAUS) for by in ("passes", "seconds"))
        series = [
            _series(found, name, {"tau": TAUS, "passes": passes[k], "seconds": seconds[k]})
            for k, name in enumerate(found.methods)
        ]
        quantities = [("passes", "share of cases within tau, by passes"), ("seconds", "share of cases, by seconds")]
        title = f"F - F* <= {accuracy:g} F(0)"
        horizontal = [("tau", "tau: factor above the best contender")]
        charts.append(Chart(f"profile-{number}", title, horizontal, quantities, series, log_y=False))
    text = (
        "At tau = 1 a curve shows on what share of the cases the method is the fastest; at tau = 10, on what share it "
        "needs at most ten times as much as the fastest; at the right edge, how often it reaches the accuracy at all. "
        "Higher is better (Dolan and More 2002). With many methods, those that are not in the legend are grey."
    )
    return Section("Performance profiles", [text], charts=charts)


def _curves(found: Tournament, names: Sequence[str]) -> list[Chart]:
    """Draw each problem: medians over seeds, on a common grid of passes, with bands from lowest to highest."""
    charts = []
    for problem in names:
        facts = found.facts[problem]
        convex = facts.group != "non-convex"
        label = "(F - F*) / F(0)" if convex else "exact gap / gap at the start"
        series = []
        for method in found.methods:
            runs = found.of(problem, method)
            if runs:
                rows = {"value": [found.suboptimality(run) if convex else _relative_gap(run) for run in runs]}
                rows |= {by: [run.trace[by] for run in runs] for by in ("seconds", "oracle_calls")}
                grid, columns = _on_grid(runs, rows)
                values = {"passes": grid} | {name: np.median(column, axis=0) for name, column in columns.items()}
                low, high = ({"value": edge(columns["value"], axis=0)} for edge in (np.min, np.max))
                series.append(_series(found, method, values, low=low, high=high))
        size = f"{facts.n:,} rows, {facts.d:,} columns"
        horizontal = [("passes", "passes over the data"), ("seconds", "seconds"), ("oracle_calls", "oracle calls")]
        charts.append(Chart(f"problem-{problem}", facts.title, horizontal, [("value", label)], series, note=size))
    return charts


def _relative_gap(run: Run) -> np.ndarray:
    return run.trace["fw_gap"] / run.trace["fw_gap"][0]


def _on_grid(runs: Sequence[Run], rows: dict[str, list]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Interpolate traces on a common geometric grid of passes."""
    traced = [run.trace["passes"] for run in runs]
    grid = np.geomspace(max(passes[passes > 0.0][0] for passes in traced), min(passes[-1] for passes in traced), 40)
    return grid, {
        name: np.array([np.interp(grid, passes, each) for passes, each in zip(traced, several, strict=True)])
        for name, several in rows.items()
    }


def _problems(found: Tournament) -> Section | None:
    names = found.names("real")
    if not names:
        return None
    typical = found.typical(found.middle, "passes", names)
    rows: list[Sequence[Cell]] = [
        [method, *map(float, costs)] for method, costs in zip(found.methods, typical, strict=True)
    ]
    table = DataTable(
        f"Passes to F - F* <= {found.middle:g} F(0)", ["method", *names], rows, "Geometric means over seeds."
    )
    text = "Lines are medians over seeds; bands run from the lowest seed to the highest."
    return Section("Problem by problem", [text], charts=_curves(found, names), tables=[table])


def _kappa(found: Tournament) -> Section | None:
    """Relate the passes of the paper's method to kappa / n over the generated family."""
    names = sorted(found.names("kappa"), key=lambda name: found.facts[name].kappa_share)
    if "sfw" not in found.methods or not names:
        return None
    share = np.array([found.facts[name].kappa_share for name in names])
    kinds = {kind: np.array([f"-{kind}-" in name for name in names]) for kind in TAILS}
    mine, rows, series = found.methods.index("sfw"), [], []
    rivals = [k for k, contends in enumerate(found.contends) if contends and k != mine]
    for number, accuracy in enumerate(found.accuracies):
        costs = found.costs(accuracy, "passes", names)
        logs = np.log(found.penalised(costs, "passes", names)).mean(axis=2)
        own, ratio = np.exp(logs[mine]), np.exp(logs[mine] - logs[rivals].mean(axis=0) if rivals else 0.0 * logs[mine])
        rows.append(
            [
                f"{accuracy:g}",
                f"{own.min():.3g} to {own.max():.3g}",
                *(_told(found.correlation(share, each)) for each in (own, ratio)),
            ]
        )
        series += [
            Series(
                f"to {accuracy:g}, {kind}",
                {"share": share[members], "own": own[members], "ratio": ratio[members]},
                PALETTE[number % len(PALETTE)],
                dashed=kind != "power",
                points=True,
            )
            for kind, members in kinds.items()
            if members.any()
        ]
    quantities = [("own", "passes of sfw"), ("ratio", "passes of sfw over those of its rivals, geometric mean")]
    heads = ["accuracy", "passes of sfw", "its passes and kappa / n", "relative to rivals and kappa / n"]
    text = (
        "The paper's rate is O(kappa / t) with kappa = D_1 / D_inf. These problems differ only in the tails of their "
        "columns: all columns have the same 2-norm. The constant of the rate is D_1 D_inf = kappa D_inf^2, never less "
        "than D_2^2. So with D_2 given, a small kappa comes with a large D_inf."
    )
    chart = Chart("kappa", "The generated family", [("share", "kappa / n")], quantities, series)
    return Section("Does kappa matter?", [text], [chart], [DataTable("Rank correlations, with intervals", heads, rows)])


def _told(correlation: tuple[float, float, float]) -> str | None:
    value, low, high = correlation
    return None if np.isnan(value) else f"{value:+.2f} ({low:+.2f} to {high:+.2f})"


def _nonconvex(found: Tournament) -> Section | None:
    names = found.names("non-convex")
    if not names:
        return None
    rows: list[Sequence[Cell]] = []
    for method in found.methods:
        least = [[_relative_gap(run).min() for run in found.of(name, method)] for name in names]
        rows.append([method, *(float(gmean(gaps)) if gaps else None for gaps in least)])
    text = (
        "Without convexity nothing bounds F - F*. The exact Frank-Wolfe gap measures the distance from stationarity. "
        "Curves are relative to the gap at the start."
    )
    table = DataTable("Smallest exact gap over that at the start", ["method", *names], rows)
    return Section("Non-convex losses", [text], _curves(found, names), [table])


def _measured(found: Tournament) -> Section:
    batch = "each method's default" if found.budget.batch_size is None else f"{found.budget.batch_size:g}"
    text = [
        f"Runs have no tolerance and exhaust their budget. Batch size: {batch}. Passes are gradient evaluations "
        "divided by the number of rows, for every method alike. Seconds exclude compilation and the evaluation of the "
        "trace; processes run side by side with one thread each, so compare seconds only with each other.",
        "F* is bounded from below by a certified run of the default method, to 1e-9 F(0). F - F* is measured from that "
        "bound. When an accuracy is reached is interpolated between traced points.",
    ]
    failed: list[Sequence[Cell]] = [[run.problem, run.method, run.seed, run.error] for run in found.runs if run.error]
    tables = [DataTable("Failed runs", ["problem", "method", "seed", "message"], failed)] if failed else []
    return Section("How it was measured", text, tables=tables)
