"""``frankwolfe ranges``: between which values weights lie in every model that is nearly as good as the best."""

from pathlib import Path
from typing import Any

import click

from frankwolfe.cli.options import COLUMNS, DATA, PROBLEM, RULES, RUN, Options, file_type
from frankwolfe.cli.output import (
    NOT_CERTIFIED,
    answering,
    echo,
    on_terminal,
    print_table,
    save_figure,
    show,
    write_csv,
)

ENDS = ("estimate", "low_proven", "low_attained", "high_attained", "high_proven")


@click.command(short_help="Between which values weights lie in every good model.")
@DATA
@click.option("--of", metavar="COLUMN", multiple=True, help="Name or pattern; may be repeated.  [default: all]")
@click.option(
    "--within", default=0.01, show_default=True, help="How much worse a good model may be, as a part of the objective."
)
@Options.declared(*PROBLEM, "class_weight", "radius", *RULES, *COLUMNS, *RUN)
@click.option("--csv", "table", type=file_type, help="Write the table to a CSV file.")
@click.option("--picture", type=file_type, help="Draw the ranges: .png, .svg, .pdf.")
def ranges(
    data: Path, of: tuple[str, ...], within: float, table: Path | None, picture: Path | None, **given: Any
) -> None:
    """Find between which values weights lie in every good model of the file DATA, with a proof.

    A model is good if it is in the set, satisfies the rules, and its objective is at most 1% above the best, or as
    --within says. It is no confidence interval: it says what these data leave open. Weights are on the scale of the
    file.
    """
    options = Options(**given)
    with answering():
        import numpy as np

        from frankwolfe.certificates.ranges import functionals
        from frankwolfe.certificates.ranges import ranges as found_ranges
        from frankwolfe.cli.fit_command import minimized
        from frankwolfe.cli.problems import facts, specify

        spec = specify(data, options)
        problem, preparation = spec.problem()
        result = minimized(problem, options, spec, preparation)
        rules = spec.rules(preparation)
        rows, names = functionals(problem.with_names(rules.names), list(of) or "coefficients")
        rows = rows / np.repeat(preparation.scales(problem.d), max(1, problem.outputs))
        shown = on_terminal(options.quiet)
        found = found_ranges(problem, result, of=rows, within=within, names=names, progress=shown)
        described = facts(data, spec, problem, preparation)
    certificate = f"objective {result.fun:.8g}, gap {result.gap:.2g}; good models have at most {found.limit:.8g}"
    show([*described, ("certificate", certificate)])
    verdicts = [
        "never used" if never else "always used" if always else "sign certain" if sure else ""
        for never, always, sure in zip(found.never_used, found.always_used, found.sign_certain, strict=True)
    ]
    numbers = list(zip(*(getattr(found, end).tolist() for end in ENDS), strict=True))
    shown_ends = [[f"{row[0]:.6g}", f"{row[1]:.6g}", f"{row[4]:.6g}"] for row in numbers]
    lines = [[name, *ends, verdict] for name, ends, verdict in zip(names, shown_ends, verdicts, strict=True)]
    echo("")
    print_table(("weight", "estimate", "at least", "at most", ""), lines, left=1)
    if table is not None:
        content = [[name, *row, verdict] for name, row, verdict in zip(names, numbers, verdicts, strict=True)]
        write_csv(table, ["weight", *ENDS, "verdict"], content)
    if picture is not None:
        save_figure(picture, found.plot)
    if not result.success:
        raise SystemExit(NOT_CERTIFIED)
