"""Rules on weights in the user's words: bounds, linear conditions and monotone levels, by the names of columns.

A condition such as ``"share_a + share_b <= 2 * share_c"`` is read with Python's own parser. Each name stands for the
weight of a column. `Rules.of` turns all rules into bounds on single weights and rows of `LinearBounds`.
"""

import ast
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.arguments.names import nearest
from frankwolfe.problem.linear_bounds import LinearBounds

DIRECTIONS = {"increasing": 1.0, "decreasing": -1.0, 1: 1.0, -1: -1.0}
"""Values of ``monotone``, and the sign of the differences between one weight and the next."""

QUOTED = re.compile(r"`([^`]*)`")
"""A name in backticks, for names that are no Python identifiers."""


class Condition(NamedTuple):
    """One rule ``lower <= sum_j coefficients[j] w_j <= upper``.

    Attributes
    ----------
    text : str
        The rule as the user would write it.
    coefficients : dict
        Coefficients by column. There is at least one, and none is zero.
    lower, upper : float
        Bounds; infinite where there is none.
    """

    text: str
    coefficients: dict[int, float]
    lower: float
    upper: float


class Linear(NamedTuple):
    """A linear expression: ``constant + sum_j coefficients[j] w_j``."""

    constant: float
    coefficients: dict[int, float]

    def plus(self, other: "Linear", factor: float = 1.0) -> "Linear":
        """Return ``self + factor * other``."""
        total = dict(self.coefficients)
        for column, value in other.coefficients.items():
            total[column] = total.get(column, 0.0) + factor * value
        return Linear(self.constant + factor * other.constant, total)

    def times(self, factor: float) -> "Linear":
        """Return ``factor * self``."""
        return Linear(0.0, {}).plus(self, factor)


# --- names of columns -------------------------------------------------------------------------------------------------


class ColumnNames:
    """The columns that rules may name.

    Parameters
    ----------
    names : sequence of str or None
        Names of the columns. If None, they are called ``x0``, ``x1``, and so on.
    d : int
        Number of columns.
    """

    def __init__(self, names: Sequence[str] | None, d: int):
        self.names = [f"x{j}" for j in range(d)] if names is None else [str(name) for name in names]
        if len(self.names) != d:
            raise ValueError(f"there are {len(self.names)} names for {d} columns")
        self._places: dict[str, list[int]] = {}
        for j, name in enumerate(self.names):
            self._places.setdefault(_normal(name), []).append(j)

    def __len__(self) -> int:
        return len(self.names)

    def find(self, name: Any, rule: str) -> int:
        """Return the column with a name, or with a number. ``rule`` is the text that errors refer to."""
        if isinstance(name, int | np.integer) and not isinstance(name, bool):
            if not -len(self) <= name < len(self):
                raise ValueError(f"{rule}: there is no column {name}, the data has {len(self)} columns")
            return int(name) % len(self)
        places = self._places.get(_normal(str(name)), [])
        if len(places) > 1:
            raise ValueError(f"{rule}: {len(places)} columns are called {name!r}: rename them, or use their numbers")
        if not places:
            shown = ", ".join(map(repr, self.names[:5])) + (", ..." if len(self) > 5 else "")
            hint = nearest(str(name), self.names) or f". The columns are {shown}"
            raise ValueError(f"{rule}: there is no column {name!r}{hint}")
        return places[0]

    def matching(self, pattern: Any, rule: str) -> list[int]:
        """Return the columns that match a name, a number or a pattern such as ``"tv_*"``, in the order of the data."""
        if not isinstance(pattern, str) or not re.search(r"[*?[]", pattern) or _normal(pattern) in self._places:
            return [self.find(pattern, rule)]
        found = [j for j, name in enumerate(self.names) if fnmatchcase(name, pattern)]
        if not found:
            raise ValueError(f"{rule}: no column matches {pattern!r}{nearest(pattern.strip('*?'), self.names)}")
        return found

    def quoted(self, column: int) -> str:
        """Return a column's name as it stands in a condition: in backticks unless it is an identifier."""
        name = self.names[column]
        return name if name.isidentifier() else f"`{name}`"


def _normal(name: str) -> str:
    """Return a name in the form in which Python's parser returns identifiers."""
    return unicodedata.normalize("NFKC", name)


# --- reading a condition ----------------------------------------------------------------------------------------------


def read_condition(text: str, columns: ColumnNames) -> list[Condition]:
    """Return the conditions that a text states. A chain such as ``"a <= b <= c"`` states several.

    Parameters
    ----------
    text : str
        Linear expressions in the names of columns, joined by ``<=``, ``>=`` or ``==``. Names that are no identifiers
        stand in backticks. ``sum("tv_*")`` is the sum of the weights of all matching columns.
    columns : ColumnNames
        The columns.

    Returns
    -------
    list of Condition

    Raises
    ------
    ValueError
        If the text is not a condition, is not linear, or names a column that does not exist.

    Examples
    --------
    >>> read_condition("0 <= a <= 2 * b + 1", ColumnNames(["a", "b"], 2))[1]
    Condition(text='a <= 2 * b + 1', coefficients={0: 1.0, 1: -2.0}, lower=-inf, upper=1.0)
    """
    if not isinstance(text, str):
        raise TypeError(f"a condition must be a string such as 'income >= rent', got {type(text).__name__}")
    rule = f"condition {text!r}"
    names: dict[str, str] = {}

    def placeholder(match: re.Match) -> str:
        return names.setdefault(match[1], f"_quoted_{len(names)}_")

    source = QUOTED.sub(placeholder, text).strip()
    quoted = {stand_in: name for name, stand_in in names.items()}
    reader = Reader(columns, rule, source, quoted)
    found = reader.comparisons()
    for condition in found:
        if not condition.coefficients:
            raise ValueError(f"{rule}: {condition.text!r} does not depend on any weight")
    return found


class Reader:
    """Reads one condition from its syntax tree.

    Parameters
    ----------
    columns : ColumnNames
        The columns.
    rule : str
        What errors call the condition.
    source : str
        The text, with placeholders for names in backticks.
    quoted : dict
        The names behind the placeholders.
    """

    def __init__(self, columns: ColumnNames, rule: str, source: str, quoted: dict[str, str]):
        self.columns, self.rule, self.source, self.quoted = columns, rule, source, quoted

    def comparisons(self) -> list[Condition]:
        """Return a condition for each comparison of the text."""
        try:
            tree = ast.parse(self.source, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise ValueError(f"{self.rule}: {self._syntax_advice()}") from None
        if isinstance(tree, ast.Tuple | ast.BoolOp):
            raise ValueError(f"{self.rule}: write one condition in each string, or a chain such as 'a <= b <= c'")
        if not isinstance(tree, ast.Compare):
            raise ValueError(f"{self.rule}: there is no comparison; use <=, >= or ==")
        sides = [tree.left, *tree.comparators]
        return [
            self._comparison(left, operator, right)
            for (left, right), operator in zip(pairwise(sides), tree.ops, strict=True)
        ]

    def _syntax_advice(self) -> str:
        """Return what is probably wrong with a text that Python cannot parse."""
        if re.search(r"=<|=>", self.source):
            return "use <= and >="
        if re.search(r"(?<![<>=!])=(?!=)", self.source):
            return "an equation is written with =="
        if re.search(r"[*?]\s*([<>=+-]|$)", self.source):
            return 'a pattern stands in a bound, or in a sum, as in sum("tv_*") <= 1'
        return "cannot be read; names that contain spaces, points or signs stand in backticks, as in `my column` <= 1"

    def _comparison(self, left: ast.expr, operator: ast.cmpop, right: ast.expr) -> Condition:
        """Return the condition that one comparison states, with all weights on its left."""
        if isinstance(operator, ast.Lt | ast.Gt):
            better = "<=" if isinstance(operator, ast.Lt) else ">="
            raise ValueError(f"{self.rule}: a strict inequality has no best model; use {better}")
        signs = {ast.LtE: "<=", ast.GtE: ">=", ast.Eq: "=="}
        if type(operator) not in signs:
            raise ValueError(f"{self.rule}: use <=, >= or == between linear expressions")
        sign = signs[type(operator)]
        with np.errstate(over="ignore", invalid="ignore"):
            difference = self._linear(left).plus(self._linear(right), -1.0)
        coefficients = {column: value for column, value in difference.coefficients.items() if value != 0.0}
        bound = -difference.constant
        if not np.isfinite([bound, *coefficients.values()]).all():
            raise ValueError(f"{self.rule}: a number is too large, or not a number")
        lower, upper = (-np.inf if sign == "<=" else bound), (np.inf if sign == ">=" else bound)
        text = f"{self._text(left)} {sign} {self._text(right)}"
        return Condition(text, coefficients, lower + 0.0, upper + 0.0)

    def _text(self, node: ast.expr) -> str:
        """Return a part of the condition as the user wrote it."""
        text = ast.get_source_segment(self.source, node) or ast.unparse(node)
        for stand_in, name in self.quoted.items():
            text = text.replace(stand_in, f"`{name}`")
        return text

    def _linear(self, node: ast.expr) -> Linear:
        """Return the linear expression that a part of the syntax tree stands for."""
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return Linear(float(number) if abs(number) < 1e308 else np.inf, {})
            case ast.Name(id=name):
                return Linear(0.0, {self.columns.find(self.quoted.get(name, name), self.rule): 1.0})
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=inner):
                return self._linear(inner).times(-1.0 if isinstance(sign, ast.USub) else 1.0)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as sign, right=right):
                return self._linear(left).plus(self._linear(right), -1.0 if isinstance(sign, ast.Sub) else 1.0)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self._product(node, self._linear(left), self._linear(right))
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return self._quotient(node, self._linear(left), self._linear(right))
            case ast.Call(func=ast.Name(id="sum"), args=[ast.Constant(value=str() as pattern)], keywords=[]):
                return Linear(0.0, dict.fromkeys(self.columns.matching(pattern, self.rule), 1.0))
            case ast.Call(func=ast.Name(id="sum"), args=[_], keywords=[]):
                raise ValueError(f'{self.rule}: sum takes a pattern in quotation marks, as in sum("tv_*")')
        raise ValueError(
            f"{self.rule}: {self._text(node)!r} is not linear; use numbers, names, +, -, products and quotients with a "
            'number, and sum("pattern*")'
        )

    def _product(self, node: ast.expr, left: Linear, right: Linear) -> Linear:
        """Return the product of two expressions, one of which must be a number."""
        if left.coefficients and right.coefficients:
            raise ValueError(f"{self.rule}: {self._text(node)!r} multiplies two weights and so is not linear")
        return right.times(left.constant) if not left.coefficients else left.times(right.constant)

    def _quotient(self, node: ast.expr, left: Linear, right: Linear) -> Linear:
        """Return the quotient of two expressions, the second of which must be a number that is not zero."""
        if right.coefficients:
            raise ValueError(f"{self.rule}: {self._text(node)!r} divides by a weight and so is not linear")
        if right.constant == 0.0:
            raise ValueError(f"{self.rule}: {self._text(node)!r} divides by zero")
        return Linear(left.constant / right.constant, {j: c / right.constant for j, c in left.coefficients.items()})


# --- all rules of a model ---------------------------------------------------------------------------------------------


class Rules(NamedTuple):
    """All rules on the weights of a model: bounds on single weights, and rows of linear conditions.

    Attributes
    ----------
    lower, upper : array of shape (d,)
        Bounds of each weight; infinite where there is none.
    rows : list of Condition
        Rules on several weights.
    names : list of str
        Names of the columns, as they stand in conditions.

    Examples
    --------
    >>> found = Rules.of(["price", "tv_a", "tv_b"], 3, {"tv_*": (0, None)}, ["tv_a >= tv_b", "price <= 0"])
    >>> found.lower, found.upper
    (array([-inf,   0.,   0.]), array([ 0., inf, inf]))
    >>> found.side().names
    ['tv_a >= tv_b']
    """

    lower: np.ndarray
    upper: np.ndarray
    rows: list[Condition]
    names: list[str]

    @classmethod
    def of(
        cls,
        names: Sequence[str] | None,
        d: int,
        bounds: Any = None,
        conditions: str | Iterable[str] | None = None,
        monotone: Mapping[Any, Any] | None = None,
    ) -> "Rules":
        """Return the rules for ``d`` columns.

        Parameters
        ----------
        names : sequence of str or None
            Names of the columns; None stands for ``x0``, ``x1``, and so on.
        d : int
            Number of columns.
        bounds : dict or pair, optional
            Pairs ``(lower, upper)`` by name, number or pattern; None is no bound. A single pair holds for all weights.
        conditions : str or list of str, optional
            See `read_condition`.
        monotone : dict, optional
            ``"increasing"`` or ``"decreasing"`` by pattern (columns in the order of the data) or tuple of names: each
            weight is at least, or at most, the one before.

        Returns
        -------
        Rules

        Raises
        ------
        ValueError
            If a rule cannot be read, or bounds leave no room for a weight.
        """
        columns = ColumnNames(names, d)
        texts = [conditions] if isinstance(conditions, str) else list(conditions or ())
        found = [condition for text in texts for condition in read_condition(text, columns)]
        found += _monotone(monotone, columns)
        rules = cls(np.full(d, -np.inf), np.full(d, np.inf), [], [columns.quoted(j) for j in range(d)])
        for text, column, low, high in _bounds(bounds, columns):
            rules._bound(column, low, high, text)
        for condition in found:
            if len(condition.coefficients) > 1:
                rules.rows.append(condition)
                continue
            ((column, factor),) = condition.coefficients.items()
            ends = sorted((condition.lower / factor, condition.upper / factor))
            rules._bound(column, ends[0], ends[1], condition.text)
        return rules

    def _bound(self, column: int, low: float, high: float, text: str) -> None:
        """Add bounds on one weight to those that it has."""
        self.lower[column] = max(self.lower[column], low) + 0.0
        self.upper[column] = min(self.upper[column], high) + 0.0
        if self.lower[column] > self.upper[column]:
            raise ValueError(
                f"{text}: no value is left for the weight of {self.names[column]}, whose bounds are "
                f"{self.lower[column]:g} and {self.upper[column]:g}"
            )

    def __bool__(self) -> bool:
        """Whether there is any rule."""
        return bool(self.rows) or self.bounded

    @property
    def bounded(self) -> bool:
        """Whether any weight has a bound of its own."""
        return bool(np.isfinite(self.lower).any() or np.isfinite(self.upper).any())

    def within(self, others: "Rules") -> "Rules":
        """Return these rules and the bounds of others on the same columns."""
        found = self._replace(lower=self.lower.copy(), upper=self.upper.copy())
        for column in range(len(self.names)):
            for upper, end in ((False, others.lower[column]), (True, others.upper[column])):
                if np.isfinite(end):
                    text = others.bound_text(column, upper)
                    found._bound(column, -np.inf if upper else end, end if upper else np.inf, text)
        return found

    def side(self) -> LinearBounds | None:
        """Return the conditions on several weights as `LinearBounds`; None if there are none."""
        if not self.rows:
            return None
        entries = [(k, j, value) for k, row in enumerate(self.rows) for j, value in row.coefficients.items()]
        rows, at, values = (np.array(part) for part in zip(*entries, strict=True))
        A = sparse.csr_array((values, (rows, at)), shape=(len(self.rows), len(self.names)))
        lower, upper = np.array([row.lower for row in self.rows]), np.array([row.upper for row in self.rows])
        return LinearBounds(A, lower, upper, names=[row.text for row in self.rows])

    def scaled(self, scale: np.ndarray) -> "Rules":
        """Return the same rules for the weights of columns divided by ``scale``: these are ``scale`` times larger.

        Scales may be negative. Lower and upper bounds of such a column change places.
        """
        rows = [
            row._replace(coefficients={j: value / scale[j] for j, value in row.coefficients.items()})
            for row in self.rows
        ]
        ends = self.lower * scale, self.upper * scale
        return self._replace(lower=np.minimum(*ends) + 0.0, upper=np.maximum(*ends) + 0.0, rows=rows)

    def bound_text(self, column: int, upper: bool) -> str:
        """Return a bound of one weight as a condition, such as ``"price <= 0"``; ``"price == 1"`` if both are equal."""
        low, high = self.lower[column], self.upper[column]
        sign = "==" if low == high else "<=" if upper else ">="
        return f"{self.names[column]} {sign} {high if upper else low:g}"


def _monotone(monotone: Mapping[Any, Any] | None, columns: ColumnNames) -> list[Condition]:
    """Return the conditions of ``monotone``: one for each pair of neighbours."""
    if monotone is None:
        return []
    if not isinstance(monotone, Mapping):
        raise TypeError(f"monotone must be a dict such as {{'age_*': 'increasing'}}, got {type(monotone).__name__}")
    found = []
    for key, direction in monotone.items():
        rule = f"monotone {key!r}"
        if not isinstance(direction, str | int) or direction not in DIRECTIONS:
            raise ValueError(f"{rule}: the value must be 'increasing' or 'decreasing', got {direction!r}")
        ordered = [columns.find(name, rule) for name in key] if isinstance(key, tuple) else columns.matching(key, rule)
        if len(ordered) < 2 or len(set(ordered)) < len(ordered):
            raise ValueError(f"{rule}: two different columns or more are needed, got {len(set(ordered))}")
        sign = DIRECTIONS[direction]
        for first, second in pairwise(ordered):
            text = f"{columns.quoted(first)} {'<=' if sign > 0.0 else '>='} {columns.quoted(second)}"
            found.append(Condition(text, {first: sign, second: -sign}, -np.inf, 0.0))
    return found


def _bounds(bounds: Any, columns: ColumnNames) -> Iterable[tuple[str, int, float, float]]:
    """Yield the bounds of single weights: the rule, the column, and the two bounds."""
    if bounds is None:
        return
    if isinstance(bounds, Mapping):
        for key, pair in bounds.items():
            rule = f"bounds of {key!r}"
            low, high = _pair(pair, rule)
            for column in columns.matching(key, rule):
                yield rule, column, float(_end(low, -np.inf, rule)), float(_end(high, np.inf, rule))
        return
    low, high = (
        _end(values, default, "bounds")
        for values, default in zip(_pair(bounds, "bounds"), (-np.inf, np.inf), strict=True)
    )
    for name, values in (("lower", low), ("upper", high)):
        if values.ndim > 1 or values.size not in (1, len(columns)):
            raise ValueError(f"bounds: {name} must be a number or one for each of {len(columns)} columns")
    for column, ends in enumerate(zip(*np.broadcast_arrays(low, high, np.empty(len(columns)))[:2], strict=True)):
        yield "bounds", column, float(ends[0]), float(ends[1])


def _pair(pair: Any, rule: str) -> tuple[Any, Any]:
    """Return a pair of bounds, or raise TypeError."""
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise TypeError(
            f"{rule}: bounds must be a pair (lower, upper), None for no bound, as in (0, None), or a dict of pairs by "
            f"column, as in {{0: (0, None)}}; got {pair!r}"
        )
    return pair[0], pair[1]


def _end(value: Any, default: float, rule: str) -> np.ndarray:
    """Return one end of a pair of bounds as numbers, with the default where there is no bound."""
    if value is None:
        return np.array(default)
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{rule}: a bound must be a number or None, got {value!r}") from None
    if np.isnan(numbers).any():
        raise ValueError(f"{rule}: a bound is NaN; use None for no bound")
    if (numbers == -default).any():
        raise ValueError(f"{rule}: {-default:g} as {'lower' if default < 0 else 'upper'} bound leaves no value")
    return numbers
