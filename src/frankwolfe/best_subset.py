"""The best model with at most k features, and a proven bound on how much better any other could be.

The bound comes from relaxations: convex sets that contain every point of the constraint set with at most k non-zero
weights (`sparse_hulls` of a set). What is proven over such a set holds for all models with k features. Branch and bound
makes it tighter: models either lack a certain feature, which leaves a smaller relaxation, or have it.

Every model that is returned is a certified minimum over its own features, under all conditions of the problem.
"""

from collections.abc import Sequence
from dataclasses import replace
from heapq import heappop, heappush
from itertools import count
from math import ceil, floor, log10
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.linalg.matrices import column_norms
from frankwolfe.linalg.threads import single_threaded
from frankwolfe.problem import Problem
from frankwolfe.problem.linear_bounds import Infeasible, LinearBounds
from frankwolfe.result import Result, Status, Trace
from frankwolfe.run import minimize
from frankwolfe.sets.named import carried

MOST_NODES = 200
"""Largest number of relaxations that a search solves."""

REPLACEMENTS = 5
"""A swap tries this many of the steepest features."""


BY_COLUMNS = ("passes", "certificate_passes")
"""What a run cost, by the names in a `Result`: runs over some columns cost less than those over all."""

WHOLE = ("nit", "checks", "seconds", "certificate_seconds", "compile_seconds")
"""What a run cost, whatever the number of columns."""

Columns = tuple[int, ...]
"""Numbers of features."""

Features = Sequence[int] | np.ndarray
"""The same, as the functions here take them."""


def best_subset(
    problem: Problem,
    max_features: int,
    *,
    tol: float = 1e-4,
    max_passes: float | None = 100.0,
    x0: Any = None,
    max_nodes: int = MOST_NODES,
    **options: Any,
) -> Result:
    """Minimise over the points of a set with at most ``max_features`` non-zero features.

    Parameters
    ----------
    problem : Problem
        A problem with its rows in memory. With several outputs a feature has a weight for each.
    max_features : int
        Most features with a weight that is not zero.
    tol : float
        As for `minimize`: the search ends once the gap to the best model with so many features is proven to be at most
        ``tol * F(0)``. The weights of the features found meet the same tolerance.
    max_passes : float or None
        The search for better models and bounds ends after so many passes. A pass over some columns counts in proportion
        to their number. The limit holds for each single run, too.
    x0 : array, optional
        Weights whose largest features are tried first.
    max_nodes : int
        Most relaxations to solve beside the first. With zero, there is only the first bound.
    **options : dict
        ``method``, ``random_state`` and ``n_threads`` of every run, as for `minimize`.

    Returns
    -------
    Result
        Its ``gap`` and ``lower_bound`` are about all models with at most ``max_features`` features. ``success`` means
        that this gap is within the tolerance. If only the weights of the features found are proven to be best, the
        status is ``"subset"``. The message says how much better a model with so many features can be.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> from frankwolfe.best_subset import best_subset
    >>> X, y = [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 1.0], [2.0, 0.0, 1.0]], [1.0, 2.0, 3.0, 2.0]
    >>> result = best_subset(fw.Problem(X, y, loss="squared", constraint=fw.L2Ball(5.0)), 1, tol=1e-6)
    >>> result.x.round(6), result.status
    (array([0., 0., 2.]), <Status.CONVERGED: 'converged'>)
    """
    if isinstance(max_features, bool) or not isinstance(max_features, int | np.integer) or max_features < 1:
        raise ValueError(f"max_features must be a positive int, or None for no limit; got {max_features!r}")
    problem.source.require_memory("max_features")
    if problem.linear is not None:
        raise ValueError("max_features goes with problems without a linear term: its bounds are for losses alone")
    search = Search(problem, int(max_features), tol, max_passes, max_nodes, options)
    return search.result(x0)


class Node(NamedTuple):
    """Models whose features are among some, and which have others of these for sure.

    Attributes
    ----------
    bound : float
        No such model has a smaller objective.
    number : int
        Nodes of equal bounds are looked at in this order.
    allowed, kept : tuple of int
        The features that the models may have, and those that they have.
    order : tuple of int
        The other allowed features, those with the largest effect first.
    """

    bound: float
    number: int
    allowed: Columns
    kept: Columns
    order: Columns


class Search:
    """A search for the best model with at most ``k`` features.

    Attributes
    ----------
    fits : dict
        The results over the features tried so far; None where no point has those features only.
    undecided : set
        Features where a point that satisfies the side constraints was not found, and is not ruled out.
    best : tuple of int, optional
        The features of the best model so far.
    root : float
        Lower bound on the objective of all models, from the first relaxation.
    """

    def __init__(
        self, problem: Problem, k: int, tol: float, max_passes: float | None, max_nodes: int, options: dict[str, Any]
    ):
        self.problem, self.given, self.k = problem, k, min(k, problem.d)
        self.options = {"tol": tol, "max_passes": max_passes, "trace": 0, **options}
        self.most_passes, self.most_nodes = np.inf if max_passes is None else max_passes, max_nodes
        self.width = max(1, problem.outputs)
        self.tolerance = problem.tolerance(tol)
        self.norms = _sizes(problem)
        self.fits: dict[Columns, Result | None] = {}
        self.undecided: set[Columns] = set()
        self.best: Columns | None = None
        self.root, self.nodes = -np.inf, 0
        self.effort: dict[str, Any] = dict.fromkeys((*BY_COLUMNS, *WHOLE), 0)
        self.trace = Trace(problem)
        self.part(range(problem.d))  # raises if the set does not know its points of some features

    # --- problems of some features ----------------------------------------------------------------------------

    def flat(self, columns: Features) -> np.ndarray:
        """Return the places of the weights of some features."""
        return (np.asarray(columns)[:, np.newaxis] * self.width + np.arange(self.width)).ravel()

    def part(self, columns: Features) -> Problem | None:
        """Return the problem of some features, all others being zero; None if the set has no such point."""
        problem, places = self.problem, self.flat(columns)
        constraint = problem.constraint.for_columns(places)
        if constraint is None or len(columns) == problem.d:
            return None if constraint is None else problem
        side = problem.side
        some = None if side is None else LinearBounds(side.A[:, places], side.lower, side.upper, side.names)
        X = problem.X[:, np.asarray(columns)]
        return problem.with_columns(X if sparse.issparse(X) else np.ascontiguousarray(X), constraint, some)

    def minimized(self, problem: Problem, x0: Any = None, **changed: Any) -> Result:
        """Return the result of a run, which is charged. Raise Infeasible if no point satisfies the side constraints."""
        found = minimize(problem, x0=x0, **{**self.options, **changed})
        for name in self.effort:
            share = problem.d / self.problem.d if name in BY_COLUMNS else 1
            self.effort[name] += share * getattr(found, name)
        if found.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return found

    def fit(self, columns: Features) -> Result | None:
        """Return the best model of some features, at most ``k``; None if there is none."""
        chosen = tuple(sorted(int(j) for j in columns))
        if chosen not in self.fits:
            part, found = self.part(chosen), None
            try:
                found = None if part is None else self.minimized(part)
            except Infeasible as error:
                if not error.proven:
                    self.undecided.add(chosen)
            usable = found is not None and np.isfinite(found.fun) and not self._violates(found)
            self.fits[chosen] = found
            if found is not None and usable and (self.best is None or found.fun < self._least()):
                self.best = chosen
                self._note(self.root)
        return self.fits[chosen]

    def _violates(self, found: Result) -> bool:
        return found.violation is not None and found.violation > (found.violation_tolerance or 0.0)

    def _note(self, lower: float) -> None:
        """Trace the best model so far."""
        effort = {name: self.effort[name] for name in ("nit", "passes", "seconds")}
        self.trace.note(**effort, fun=self._least(), lower_bound=lower, fw_gap=np.inf)

    def _least(self) -> float:
        """Return the objective of the best model so far."""
        found = None if self.best is None else self.fits[self.best]
        return np.inf if found is None else found.fun

    def proven(self, lower: float) -> bool:
        """Return whether no model with an objective above a bound improves on the best one by the tolerance."""
        return lower >= self._least() - self.tolerance * (1.0 - 1e-6)

    def exhausted(self) -> bool:
        """Return whether the budget of the search is."""
        return self.effort["passes"] >= self.most_passes

    # --- relaxations ------------------------------------------------------------------------------------------

    def relaxed(self, allowed: Features) -> tuple[float, Columns]:
        """Return a lower bound on models of at most ``k`` of some features, and those by their effect in a relaxation.

        The bound is infinite if there are no such models.
        """
        part = self.part(allowed)
        bound, best = (np.inf if part is None else -np.inf), np.zeros(len(allowed))
        for made, units in [] if part is None else self._relaxations(part):
            try:
                found = self.minimized(made)
            except Infeasible as error:
                if error.proven:
                    return np.inf, tuple(int(j) for j in allowed)
                continue
            if found.lower_bound >= bound:
                weights = found.x if units is None else (found.x.T * units).T
                bound, best = found.lower_bound, self._effects(weights, np.asarray(allowed))
        return bound, tuple(int(allowed[i]) for i in np.argsort(-best, kind="stable"))

    def _relaxations(self, part: Problem) -> list[tuple[Problem, np.ndarray | None]]:
        """Return the problem over each convex set that contains all models, with the units of its features."""
        made: list[tuple[Problem, np.ndarray | None]] = []
        for hull, units in part.constraint.sparse_hulls(self.k * self.width):
            if units is None:
                made.append((part.over(hull), None))
                continue
            of_features = units.reshape(-1, self.width)
            if (of_features != of_features[:, :1]).any():
                continue  # columns cannot be scaled for each output
            scale = of_features[:, 0]
            X = sparse.csr_array(part.X @ sparse.diags_array(scale)) if sparse.issparse(part.X) else part.X * scale
            side = part.side
            if side is not None:
                A = side.A @ sparse.diags_array(units) if sparse.issparse(side.A) else side.A * units
                side = LinearBounds(A, side.lower, side.upper, side.names)
            made.append((part.with_columns(X, hull, side), scale))
        return made

    def _effects(self, weights: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the size of the part that each of some features has in the predictions."""
        return np.abs(weights).reshape(len(columns), -1).max(axis=1) * self.norms[columns]

    # --- proposals of features --------------------------------------------------------------------------------

    def propose(self, x0: Any) -> None:
        """Fit the features that simple rules select."""
        if x0 is not None:
            order = np.argsort(-self._effects(np.asarray(x0), np.arange(self.problem.d)), kind="stable")
            self.fit(order[: self.k])
        for propose in (self._along_radii, self._forward, self._swaps):
            if self.proven(self.root):
                return
            propose()

    def _along_radii(self) -> None:
        """Fit the features with the largest effect at smaller radii, for sets whose points are sparse there."""
        constraint = self.problem.constraint
        hull, radius, start = constraint.structure().coordinates, constraint.own_radius(), None
        if hull is None or not hull.filled or radius is None:
            return
        # The path has eight radii, each half the next.
        for halvings in range(8, 0, -1):
            here = self.problem.over(constraint.with_radius(radius * 0.5**halvings))
            try:
                found = self.minimized(here, start, tol=max(self.options["tol"], 1e-3))
            except Infeasible:
                continue
            start = carried(found.x, here.constraint, constraint.with_radius(2.0 * here.constraint.own_radius()))
            effects = self._effects(found.x, np.arange(self.problem.d))
            order = np.argsort(-effects, kind="stable")[: self.k]
            self.fit(order[effects[order] > 0.0] if effects.any() else order)

    def _forward(self) -> None:
        """Add the steepest features, one or a few at a time."""
        chosen, w = list(self.forced()), self.problem.zero()
        # At most twenty steps.
        at_once = -(-self.k // 20)
        while len(chosen) < self.k:
            steep = self._steepest(w, chosen)[: min(at_once, self.k - len(chosen))]
            if not steep:
                return
            chosen += steep
            found = self.fit(chosen)
            if found is not None:
                w = self._whole(chosen, found.x)

    def _swaps(self) -> None:
        """Replace a feature of little effect by one that is steep, while that helps."""
        improves = True
        while improves and not self.exhausted() and self.best is not None:
            start, chosen = self._least(), self.best
            found = self.fits[chosen]
            assert found is not None
            # Try the three features with the least effect and, once one is left out, the steepest others.
            for place in np.argsort(self._effects(found.x, np.asarray(chosen)), kind="stable")[:3]:
                others = [*chosen[:place], *chosen[place + 1 :]]
                without = self.fit(others) if others else None
                w = self.problem.zero() if without is None else self._whole(others, without.x)
                for new in self._steepest(w, chosen)[:REPLACEMENTS]:
                    self.fit([*others, new])
            improves = self._least() < start - 0.1 * self.tolerance

    def _steepest(self, w: np.ndarray, chosen: Sequence[int]) -> list[int]:
        """Return other features whose weight can go down the gradient at ``w``, the steepest for their size first."""
        gradient = self.problem.gradient(w).reshape(-1, self.width)
        slopes = np.abs(gradient).max(axis=1) / np.where(self.norms > 0.0, self.norms, np.inf)
        slopes[list(chosen)] = -1.0
        found: list[int] = []
        for j in np.argsort(-slopes, kind="stable")[: self.problem.d - len(chosen)]:
            ahead = np.zeros(self.problem.size)
            ahead[self.flat([j])] = -gradient[j]
            if self.problem.constraint.support(ahead) > 0.0:
                found.append(int(j))
            if len(found) >= max(REPLACEMENTS, self.k):
                break
        return found

    def forced(self) -> Columns:
        """Return the features that no point of the set is without."""
        problem = self.problem
        # The check takes two support functions for each feature.
        if problem.d > 2000 or problem.constraint.contains(problem.zero()):
            return ()
        found = []
        for j in range(problem.d):
            for place in self.flat([j]):
                unit = np.zeros(problem.size)
                unit[place] = 1.0
                if min(problem.constraint.support(unit), problem.constraint.support(-unit)) < 0.0:
                    found.append(j)
                    break
        if len(found) > self.k:
            raise ValueError(
                f"max_features is {self.given}, but the set needs a weight that is not zero for {len(found)} features: "
                "raise max_features, or let bounds include zero"
            )
        return tuple(found)

    # --- branch and bound -------------------------------------------------------------------------------------

    def branch(self, root: Node, lower: float) -> float:
        """Return a lower bound on all models, by branch and bound from the first relaxation.

        ``lower`` is a bound on models that were excluded before.
        """
        numbers, heap = count(1), [root]
        while heap and not self.proven(heap[0].bound) and not self._ended():
            node = heappop(heap)
            free = self.k - len(node.kept)
            for place in range(free):
                if self._ended():
                    heappush(heap, node)
                    break
                out = node.order[place]
                allowed = tuple(j for j in node.allowed if j != out)
                kept = (*node.kept, *node.order[:place])
                if len(allowed) <= self.k:
                    lower = min(lower, self._settled(allowed, node.bound))
                    continue
                self.nodes += 1
                bound, order = self.relaxed(allowed)
                if bound == np.inf:
                    continue
                rest = tuple(j for j in order if j not in kept)
                child = Node(max(bound, node.bound), next(numbers), allowed, kept, rest)
                if not self.proven(child.bound):
                    self.fit([*kept, *rest[: self.k - len(kept)]])
                heappush(heap, child)
            else:
                lower = min(lower, self._settled((*node.kept, *node.order[:free]), node.bound))
        return min(lower, heap[0].bound) if heap else lower

    def _settled(self, columns: Columns, bound: float) -> float:
        """Return a lower bound on the models of at most ``k`` features, by fitting them; ``bound`` is one already."""
        found = self.fit(columns)
        if found is None:
            return bound if tuple(sorted(columns)) in self.undecided else np.inf
        return max(bound, found.lower_bound)

    def _ended(self) -> bool:
        return self.exhausted() or self.nodes >= self.most_nodes

    # --- the result -------------------------------------------------------------------------------------------

    def result(self, x0: Any) -> Result:
        """Search, and return the best model with the bound that is proven."""
        everything, interrupted, lower = tuple(range(self.problem.d)), False, -np.inf
        try:
            forced = self.forced()
            if self.k == self.problem.d:
                lower = self._settled(everything, lower)
            else:
                self.root, order = self.relaxed(everything)
                lower = self.root
                order = tuple(j for j in order if j not in forced)
                self.fit([*forced, *order[: self.k - len(forced)]])
                self.propose(x0)
                lower = self.branch(Node(self.root, 0, everything, forced, order), np.inf)
        except KeyboardInterrupt:
            interrupted = True
            if self.best is None:
                raise
        if self.best is None:
            raise ValueError(
                f"no model with at most {in_words(self.given)} was found in the set that satisfies all conditions: "
                "raise max_features, or loosen the conditions"
            )
        return self._as_result(max(self.root, lower), interrupted)

    def _whole(self, columns: Features, weights: np.ndarray) -> np.ndarray:
        """Return the flat weights of all features, given those of some, in ascending order."""
        whole = np.zeros(self.problem.size)
        whole[self.flat(sorted(columns))] = np.ravel(weights)
        return whole

    def _prices(self, polished: Result) -> dict[str, Any]:
        """Return prices among models with the best features. Bounds on the weights of others have none."""
        prices = dict(polished.prices)
        for end in ("lower", "upper"):
            if end in prices and self.best is not None:
                prices[end] = self._whole(self.best, prices[end])
        return prices

    @single_threaded
    def _as_result(self, lower: float, interrupted: bool) -> Result:
        assert self.best is not None
        polished = self.fits[self.best]
        assert polished is not None
        problem, x = self.problem, self.problem.shaped(self._whole(self.best, polished.x))
        exact = problem.evaluate(x)
        convex = bool(problem.loss.convex)
        gap = min(exact.value - lower, exact.gap) if convex else np.inf
        if not problem.violation(x):
            gap = max(gap, 0.0)  # negative by rounding only
        status = polished.status
        if interrupted:
            status = Status.INTERRUPTED
        elif gap <= self.tolerance and not self._violates(polished):
            status = Status.CONVERGED
        elif polished.success:
            status = Status.SUBSET
        self._note(lower)
        return replace(
            polished,
            x=x,
            intercept=exact.intercept,
            fun=exact.value,
            gap=gap,
            fw_gap=exact.gap,
            gap_estimate=np.nan,
            status=status,
            message=message(status, exact.value, gap, self.tolerance, self.given, polished),
            tolerance=self.tolerance,
            trace=self.trace,
            state={},
            violation=None if problem.side is None else problem.violation(x),
            prices=self._prices(polished),
            max_features=self.given,
            **self.effort,
        )


def _sizes(problem: Problem) -> np.ndarray:
    """Return the root mean squares of the features; with an intercept, of what it leaves of them."""
    n = problem.n
    norms = column_norms(problem.X, 2)
    if problem.intercept:
        means = np.asarray(problem.X.sum(axis=0), dtype=np.float64).ravel() / n
        norms = np.sqrt(np.maximum(norms**2 - n * means**2, 1e-16 * norms**2))
    return norms / np.sqrt(n)


def in_words(k: int) -> str:
    """Return a number of features in words."""
    return f"{k} feature{'s' if k > 1 else ''}"


def message(status: Status, fun: float, gap: float, tolerance: float, k: int, polished: Result) -> str:
    """Return what is proven of a model with at most ``k`` features, in words.

    Parameters
    ----------
    status : Status
        The end of the search.
    fun, gap : float
        The objective of the model, and how much less any model with so many features may have.
    tolerance : float
        What the gap had to meet.
    k : int
        Most features.
    polished : Result
        The run over the features of the model.
    """
    features = in_words(k)
    if gap == np.inf:
        first = f"Nothing is proven of other models with {features}."
    else:
        lower = fun - gap
        amount = f"{rounded_up(100.0 * gap / lower)}%" if lower > 0.0 else rounded_up(gap)
        meets = f"is within the tolerance {tolerance:.3g}" if gap <= tolerance else f"the tolerance {tolerance:.3g}"
        first = f"The model is within {amount} of the best possible with {features}: "
        first += f"the gap {gap:.3g} {meets}." if gap <= tolerance else f"the gap is {gap:.3g}, {meets}."
    if status is Status.INTERRUPTED:
        return f"{first} The search was interrupted."
    if polished.success and not polished.convex:
        return f"{first} The Frank-Wolfe gap among models with its features is {polished.gap:.3g}."
    if polished.success:
        return f"{first} No other weights of its features are better by more than {polished.gap:.3g}."
    return f"{first} Its own weights are not certified to the tolerance: {polished.message}"


def rounded_up(number: float) -> str:
    """Return a number that is not negative with two digits, and never less than it is.

    Examples
    --------
    >>> rounded_up(3.01), rounded_up(0.0), rounded_up(1234.0)
    ('3.1', '0', '1300')
    """
    if not number > 0.0:
        return "0"
    unit = floor(log10(number)) - 1
    digits = ceil(round(number / 10.0**unit, 9))
    return f"{digits * 10**unit:d}" if unit >= 0 else f"{digits * 10.0**unit:.2g}"
