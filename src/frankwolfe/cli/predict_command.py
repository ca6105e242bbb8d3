"""``frankwolfe predict``: predict the rows of a file with a saved model."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from frankwolfe.cli.options import DATA, OFFSETS, OUT, Options, file_type
from frankwolfe.cli.output import Complaint, answering, echo, write_csv

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
        import numpy as np

        from frankwolfe.io.read import read_data

        fitted = _loaded(model, data)
        fills, notes = fitted.preparation.fill is not None, list[str]()
        if data.is_dir():
            if offset or exposure:
                raise Complaint(f"{data} is a row store, which keeps no column of offsets: predict from a file")
            found, scores = _from_store(data, fitted, memory)
            rows = np.arange(len(scores))
        else:
            words = [(fitted.features.names or [])[place] for place in fitted.preparation.categories]
            advice = None if fills or missing == "blank" else ADVICE
            found = read_data(
                data,
                fitted.target,
                features=fitted.features,
                words=words,
                advice=advice,
                offset=offset,
                exposure=exposure,
            )
            table = found.table
            rows = np.arange(table.n) if fills else table.whole_rows()
            matrix, notes = fitted.prepared(table if len(rows) == table.n else table.rows(rows))
            shift, factor = (None if beside is None else beside[rows] for beside in (found.offset, found.exposure))
            scores = fitted.shifted(fitted.scores(matrix), shift, factor)
        columns = {"prediction": fitted.chosen(scores)}
        if probabilities:
            from frankwolfe.model.probabilities import probabilities_of

            columns["probability"] = probabilities_of(fitted.loss, scores)
        if decision and fitted.classes is not None:
            columns["decision"] = scores
    n = found.X.shape[0]
    write_csv(out, *_laid_out(columns, fitted, rows, n))
    if len(rows) < n:
        notes += [f"{n - len(rows):,} of {n:,} rows have missing values: no prediction"]
    if fitted.rules:
        notes = [f"weights keep these rules: {'; '.join(fitted.rules)}", *notes]
    score = _score(fitted, columns["prediction"], found.targets, rows)
    for line in [*notes, *([f"{len(rows):,} rows, {score}"] if score else [])]:
        echo(line, err=True)


def _loaded(model: Path, data: Path) -> "FittedModel":
    """Return the model; raise an error if the arguments are swapped."""
    from frankwolfe.model.saved_models import is_model, load_model

    if is_model(data) and is_model(model):
        raise Complaint(f"{data} is a model, not data: give the model first, then the file to predict")
    if is_model(data) and model.exists():
        raise Complaint(f"{model} is not a model, and {data} is: the arguments are swapped, the model comes first")
    return load_model(model)


def _from_store(data: Path, model: "FittedModel", memory: str | None) -> "tuple[Data, Any]":
    """Return the data of a row store, whose columns must be those of the model, and the scores of its rows."""
    from frankwolfe.io.read import Data, row_number
    from frankwolfe.shards.disk import StoredRows
    from frankwolfe.store.reader import DEFAULT_MEMORY, open_rows

    store = open_rows(data, DEFAULT_MEMORY if memory is None else memory)
    names = model.features.names
    if store.shape[1] != model.features.number or (names is not None and names != (store.feature_names or names)):
        raise Complaint(f"{data} has {store.shape[1]:,} columns, and not those that the model was fitted to")
    if not model.preparation.is_empty:
        raise Complaint(f"{model.features.number:,} columns of the model are prepared: it cannot predict a row store")
    targets = store.y if store.classes is None or store.y is None else store.classes[store.y.astype(int)]
    scores = StoredRows(store).dot_all(model.weights) + model.intercept
    return Data(store, model.features, targets, None, row_number, {}), scores


def _laid_out(columns: dict[str, Any], model: "FittedModel", rows: "np.ndarray", n: int) -> tuple[list[str], Iterable]:
    """Return the header and the lines of the output, one for each row of the file; empty ones for other rows."""
    names, parts = [], []
    for name, values in columns.items():
        several = model.target if name == "prediction" else model.classes
        if values.ndim == 2 and several is not None:
            names += [f"{name}_{one}" for one in several]
            parts += values.T.tolist()
        else:
            names.append(name)
            parts.append(values.tolist())
    lines: Iterable = zip(*parts, strict=True)
    if len(rows) < n:
        known = dict(zip(rows.tolist(), lines, strict=True))
        lines = (known.get(row, ("",) * len(names)) for row in range(n))
    return names, lines


def _score(model: "FittedModel", predictions: "np.ndarray", targets: "np.ndarray | None", rows: "np.ndarray") -> str:
    """Return the score of the predictions of some rows in words; empty if the targets are no such values."""
    from frankwolfe.cli.validation import accuracy, errors, told

    if targets is None or not len(rows):
        return ""
    targets = targets[rows]
    if model.classes is not None:
        comparable = (targets.dtype.kind == "U") == (model.classes.dtype.kind == "U")
        return told([accuracy(predictions == targets)]) if comparable else ""
    comparable = targets.dtype.kind in "fb" and targets.shape == predictions.shape
    return told([errors(predictions, targets)]) if comparable else ""
