"""``frankwolfe verify``: check a certificate that ``frankwolfe fit`` wrote against the data."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from frankwolfe.cli.options import COLUMN_ROLES, COLUMNS, DATA, OFFSETS, Options, file_type
from frankwolfe.cli.output import NOT_CERTIFIED, answering, show


@click.command(short_help="Check a certificate against the data.")
@click.argument("certificate", type=file_type)
@DATA
@click.option("--model", type=file_type, help="The model of the same fit: its target, and how columns are prepared.")
@Options.declared(*COLUMN_ROLES, *OFFSETS, "class_weight", *COLUMNS)
def verify(certificate: Path, data: Path, model: Path | None, **given: Any) -> None:
    """Check the file CERTIFICATE, which 'frankwolfe fit --certificate' wrote, against the file DATA.

    The certificate is about the columns as they were fitted: prepared ones, if they were standardised, filled or
    categories. --model prepares the rows as that model does. Without it, give the options by which 'fit' read the file.
    Weights, offsets and exposures are columns to name here, too.
    """
    options = Options(**given)
    with answering():
        from frankwolfe.certificates.verifier import load_certificate
        from frankwolfe.certificates.verifier import verify as check
        from frankwolfe.cli.problems import specify
        from frankwolfe.losses import LOSSES
        from frankwolfe.model.saved_models import load_model

        claim = load_certificate(certificate)
        loss = {kind.__name__: name for name, kind in LOSSES.items()}.get(claim.facts["loss"])
        options = replace(options, loss=loss, no_intercept=not claim.facts["intercept"])
        fitted = None if model is None else load_model(model)
        if fitted is not None:
            if refused := options.given("target", *COLUMNS):
                raise ValueError(f"{refused[0]} goes with --model only as the model has it: leave one of them out")
            names, preparation = fitted.features.names or [], fitted.preparation
            options = replace(
                options,
                target=tuple(fitted.target),
                categorical=tuple(names[place] for place in preparation.categories),
                missing=Options.missing if preparation.fill is None else "mean",
            )
        spec = specify(data, options, None if fitted is None else fitted.features)
        if not spec.in_memory:
            raise ValueError(f"{data} is a row store: verify reads a file")
        preparation = spec.preparation() if fitted is None else fitted.preparation
        X = preparation.apply(spec.data.table, spec.data.features.names).X
        report = check(claim, X, spec.data.targets, spec.weights(), offset=spec.offset)
    most, least = claim.facts["objective"], claim.facts["optimum"]
    rows = [
        ("certificate", f"{certificate}: {claim.facts['loss']} over {claim.facts['set']}"),
        ("data", f"{data}: {X.shape[0]:,} rows, {X.shape[1]:,} columns as fitted"),
        (
            "claims",
            f"the objective is at most {most:.10g}, that of any model at least {least:.10g}",
        ),
        ("verdict", report.message),
    ]
    show(rows, {"verdict": "green" if report.proven else "red"})
    if not report.proven:
        raise SystemExit(NOT_CERTIFIED)
