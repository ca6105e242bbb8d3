"""From rules by name to a problem: the set and the side conditions that hold all rules, and the prices of each.

Bounds go into the set where a set with bounds solves the problem fast: `Budget`, `Box`, `CappedSimplex`. Elsewhere each
bound is a row of `LinearBounds`. With several outputs the rules hold for the weights of each output.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.arguments.types import ConstraintSet
from frankwolfe.problem.linear_bounds import LinearBounds
from frankwolfe.problem.rules import Rules
from frankwolfe.sets import Box, Budget, CappedSimplex, L1Ball, NonNegativeL1Ball, Simplex

ENDS = ("lower", "upper")

MOST_SHOWN = 10
"""Largest number of contradictory rules that an error names."""


class RuledSet(NamedTuple):
    """A set and side conditions that together hold all rules.

    Attributes
    ----------
    rules : Rules
        The rules on the weights of each output.
    constraint : set
        The set.
    side : LinearBounds or None
        First all conditions, for each output in turn, then the bounds that the set does not hold.
    outputs : int
        Number of outputs, at least 1.
    rows : dict
        Places of the bounds in ``side``, by the place of the weight in the flat weights and whether it is the upper
        bound. Of equal bounds only the upper one is there.
    radius : float or None
        Radius of the box in which the bounds are, if it had one.
    """

    rules: Rules
    constraint: ConstraintSet
    side: LinearBounds | None
    outputs: int
    rows: dict[tuple[int, bool], int]
    radius: float | None = None

    def prices(self, found: Mapping[str, Any], scale: np.ndarray | None, labels: Sequence[str]) -> dict[str, float]:
        """Return the price of each rule by its text, from `Result.prices`.

        ``scale`` are the numbers that columns were divided by, and ``labels`` the names of several outputs.
        """
        if not found:
            return {}
        marks = [f" [{label}]" for label in labels] or [""]
        scale = np.ones(len(self.rules.names)) if scale is None else scale
        written, prices = self.rules.scaled(1.0 / scale), dict[str, float]()

        def add(text: str, price: float) -> None:
            prices[text] = prices.get(text, 0.0) + float(price)

        for k, row in enumerate(self.rules.rows):
            for c, mark in enumerate(marks):
                add(row.text + mark, found["side"][k * self.outputs + c])
        held, own = _ends(self.constraint, self.outputs * len(scale)), (self.rules.lower, self.rules.upper)
        for column in np.flatnonzero(np.isfinite(written.lower) | np.isfinite(written.upper)).tolist():
            for upper in (False, True):
                if not np.isfinite((written.upper if upper else written.lower)[column]):
                    continue
                end = int(upper != (scale[column] < 0.0))
                for c, mark in enumerate(marks):
                    at, price = column * self.outputs + c, 0.0
                    if (at, bool(end)) in self.rows:
                        price = found["side"][self.rows[at, bool(end)]]
                    elif held[end][at] == own[end][column]:  # else the set has a tighter bound, which is no rule
                        price = found.get(ENDS[end], {at: 0.0})[at]
                    add(written.bound_text(column, upper) + mark, abs(scale[column]) * price)
        if self.radius is not None and "radius" not in found:  # the bounds that are no rules move with it
            for name, held_ends, own_ends in zip(ENDS, held, own, strict=True):
                theirs = (np.abs(held_ends) == self.radius) & (held_ends != np.repeat(own_ends, self.outputs))
                add("radius", np.ravel(found[name])[theirs].sum())
        return prices


def posed(rules: Rules, constraint: Any | None, outputs: int) -> RuledSet:
    """Return a set and side conditions that hold all rules.

    Parameters
    ----------
    rules : Rules
        The rules.
    constraint : set or None
        The set that the weights are in besides; None for no budget. Then the radius of the set, if it has one, is only
        a start (`frankwolfe.without_budget`).
    outputs : int
        Number of outputs; 0 if weights are a vector.
    """
    count = max(1, outputs)
    lower, upper = np.repeat(rules.lower, count), np.repeat(rules.upper, count)
    radius = constraint.own_radius() if isinstance(constraint, Box) else None
    if constraint is None:
        constraint = _without_budget(lower, upper)
    elif rules.bounded:
        constraint = _bounded(rules, constraint, lower, upper, count)
    held_lower, held_upper = _ends(constraint, len(lower))
    rows = dict[tuple[int, bool], int]()
    first = len(rules.rows) * count
    for at in range(len(lower)):
        for is_upper, missing in ((False, lower[at] > held_lower[at]), (True, upper[at] < held_upper[at])):
            if missing and not (not is_upper and lower[at] == upper[at]):
                rows[at, is_upper] = first + len(rows)
    return RuledSet(rules, constraint, _side(rules, lower, upper, count, list(rows)), count, rows, radius)


def _without_budget(lower: np.ndarray, upper: np.ndarray) -> Any:
    """Return a set that holds bounds as far as possible, with a radius that does not matter."""
    if np.isfinite(lower).all() and np.isfinite(upper).all():
        return Box(lower, upper)
    return _budget(lower, upper, max(1.0, 2.0 * float(np.abs(np.clip(0.0, lower, upper)).sum())))


def _budget(lower: np.ndarray, upper: np.ndarray, radius: float) -> Any:
    """Return an l1 budget with bounds."""
    if np.isinf(upper).all() and (lower == 0.0).all():
        return NonNegativeL1Ball(radius)
    if np.isinf(upper).all() and np.isinf(lower).all():
        return L1Ball(radius)
    return Budget(lower, upper, radius)


def _bounded(rules: Rules, constraint: ConstraintSet, lower: np.ndarray, upper: np.ndarray, count: int) -> Any:
    """Return the points of a set that are within bounds, as a set; or the set itself, where they are left to rows."""
    d = len(lower)
    low, high = _ends(constraint, d)
    if ((low > upper) | (high < lower)).any():
        at = int(np.flatnonzero((low > upper) | (high < lower))[0])
        over = bool(low[at] > upper[at])
        raise ValueError(
            f"{rules.bound_text(at // count, over)}: the set {type(constraint).__name__} has weights of at "
            f"{'least' if over else 'most'} {low[at] if over else high[at]:g} only"
        )
    low, high = np.maximum(low, lower), np.minimum(high, upper)
    if isinstance(constraint, Box):
        return Box(low, high)
    if isinstance(constraint, L1Ball | NonNegativeL1Ball | Budget):
        return _budget(low, high, constraint.radius)
    if isinstance(constraint, Simplex | CappedSimplex) and (lower <= 0.0).all():
        return CappedSimplex(high, constraint.radius)
    return constraint


def _ends(constraint: ConstraintSet, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds that a set states for each of ``d`` weights, infinite where it states none."""
    low, high = -np.inf, np.inf
    if isinstance(constraint, Box | Budget):
        low, high = constraint.lower, constraint.upper
    elif isinstance(constraint, CappedSimplex):
        low, high = 0.0, constraint.cap
    elif isinstance(constraint, Simplex | NonNegativeL1Ball):
        low = 0.0
    return np.array(np.broadcast_to(low, d), float), np.array(np.broadcast_to(high, d), float)


def _side(
    rules: Rules, lower: np.ndarray, upper: np.ndarray, count: int, bounds: list[tuple[int, bool]]
) -> LinearBounds | None:
    """Return the conditions for each output and some bounds as rows."""
    plain, d = rules.side(), len(lower)
    parts, least, most, names = list[Any](), list[float](), list[float](), list[str]()
    if plain is not None:
        parts.append(sparse.kron(plain.A, sparse.eye_array(count), format="csr"))
        least, most = np.repeat(plain.lower, count).tolist(), np.repeat(plain.upper, count).tolist()
        names = [row.text for row in rules.rows for _ in range(count)]
    if bounds:
        places = np.array([at for at, _ in bounds])
        ones = np.ones(len(bounds))
        parts.append(sparse.csr_array((ones, (np.arange(len(bounds)), places)), shape=(len(bounds), d)))
        for at, is_upper in bounds:
            most.append(upper[at] if is_upper else np.inf)
            least.append(lower[at] if not is_upper or lower[at] == upper[at] else -np.inf)
            names.append(rules.bound_text(at // count, is_upper))
    return LinearBounds(sparse.vstack(parts, format="csr"), least, most, names=names) if parts else None


# --- rules that no weights keep -------------------------------------------------------------------------------------


def least_size(rules: Rules) -> float:
    """Return the smallest sum of absolute weights, of one output, with which all rules hold.

    Raises ValueError if no weights satisfy all rules, and names those that contradict each other.

    Examples
    --------
    >>> least_size(Rules.of(["a", "b"], 2, conditions=["a + 2 * b >= 4", "b <= 1"]))
    3.0
    """
    side = rules.side()
    if side is None:
        return float(np.abs(np.clip(0.0, rules.lower, rules.upper)).sum())
    found = _program(side, rules.lower, rules.upper)
    if found.status == 2:
        raise _contradiction(rules, side)
    return float(found.fun) if found.status == 0 else 0.0


def _program(side: LinearBounds, lower: np.ndarray, upper: np.ndarray, chosen: Any = slice(None)) -> Any:
    """Return SciPy's solution for the least sum of absolute weights under some conditions and bounds.

    Weights are ``p - q`` with ``p, q >= 0``.
    """
    from scipy.optimize import linprog  # slow to import

    A = sparse.csr_array(side.A)[chosen]
    A, low, high = sparse.hstack([A, -A], format="csr"), side.lower[chosen], side.upper[chosen]
    sizes = abs(A).max(axis=1).toarray().ravel()
    A, low, high = sparse.diags_array(1.0 / sizes) @ A, low / sizes, high / sizes
    same = low == high
    up, down = np.isfinite(high) & ~same, np.isfinite(low) & ~same
    limits = [
        *zip(np.maximum(lower, 0.0), np.maximum(upper, 0.0), strict=True),
        *zip(np.maximum(-upper, 0.0), np.maximum(-lower, 0.0), strict=True),
    ]
    G, h = sparse.vstack([A[up], -A[down]], format="csr"), np.concatenate([high[up], -low[down]])
    return linprog(np.ones(A.shape[1]), G, h, A[same], low[same], limits, method="highs")


def _contradiction(rules: Rules, side: LinearBounds) -> ValueError:
    """Return the error that names rules which contradict each other, none of which can be left out.

    Conditions are left out one by one as long as the others contradict each other, then bounds.
    """
    rows, lower, upper = np.arange(side.m), rules.lower.copy(), rules.upper.copy()
    for k in range(side.m):
        if len(rows) > 1 and _program(side, lower, upper, rows[rows != k]).status == 2:
            rows = rows[rows != k]
    used = np.unique(sparse.csr_array(side.A)[rows].indices)
    texts = [side.names[k] for k in rows] if side.names is not None else []
    for j in range(len(lower)):
        if j not in used:
            lower[j], upper[j] = -np.inf, np.inf
    for j in used:
        for ends, loose in ((lower, -np.inf), (upper, np.inf)):
            end, ends[j] = ends[j], loose
            if np.isfinite(end) and _program(side, lower, upper, rows).status != 2:
                ends[j] = end
                texts.append(rules.bound_text(int(j), ends is upper))
    shown = [repr(text) for text in dict.fromkeys(texts)]
    listed = ", ".join(shown[: min(len(shown) - 1, MOST_SHOWN)])
    last = shown[-1] if len(shown) <= MOST_SHOWN + 1 else f"{len(shown) - MOST_SHOWN} others"
    return ValueError(
        f"the rules {listed} and {last} cannot hold together: leave one of them out, or loosen it"
        if len(shown) > 1
        else f"the rule {shown[0]} cannot hold: leave it out, or loosen it"
    )
