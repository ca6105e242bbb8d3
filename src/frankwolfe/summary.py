"""`Summary`: what a fitted model says, on one screen: its weights by name, its certificate, and what binds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from frankwolfe.arguments.types import ConstraintSet
from frankwolfe.compile.part import short
from frankwolfe.sets import Box, Budget, CappedSimplex, Simplex

if TYPE_CHECKING:
    from frankwolfe.model.fitted_model import RunRecord
    from frankwolfe.result import Result

MOST_WEIGHTS = 20
"""Number of weights that are shown by default."""

ROUNDING = 1e-12
"""Weights below this part of the largest one are shown as zero."""


@dataclass(eq=False, repr=False)
class Summary:
    """A table of a model's weights, with the certificate in a sentence, and the rules that bind with their prices.

    It is text in a terminal and a table in a notebook.

    Attributes
    ----------
    title : str
        What was fitted.
    names : list of str
        Names of the weights, in the order of the data.
    weights : array of shape (d,), or (d, outputs)
        The weights.
    outputs : list of str
        Names of the outputs; empty for one output.
    facts : dict
        Other facts, as text by label.
    certificate : str
        What is proven, in a sentence.
    prices : dict
        How much the objective would fall per unit by which each rule is relaxed. Zero for rules that do not bind.
    most : int
        Number of weights that are shown.

    Examples
    --------
    >>> print(Summary("Squared over L1Ball(3.0)", ["rent", "tv"], np.array([0.0, 3.0]), prices={"radius": 0.25}))
    Squared over L1Ball(3.0)
    <BLANKLINE>
    weight
    tv             3
    1 of 2 weights is not zero.
    <BLANKLINE>
    binds      price
    radius      0.25
    """

    title: str
    names: Sequence[str]
    weights: np.ndarray
    outputs: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    certificate: str = ""
    prices: Mapping[str, float] = field(default_factory=dict)
    most: int = MOST_WEIGHTS

    @property
    def order(self) -> np.ndarray:
        """Columns with a weight that is not zero, or rounding, the largest weights first."""
        sizes = np.abs(self.weights) if self.weights.ndim == 1 else np.abs(self.weights).max(axis=1)
        order = np.argsort(-sizes, kind="stable")
        return order[: np.count_nonzero(sizes > ROUNDING * sizes.max(initial=0.0))]

    @property
    def binding(self) -> dict[str, float]:
        """Rules with a price, the most expensive first."""
        return dict(sorted(((rule, price) for rule, price in self.prices.items() if price > 0.0), key=lambda p: -p[1]))

    def to_frame(self) -> Any:
        """Return all weights as a pandas data frame, the largest first, with a column for each output.

        Returns
        -------
        pandas.DataFrame
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame needs pandas: pip install pandas") from error
        sizes = np.abs(self.weights) if self.weights.ndim == 1 else np.abs(self.weights).max(axis=1)
        order = np.argsort(-sizes, kind="stable")
        index = pd.Index([self.names[j] for j in order], name="name")
        columns = list(self.outputs) or ["weight"]
        return pd.DataFrame(self.weights.reshape(len(self.weights), -1)[order], index=index, columns=columns)

    # --- text and HTML ------------------------------------------------------------------------------------------------

    def _blocks(self) -> "list[list[str | CellRows]]":
        """Return the summary as blocks of paragraphs and tables; what there is nothing to say of is empty."""
        head = ["weight", *(self.outputs or [""])]
        rows = [[self.names[j], *map(number, np.atleast_1d(self.weights[j]))] for j in self.order[: self.most]]
        binding = [[rule, number(price)] for rule, price in self.binding.items()]
        more = len(binding) - self.most
        others = f"{more:,} more {'rule binds' if more == 1 else 'rules bind'}, at lower prices." if more > 0 else ""
        return [
            [self.title],
            [CellRows([head, *rows]) if rows else "", self._count()],
            [CellRows([["binds", "price"], *binding[: self.most]]), others] if binding else [],
            [CellRows([[f"{label}:", value] for label, value in self.facts.items()], 2)] if self.facts else [],
            [self.certificate],
        ]

    def _count(self) -> str:
        """Return a sentence on the number of weights."""
        nonzero, total = len(self.order), len(self.names)
        verb = "is" if nonzero == 1 else "are"
        shown = f"; the largest {self.most} are shown" if nonzero > self.most else ""
        return f"{nonzero:,} of {total:,} weights {verb} not zero{shown}."

    def __str__(self) -> str:
        return "\n\n".join(filter(None, ("\n".join(str(part) for part in block if part) for block in self._blocks())))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the summary as HTML, for notebooks."""
        parts = [part for block in self._blocks() for part in block if part]
        found = [part.html() if isinstance(part, CellRows) else f"<p>{escape(part)}</p>" for part in parts]
        return f"<div>{''.join(found)}</div>"


class CellRows(NamedTuple):
    """Rows of cells of equal length, the first of which is a head unless all columns are text."""

    cells: list[list[str]]
    left: int = 1
    """Number of columns that are aligned to the left."""

    def __str__(self) -> str:
        return aligned(self.cells, self.left)

    def html(self) -> str:
        """Return the rows as an HTML table."""
        lines = []
        for k, row in enumerate(self.cells):
            tag = "td" if k or self.left == len(row) else "th"
            sides = ["left" if j < self.left else "right" for j in range(len(row))]
            cells = zip(row, sides, strict=True)
            lines.append("".join(f'<{tag} style="text-align: {side}">{escape(cell)}</{tag}>' for cell, side in cells))
        return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def number(value: float) -> str:
    """Return a number with five significant digits."""
    return f"{value:.5g}"


def aligned(rows: list[list[str]], left: int = 1) -> str:
    """Return rows of cells as lines with aligned columns, the first ``left`` columns aligned to the left."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    widths[left:] = [max(width, 8) for width in widths[left:]]
    lines = (
        "  ".join(
            cell.ljust(w) if k < left else cell.rjust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


# --- what a run says ------------------------------------------------------------------------------------------------


def summary_of(found: "Result", names: Sequence[str] | None = None) -> Summary:
    """Return the summary of a result (`Result.summary`)."""
    if not isinstance(found.x, np.ndarray):
        raise TypeError("a summary is of linear models: the result of a completion problem has a matrix in factors")
    problem, d = found.trace.problem, len(found.x)
    names = names if names is not None or problem is None else problem.feature_names
    names = [f"x{j}" for j in range(d)] if names is None else [str(name) for name in names]
    if len(names) != d:
        raise ValueError(f"names must have one name for each of {d} columns, got {len(names)}")
    title, side, rows = f"Model by {found.method}", None, None
    if problem is not None:
        title, side, rows = f"{short(problem.loss)} over {short(problem.constraint)}", problem.side, problem.n
    prices = binding_bounds(found, None if problem is None else problem.constraint, names)
    for k, price in enumerate(found.prices.get("side", ())):
        label = f"row {k}" if side is None or side.names is None else side.names[k]
        prices[label] = prices.get(label, 0.0) + float(price)
    facts = run_facts(found, found.intercept) | ({} if rows is None else {"data": f"{rows:,} rows, {d:,} columns"})
    return Summary(title, names, found.x, outputs_of(found.x), facts, proven(found), prices)


def binding_bounds(found: "Result", constraint: ConstraintSet, names: Sequence[str]) -> dict[str, float]:
    """Return the prices of the budget and of the bounds on single weights that bind, by their text.

    Of the bounds only those that the set was given count: all weights of a simplex are at least zero.
    """
    prices = dict[str, float]()
    if "radius" in found.prices:
        is_sum = isinstance(constraint, Simplex | CappedSimplex)
        prices["sum of all weights" if is_sum else "radius"] = found.prices["radius"]
    if isinstance(constraint, Box | Budget | CappedSimplex):
        marks = [f"{a}{b}" for a in names for b in (outputs_of(found.x, "[{}]") or [""])]
        ends = constraint.structure().ends()
        for k, (name, sign) in enumerate((("lower", ">="), ("upper", "<="))):
            if name in found.prices and not (k == 0 and isinstance(constraint, CappedSimplex)):
                bounds = np.broadcast_to(ends[k], len(marks))
                for at in np.flatnonzero(found.prices[name]):
                    prices[f"{marks[at]} {sign} {bounds[at]:g}"] = float(found.prices[name].flat[at])
    return prices


def outputs_of(w: np.ndarray, text: str = "output {}") -> list[str]:
    """Return names of the columns of a weight matrix; nothing for a vector."""
    return [text.format(c) for c in range(w.shape[1])] if w.ndim == 2 else []


def run_facts(found: "Result | RunRecord", intercept: Any) -> dict[str, str]:
    """Return the objective and its share of that of zero weights, the intercept, and what the run cost."""
    fun, zero = found.fun, found.zero_value
    share = f", {100.0 * fun / zero:.3g}% of that of zero weights ({number(zero)})" if zero > 0.0 else ""
    facts = {"objective": f"{number(fun)}{share}"}
    if np.any(intercept):
        facts["intercept"] = ", ".join(number(float(shift)) for shift in np.ravel(intercept))
    facts["run"] = f"{found.method}, {found.passes:.3g} passes over the data, {found.status}"
    return facts


def proven(found: "Result | RunRecord", rules: bool = False, budget: bool = True) -> str:
    """Return what is proven of a model, in a sentence for people who have never heard of duality.

    Parameters
    ----------
    found : Result or RunRecord
        The result of the run that found the model, or what is kept of it.
    rules : bool
        Whether there are rules besides the set.
    budget : bool
        Whether there is a set besides the rules.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> problem = fw.Problem([[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0], loss="squared", constraint=fw.L1Ball(1.0))
    >>> proven(fw.minimize(problem))
    'Proven: no weights in the set have an objective more than 0 below this one (0% of that of zero weights).'
    """
    gap, zero = found.gap, found.zero_value
    if found.is_likely:
        return f"Likely, not proven: {found.message}"
    if found.max_features is not None:  # what is proven is about models with few features
        return f"{found.message.partition('. ')[0].rstrip('.')}."
    if not np.isfinite(gap):
        return "Nothing is proven of these weights: the run ended before there was a finite bound."
    if not found.convex:
        return (
            f"The loss is not convex, so better weights may exist elsewhere. The gap {gap:.3g} says how far these are "
            "from a point where no direction improves."
        )
    rules = rules or found.violation is not None
    where = " ".join(["no weights"] + ["in the set"] * budget + ["that satisfy all rules"] * rules)
    share = f" ({100.0 * gap / zero:.2g}% of that of zero weights)" if zero > 0.0 else ""
    missed = "" if found.success else f" That is above the tolerance of {found.tolerance:.3g}."
    where = f"Proven: {where} have an objective"
    if gap < 0.0:  # the weights break a rule, and may be below the optimum
        found_above = f"{where} less than {-gap:.3g} above this one."
    else:
        found_above = f"{where} more than {gap:.3g} below this one{share}."
    broken = f" These break a rule by {found.violation:.2g} of its size." if (found.violation or 0.0) > 1e-9 else ""
    return found_above + broken + missed


def verdict(found: "Result | RunRecord", rules: bool = False, budget: bool = True) -> tuple[str, str]:
    """Return a verdict on a run in a few words, and a sentence: what is `proven` or, if it failed, why it ended.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> problem = fw.Problem([[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0], loss="squared", constraint=fw.L1Ball(1.0))
    >>> verdict(fw.minimize(problem))[0]
    'Certified'
    """
    if not found.success:
        likely = found.status == "likely"
        return "Likely, not proven" if likely else "Not certified to the tolerance", found.message
    return "Certified" if found.convex else "Stationary", proven(found, rules, budget)
