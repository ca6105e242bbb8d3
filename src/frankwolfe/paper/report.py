"""What a report says: curves in charts, tables, and the sections they stand in. `render` makes a page of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

Column = Sequence[float] | np.ndarray
Cell = str | float | None


@dataclass(frozen=True)
class Series:
    """One curve, in every quantity it was measured in.

    Parameters
    ----------
    name : str
        Its name in the legend. Within a section, curves of the same name are shown and hidden together.
    values : mapping of str to sequence of float
        Equally long columns by quantity. NaN and infinities leave a hole in the curve. A chart leaves the curve out
        while it shows a quantity that is not here.
    colour : str
        Any CSS colour.
    dashed : bool
        Draw a dashed line.
    low, high : mapping of str to sequence of float, optional
        The edges of a band around the curve, by quantity: the least and the largest over seeds, say.
    points : bool
        Mark every point of the line.
    shown : bool
        Whether the curve shows at first; else it is named in the legend, and a click shows it.
    """

    name: str
    values: Mapping[str, Column]
    colour: str
    dashed: bool = False
    low: Mapping[str, Column] | None = None
    high: Mapping[str, Column] | None = None
    points: bool = False
    shown: bool = True

    def __post_init__(self):
        columns = [self.values, self.low or {}, self.high or {}]
        lengths = {len(column) for group in columns for column in group.values()}
        if len(lengths) > 1:
            raise ValueError(f"series {self.name!r} has columns of lengths {sorted(lengths)}: make them equally long")
        if set(self.low or {}) != set(self.high or {}):
            raise ValueError(
                f"series {self.name!r} has a band with one edge: give low and high for the same quantities"
            )


@dataclass(frozen=True)
class Chart:
    """Curves on one pair of axes.

    Parameters
    ----------
    key : str
        A name that no other chart of the report has; the chart's anchor is ``chart-<key>``.
    title : str
        Its heading.
    x, y : sequence of (str, str)
        Quantities with their labels. The first ones are shown first; where there are several, the reader may choose.
    series : sequence of Series
        The curves.
    log_x, log_y : bool
        Whether the axes start logarithmic. Values that are not positive then leave a hole in the curve.
    note : str
        A remark below the chart.
    """

    key: str
    title: str
    x: Sequence[tuple[str, str]]
    y: Sequence[tuple[str, str]]
    series: Sequence[Series]
    log_x: bool = True
    log_y: bool = True
    note: str = ""

    def __post_init__(self):
        for axis, quantities in (("x", self.x), ("y", self.y)):
            if not quantities:
                raise ValueError(f"chart {self.key!r} has no {axis} quantity: give at least one (quantity, label)")
            for quantity, _ in quantities:
                if self.series and not any(quantity in series.values for series in self.series):
                    raise ValueError(f"chart {self.key!r} offers {quantity!r}, which none of its series has")
        names = [series.name for series in self.series]
        if len(set(names)) < len(names):
            raise ValueError(f"chart {self.key!r} has two series of the same name: {names}")


@dataclass(frozen=True)
class DataTable:
    """A table: numbers right-aligned with four significant digits, whole numbers and texts as they are.

    Parameters
    ----------
    title : str
        Its caption.
    columns : sequence of str
        The headings.
    rows : sequence of sequences of str, float or None
        As many cells in each as there are columns. None and NaN print as a dash.
    note : str
        A remark below the table.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""

    def __post_init__(self):
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.title!r} has {len(self.columns)} columns and a row of {len(row)} cells")


@dataclass(frozen=True)
class Section:
    """Paragraphs, then charts side by side where there is room, then tables."""

    title: str
    text: Sequence[str]
    charts: Sequence[Chart] = ()
    tables: Sequence[DataTable] = ()


@dataclass(frozen=True)
class Report:
    """The whole page: a title, facts about the run as (label, text), and sections with a table of contents."""

    title: str
    subtitle: str
    facts: Sequence[tuple[str, str]]
    sections: Sequence[Section]

    def __post_init__(self):
        keys = [chart.key for section in self.sections for chart in section.charts]
        for key in keys:
            if keys.count(key) > 1:
                raise ValueError(f"two charts have the key {key!r}: give each its own")
