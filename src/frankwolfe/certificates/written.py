"""`certificate`: what a result proves, as a file that anyone can check with the verifier alone."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from frankwolfe.arguments.types import ConstraintSet, TableLike
from frankwolfe.certificates.verifier import FORMAT, LOSSES, SETS, VERSION, Certificate, examine, fingerprints
from frankwolfe.losses import Tweedie
from frankwolfe.problem import Problem
from frankwolfe.result import Result
from frankwolfe.sets import Budget, CappedSimplex

ROOM = 4.0
"""How many times its rounding error a claim is away from what is known here: other machines round otherwise."""

EDGE = 1e-14
"""By which part dual numbers are moved away from the edge of their domain."""


def certificate(problem: Problem, result: Result, classes: Any = None) -> Certificate:
    """Return a certificate of a result: the model, what proves that it is good, and two claims.

    Anyone who has the data can check it with `verify`, which shares no code with the rest of the library.

    Parameters
    ----------
    problem : Problem
        The problem, with rows in memory.
    result : Result
        A result of it.
    classes : sequence of two labels, optional
        What the targets -1 and +1 are called in the data that will be verified.

    Returns
    -------
    Certificate

    Raises
    ------
    ValueError
        If nothing is proven of the result, or the loss or the set is none that `verify` knows.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 2.0, 3.0]
    >>> problem = fw.Problem(X, y, loss="squared", constraint=fw.L1Ball(1.0))
    >>> claim = fw.certificate(problem, fw.minimize(problem, tol=1e-9))
    >>> round(claim.facts["objective"], 6), claim.gap < 1e-8
    (1.0, True)
    """
    return certificate_for(problem, result, classes, problem.X)


def certificate_for(
    problem: Problem, result: Result, classes: Any, X: TableLike, units: np.ndarray | None = None
) -> Certificate:
    """Return the certificate for rows ``X``, whose columns divided by ``units`` are those of the problem."""
    loss, constraint = require_known(problem)
    require_result(problem, result)
    weights, targets = problem.samples.weights, np.asarray(problem.y, dtype=np.float64)
    arrays: dict[str, Any] = {
        "weights": np.asarray(result.x, dtype=np.float64) / (1.0 if units is None else units),
        "intercept": np.float64(result.intercept),
    }
    for kind, part in (("loss", problem.loss), ("set", problem.constraint)):
        fields = {name: value for name, value in part._asdict().items() if value is not None}
        arrays |= {f"{kind}.{name}": np.asarray(value) for name, value in fields.items()}
    if problem.side is not None:
        A = problem.side.A
        arrays |= {
            "multipliers": np.asarray(result.state.get("multipliers", np.zeros(problem.side.m))),
            "side.A": (A.toarray() if issparse(A) else A) * (1.0 if units is None else units),
            "side.lower": problem.side.lower,
            "side.upper": problem.side.upper,
        }
    if problem.linear is not None:
        arrays["linear"] = problem.linear
    facts = {
        "format": FORMAT,
        "version": VERSION,
        "loss": loss,
        "set": constraint,
        "rows": problem.n,
        "columns": problem.d,
        "intercept": problem.intercept,
    }
    if units is not None:
        arrays["set_units"] = units
    if classes is not None:
        arrays["classes"] = np.asarray(classes)
    facts["data"] = fingerprints(X, targets, problem.offset)
    given = {name: np.asarray(value) for name, value in arrays.items()}
    for dual in (_dual(problem, result), np.zeros(problem.n)):
        found = Certificate(facts, given | _proof(problem, dual, given.get("multipliers")))
        counted = Certificate(facts, {name: array for name, array in found.arrays.items() if name != "classes"})
        objective, optimum, _ = examine(counted, X, targets, weights, problem.offset)
        gap = objective.high - optimum.low
        if np.isfinite(gap) and (dual.any() or gap <= 2.0 * result.gap):  # those of zero prove little as a rule
            facts["objective"] = float(objective.high + ROOM * (objective.high - objective.low))
            facts["optimum"] = float(optimum.low - ROOM * (optimum.high - optimum.low))
            return found
    raise ValueError("nothing is proven of this result once all rounding counts: solve it to a smaller tol")


def require_result(problem: Problem, result: Result) -> None:
    """Raise ValueError, or TypeError, if this is no result of the problem with a proven gap."""
    if not isinstance(result, Result):
        raise TypeError(f"result must be what fw.minimize(problem) returns, got {type(result).__name__}")
    if np.shape(result.x) != problem.shape:
        raise ValueError(
            f"result has weights of shape {np.shape(result.x)}, the problem of shape {problem.shape}: "
            "pass the result of this problem"
        )
    if not np.isfinite(result.gap):
        raise ValueError(f"nothing is proven of this result, so nothing follows from it: {result.message}")


def require_known(problem: Problem) -> tuple[str, str]:
    """Return the names of loss and set; raise ValueError if no certificate can be written of any result."""
    loss, constraint = type(problem.loss).__name__, type(problem.constraint).__name__
    for kind, name, known in (("loss", loss, LOSSES), ("set", constraint, SETS)):
        if name not in known:
            raise ValueError(f"no certificate can be written for the {kind} {name}: verify knows {', '.join(known)}")
    if problem.objective.reads is not None or not isinstance(problem.samples.targets, np.ndarray):
        raise ValueError("certificate needs rows in memory")
    return loss, constraint


def _dual(problem: Problem, result: Result) -> np.ndarray:
    """Return the dual point that proves the gap, a little within its domain; sums are zero if they have to be.

    All numbers are moved towards zero, which is in the domain of every conjugate: by more than what rounding does to
    the weights of rows, and to multiples of a power of two, of which whole numbers are taken away until the sum of all
    is zero without rounding.
    """
    alpha, weights = result.state.get("slopes"), problem.samples.weights
    if alpha is None:
        alpha = problem.evaluate(result.x).alpha
    slopes = np.divide(alpha, weights, out=np.zeros(len(weights)), where=weights > 0.0)
    dual = np.asarray(problem.loss.nearest_slope(slopes, np.asarray(problem.y))) * weights * (1.0 - EDGE)
    if not problem.intercept or not dual.any():
        return dual
    grain = 2.0 ** (np.frexp(np.abs(dual).max())[1] - 53)
    counts = np.trunc(dual / grain)
    excess = sum(map(int, counts))
    for i in np.argsort(-np.abs(counts)):
        if counts[i] * excess > 0.0:
            taken = min(abs(int(counts[i])), abs(excess)) * int(np.sign(excess))
            counts[i], excess = counts[i] - taken, excess - taken
        if not excess:
            break
    return counts * grain


def _proof(problem: Problem, dual: np.ndarray, multipliers: np.ndarray | None) -> dict[str, np.ndarray]:
    """Return a dual point as entries of a certificate, with the price and the split that give the best bound."""
    found: dict[str, Any] = {"dual": dual}
    constraint: ConstraintSet = problem.constraint
    if type(constraint) in (Budget, CappedSimplex):
        r = problem.objective.gradient(dual)
        if problem.side is not None and multipliers is not None:
            r = r + problem.side.A.T @ multipliers
        found["set.price"] = np.asarray(constraint.radius_price(-r))
    if isinstance(problem.loss, Tweedie):
        found["loss.split"] = _split(problem, dual)
    return found


def _split(problem: Problem, dual: np.ndarray) -> np.ndarray:
    """Return the smaller of the derivatives of both terms of a Tweedie deviance where their difference is the slope.

    They are ``exp(s z)`` and ``y exp(-u z)``, at a prediction ``z`` that bisection finds.
    """
    weights, y, power = problem.samples.weights, np.asarray(problem.y), problem.loss.power
    s, u, some = 2.0 - power, power - 1.0, (weights > 0.0) & (y > 0.0)
    a = np.divide(dual, weights, out=np.zeros(len(y)), where=some)
    base = np.log(np.where(some, y, 1.0))
    q = np.exp(s * base)
    low, high = -np.log1p(np.maximum(-a / q, 0.0)) / u, np.log1p(np.maximum(a / q, 0.0)) / s
    for _ in range(64):
        t = 0.5 * (low + high)
        above = np.exp(s * t) - np.exp(-u * t) > a / q
        low, high = np.where(above, low, t), np.where(above, t, high)
    return np.where(some, q * np.exp(np.where(a > 0.0, -u, s) * low), 0.0)
