"""``frankwolfe fit``: fit a model to a file, and write it with its certificate."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from frankwolfe.cli.options import (
    CHECKPOINT,
    CLASS_WEIGHT,
    CLUSTER,
    COLUMNS,
    DATA,
    HELD_OUT,
    MEMORY,
    PROBLEM,
    RUN,
    CheckpointOptions,
    ClusterOptions,
    ColumnOptions,
    HeldOut,
    ProblemOptions,
    RunOptions,
)
from frankwolfe.cli.output import NOT_CERTIFIED, Complaint, answering, console, minimized, print_table, show, writing

if TYPE_CHECKING:
    from frankwolfe.cli.problems import Specification
    from frankwolfe.cli.validation import Split
    from frankwolfe.model.fitted_model import FittedModel
    from frankwolfe.result import Result


@click.command(short_help="A model from a file, with its certificate.")
@DATA
@PROBLEM
@CLASS_WEIGHT
@click.option("--radius", type=float, help="Of the set; 'frankwolfe info' suggests some.  [default: 10; simplex: 1]")
@COLUMNS
@HELD_OUT
@RUN
@click.option(
    "--stop",
    type=click.Choice(["proven", "likely"]),
    default="proven",
    show_default=True,
    help="What ends the run: a proven gap, or one that is likely by a sample of rows, which needs a convex loss, "
    "--no-intercept and --method sfw.",
)
@CHECKPOINT
@MEMORY
@CLUSTER
@click.option("--top", type=click.IntRange(0), default=10, show_default=True, help="How many weights to print.")
@click.option(
    "--out", "-o", type=click.Path(path_type=Path), default=Path("model.npz"), show_default=True, help="Where to."
)
def fit(
    data: Path,
    problem: ProblemOptions,
    columns: ColumnOptions,
    held_out: HeldOut,
    run: RunOptions,
    stop: str,
    checkpoints: CheckpointOptions,
    cluster_options: ClusterOptions,
    top: int,
    out: Path,
    **more: Any,
) -> None:
    """Fit a linear model to the file or row store DATA under a constraint, and write it to a .npz file.

    Two classes of any kind become -1 and +1; predictions come back as what they were. The model holds the certificate:
    how far its objective can be above the best one in the set. It is fitted to all rows, with or without --holdout. A
    run that was broken off goes on if the same command is given again with --checkpoint and --resume.
    """
    specified = _specified(data, problem, columns, cluster_options, held_out, run, **more)
    with answering(), specified as (spec, splits):
        from frankwolfe.advice import advice_on
        from frankwolfe.cli.problems import facts
        from frankwolfe.model.fitted_model import FittedModel
        from frankwolfe.result import Status

        whole, preparation = spec.problem()
        how = run.options() | {"stop": stop, "quiet": run.quiet, "trace": 0}
        result = minimized(whole, **how, **checkpoints.options())
        if result.status == Status.NON_FINITE:
            raise Complaint(result.message)
        scores = [] if result.status == Status.INTERRUPTED else _held_out(spec, splits, held_out.scoring, how)
        model = FittedModel.of(
            whole,
            result,
            classes=spec.classes,
            features=spec.data.features,
            target=problem.target,
            seed=run.seed,
            preparation=preparation,
        )
        advice = [("advice", text) for text in advice_on(whole, result, default_radius=spec.radius is None)]
        described = facts(data, spec, whole, preparation)
        rows = [*described, *_answer(model, result), *scores, *advice, ("model", str(out))]
    with writing(out):
        model.save(out)
    show(rows, {"certificate": "green" if result.success else "yellow", "advice": "yellow"})
    show_weights(model, top)
    if not (result.success or result.status == Status.LIKELY):
        raise SystemExit(NOT_CERTIFIED)


@contextmanager
def _specified(
    data: Path,
    problem: ProblemOptions,
    columns: ColumnOptions,
    cluster: ClusterOptions,
    held_out: HeldOut,
    run: RunOptions,
    radius: float | None,
    memory: str | None,
    class_weight: tuple[str, ...],
) -> "Iterator[tuple[Specification, list[Split]]]":
    """Yield the problem that the arguments specify, and the rows to hold out."""
    if cluster.given:
        refused = {
            "--standardize": columns.standardize,
            "--categorical": bool(columns.categorical),
            "--missing mean": columns.fill,
            "--memory": memory is not None,
            "--class-weight": bool(class_weight),
            "--holdout": held_out.holdout is not None,
            "--folds": held_out.folds is not None,
        }
        cluster.check()
        from frankwolfe.cli.problems import check_options, specified_remotely

        check_options(refused, problem, run.method)
        with cluster.client(), specified_remotely(data, problem, radius, local=cluster.cluster is None) as spec:
            yield spec, []
        return
    from frankwolfe.cli.problems import specify
    from frankwolfe.cli.validation import splits_of

    found = specify(data, problem, columns, radius, memory, class_weight)
    yield found, splits_of(found, held_out, run.seed)


def _held_out(
    spec: "Specification", splits: "list[Split]", scoring: str | None, how: dict[str, Any]
) -> list[tuple[str, str]]:
    """Return the score on held-out rows, if there are any."""
    if not splits:
        return []
    from frankwolfe.cli.validation import held_out, told

    found = held_out(spec, splits, lambda problem: [minimized(problem, **how)], scoring)
    said = told([scores for (scores,) in found])
    if len(splits) > 1:
        return [("held out", f"{said} (mean and deviation over {len(splits)} folds)")]
    train, test = splits[0]
    return [("held out", f"{said} (on {test.size:,} rows, by a model of the other {train.size:,})")]


def _answer(model: "FittedModel", result: "Result") -> list[tuple[str, str]]:
    """Return the lines of the summary that describe a result."""
    import numpy as np

    from frankwolfe.compile.part import short
    from frankwolfe.display import verdict

    shift = np.ravel(model.unscaled()[1])
    reads = "" if result.reads is None else f", {result.reads:.3g} reads"
    intercept = [("intercept", ", ".join(f"{value:.6g}" for value in shift[:6]))] if shift.any() else []
    return [
        ("set", f"{short(model.constraint)}, {result.nonzeros:,} of {result.x.size:,} weights not zero"),
        *intercept,
        ("objective", "not evaluated" if result.is_likely else f"{result.fun:.8g}"),
        ("certificate", verdict(result)[1]),
        ("effort", f"{result.method}, {result.passes:.4g} passes{reads}, {result.seconds:.3g} s"),
    ]


def show_weights(model: "FittedModel", most: int) -> None:
    """Print up to ``most`` of the largest weights by name, on the scale of the columns, and how many are zero."""
    if not most:
        return
    rows, title = listed(model, most)
    several, scaled = model.weights.ndim == 2, model.preparation.scale is not None
    heads = ["column", *(["output"] * several), "weight", *(["standardised"] * scaled)]
    console().print(f"\n{title}", markup=False)
    if rows:
        print_table(heads, rows, left=("column", "output"), box=None, padding=(0, 2, 0, 0), header_style="dim")


def listed(model: "FittedModel", most: int) -> tuple[list[list[str]], str]:
    """Return the rows of the table of weights, and its title."""
    import numpy as np

    own = model.unscaled()[0].ravel()
    flat = model.weights.ravel()
    columns = weight_labels(model)
    outputs = output_labels(model)
    order = np.argsort(-np.abs(flat), kind="stable")[: min(most, np.count_nonzero(flat))]
    rows = []
    for k in order:
        j, c = divmod(int(k), max(1, len(outputs)))
        shown = [f"{own[k]:.6g}", *([f"{flat[k]:.6g}"] if model.preparation.scale is not None else [])]
        rows.append([columns[j], *outputs[c : c + 1], *shown])
    zeros = flat.size - int(np.count_nonzero(flat))
    title = f"{flat.size:,} weight{'s' * (flat.size > 1)}, {zeros:,} of them zero"
    if len(rows) + zeros < flat.size:
        title += f"; the {len(rows)} largest"
    if model.classes is not None and not outputs:
        title += f"; positive ones speak for {model.classes[1]}"
    return rows, title


def weight_labels(model: "FittedModel") -> list[str]:
    """Return the names of the columns that have weights, or their indices in the file."""
    named = model.weight_names
    if named is not None:
        return named
    return [str(model.features.first + j) for j in range(len(model.weights))]


def output_labels(model: "FittedModel") -> list[Any]:
    """Return the names of the outputs, classes or targets; nothing if there is one output."""
    if model.weights.ndim == 1:
        return []
    if model.classes is not None:
        return [str(value) for value in model.classes]
    return model.target or [str(c) for c in range(model.weights.shape[1])]
