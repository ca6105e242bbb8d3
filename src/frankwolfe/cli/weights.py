"""Weights by name, largest first."""

from typing import Any

import numpy as np

from frankwolfe.cli.output import console
from frankwolfe.model.fitted_model import FittedModel


def show_weights(model: FittedModel, most: int) -> None:
    """Print the largest weights of a model by name, on the scale of its columns, and how many are zero.

    Parameters
    ----------
    model : FittedModel
        The model.
    most : int
        How many weights to print at most; 0 prints nothing.
    """
    if not most:
        return
    from rich.table import Table
    from rich.text import Text

    rows, title = listed(model, most)
    several, scaled = model.weights.ndim == 2, model.preparation.scale is not None
    heads = ["column", *(["output"] * several), "weight", *(["standardised"] * scaled)]
    table = Table(*heads, box=None, padding=(0, 2, 0, 0))
    for column in table.columns:
        column.justify = "left" if column.header in ("column", "output") else "right"
        column.header_style = "dim"
        column.overflow = "fold"
    for row in rows:
        table.add_row(*map(Text, row))
    there = console()
    there.print()
    there.print(Text(title))
    if rows:
        there.print(table)


def listed(model: FittedModel, most: int) -> tuple[list[list[str]], str]:
    """Return the rows of the table of weights, and what to write above it."""
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


def weight_labels(model: FittedModel) -> list[str]:
    """Return what to call the columns that have weights: their names, or their indices in the file."""
    named = model.weight_names
    if named is not None:
        return named
    return [str(model.features.first + j) for j in range(len(model.weights))]


def output_labels(model: FittedModel) -> list[Any]:
    """Return what to call the outputs: classes or targets; nothing where there is one."""
    if model.weights.ndim == 1:
        return []
    if model.classes is not None:
        return [str(value) for value in model.classes]
    return model.target or [str(c) for c in range(model.weights.shape[1])]
