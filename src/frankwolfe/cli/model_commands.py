"""The commands that use what others wrote: ``predict`` with a model, ``verify`` a certificate, ``info`` on a file."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from frankwolfe.cli.options import COLUMN_ROLES, COLUMNS, DATA, OFFSETS, OUT, PROBLEM, Options, file_type
from frankwolfe.cli.output import NOT_CERTIFIED, answering, echo, show, show_prices, show_weights, write_csv

if TYPE_CHECKING:
    import numpy as np

    from frankwolfe.io.read import Data
    from frankwolfe.model.fitted_model import FittedModel

ADVICE = "Fill them in, leave their predictions empty with --missing blank, or fit the model with --missing mean"
"""What to do about missing values that the model was not fitted to fill."""


@click.command(short_help="Predict the rows of a file with a saved model.")
@click.argument("model", type=file_type)
@DATA
@OUT(help="CSV file.  [default: standard output]")
@click.option("--probabilities", is_flag=True, help="Add the probability of each class, one column each.")
@click.option("--decision", is_flag=True, help="Add the scores by which classes are chosen.")
@click.option(
    "--missing",
    type=click.Choice(["refuse", "blank"]),
    default="refuse",
    show_default=True,
    help="Rows with missing values that the model was not fitted to fill: refuse the file, or leave their predictions "
    "empty.",
)
@Options.declared(*OFFSETS, "memory")
def predict(
    model: Path,
    data: Path,
    out: Path | None,
    probabilities: bool,
    decision: bool,
    missing: str,
    memory: str | None,
    offset: str | None,
    exposure: str | None,
) -> None:
    """Predict the rows of the file or row store DATA with a model that 'frankwolfe fit' wrote.

    Columns are found by name, in any order; others are ignored. There is a line of output for each row, in the order of
    the file. If the file holds the target too, a score is printed.
    """
    with answering():
        from frankwolfe.model.probabilities import probabilities_of
        from frankwolfe.model.saved_models import load_model

        fitted = load_model(model)
        if not data.is_dir():
            found, rows, scores, notes = _from_file(data, fitted, missing, offset, exposure)
        elif offset or exposure:
            raise ValueError(f"{data} is a row store, which keeps no column of offsets: predict from a file")
        else:
            found, rows, scores, notes = _from_store(data, fitted, memory)
        columns = {"prediction": fitted.chosen(scores)}
        if probabilities:
            columns["probability"] = probabilities_of(fitted.loss, scores)
        if decision and fitted.classes is not None:
            columns["decision"] = scores
    n = found.X.shape[0]
    write_csv(out, _laid_out(columns, fitted, rows, n))
    if len(rows) < n:
        notes += [f"{n - len(rows):,} of {n:,} rows have missing values: no prediction"]
    if fitted.rules:
        notes = [f"weights keep these rules: {'; '.join(fitted.rules)}", *notes]
    score = _score(fitted, columns["prediction"], found.targets, rows)
    for line in [*notes, *([f"{len(rows):,} rows, {score}"] if score else [])]:
        echo(line, err=True)


def _from_file(
    data: Path, model: "FittedModel", missing: str, offset: str | None, exposure: str | None
) -> "tuple[Data, np.ndarray, Any, list[str]]":
    """Return the data of a file, the rows to predict, their scores, and messages about categories."""
    import numpy as np

    from frankwolfe.io.read import read_data

    fills = model.preparation.fill is not None
    words = [(model.features.names or [])[place] for place in model.preparation.categories]
    advice = None if fills or missing == "blank" else ADVICE
    read = partial(read_data, features=model.features, words=words, advice=advice)
    found = read(data, model.target, offset=offset, exposure=exposure)
    rows = np.arange(found.table.n) if fills else found.table.whole_rows()
    matrix, notes = model.prepared(found.table if len(rows) == found.table.n else found.table.rows(rows))
    shift, factor = (None if values is None else values[rows] for values in (found.offset, found.exposure))
    return found, rows, model.shifted(model.scores(matrix), shift, factor), notes


def _from_store(data: Path, model: "FittedModel", memory: str | None) -> "tuple[Data, np.ndarray, Any, list[str]]":
    """Return the same for a row store, whose columns must be those of the model."""
    import numpy as np

    from frankwolfe.io.read import Data, row_number
    from frankwolfe.shards.disk import StoredRows
    from frankwolfe.store.reader import DEFAULT_MEMORY, open_rows

    store = open_rows(data, DEFAULT_MEMORY if memory is None else memory)
    names = model.features.names
    if store.shape[1] != model.features.number or (names is not None and names != (store.feature_names or names)):
        raise ValueError(f"{data} has {store.shape[1]:,} columns, and not those that the model was fitted to")
    if not model.preparation.is_empty:
        raise ValueError(f"{model.features.number:,} columns of the model are prepared: it cannot predict a row store")
    targets = store.y if store.classes is None or store.y is None else store.classes[store.y.astype(int)]
    scores = StoredRows(store).dot_all(model.weights) + model.intercept
    return Data(store, model.features, targets, None, row_number, {}), np.arange(len(scores)), scores, []


def _laid_out(columns: dict[str, Any], model: "FittedModel", rows: "np.ndarray", n: int) -> dict[str, "np.ndarray"]:
    """Return the columns of the output, with a cell for each row of the file, which is empty for other rows."""
    import numpy as np

    found = {}
    for name, values in columns.items():
        several = model.target if model.classes is None else model.classes
        heads = [name] if values.ndim == 1 else [f"{name}_{one}" for one in several]
        for head, part in zip(heads, np.atleast_2d(values.T), strict=True):
            found[head] = np.full(n, "", dtype=object)
            found[head][rows] = part
    return found


def _score(model: "FittedModel", predictions: "np.ndarray", targets: "np.ndarray | None", rows: "np.ndarray") -> str:
    """Return the score of the predictions of some rows in words; empty if the targets are no such values."""
    from frankwolfe.cli.validation import accuracy, errors, in_words

    if targets is None or not len(rows):
        return ""
    targets = targets[rows]
    if model.classes is not None:
        comparable = (targets.dtype.kind == "U") == (model.classes.dtype.kind == "U")
        return in_words([accuracy(predictions == targets)]) if comparable else ""
    comparable = targets.dtype.kind in "fb" and targets.shape == predictions.shape
    return in_words([errors(predictions, targets)]) if comparable else ""


# --- verify -----------------------------------------------------------------------------------------------------------


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
        named = {kind.__name__: name for name, kind in LOSSES.items()}
        loss = None if "classes" in claim.arrays else named.get(claim.facts["loss"])  # 'check' compares the classes
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
        ("claims", f"the objective is at most {most:.10g}, that of any model at least {least:.10g}"),
        ("verdict", report.message),
    ]
    if not report.proven and " X " in report.message:
        prepared = "" if model is not None else "; if columns were standardised, filled or categories, pass --model"
        rows.append(("advice", f"name the columns of weights, offsets and exposures as for 'fit'{prepared}"))
    show(rows, {"verdict": "green" if report.proven else "red"})
    if not report.proven:
        raise SystemExit(NOT_CERTIFIED)


# --- info -------------------------------------------------------------------------------------------------------------

WEIGHTS = 20
"""Number of weights that are shown of a model."""


@click.command(short_help="Describe a file and suggest radii, or describe a model.")
@DATA
@Options.declared(*PROBLEM, *COLUMNS)
def info(data: Path, **given: Any) -> None:
    """Describe the file DATA: its size, its target, how evenly rows share a step, and radii to try.

    Or a model that 'frankwolfe fit' wrote: its rules, its certificate and its weights.
    """
    with answering():
        from frankwolfe.model.saved_models import is_model

        if data.is_file() and is_model(data):
            _show_model(data)
            return
        import numpy as np

        from frankwolfe.cli.problems import facts, specify
        from frankwolfe.path import radius_grid

        spec = specify(data, Options(**given))
        problem, preparation = spec.problem()
        stored = problem.X.nnz if problem.samples.rows.is_sparse else np.count_nonzero(problem.X)
        radii = ", ".join(f"{float(f'{radius:.2g}'):g}" for radius in radius_grid(problem, 5))  # two digits
        kappa = problem.kappa() / problem.n
        rows = [
            *facts(data, spec, problem, preparation),
            ("density", f"{stored / (problem.n * problem.d):.3g}"),
            ("kappa / n", f"{kappa:.3g} (from 1 / n to 1; stochastic steps gain where it is small)"),
            ("radii to try", f"{radii} (the constraint hardly matters at the last)"),
        ]
    show(rows)


def _show_model(path: Path) -> None:
    """Print what a saved model holds."""
    from frankwolfe.cli.problems import answer_lines
    from frankwolfe.compile.part import short
    from frankwolfe.model.saved_models import load_model
    from frankwolfe.summary import verdict

    model = load_model(path)
    run = model.run
    rows = [
        ("model", f"{path}, by {run.method} from {run.rows:,} rows (frankwolfe {model.versions['frankwolfe']})"),
        *([("target", ", ".join(model.target))] if model.target else []),
        *([] if model.classes is None else [("classes", ", ".join(map(str, model.classes)))]),
        ("loss", short(model.loss).removesuffix("()")),
        *([("rules", "; ".join(model.rules))] if model.rules else []),
        *answer_lines(model, short(model.constraint), ". ".join(verdict(run, bool(model.rules)))),
    ]
    show(rows, {"certificate": "green" if run.success else "yellow"})
    show_weights(model, WEIGHTS)
    show_prices(model)
