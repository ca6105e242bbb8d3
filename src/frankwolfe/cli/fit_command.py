"""``frankwolfe fit``: fit a model to a file, and write it with its certificate."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from frankwolfe.cli.options import COLUMNS, DATA, HELD_OUT, OUT, PROBLEM, RULES, RUN, Options, file_type
from frankwolfe.cli.output import (
    NOT_CERTIFIED,
    Complaint,
    answering,
    on_terminal,
    show,
    show_prices,
    show_weights,
    writing,
)

if TYPE_CHECKING:
    from frankwolfe.cli.problems import Specification
    from frankwolfe.model.fitted_model import FittedModel
    from frankwolfe.model.preparation import Preparation
    from frankwolfe.problem import Problem
    from frankwolfe.result import Result


@click.command(short_help="Fit a model to a file, with a certificate.")
@DATA
@Options.declared(*PROBLEM, "class_weight", "radius", "no_radius", *RULES, *COLUMNS, *HELD_OUT, *RUN)
@Options.declared("stop", "checkpoint", "resume", "memory", "cluster", "workers")
@click.option("--top", type=click.IntRange(0), default=10, show_default=True, help="How many weights to print.")
@OUT(default="model.npz", show_default=True, help="File for the model.")
@click.option("--certificate", "proof", type=file_type, help="File for a certificate that 'verify' checks.")
def fit(data: Path, top: int, out: Path, proof: Path | None, **given: Any) -> None:
    """Fit a linear model to the file or row store DATA under a constraint, and write it to a .npz file.

    Two classes of any kind become -1 and +1; predictions come back as what they were. The model holds the certificate:
    how far its objective can be above the best one in the set. It is fitted to all rows, with or without --holdout. An
    interrupted run continues if the same command is given again with --checkpoint and --resume.
    """
    options = Options(**given)
    with answering(), ExitStack() as stack:
        from frankwolfe.advice import advice_on
        from frankwolfe.certificates.written import certificate, require_known
        from frankwolfe.cli.problems import facts, specify
        from frankwolfe.cli.validation import held_out, splits_of, told
        from frankwolfe.model.fitted_model import FittedModel
        from frankwolfe.result import Status

        if options.cluster is None and options.workers is None:
            spec = specify(data, options)
        else:
            from frankwolfe.cli.remote_rows import specified_remotely

            spec = stack.enter_context(specified_remotely(data, options))
        splits = splits_of(spec, options)
        problem, preparation = spec.problem()
        if proof is not None:
            require_known(problem)
            if options.stop != Options.stop:
                raise ValueError("--stop likely proves nothing: leave it out, or leave --certificate out")
        result = minimized(problem, options, spec, preparation, with_checkpoint=True)
        if result.status == Status.NON_FINITE:
            raise Complaint(result.message)
        scores = []
        if splits and result.status != Status.INTERRUPTED:
            found = held_out(spec, splits, lambda part, prepared: [minimized(part, options, spec, prepared)])
            words = told([one for (one,) in found])
            train, test = splits[0]
            how = f"on {test.size:,} rows, by a model of the other {train.size:,}"
            how = how if len(splits) == 1 else f"mean and deviation over {len(splits)} folds"
            scores = [("held out", f"{words} ({how})")]
        last = result.trace.problem or problem  # with --no-radius the last of several
        claim = None if proof is None else certificate(last, result, spec.classes)
        prices = spec.prices(preparation, result.prices)
        model = FittedModel.of(
            last,
            result,
            classes=spec.classes,
            features=spec.data.features,
            target=options.target,
            seed=options.seed,
            preparation=preparation,
            rules=options.rules,
            prices=prices if options.rules else {},
        )
        default = options.radius is None
        advice = [] if options.no_radius else advice_on(problem, result, default_radius=default)
        described = facts(data, spec, problem, preparation)
    with writing(out):
        model.save(out)
    if claim is not None and proof is not None:
        with writing(proof):
            claim.save(proof)
    styles = {"certificate": "green" if result.success else "yellow", "advice": "yellow"}
    show(
        [
            *described,
            *_answer(model, result, options),
            *scores,
            *(("advice", text) for text in advice),
            ("model", str(out)),
            *([("proof", str(proof))] if proof else []),
        ],
        styles,
    )
    show_weights(model, top)
    show_prices(model)
    if not (result.success or result.status == Status.LIKELY):
        raise SystemExit(NOT_CERTIFIED)


def minimized(
    problem: "Problem",
    options: Options,
    spec: "Specification",
    preparation: "Preparation",
    with_checkpoint: bool = False,
) -> "Result":
    """Run `minimize`, or `resume` from a checkpoint."""
    from frankwolfe.run import minimize, resume
    from frankwolfe.without_budget import minimize_without_budget

    run = options.run | {"progress": on_terminal(options.quiet)}
    path = options.checkpoint if with_checkpoint else None
    if options.resume and options.checkpoint is None:
        raise ValueError("--resume needs --checkpoint, the file to go on from")
    if options.no_radius and (path is not None or options.stop != Options.stop):
        raise ValueError("--no-radius is several runs: it takes neither --checkpoint nor --stop likely")
    if path is not None and path.exists() and not options.resume:
        raise ValueError(f"{path} exists: go on from it with --resume, or remove it")
    if path is not None and path.exists():
        del run["random_state"]
        return resume(path, problem, **run)
    if options.no_radius:
        return minimize_without_budget(problem, least=spec.least_size(preparation), trace=0, **run)
    return minimize(problem, **run, stop=options.stop, trace=0, checkpoint=path)


def _answer(model: "FittedModel", result: "Result", options: Options) -> list[tuple[str, str]]:
    """Return the lines of the summary that describe a result."""
    import numpy as np

    from frankwolfe.compile.part import short
    from frankwolfe.summary import verdict
    from frankwolfe.without_budget import scope

    shift = np.ravel(model.unscaled()[1])
    constraint = "none" if options.no_radius else short(model.constraint)
    rules = bool(options.rules)
    certificate = ". ".join(verdict(result, rules, budget=not (rules and options.no_radius)))
    if options.no_radius:
        budget = model.constraint.own_radius()
        certificate += "" if budget is None else f" {scope(result, budget)}"
    reads = "" if result.reads is None else f", {result.reads:.3g} reads"
    intercept = [("intercept", ", ".join(f"{value:.6g}" for value in shift[:6]))] if shift.any() else []
    return [
        ("set", f"{constraint}, {result.nonzeros:,} of {result.x.size:,} weights not zero"),
        *intercept,
        ("objective", "not evaluated" if result.is_likely else f"{result.fun:.8g}"),
        ("certificate", certificate),
        (
            "effort",
            f"{result.method}, {result.passes:.4g} pass{'es' * (result.passes != 1)}{reads}, {result.seconds:.3g} s",
        ),
    ]
