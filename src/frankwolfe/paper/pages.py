"""The report's pages: findings turned into text, tables and charts."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from frankwolfe.paper.bounds import Measured
from frankwolfe.paper.convergence import PAPER_METHODS, TAIL, THEORY_EXPONENTS, Curve, Race
from frankwolfe.paper.nonconvex_losses import Descent
from frankwolfe.paper.render import MISSING
from frankwolfe.paper.report import Cell, Chart, DataTable, Report, Section, Series
from frankwolfe.paper.stopping import Stopping
from frankwolfe.paper.style import COLOURS

HORIZONTAL = [("passes", "passes over the data"), ("seconds", "seconds"), ("lmo_calls", "oracle calls")]


class Findings(NamedTuple):
    """Everything the experiments found, and how they were run."""

    races: Sequence[Race]
    stoppings: Sequence[Stopping]
    measured: dict[int, Measured]
    descents: Sequence[Descent]
    facts: Sequence[tuple[str, str]]


def compose(findings: Findings) -> Report:
    """Write the report."""
    return Report(
        "Stochastic Frank-Wolfe, reproduced",
        "The experiments of Negiar et al., Stochastic Frank-Wolfe for Constrained Finite-Sum Minimization (ICML 2020), "
        "run anew, with the theory's bounds and the certificates beside them.",
        [*findings.facts, *_sources(findings.races)],
        [
            _comparison(findings.races),
            _rates(findings.races),
            _stopping(findings.stoppings),
            _theory(findings.measured),
            _nonconvex(findings.descents),
        ],
    )


def _sources(races: Sequence[Race]) -> list[tuple[str, str]]:
    """Say where each table comes from; a stand-in says so itself."""
    return [(race.table.label, race.table.origin) for race in races]


def verdict(race: Race) -> str:
    """Say which of the paper's methods ended lowest on a problem, and whether one that it does not compare ended lower.

    Ends are compared by mean objective, so that the order is the one the relative suboptimalities print.
    """
    last = {name: race.relative(curve)[:, -1].mean() for name, curve in race.curves.items()}
    paper = [name for name in last if name in PAPER_METHODS]
    winner = race.winner()
    claim = "as in the paper, sfw ends lowest" if winner == "sfw" else f"unlike in the paper, {winner} ends lowest"
    lower = sorted((name for name in last if name not in paper and last[name] < last[winner]), key=last.__getitem__)
    beyond = f"; {' and '.join(lower)}, which the paper does not compare, end{'s' * (len(lower) == 1)} lower"
    ranked = ", ".join(f"{name} {last[name]:.2g}" for name in sorted(last, key=last.__getitem__))
    return (
        f"{race.table.label}: {claim} of {_listed(paper)}{beyond if lower else ''} "
        f"(mean relative suboptimality at the end: {ranked})."
    )


def _listed(names: Sequence[str]) -> str:
    """Return names as a sentence has them: ``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


# --- Figure 1 -------------------------------------------------------------------------------------------------


def _curve_series(race: Race, curve: Curve) -> Series:
    rows = {
        "relative": race.relative(curve),
        "suboptimality": race.suboptimality(curve),
        "gap": curve.gap,
    }
    values = {"passes": curve.passes, "seconds": curve.seconds, "lmo_calls": curve.nit.astype(float)}
    values |= {name: found.mean(axis=0) for name, found in rows.items()}
    low = {name: found.min(axis=0) for name, found in rows.items()}
    high = {name: found.max(axis=0) for name, found in rows.items()}
    return Series(curve.method, values, COLOURS[curve.method], low=low, high=high)


def _comparison(races: Sequence[Race]) -> Section:
    charts = [
        Chart(
            f"race-{race.table.key}",
            race.table.label,
            HORIZONTAL,
            [("relative", "relative suboptimality"), ("suboptimality", "F - F*"), ("gap", "exact gap")],
            [_curve_series(race, curve) for curve in race.curves.values()],
            note=f"F* = {race.reference.value:.10g}, certified to {race.reference.gap:.1g}.",
        )
        for race in races
    ]
    text = [
        "Relative suboptimality is the paper's: (F - f_min) / (f_max - f_min), over the objectives met by the "
        "compared methods. The run that meets f_min is at zero there, which a logarithmic axis cannot show; F - F* "
        "against a certified optimum does not have that flaw. Lines are means over seeds, bands run from the lowest "
        "seed to the highest. With the same seed, all stochastic methods see the same rows in the same order.",
        *(verdict(race) for race in races),
    ]
    return Section("Figure 1: the methods compared", text, charts=charts)


# --- Tables 1 and 2 -------------------------------------------------------------------------------------------


def _rates(races: Sequence[Race]) -> Section:
    names = list(races[0].curves)
    slopes: list[list[Cell]] = [
        [name, *(race.slope(race.curves[name]) for race in races), THEORY_EXPONENTS[name]] for name in names
    ]
    sizes: list[list[Cell]] = [
        [
            race.table.label,
            race.table.source,
            race.problem.n,
            race.problem.d,
            race.problem.kappa() / race.problem.n,
            race.table.paper_kappa,
            race.table.loss,
            f"l1 ball, radius {race.table.radius:g}",
        ]
        for race in races
    ]
    kept = sum(race.slope(race.curves[name]) <= THEORY_EXPONENTS[name] for name in names for race in races)
    return Section(
        "Tables 1 and 2: rates and data",
        [
            "The theory's exponents are worst cases: a slope that is as steep, or steeper, keeps the promise. "
            f"{kept} of the {len(names) * len(races)} slopes do, over the passes that were made.",
        ],
        tables=[
            DataTable(
                "Table 1: slope of log(F - F*) against log(passes), fitted to the tail",
                ["method", *(race.table.label for race in races), "theory (convex)"],
                slopes,
                note=f"Tail: the passes beyond {TAIL:.0%} of the budget; mean over seeds.",
            ),
            DataTable(
                "Table 2: the problems",
                ["data", "source", "n", "d", "kappa / n", "paper's kappa / n", "loss", "set"],
                sizes,
            ),
        ],
    )


# --- the gap as a stopping rule -------------------------------------------------------------------------------


def _stopping(stoppings: Sequence[Stopping]) -> Section:
    charts = []
    for found in stoppings:
        columns = {
            "error bar": found.gap_estimate + found.error_bar,
            "estimated gap": found.gap_estimate,
            "exact gap": found.gap,
            "proven by the table": found.bound,
            "suboptimality": found.suboptimality,
        }
        names = {"error bar": "estimate + error bar", "exact gap": "Frank-Wolfe gap", "suboptimality": "F - F*"}
        series = [
            Series(
                names.get(name, name),
                {"passes": found.passes, "value": column},
                COLOURS[name],
                dashed=name == "error bar",
            )
            for name, column in columns.items()
        ]
        charts.append(
            Chart(f"stop-{found.table.key}", found.table.label, HORIZONTAL[:1], [("value", "gap or error")], series)
        )
    rows: list[list[Cell]] = [
        [
            found.table.label,
            f"{found.covered:.1%}",
            MISSING if np.isnan(found.early) else f"{found.early:.0%}",
            found.overshoot,
            found.checks,
            f"{found.share:.1%}",
        ]
        for found in stoppings
    ]
    return Section(
        "The gap as a stopping rule",
        [
            "The estimated gap comes free with every step. Its error bar does too: what a step changes in the table "
            "of derivatives is, in expectation, the part b / n of the table's error H, and D_inf H bounds the error "
            "of the estimate. It is an estimate too: here it covers the error at "
            f"{min(found.covered for found in stoppings):.1%} of the points or more, on each problem.",
            "That bar is of first order in the table's error, and bounds a distance to the Frank-Wolfe gap, which is "
            "itself a loose bound. The table proves more: it is a point of the dual, so the estimated gap and the "
            "table's mean Fenchel-Young residual, of second order, bound F - F* (docs/certificates.md). Each step sees "
            "residuals for nothing, so a run knows when to check; a check needs predictions only, half a pass, and "
            "what it finds is proven.",
        ],
        charts=charts,
        tables=[
            DataTable(
                "What the estimate would have done, and what certificates cost",
                [
                    "data",
                    "error within the bar",
                    "F - F* above the tolerance where the estimate meets it",
                    "proven gap / tolerance where the online estimate meets it (median)",
                    "certificates",
                    "share of the time",
                ],
                rows,
                note="Certificates: of a run with a tolerance out of its reach, which takes all it is allowed.",
            )
        ],
    )


# --- measured against bound -----------------------------------------------------------------------------------


def _theory(measured: dict[int, Measured]) -> Section:
    quantities = (
        ("table_error", "E H_t", "Lemma 3: error of the table"),
        ("gap_error", "E |g - g^|", "Proposition 1: error of the estimated gap"),
        ("suboptimality", "E [F - F*]", "Theorem 1: suboptimality"),
    )
    charts = []
    for key, label, title in quantities:
        series = []
        for (batch_size, found), dashed in zip(measured.items(), (False, True), strict=False):
            values = getattr(found, key).mean(axis=0)
            bound = getattr(found.bounds, key)(found.t)
            steps = found.t.astype(float)
            for name, column in (("measured", values), ("bound", bound)):
                series.append(
                    Series(f"{name}, b = {batch_size}", {"t": steps, key: column}, COLOURS[name], dashed=dashed)
                )
        charts.append(Chart(f"theory-{key}", title, [("t", "step t")], [(key, label)], series))
    some = next(iter(measured.values()))
    worst = min(float(found.gap_slack.min()) for found in measured.values())
    return Section(
        "Theory: measured against bound",
        [
            f"A small problem ({some.bounds.n} rows) with exact diameters, mean over {len(some.table_error)} seeds. "
            "With b rows a step the paper's rho = 1 - 1/n becomes 1 - b/n, and every constant is derived again.",
            "|g - g^| <= D_inf H must hold at every single step, not on average: the smallest slack seen is "
            f"{worst:.2g}.",
        ],
        charts=charts,
    )


# --- non-convex -----------------------------------------------------------------------------------------------


def _nonconvex(descents: Sequence[Descent]) -> Section:
    charts = []
    for number, descent in enumerate(descents):
        series = [
            Series(
                name,
                {"passes": descent.passes[name], "gap": gaps.mean(axis=0)},
                COLOURS[name],
                low={"gap": gaps.min(axis=0)},
                high={"gap": gaps.max(axis=0)},
            )
            for name, gaps in descent.gap.items()
        ]
        charts.append(Chart(f"nonconvex-{number}", descent.title, HORIZONTAL[:1], [("gap", "exact gap")], series))
    rows: list[list[Cell]] = [
        [descent.title, *(descent.least_gap(name) for name in descent.gap), float(np.mean(descent.gap["sfw"][:, 0]))]
        for descent in descents
    ]
    return Section(
        "Non-convex losses",
        [
            "Without convexity the exact gap measures stationarity: it is zero only where no feasible direction goes "
            "down. Theorem 2 says that its lower limit is zero; the table gives the smallest gap met along the run.",
        ],
        charts=charts,
        tables=[DataTable("Smallest exact gap", ["problem", "sfw", "fw", "at the start"], rows)],
    )
