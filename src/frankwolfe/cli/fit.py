"""``frankwolfe fit``: a model from a file, with its certificate."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from frankwolfe.cli.answers import NOT_CERTIFIED, Complaint, answering, minimized, show, writing
from frankwolfe.cli.options import DATA, PROBLEM, RUN

if TYPE_CHECKING:
    from frankwolfe.cli.questions import Question
    from frankwolfe.result import Result


@click.command(short_help="A model from a file, with its certificate.")
@DATA
@PROBLEM
@click.option("--radius", type=float, help="Of the set; 'frankwolfe info' suggests some.  [default: 10; simplex: 1]")
@RUN
@click.option(
    "--out", "-o", type=click.Path(path_type=Path), default=Path("model.npz"), show_default=True, help="Where to."
)
def fit(
    data: Path, radius: float | None, method: str, tol: float, max_passes: float, seed: int, out: Path, **problem: Any
) -> None:
    """Fit a linear model to the file DATA under a constraint, and write it to a .npz file.

    Two classes of any kind become -1 and +1; predictions come back as what they were. The model holds the certificate:
    how far its objective can be above the best one in the set.
    """
    with answering():
        from frankwolfe.cli.questions import ask, facts
        from frankwolfe.fitted_model import FittedModel
        from frankwolfe.result import Status

        question = ask(data, radius=radius, **problem)
        result = minimized(question.problem, max_passes, method=method, tol=tol, random_state=seed, trace=0)
        if result.status == Status.NON_FINITE:
            raise Complaint(result.message)
        model = FittedModel.of(
            question.problem,
            result,
            classes=question.classes,
            features=question.data.features,
            target=problem["target"],
            seed=seed,
        )
    with writing(out):
        model.save(out)
    rows = [*facts(data, question), *_answer(question, result), ("model", str(out))]
    show(rows, {"certificate": "green" if result.success else "yellow"})
    if not result.success:
        raise SystemExit(NOT_CERTIFIED)


def _answer(question: "Question", result: "Result") -> list[tuple[str, str]]:
    """Return what there is to say about an answer."""
    from frankwolfe.display import verdict
    from frankwolfe.parts import short

    return [
        ("set", f"{short(question.problem.constraint)}, {result.nonzeros:,} of {result.x.size:,} weights not zero"),
        ("objective", f"{result.fun:.8g}"),
        ("certificate", verdict(result)[1]),
        ("effort", f"{result.method}, {result.passes:.4g} passes, {result.seconds:.3g} s"),
    ]
