"""The commands that fit models to a file: ``fit``, ``path`` along radii, ``ranges`` of weights of good models."""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from frankwolfe.cli.options import COLUMNS, DATA, HELD_OUT, OUT, PROBLEM, RULES, RUN, Options, file_type
from frankwolfe.cli.output import (
    INTERRUPTED,
    NOT_CERTIFIED,
    Complaint,
    answering,
    echo,
    on_terminal,
    print_table,
    progress_bar,
    save_figure,
    show,
    show_prices,
    show_weights,
    write_csv,
    writing,
)

if TYPE_CHECKING:
    from frankwolfe.cli.problems import Specification
    from frankwolfe.cli.validation import Scores, Split
    from frankwolfe.model.fitted_model import FittedModel
    from frankwolfe.model.preparation import Preparation
    from frankwolfe.path import RadiusPath
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
        from frankwolfe.cli.validation import splits_of
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
        result = minimized(problem, spec, preparation, with_checkpoint=True)
        if result.status == Status.NON_FINITE:
            raise ValueError(result.message)
        lines = facts(data, spec, problem, preparation)
        scores = [] if result.status == Status.INTERRUPTED else _scores(spec, splits)
        last = result.trace.problem or problem  # with --no-radius the last of several
        claim = None if proof is None else certificate(last, result, spec.classes)
        model = _model(last, result, spec, preparation)
        lines += [*_answer(model, result, options), *scores]
        if not options.no_radius:
            lines += [("advice", text) for text in advice_on(problem, result, default_radius=options.radius is None)]
    with writing(out):
        model.save(out)
    lines.append(("model", str(out)))
    if claim is not None and proof is not None:
        with writing(proof):
            claim.save(proof)
        lines.append(("proof", str(proof)))
    show(lines, {"certificate": "green" if result.success else "yellow", "advice": "yellow"})
    show_weights(model, top)
    show_prices(model)
    if not (result.success or result.status == Status.LIKELY):
        raise SystemExit(NOT_CERTIFIED)


def _scores(spec: "Specification", splits: "list[Split]") -> list[tuple[str, str]]:
    """Return the line of the summary with the scores of models that never saw the rows held out."""
    from frankwolfe.cli.validation import held_out, in_words

    if not splits:
        return []
    found = held_out(spec, splits, lambda part, prepared: [minimized(part, spec, prepared)])
    words = in_words([one for (one,) in found])
    train, test = splits[0]
    how = f"on {test.size:,} rows, by a model of the other {train.size:,}"
    how = how if len(splits) == 1 else f"mean and deviation over {len(splits)} folds"
    return [("held out", f"{words} ({how})")]


def _model(problem: "Problem", result: "Result", spec: "Specification", preparation: "Preparation") -> "FittedModel":
    """Return the model that is written to the file."""
    from frankwolfe.model.fitted_model import FittedModel

    options = spec.options
    prices = spec.prices(preparation, result.prices) if options.rules else {}
    names: dict[str, Any] = {"classes": spec.classes, "features": spec.data.features, "target": options.target}
    kept: dict[str, Any] = {"preparation": preparation, "rules": options.rules, "prices": prices}
    return FittedModel.of(problem, result, seed=options.seed, **names, **kept)


def minimized(
    problem: "Problem", spec: "Specification", preparation: "Preparation", with_checkpoint: bool = False
) -> "Result":
    """Run `minimize`, or `resume` from a checkpoint."""
    from frankwolfe.run import minimize, resume
    from frankwolfe.without_budget import minimize_without_budget

    options = spec.options
    run = options.run | {"progress": on_terminal(options.quiet)}
    path = options.checkpoint if with_checkpoint else None
    if options.resume and options.checkpoint is None:
        raise ValueError("--resume needs --checkpoint, the file to go on from")
    if options.no_radius:
        if path is not None or options.stop != Options.stop:
            raise ValueError("--no-radius is several runs: it takes neither --checkpoint nor --stop likely")
        return minimize_without_budget(problem, least=spec.least_size(preparation), trace=0, **run)
    if path is not None and path.exists():
        if not options.resume:
            raise ValueError(f"{path} exists: go on from it with --resume, or remove it")
        del run["random_state"]
        return resume(path, problem, **run)
    return minimize(problem, **run, stop=options.stop, trace=0, checkpoint=path)


def _answer(model: "FittedModel", result: "Result", options: Options) -> list[tuple[str, str]]:
    """Return the lines of the summary that describe a result."""
    from frankwolfe.cli.problems import answer_lines
    from frankwolfe.compile.part import short
    from frankwolfe.summary import verdict
    from frankwolfe.without_budget import scope

    rules = bool(options.rules)
    certificate = ". ".join(verdict(result, rules, budget=not (rules and options.no_radius)))
    budget = model.constraint.own_radius() if options.no_radius else None
    certificate += "" if budget is None else f" {scope(result, budget)}"
    reads = "" if result.reads is None else f", {result.reads:.3g} reads"
    passes = f"{result.passes:.4g} pass{'es' * (result.passes != 1)}"
    constraint = "none" if options.no_radius else short(model.constraint)
    effort = f"{result.method}, {passes}{reads}, {result.seconds:.3g} s"
    return [*answer_lines(model, constraint, certificate), ("effort", effort)]


# --- path -------------------------------------------------------------------------------------------------------------

HEADS = ("radius", "objective", "certified gap", "non-zeros", "passes")


@click.command(short_help="Fit models at many radii: objective, certified gap, non-zeros.")
@DATA
@Options.declared(*PROBLEM, "class_weight")
@click.option("--radii", metavar="R1,R2,...", help="Radii, separated by commas.  [default: a grid that suits the data]")
@click.option("--n-radii", type=click.IntRange(1), default=10, show_default=True, help="Length of that grid.")
@Options.declared(*RULES, *COLUMNS, *HELD_OUT, *RUN)
@click.option("--csv", "table", type=file_type, help="Write the table to a CSV file.")
@click.option("--picture", type=file_type, help="Draw weights against radii: .png, .svg, .pdf.")
def path(data: Path, radii: str | None, n_radii: int, table: Path | None, picture: Path | None, **given: Any) -> None:
    """Fit models to the file DATA at many radii, each started from the one before.

    Prints radius, objective, certified gap and number of non-zero weights. With --holdout or --folds it also prints the
    loss (or --scoring) of each radius on rows held out, and the best radius.
    """
    options = Options(**given)
    with answering():
        from frankwolfe.cli.problems import facts, specify
        from frankwolfe.cli.validation import BETTER_IF_LARGER, held_out, splits_of
        from frankwolfe.path import as_radii, at_the_edge, collected, radius_grid, until_interrupted

        chosen = None if radii is None else as_radii(_numbers(radii))
        spec = specify(data, options)
        splits = splits_of(spec, options)
        problem, preparation = spec.problem()
        parts = [slice(None), *(split.train for split in splits)]
        grid = radius_grid(problem, n_radii, spec.least_radius(parts)) if chosen is None else chosen
        found = collected(problem, grid, until_interrupted(_followed(problem, grid, options)))
        folds = count(1)

        def follow_fold(part: "Problem", prepared: "Preparation") -> "Iterator[Result]":
            return _followed(part, found.radii, options, f", fold {next(folds)} of {len(splits)}")

        scores = [list(fold) for fold in zip(*held_out(spec, splits, follow_fold), strict=True)]  # by radius
    show(facts(data, spec, problem, preparation))
    means = _print_path(found, scores)
    if means:
        name, first = next(iter(means.items()))
        best = first.index(max(first) if name in BETTER_IF_LARGER else min(first))
        radius = float(found.radii[best])
        echo(f"best held-out {name}: {first[best]:.4g} at radius {radius:.4g}")
        there = problem.over(problem.constraint.with_radius(radius))
        for sentence in at_the_edge(found.radii, best, there, found.coef(best)):
            echo(sentence, fg="yellow")
    if table is not None:
        content = _columns(found) | {"certified": found.success.tolist()}
        write_csv(table, content | {f"held-out {name}": values for name, values in means.items()})
    if picture is not None:
        labels = spec.data.features.names and preparation.names(spec.data.features.names)
        save_figure(picture, lambda: found.plot(names=labels))
    if len(found) < len(grid):
        raise Complaint(f"interrupted: only the first {len(found)} of {len(grid)} radii", INTERRUPTED)
    if not found.success.all():
        raise SystemExit(NOT_CERTIFIED)


def _columns(found: "RadiusPath") -> dict[str, list]:
    """Return the columns of the table of a path."""
    nonzeros = found.coefs.indptr[1:] - found.coefs.indptr[:-1]
    columns = (found.radii, found.funs, found.gaps, nonzeros, found.passes)
    return {head: column.tolist() for head, column in zip(HEADS, columns, strict=True)}


def _print_path(found: "RadiusPath", scores: "list[list[Scores]]") -> dict[str, list[float]]:
    """Print the table of a path, with the scores of each radius by fold; return the means over the folds by name."""
    from frankwolfe.cli.validation import in_words

    names = list(scores[0][0]) if scores else []
    printed = [name for k, name in enumerate(names) if k == 0 or name == "accuracy"]
    lines = []
    for k, (radius, fun, gap, nonzeros, passes) in enumerate(zip(*_columns(found).values(), strict=True)):
        mark = "" if found.success[k] else " (not certified to tolerance)"
        of_folds = [in_words([{name: one[name]} for one in scores[k]]).removeprefix(name).strip() for name in printed]
        lines.append([f"{radius:.4g}", f"{fun:.8g}", f"{gap:.2e}{mark}", f"{nonzeros:,}", f"{passes:.4g}", *of_folds])
    print_table([*HEADS, *(f"held-out {name}" for name in printed)], lines)
    return {name: [sum(one[name] for one in fold) / len(fold) for fold in scores] for name in names}


def _numbers(text: str) -> list[float]:
    """Return the numbers of a list separated by commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"--radii takes numbers separated by commas, such as 0.1,1,10; got {text!r}") from None


def _followed(problem: "Problem", radii: Any, options: Options, where: str = "") -> "Iterator[Result]":
    """Yield the results along the radii, with a progress bar."""
    from frankwolfe.path import follow

    with progress_bar(f"path{where}", len(radii), "radii", options.quiet) as bar:
        for done, result in enumerate(follow(problem, radii, **options.run), start=1):
            bar.update(done)
            yield result


# --- ranges -----------------------------------------------------------------------------------------------------------

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
        from frankwolfe.cli.problems import facts, specify

        spec = specify(data, options)
        problem, preparation = spec.problem()
        result = minimized(problem, spec, preparation)
        named = problem.with_names(spec.weight_names(preparation))
        rows, names = functionals(named, list(of) or "coefficients")
        rows = rows / np.repeat(preparation.scales(problem.d), max(1, problem.outputs))
        shown = on_terminal(options.quiet)
        found = found_ranges(problem, result, of=rows, within=within, names=names, progress=shown)
        described = facts(data, spec, problem, preparation)
    certificate = f"objective {result.fun:.8g}, gap {result.gap:.2g}; good models have at most {found.limit:.8g}"
    show([*described, ("certificate", certificate)])
    facts_of = {"never used": found.never_used, "always used": found.always_used, "sign certain": found.sign_certain}
    verdicts = np.select([*facts_of.values()], [*facts_of], "").tolist()
    content = {"weight": names} | {end: getattr(found, end).tolist() for end in ENDS} | {"verdict": verdicts}
    shown_ends = [[f"{value:.6g}" for value in content[end]] for end in ("estimate", "low_proven", "high_proven")]
    echo("")
    print_table(("weight", "estimate", "at least", "at most", ""), zip(names, *shown_ends, verdicts, strict=True), 1)
    if table is not None:
        write_csv(table, content)
    if picture is not None:
        save_figure(picture, found.plot)
    if not result.success:
        raise SystemExit(NOT_CERTIFIED)
