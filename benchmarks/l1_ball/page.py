"""The page of a race: a table and a chart for each dataset."""

import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

from report import Chart, DataTable, Report, Section, Series

PACKAGES = ("frankwolfe", "numpy", "scipy", "numba", "scikit-learn", "celer", "skglm", "cyanure", "copt")
COLOURS = {
    "sfw": "#0072b2",
    "fw-line-search": "#7f7f7f",
    "stochastic-pairwise": "#56b4e9",
    "corrective": "#003f5c",
    "auto": "#000000",
    "fista": "#d55e00",
    "copt-fw": "#e69f00",
    "copt-sfw": "#b8860b",
    "cyanure-ball": "#8c564b",
    "liblinear": "#009e73",
    "saga": "#9467bd",
    "lasso": "#2ca02c",
    "celer": "#cc79a7",
    "skglm": "#bcbd22",
    "cyanure": "#8c564b",
}
COLUMNS = (
    "solver", "kind", "outcome", "seconds", "ratio to the best of ours", "F - F*", "exact gap", "non-zeros", "fits",
    "compilation, s", "peak memory, MB", "rung",
)  # fmt: skip


def facts(args):
    """Say how it was run."""
    versions = ", ".join(f"{package} {installed(package)}" for package in PACKAGES)
    return [
        ("date", f"{datetime.now(UTC):%Y-%m-%d}"),
        ("target", f"F - F* at most {args.target:g} F(0), judged by the objective"),
        (
            "timing",
            f"least of {args.repeats} runs (runs beyond 5 s are not repeated), at most {args.max_seconds:g} s each",
        ),
        ("threads", f"{args.threads}, for every solver that can use them"),
        ("python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        ("versions", versions),
    ]


def installed(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def compose(results, about, target, tables=()):
    """Write the report; ``tables`` are those of other benchmarks, which come last."""
    names = dict.fromkeys(result["dataset"] for result in results)
    sections = [section(name, [result for result in results if result["dataset"] == name], target) for name in names]
    return Report(
        "Under an l1 bound: time to a target",
        "Linear models without intercept, the l1 norm of the weights bounded: this library, projected and "
        "projection-free peers, and penalised peers that are handed the equivalent penalty or search for it.",
        about,
        [how(), *sections, *(Section(table["title"], [], [], [DataTable(**table)]) for table in tables)],
    )


def how():
    return Section(
        "How to read this",
        [
            "Every solver climbs a ladder of tolerances (or numbers of iterations). Each rung is run from scratch in "
            "the solver's own process and judged by the objective, which is independent of all of them. The time is "
            "that of the first rung whose answer meets the target; two rungs halfway refine it.",
            "Penalty given: the solver was handed the penalty whose minimiser is the constrained optimum, worked out "
            "beforehand and untimed. Penalty searched: it knows only the radius, and what is timed is the whole "
            "search, warm-started where the solver can be. A search ends when the weights, scaled into the ball, meet "
            "the target, which the objective tells it, or when their norm is within 1e-3 of the radius, or within "
            "the rung's tolerance if that is smaller. Weights outside the ball are scaled into it before judgement.",
            "Compilation is done beforehand: its column is the first warm-up less the second. Peak memory is the whole "
            "process's, with the data and the imported packages.",
        ],
    )


def section(name, results, target):
    problem = next((result["problem"] for result in results if "problem" in result), None)
    if problem is None:
        return Section(name, [results[0]["reason"] or "no data"])
    rows, columns = problem["shape"]
    reference = problem["reference"]
    text = (
        f"{problem['title']}: {rows:,} rows, {columns:,} columns, {problem['loss']} loss, "
        f"radius {problem['radius']:g}. "
        f"F* = {reference['value']:.12g}, certified to {reference['gap']:.1g}; F(0) = {problem['zero_value']:.6g}; "
        f"equivalent penalty {reference['penalty']:.6g}."
    )
    left_out = [f"{r['solver']}: {r['status']} ({r['reason']})" for r in results if r["status"] != "met"]
    return Section(name, [text], [chart(name, results, target, problem)], [table(name, results, "; ".join(left_out))])


def table(name, results, note):
    ordered = sorted(results, key=lambda result: result.get("seconds") or float("inf"))
    keys = ("seconds", "ratio", "suboptimality", "gap", "nonzeros", "solves", "compile_seconds", "peak_mb")
    rows = [
        [
            result["solver"],
            result["family"],
            result["status"],
            *(whole(result.get(key)) for key in keys),
            f"{result['stop']:.2g}" if "stop" in result else None,
        ]
        for result in ordered
        if result["status"] not in ("absent", "skipped")
    ]
    return DataTable(f"Time to target, {name}", COLUMNS, rows, note)


def whole(value):
    """Return counts as whole numbers, so that they print as such."""
    return int(value) if isinstance(value, float) and value.is_integer() and value else value


def chart(name, results, target, problem):
    series = [curve(result) for result in results if result["rungs"]]
    return Chart(
        "".join(letter if letter.isalnum() else "-" for letter in name).strip("-"),
        f"F - F* against time, {name}",
        [("seconds", "seconds")],
        [("suboptimality", "F - F*"), ("gap", "exact gap")],
        series,
        note=f"Each point is a run from scratch. The target is {target * problem['zero_value']:.2g}.",
    )


def curve(result):
    falling = result["rungs"][0]["stop"] < 1  # tolerances fall from rung to rung, iterations rise
    rungs = sorted(result["rungs"], key=lambda rung: rung["stop"], reverse=falling)
    columns = {key: [rung[key] for rung in rungs] for key in ("seconds", "suboptimality", "gap")}
    colour = COLOURS.get(result["solver"].split("[")[0], "#444444")
    return Series(result["solver"], columns, colour, dashed="searched" in result["solver"], points=True)
