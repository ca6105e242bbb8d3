"""``frankwolfe predict``: what a saved model says about a file."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from frankwolfe.cli.answers import answering, console, write_csv
from frankwolfe.cli.options import DATA

if TYPE_CHECKING:
    import numpy as np

    from frankwolfe.fitted_model import FittedModel


@click.command(short_help="What a saved model says about a file.")
@click.argument("model", type=click.Path(path_type=Path))
@DATA
@click.option("--out", "-o", type=click.Path(path_type=Path), help="CSV file.  [default: standard output]")
@click.option("--decision", is_flag=True, help="Add the scores that the classes were chosen by.")
def predict(model: Path, data: Path, out: Path | None, decision: bool) -> None:
    """Predict the rows of the file DATA with a model that 'frankwolfe fit' wrote.

    Columns are found by name, in any order; others are ignored. If the file holds the target too, a score is printed.
    """
    with answering():
        from frankwolfe.files.models import load_model
        from frankwolfe.files.read import read_data

        fitted = load_model(model)
        found = read_data(data, fitted.target, features=fitted.features)
        predictions = fitted.predict(found.X)
        columns = {"prediction": predictions}
        if decision and fitted.classes is not None:
            columns["decision"] = fitted.decision(found.X)
    write_csv(out, *_laid_out(columns, fitted))
    score = None if found.targets is None else _score(fitted, predictions, found.targets)
    if score:
        console(stderr=True).print(f"{len(predictions):,} rows, {score}")


def _laid_out(columns: dict[str, Any], model: "FittedModel") -> tuple[list[str], Iterable]:
    """Return the names of flat columns, and their rows."""
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
    return names, zip(*(np.asarray(part).tolist() for part in parts), strict=True)


def _score(model: "FittedModel", predictions: "np.ndarray", targets: "np.ndarray") -> str | None:
    """Say how well predictions meet targets, where the two can be compared."""
    import numpy as np

    if model.classes is not None:
        words = [values.dtype.kind == "U" for values in (targets, model.classes)]
        return f"accuracy {np.mean(predictions == targets):.4g}" if words[0] == words[1] else None
    if targets.dtype.kind not in "fb" or targets.shape != predictions.shape:
        return None
    return f"root mean squared error {np.sqrt(np.mean((predictions - targets) ** 2)):.4g}"
