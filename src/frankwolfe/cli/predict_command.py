"""``frankwolfe predict``: predict the rows of a file with a saved model."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from frankwolfe.cli.options import DATA, MEMORY, missing_values
from frankwolfe.cli.output import Complaint, answering, console, write_csv

if TYPE_CHECKING:
    import numpy as np

    from frankwolfe.io.read import Data
    from frankwolfe.model.fitted_model import FittedModel

ADVICE = "Fill them in, leave their predictions empty with --missing blank, or fit the model with --missing mean"
"""What to do about missing values that the model was not fitted to fill."""


@click.command(short_help="What a saved model says about a file.")
@click.argument("model", type=click.Path(path_type=Path))
@DATA
@click.option("--out", "-o", type=click.Path(path_type=Path), help="CSV file.  [default: standard output]")
@click.option("--probabilities", is_flag=True, help="Add the probability of each class, one column each.")
@click.option("--decision", is_flag=True, help="Add the scores that the classes were chosen by.")
@missing_values(
    "blank",
    "Rows with missing values that the model was not fitted to fill: refuse the file, or leave their predictions "
    "empty.",
)
@MEMORY
def predict(
    model: Path,
    data: Path,
    out: Path | None,
    probabilities: bool,
    decision: bool,
    missing: str,
    memory: str | None,
) -> None:
    """Predict the rows of the file or row store DATA with a model that 'frankwolfe fit' wrote.

    Columns are found by name, in any order; others are ignored. There is a line of output for each row, in the order of
    the file. If the file holds the target too, a score is printed.
    """
    with answering():
        import numpy as np

        fitted = _loaded(model, data)
        if data.is_dir():
            found, scores = _from_store(data, fitted, memory)
            whole, notes = np.arange(len(scores)), list[str]()
        else:
            found = _read(data, fitted, missing)
            whole = _rows_without_gaps(found, fitted)
            matrix, notes = fitted.prepared(found.table if len(whole) == found.table.n else found.table.rows(whole))
            scores = fitted.scores(matrix)
        columns = {"prediction": fitted.chosen(scores)}
        if probabilities:
            from frankwolfe.model.probabilities import probabilities_of

            columns["probability"] = probabilities_of(fitted.loss, scores)
        if decision and fitted.classes is not None:
            columns["decision"] = scores
    write_csv(out, *_laid_out(columns, fitted, whole, found.X.shape[0]))
    for line in [*notes, *_summary(fitted, columns["prediction"], found, whole)]:
        console(stderr=True).print(line, markup=False)


def _loaded(model: Path, data: Path) -> "FittedModel":
    """Return the model; raise an error if the arguments are swapped."""
    from frankwolfe.model.saved_models import is_model, load_model

    if is_model(data) and is_model(model):
        raise Complaint(f"{data} is a model, not data: give the model first, then the file to predict")
    if is_model(data) and model.exists():
        raise Complaint(f"{model} is not a model, and {data} is: the arguments are swapped, the model comes first")
    return load_model(model)


def _read(data: Path, model: "FittedModel", missing: str) -> "Data":
    """Return the columns that a model reads."""
    from frankwolfe.io.read import read_data

    names = model.features.names or []
    words = [names[place] for place in model.preparation.categories]
    let_through = missing == "blank" or model.preparation.fill is not None
    return read_data(data, model.target, features=model.features, words=words, advice=None if let_through else ADVICE)


def _from_store(data: Path, model: "FittedModel", memory: str | None) -> "tuple[Data, Any]":
    """Return the data of a row store, whose columns must be those of the model, and the scores of its rows."""
    from frankwolfe.io.read import Data, row_number
    from frankwolfe.shards.disk import StoredRows
    from frankwolfe.store.reader import DEFAULT_MEMORY, open_rows

    store = open_rows(data, DEFAULT_MEMORY if memory is None else memory)
    names = model.features.names
    if store.shape[1] != model.features.number or (names is not None and names != (store.feature_names or names)):
        raise Complaint(f"{data} has {store.shape[1]:,} columns, and not those that the model was fitted to")
    prepared = model.preparation
    if prepared.categories or any(values is not None for values in (prepared.fill, prepared.center, prepared.scale)):
        raise Complaint(f"{model.features.number:,} columns of the model are prepared: it cannot predict a row store")
    targets = store.y if store.classes is None or store.y is None else store.classes[store.y.astype(int)]
    scores = StoredRows(store).dot_all(model.weights) + model.intercept
    return Data(store, model.features, targets, None, row_number, {}), scores


def _rows_without_gaps(found: "Data", model: "FittedModel") -> "np.ndarray":
    """Return the numbers of the rows without missing values, or of all if the model fills them."""
    import numpy as np

    whole = np.ones(found.X.shape[0], dtype=bool)
    if model.preparation.fill is None:
        for rows in found.table.gaps().values():
            whole[rows] = False
    return np.flatnonzero(whole)


def _laid_out(columns: dict[str, Any], model: "FittedModel", whole: "np.ndarray", n: int) -> tuple[list[str], Iterable]:
    """Return the header and the rows of the output, one for each row of the file."""
    import numpy as np

    names, parts = [], []
    for name, values in columns.items():
        several = model.target if name == "prediction" else model.classes
        if values.ndim == 2 and several is not None:
            names += [f"{name}_{one}" for one in several]
            parts += list(values.T)
        else:
            names.append(name)
            parts.append(values)
    rows: Iterable = zip(*(np.asarray(part).tolist() for part in parts), strict=True)
    if len(whole) < n:
        known = dict(zip(whole.tolist(), rows, strict=True))
        rows = (known.get(row, ("",) * len(names)) for row in range(n))
    return names, rows


def _summary(model: "FittedModel", predictions: "np.ndarray", found: "Data", whole: "np.ndarray") -> list[str]:
    """Return the number of rows without predictions, and a score if the file holds the target, in words."""
    from frankwolfe.cli.validation import accuracy, errors, told

    n = found.X.shape[0]
    lines = [] if len(whole) == n else [f"{n - len(whole):,} of {n:,} rows have missing values: no prediction"]
    if found.targets is None or not len(whole):
        return lines
    targets = found.targets[whole]
    if model.classes is not None:
        words = [values.dtype.kind == "U" for values in (targets, model.classes)]
        if words[0] != words[1]:
            return lines
        return [*lines, f"{len(whole):,} rows, {told([accuracy(predictions == targets)])}"]
    if targets.dtype.kind not in "fb" or targets.shape != predictions.shape:
        return lines
    return [*lines, f"{len(whole):,} rows, {told([errors(predictions, targets)])}"]
