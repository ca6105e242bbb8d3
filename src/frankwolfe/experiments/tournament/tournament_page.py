"""The tournament's page: its sections in order, and how everything was measured."""

import platform

import numpy as np

from frankwolfe import __version__
from frankwolfe.experiments.report import Cell, DataTable, Report, Section
from frankwolfe.experiments.tournament.kappa_page import kappa_sections
from frankwolfe.experiments.tournament.outcome import Tournament
from frankwolfe.experiments.tournament.page_style import Style
from frankwolfe.experiments.tournament.problem_pages import curves_section, nonconvex_sections
from frankwolfe.experiments.tournament.runs import Run
from frankwolfe.experiments.tournament.standing_pages import (
    choice_section,
    profiles_section,
    ranking_section,
    survey_sections,
)


def compose_page(found: Tournament) -> Report:
    """Write the page."""
    style = Style(found)
    sections = [
        ranking_section(found),
        choice_section(found),
        profiles_section(found, style),
        curves_section(found, style),
        *survey_sections(found),
        *kappa_sections(found, style),
        *nonconvex_sections(found, style),
        _measurement(found),
    ]
    return Report(
        "Projection-free methods, compared",
        "Every method on every problem, at equal budgets: who gets how far, in passes and in seconds.",
        _facts(found),
        sections,
    )


def _facts(found: Tournament) -> list[tuple[str, str]]:
    seeds = f"{found.seeds} seeds" if found.seeds > 1 else "one seed"
    facts = [
        ("Library", f"frankwolfe {__version__}, Python {platform.python_version()}, NumPy {np.__version__}"),
        (
            "Runs",
            f"{len(found.runs)} runs: {len(found.methods)} methods, {len(found.entries)} problems, {seeds} where a "
            f"method draws rows; {found.budget.max_passes:g} passes or {found.budget.max_seconds:g} seconds each",
        ),
        ("Processes", f"{found.jobs} at a time, of one thread each"),
    ]
    if found.missing:
        facts.append(("Broken off", f"{found.missing} pieces of work are missing: the same command goes on"))
    if found.failures:
        facts.append(("Failed", f"{len(found.failures)} pieces of work; the last section has the messages"))
    return facts + [("Left out", note) for note in found.notes]


# --- how it was measured --------------------------------------------------------------------------------------


def _measurement(found: Tournament) -> Section:
    batch = "each method's own default" if found.budget.batch_size is None else f"{found.budget.batch_size:g} for all"
    text = [
        f"One run for each method, problem and seed, of {found.budget.max_passes:g} passes, or "
        f"{found.budget.max_seconds:g} seconds if these are over first, without a tolerance: so no run takes "
        "certificates, and none are counted. Batch sizes: " + batch + ".",
        "Passes are gradient evaluations divided by the number of rows, whoever makes them: batches, full gradients, "
        "snapshots, line searches that read all rows. Oracle calls are counted by the set itself; auto needs none "
        "where it reads vertices off the gradient.",
        "Seconds are those of the method, without compilation; what is traced is evaluated after the run and not "
        f"charged. Processes run side by side ({found.jobs} here, one thread each) and share memory bandwidth: seconds "
        "are to compare with. On the smallest problems they are mostly what it takes to look at a run now and then.",
        "F* is bounded from below by a certified run of the library's default method, to 1e-9 F(0); F - F* is measured "
        "from that bound, so it is never understated by more than rounding. When an accuracy is reached is "
        f"interpolated between two traced points, {found.budget.points_a_decade} for each factor of ten in the number "
        "of steps.",
        "With the same seed, methods of the same batch size see the same rows in the same order.",
    ]
    tables = []
    if found.failures:
        rows: list[list[Cell]] = [
            [each.problem, each.method, each.seed, each.error]
            if isinstance(each, Run)
            else [each.problem, "optimum", None, each.error]
            for each in found.failures
        ]
        tables.append(
            DataTable(
                "What failed",
                ["problem", "method", "seed", "message"],
                rows,
                note="Failed runs count as not reached.",
            )
        )
    return Section("How it was measured", text, tables=tables)
