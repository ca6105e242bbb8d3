"""`certificate`: what a result proves, as a file that anyone can check with the verifier alone."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from frankwolfe.certificates.verifier import FORMAT, LOSSES, SETS, VERSION, Certificate, examine, fingerprint
from frankwolfe.problem import Problem
from frankwolfe.result import Result

ROOM = 4.0
"""How many times its rounding error a claim is away from what is known here: other machines round otherwise."""


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
    problem: Problem, result: Result, classes: Any, X: Any, units: np.ndarray | None = None
) -> Certificate:
    """Return the certificate for rows ``X``, whose columns divided by ``units`` are those of the problem."""
    loss, constraint = require_known(problem)
    if not np.isfinite(result.gap):
        raise ValueError(f"nothing is proven of this result: {result.message}")
    weights, targets = problem.samples.weights, np.asarray(problem.y, dtype=np.float64)
    arrays: dict[str, Any] = {
        "weights": np.asarray(result.x, dtype=np.float64) / (1.0 if units is None else units),
        "intercept": np.float64(result.intercept),
        "slopes": _slopes(problem, result),
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
    facts["data"] = fingerprint(X, targets, problem.offset)
    found = Certificate(facts, {name: np.asarray(value) for name, value in arrays.items()})
    counted = Certificate(facts, {name: array for name, array in found.arrays.items() if name != "classes"})
    objective, optimum, _ = examine(counted, X, targets, weights, problem.offset)
    if not np.isfinite(optimum.at - optimum.error):  # the slopes are all rounding: those of zero may prove as much
        for one in (found, counted):
            one.arrays["slopes"] = np.zeros(problem.n)
        objective, optimum, _ = examine(counted, X, targets, weights, problem.offset)
        if not objective.at - optimum.at <= 2.0 * result.gap:
            raise ValueError("nothing is proven of this result once all rounding counts: solve it to a smaller tol")
    facts["objective"] = float(np.nextafter(objective.at + ROOM * objective.error, np.inf))
    facts["optimum"] = float(np.nextafter(optimum.at - ROOM * optimum.error, -np.inf))
    return found


def require_known(problem: Problem) -> tuple[str, str]:
    """Return the names of loss and set; raise ValueError if no certificate can be written of any result."""
    loss, constraint = type(problem.loss).__name__, type(problem.constraint).__name__
    for kind, name, known in (("loss", loss, LOSSES), ("set", constraint, SETS)):
        if name not in known:
            raise ValueError(f"no certificate can be written for the {kind} {name}: verify knows {', '.join(known)}")
    if problem.objective.reads is not None or not isinstance(problem.samples.targets, np.ndarray):
        raise ValueError("certificate needs rows in memory")
    return loss, constraint


def _slopes(problem: Problem, result: Result) -> np.ndarray:
    """Return the slopes that prove the gap, divided by the weights of the rows, within their domain."""
    alpha, weights = result.state.get("slopes"), problem.samples.weights
    if alpha is None:
        alpha = problem.evaluate(result.x).alpha
    slopes = np.divide(alpha, weights, out=np.zeros(len(weights)), where=weights > 0.0)
    return np.asarray(problem.loss.nearest_slope(slopes, np.asarray(problem.y)))
