"""`verify`: check what a certificate claims of a model, from the data alone.

This file imports NumPy and the standard library, and nothing else of the package: an auditor reads it, and only it.

**The claims.** Let ``p_i`` be the weights of the rows, scaled to sum to one, ``o_i`` offsets and ``q`` a linear term. A
model ``(w, b)`` has the objective ``F(w, b) = sum_i p_i f(x_i' w + b + o_i, y_i) + q' w``. A certificate claims that
its model has an objective of at most so much, and every model that is allowed one of at least so much. Allowed are all
``w`` of a set ``C`` with ``lower <= A w <= upper``, with any ``b`` if there is an intercept, else with ``b = 0``.

**The proof.** The certificate has a number ``c_i`` for each row and a multiplier ``m_k`` for each row of ``A``. With
``f*(a) = max over z of a z - f(z)``, the conjugate of the loss, ``p_i f(z) >= c_i z - p_i f*(c_i / p_i)`` for every
``z``. Put ``z_i = x_i' w + b + o_i`` and sum up: if ``sum_i c_i = 0``, so that ``b`` drops out, every model has

    F(w, b)  >=  sum_i c_i o_i  -  sum_i p_i f*(c_i / p_i)  +  <X' c + q, w>.

With ``r = X' c + q + A' m``, the last term is ``<r, w> - <m, A w>``, which is at least ``- max over s in C of <-r, s>
- max over lower <= k <= upper of <m, k>``. Any ``c`` and ``m`` will do. `examine` computes both sides.

**Rounding.** All numbers are intervals that contain the true value: each operation is rounded outward by one float.
Three facts are used beside the IEEE standard: the error of a sum of ``k`` products in any order is at most ``k U / (1 -
k U)`` times the sum of their sizes, ``math.fsum`` is correctly rounded, and NumPy's ``exp``, ``log`` and ``log1p`` have
a relative error of at most ``16 U``.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import fsum, inf, isfinite
from os import PathLike
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import numpy as np

FORMAT, VERSION = "frankwolfe certificate", 2
U = 2.0**-53
"""Largest relative error of one rounding."""
TINY = 1e-300
"""More than what is lost where products underflow."""
OUTSIDE = 1e-9
"""By which part of its size a bound on weights may be exceeded and count as kept: sums of weights are rounded."""

# --- Intervals


@dataclass(frozen=True)
class Interval:
    """A number, or an array of them, each known to be between two floats."""

    low: Any
    high: Any
    __array_ufunc__ = None  # an array times an interval is an interval, not an array of them

    def __neg__(self) -> "Interval":
        return Interval(-self.high, -self.low)

    def __add__(self, other: Any) -> "Interval":
        other = exactly(other)
        return outward(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Any) -> "Interval":
        return self + -exactly(other)

    def __rsub__(self, other: Any) -> "Interval":
        return exactly(other) + -self

    def __mul__(self, other: Any) -> "Interval":
        other = exactly(other)
        ends = [one * two for one in (self.low, self.high) for two in (other.low, other.high)]
        return outward(np.min(ends, axis=0), np.max(ends, axis=0))

    def __truediv__(self, other: Any) -> "Interval":
        other = exactly(other)  # NaN, which proves nothing, unless it is positive
        high, low = (np.where(other.low > 0.0, end, np.nan) for end in (other.high, other.low))
        return self * outward(1.0 / high, 1.0 / low)

    __radd__, __rmul__ = __add__, __mul__


UNKNOWN = Interval(-inf, inf)


def exactly(x: Any) -> Interval:
    """Return a float, or an array of them, as an interval."""
    return x if isinstance(x, Interval) else Interval(x, x)


def outward(low: Any, high: Any) -> Interval:
    """Return the interval between the floats next to two rounded results."""
    return Interval(np.nextafter(low, -inf), np.nextafter(high, inf))


def increasing(function: Callable[[Any], Any], x: Any) -> Interval:
    """Return the values of one of NumPy's increasing functions."""
    low, high = function(exactly(x).low), function(exactly(x).high)
    return outward(low - 16.0 * U * np.abs(low), high + 16.0 * U * np.abs(high))


def maximum(one: Any, two: Any) -> Interval:
    """Return the larger number of each pair."""
    one, two = exactly(one), exactly(two)
    return Interval(np.maximum(one.low, two.low), np.maximum(one.high, two.high))


def size(x: Any) -> Interval:
    """Return absolute values."""
    return maximum(maximum(x, -exactly(x)), 0.0)


def square(x: Any) -> Interval:
    """Return squares."""
    return size(x) * size(x)


def where(condition: Any, one: Any, two: Any) -> Interval:
    """Return numbers of one array where a condition holds, and of another elsewhere."""
    one, two = exactly(one), exactly(two)
    return Interval(np.where(condition, one.low, two.low), np.where(condition, one.high, two.high))


def largest(x: Interval) -> Interval:
    """Return the largest number of an array."""
    return Interval(np.max(x.low), np.max(x.high))


def total(x: Interval) -> Interval:
    """Return the sum of an array."""
    return outward(fsum(x.low), fsum(x.high))


def dot(A: Any, v: np.ndarray) -> Interval:
    """Return the product of a matrix and a vector, both of floats."""
    found, sizes = A @ v, abs(A) @ np.abs(v)
    error = 1.01 * (A.shape[1] + 2.0) * U * sizes + TINY
    return outward(found - error, found + error)


# --- Losses: the value at a prediction, and the conjugate at a slope, for all rows at once


def within(a: Interval, low: Any, high: Any, found: Interval) -> Interval:
    """Return the conjugate that was found for slopes of its domain, infinity for others."""
    return Interval(found.low, np.where((a.low >= low) & (a.high <= high), found.high, inf))


def signed(z: Interval, y: np.ndarray) -> Interval:
    """Return numbers times the signs of others: with labels, margins."""
    return where(y > 0.0, z, -z)


def parabola(x: Interval, end: float) -> Interval:
    """Return ``x^2 / 2`` for numbers from 0 to an end, and beyond it the tangent there."""
    near = -maximum(-x, -end)
    return near * (x - 0.5 * near)


def xlogx(q: Any) -> Interval:
    """Return ``q log q``, zero at zero."""
    q = maximum(q, 0.0)
    return q * increasing(np.log, maximum(q, 5e-324))


def tweedie(z: Interval, y: np.ndarray, power: float, split: Any = None) -> Interval:
    """Return half the deviance of means ``exp(z)``: ``exp(s z) / s + y exp(-u z) / u`` less its minimum."""
    s, u = 2.0 - power, power - 1.0  # both without rounding, and so is their sum, one
    found = increasing(np.exp, s * z) / s + y * increasing(np.exp, -u * z) / u
    return found - tweedie_minimum(y, s, u)


def tweedie_minimum(y: np.ndarray, s: float, u: float) -> Interval:
    """Return ``y^s / (s u)``."""
    log = increasing(np.log, np.where(y > 0.0, y, 1.0))
    return where(y > 0.0, increasing(np.exp, s * log) / s / u, 0.0)


def tweedie_conjugate(a: Interval, y: np.ndarray, power: float, split: np.ndarray) -> Interval:
    """Return a bound from above: with ``a = b - c``, the conjugates of both terms at ``b`` and ``-c``, for any split.

    Where ``y`` is zero, so is the second term, and ``c``.
    """
    s, u = 2.0 - power, power - 1.0
    b, c = (maximum(part, 0.0) + np.maximum(split, 0.0) for part in (a, -a))
    both = (xlogx(b) - b) / s + (xlogx(c) - c - c * increasing(np.log, np.where(y > 0.0, y, 1.0))) / u
    return where(y > 0.0, both + tweedie_minimum(y, s, u), within(a, 0.0, inf, (xlogx(a) - a) / s))


Function = Callable[..., Interval]
LOSSES: dict[str, tuple[Function, Function]] = {
    "Squared": (lambda z, y: 0.5 * square(z - y), lambda a, y: a * (0.5 * a + y)),
    "Huber": (
        lambda z, y, delta: parabola(size(z - y), delta),
        lambda a, y, delta: within(a, -delta, delta, a * (0.5 * a + y)),
    ),
    "Pinball": (
        lambda z, y, quantile: maximum((1.0 - quantile) * (z - y), -quantile * (z - y)),
        lambda a, y, quantile: within(a, -quantile, 1.0 - quantile, a * y),
    ),
    "Logistic": (
        lambda z, y: increasing(np.log1p, increasing(np.exp, -size(z))) + maximum(-signed(z, y), 0.0),
        lambda a, y: within(-signed(a, y), 0.0, 1.0, xlogx(-signed(a, y)) + xlogx(1.0 + signed(a, y))),
    ),
    "Hinge": (
        lambda z, y: maximum(1.0 - signed(z, y), 0.0),
        lambda a, y: within(signed(a, y), -1.0, 0.0, signed(a, y)),
    ),
    "SquaredHinge": (
        lambda z, y: square(maximum(1.0 - signed(z, y), 0.0)),
        lambda a, y: within(signed(a, y), -inf, 0.0, signed(a, y) + 0.25 * square(a)),
    ),
    "ModifiedHuber": (
        lambda z, y: 2.0 * parabola(maximum(1.0 - signed(z, y), 0.0), 2.0),
        lambda a, y: within(signed(a, y), -4.0, 0.0, signed(a, y) + 0.25 * square(a)),
    ),
    "Poisson": (
        lambda z, y: increasing(np.exp, z) - z * y + xlogx(y) - y,
        lambda a, y: within(a, -y, inf, xlogx(a + y) - a - xlogx(y)),
    ),
    "Gamma": (
        lambda z, y: z + y * increasing(np.exp, -z) - increasing(np.log, y) - 1.0,
        lambda a, y: within(a, -inf, 1.0, xlogx(1.0 - a) + a + a * increasing(np.log, y)),
    ),
    "Tweedie": (tweedie, tweedie_conjugate),
}
TARGETS: dict[str, tuple[str, Callable[[np.ndarray], Any]]] = {
    **dict.fromkeys(("Logistic", "Hinge", "SquaredHinge", "ModifiedHuber"), ("-1 and +1", lambda y: np.abs(y) == 1.0)),
    **dict.fromkeys(("Poisson", "Tweedie"), ("of at least 0", lambda y: y >= 0.0)),
    "Gamma": ("above 0", lambda y: y > 0.0),
}
"""Which targets a loss takes, in words, and the test; all others take any numbers."""

# --- Sets: by which part of its size weights exceed a bound, and the maximum of ``<v, w>`` over the set


def excess(value: Any, bound: Any, of: Any = None) -> float:
    """Return by how much a bound is exceeded, relative to its size or another."""
    beyond = (value - bound) / np.maximum(np.abs(bound if of is None else of), TINY)
    return float(np.max(np.where(value <= bound, 0.0, beyond), initial=0.0))


def worst(*parts: float) -> float:
    """Return the largest number, or NaN if any is NaN."""
    return float(np.max(parts))


def outside_box(w: np.ndarray, lower: Any, upper: Any) -> float:
    """Return the excess of weights over bounds, which may be infinite."""
    return worst(excess(-w, -lower), excess(w, upper))


def outside_simplex(w: np.ndarray, radius: float) -> float:
    """Return the excess of weights that should not be negative, and sum to the radius."""
    return worst(excess(fsum(w), radius), excess(-fsum(w), -radius), excess(-w, 0.0, radius))


def spend(v: Interval, lower: Any, upper: Any, radius: float, price: float) -> Interval:
    """Return the maximum over a box with ``sum |w| <= radius``, or with another price than the best a bound on it.

    For any ``price >= 0`` it is at most ``price radius + max over the box of <v, w> - price sum |w|``. The terms of
    that are concave and have their maxima at the ends or at zero. If ``sum |w| = radius``, any price will do.
    """
    ends = np.maximum(lower, -radius), np.minimum(upper, radius)
    best = maximum(*(v * end - exactly(price) * np.abs(end) for end in ends))
    zero = np.clip(0.0, *ends)
    return exactly(price) * radius + total(maximum(best, v * zero - exactly(price) * np.abs(zero)))


def by_group(add: np.ufunc, x: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the sum, or the maximum, of the entries of each group."""
    order = np.argsort(groups, kind="stable")
    return np.asarray(add.reduceat(x[order], np.flatnonzero(np.diff(groups[order], prepend=-1))))


def outside_groups(w: np.ndarray, groups: np.ndarray, radius: float, norm: float, weights: np.ndarray) -> float:
    """Return the excess of a sum of norms of groups."""
    norms = by_group(np.maximum, np.abs(w), groups) if norm == inf else np.sqrt(by_group(np.add, w * w, groups))
    return excess(weights @ norms, radius)


def group_support(v: Interval, groups: np.ndarray, radius: float, norm: float, weights: np.ndarray) -> Interval:
    """Return the largest dual norm of a group, relative to the weight of the group."""
    if norm not in (2.0, inf):
        raise ValueError(f"verify knows groups with the norms 2 and infinity, not {norm:g}")
    terms, room = size(v) if norm == inf else square(v), (len(groups) + 2.0) * U
    sums = Interval(*(by_group(np.add, end, groups) for end in (terms.low, terms.high)))
    sums = sums * Interval(1.0 - room, 1.0 + room)
    return largest((sums if norm == inf else increasing(np.sqrt, maximum(sums, 0.0))) / weights) * radius


SETS: dict[str, tuple[Callable[..., float], Function]] = {
    "L1Ball": (lambda w, radius: excess(fsum(np.abs(w)), radius), lambda v, radius: largest(size(v)) * radius),
    "NonNegativeL1Ball": (
        lambda w, radius: worst(excess(fsum(np.abs(w)), radius), excess(-w, 0.0, radius)),
        lambda v, radius: maximum(largest(v), 0.0) * radius,
    ),
    "Simplex": (outside_simplex, lambda v, radius: largest(v) * radius),
    "L2Ball": (
        lambda w, radius: excess(np.linalg.norm(w), radius),
        lambda v, radius: increasing(np.sqrt, maximum(total(square(v)), 0.0)) * radius,
    ),
    "Box": (outside_box, lambda v, lower, upper: total(maximum(v * lower, v * upper))),
    "Budget": (
        lambda w, lower, upper, radius, price: worst(outside_box(w, lower, upper), excess(fsum(np.abs(w)), radius)),
        lambda v, lower, upper, radius, price: spend(v, lower, upper, radius, max(price, 0.0)),
    ),
    "CappedSimplex": (
        lambda w, cap, radius, price: worst(outside_simplex(w, radius), excess(w, cap)),
        lambda v, cap, radius, price: spend(v, 0.0, cap, radius, price),
    ),
    "GroupBall": (outside_groups, group_support),
}

# --- Certificates and data


@dataclass(frozen=True)
class Certificate:
    """A model, a dual point, and what the two prove on some data.

    Attributes
    ----------
    facts : dict
        Plain values: ``loss`` and ``set`` by name, ``rows`` and ``columns``, ``intercept`` (whether it is free),
        ``data`` (fingerprints), and the claims ``objective`` (at most) and ``optimum`` (at least).
    arrays : dict of arrays
        The numbers. docs/verify.md lists them.
    """

    facts: dict[str, Any]
    arrays: dict[str, np.ndarray]

    @property
    def gap(self) -> float:
        """By how much a model may be better than this one, as claimed."""
        return float(self.facts["objective"] - self.facts["optimum"])

    def save(self, path: str | PathLike[str]) -> None:
        """Write a file: NumPy's ``.npz``, the facts as JSON in the entry ``facts``.

        Parameters
        ----------
        path : str or Path
            The file.
        """
        facts = np.frombuffer(json.dumps(self.facts).encode(), dtype=np.uint8)
        with open(path, "wb") as file:
            np.savez_compressed(file, facts=facts, **self.arrays)  # type: ignore[arg-type]


def load_certificate(path: str | PathLike[str]) -> Certificate:
    """Read a certificate that `Certificate.save` has written. Nothing in the file is run.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    Certificate

    Examples
    --------
    >>> import os, tempfile, frankwolfe as fw
    >>> problem = fw.Problem([[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0], loss="squared", constraint=fw.L1Ball(1.0))
    >>> claim = fw.certificate(problem, fw.minimize(problem, tol=1e-9))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     claim.save(os.path.join(folder, "claim.npz"))
    ...     again = fw.load_certificate(os.path.join(folder, "claim.npz"))
    >>> fw.verify(again, [[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0]).proven
    True
    """
    if not Path(path).exists():
        raise FileNotFoundError(f"{path} does not exist")
    if not is_zipfile(path):
        raise ValueError(f"{path} is not a certificate: those are .npz files that 'Certificate.save' wrote")
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        facts = json.loads(arrays.pop("facts").tobytes().decode()) if "facts" in arrays else {}
        found, version = facts.get("format"), facts.get("version")
    except Exception as error:
        raise ValueError(f"{path} is not a certificate, or is damaged: {error}") from error
    if found != FORMAT:
        raise ValueError(f"{path} is not a certificate, but another .npz file")
    if version != VERSION:
        raise ValueError(f"{path} has version {version} of the format; this program reads {VERSION}")
    return Certificate(facts, arrays)


def as_matrix(X: Any) -> Any:
    """Return rows as a float64 array, or a CSR matrix (known by its methods: SciPy is not imported)."""
    if hasattr(X, "tocsr"):
        X = X.tocsr().astype(np.float64)
        X.sum_duplicates()
        return X
    return np.asarray(X, dtype=np.float64)


def blocks(X: Any) -> Iterator[tuple[slice, Any]]:
    """Yield blocks of 512 rows, and where they are."""
    for first in range(0, X.shape[0], 512):
        yield slice(first, first + 512), X[first : first + 512]


def fingerprints(X: Any, y: np.ndarray, offset: Any) -> dict[str, str]:
    """Return SHA-256 of rows, targets and offsets. Dense and sparse rows with the same entries have the same one."""
    X = as_matrix(X)
    rows = hashlib.sha256(f"{X.shape[0]} x {X.shape[1]}".encode())
    for _, block in blocks(X):
        row, column = np.nonzero(block)
        for part in (row, column):
            rows.update(np.ascontiguousarray(part, dtype="<i8").tobytes())
        if len(row):  # SciPy answers an empty choice with a matrix
            rows.update(np.ascontiguousarray(block[row, column], dtype="<f8").tobytes())
    found = {"X": rows.hexdigest()}
    for name, vector in (("y", y), ("offset", np.zeros(len(y)) if offset is None else offset)):
        found[name] = hashlib.sha256(np.ascontiguousarray(vector, dtype="<f8").tobytes()).hexdigest()
    return found


def targets_of(y: Any, arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Return targets as numbers: labels of two classes as -1 and +1."""
    if "classes" not in arrays:
        return np.asarray(y, dtype=np.float64)
    y, classes = np.asarray(y), arrays["classes"]
    if not np.isin(y, classes).all():
        raise ValueError(f"y has other classes than {classes.tolist()}")
    return np.where(y == classes[1], 1.0, -1.0)


# --- The proof


def checked(certificate: Certificate, X: Any, y: np.ndarray, sample_weight: Any, offset: Any) -> tuple[Any, ...]:
    """Return rows, their weights and their offsets, or raise ValueError if they do not fit the certificate."""
    facts, arrays = certificate.facts, certificate.arrays
    for kind, known in (("loss", LOSSES), ("set", SETS)):
        if facts[kind] not in known:
            raise ValueError(f"verify does not know the {kind} {facts[kind]}; it knows {', '.join(known)}")
    n, d = facts["rows"], facts["columns"]
    X = as_matrix(X)
    weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    offset = np.zeros(n) if offset is None else np.asarray(offset, dtype=np.float64)
    parts = {"y": (y, n), "sample_weight": (weights, n), "offset": (offset, n), "dual": (arrays["dual"], n)}
    parts |= {name: (arrays[name], d) for name in ("weights", "set_units", "linear") if name in arrays}
    for name, found, wanted in [("X", X.shape, (n, d)), *((name, a.shape, (k,)) for name, (a, k) in parts.items())]:
        if found != wanted:
            raise ValueError(f"{name} has shape {found}, the certificate is for {wanted}")
    words, fit = TARGETS.get(facts["loss"], ("that are finite", np.isfinite))
    if not np.all(fit(y)):
        raise ValueError(f"{facts['loss']} needs targets {words}")
    if not (weights >= 0.0).all() or not weights.any():
        raise ValueError("sample_weight must not be negative, nor zero everywhere")
    return X, weights, offset


def parameters(arrays: dict[str, np.ndarray], kind: str) -> dict[str, Any]:
    """Return the parameters of the loss or the set."""
    named = {name.partition(".")[2]: array for name, array in arrays.items() if name.startswith(f"{kind}.")}
    return {name: array if array.ndim else float(array) for name, array in named.items()}


@np.errstate(all="ignore")
def examine(
    certificate: Certificate, X: Any, y: Any, sample_weight: Any = None, offset: Any = None
) -> tuple[Interval, Interval, float]:
    """Return the objective, the lower bound on all objectives, and by how much the weights are outside.

    Raises ValueError for losses and sets that this file does not know, and for data of another shape.
    """
    facts, arrays = certificate.facts, certificate.arrays
    y = targets_of(y, arrays)
    arrays = {name: a if name in ("classes", "set.groups") else a.astype(np.float64) for name, a in arrays.items()}
    X, weights, offset = checked(certificate, X, y, sample_weight, offset)
    of_loss, of_set = parameters(arrays, "loss"), parameters(arrays, "set")
    (value, conjugate), (outside, support) = LOSSES[facts["loss"]], SETS[facts["set"]]
    w, c, q = arrays["weights"], arrays["dual"], arrays.get("linear", np.zeros(X.shape[1]))
    used, counted = np.flatnonzero(w), weights > 0.0
    if facts["intercept"] and fsum(c) != 0.0:  # a sum by fsum is zero only if the sum is
        raise ValueError("the dual numbers do not sum to zero, so they prove nothing where there is an intercept")
    if c[~counted].any():
        raise ValueError("the dual number of a row of weight zero is not zero")

    p = exactly(np.where(counted, weights, 1.0)) / total(exactly(weights))
    z = [dot(block[:, used], w[used]) for _, block in blocks(X)]
    predictions = Interval(*(np.concatenate(ends) for ends in zip(*((part.low, part.high) for part in z), strict=True)))
    losses = value(predictions + float(arrays["intercept"]) + offset, y, **of_loss)
    objective = total(where(counted, p * losses, 0.0)) + total(exactly(q) * w)

    conjugates = conjugate(where(c == 0.0, 0.0, exactly(c) / p), y, **of_loss)
    dual = total(exactly(c) * offset) - total(where(counted, p * conjugates, 0.0))
    r = exactly(q)
    for rows, block in blocks(X):
        r = r + dot(block.T, c[rows])
    beyond = float(outside(w * arrays.get("set_units", 1.0), **of_set))
    if "side.A" in arrays:
        A, m, ends = arrays["side.A"], arrays["multipliers"], (arrays["side.lower"], arrays["side.upper"])
        r = r + dot(A.T, m)
        dual = dual - total(exactly(m[m != 0.0]) * np.where(m > 0.0, ends[1], ends[0])[m != 0.0])
        beyond = worst(beyond, excess(np.abs(A @ w - np.clip(A @ w, *ends)), 0.0, np.abs(A) @ np.abs(w)))
    if "set_units" in arrays:  # the weights times these are in the set, not the weights
        r = signed(r, arrays["set_units"]) / np.abs(arrays["set_units"])
    return objective, dual - support(-r, **of_set), beyond


@dataclass(frozen=True)
class Verdict:
    """What `verify` found.

    Attributes
    ----------
    proven : bool
        Whether all claims hold for these data.
    gap : float
        No model of the set has an objective that is smaller by more; infinity if nothing is proven.
    message : str
        The same in words, or what is wrong.
    objective, optimum : Interval
        The objective of the model and the lower bound, ``low`` and ``high``: between these the exact numbers are.
    """

    proven: bool
    gap: float
    message: str
    objective: Interval = UNKNOWN
    optimum: Interval = UNKNOWN


def verify(
    certificate: Certificate | str | PathLike[str], X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None
) -> Verdict:
    """Check a certificate against the data, in one pass, with all rounding errors accounted for.

    Parameters
    ----------
    certificate : Certificate, str or Path
        The certificate, or its file.
    X : array or sparse matrix of shape (n, d)
        The rows that the model was fitted to.
    y : array of shape (n,)
        Targets.
    sample_weight : array of shape (n,), optional
        Weights of the rows, if the fit had them.
    offset : array of shape (n,), optional
        What was added to each prediction, if the fit had it.

    Returns
    -------
    Verdict
        ``proven`` only if the data are those of the certificate to the last bit, the weights are in the set and
        satisfy all conditions, and both claims hold.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 2.0, 3.0]
    >>> problem = fw.Problem(X, y, loss="squared", constraint=fw.L1Ball(1.0))
    >>> claim = fw.certificate(problem, fw.minimize(problem, tol=1e-9))
    >>> report = fw.verify(claim, X, y)
    >>> report.proven, report.gap < 1e-8
    (True, True)
    >>> fw.verify(claim, X, [1.0, 2.0, 3.1]).message
    'Not proven: these are not the data of the certificate: y is another, or in another order.'
    """
    if not isinstance(certificate, Certificate):
        certificate = load_certificate(certificate)
    facts, arrays = certificate.facts, certificate.arrays
    try:
        objective, optimum, beyond = examine(certificate, X, y, sample_weight, offset)
        data = fingerprints(X, targets_of(y, arrays), offset)
        others = [name for name, digest in data.items() if digest != facts["data"][name]]
        most, least = float(facts["objective"]), float(facts["optimum"])
    except (ValueError, TypeError, KeyError, IndexError, ArithmeticError) as error:
        return Verdict(False, inf, f"Not proven: {error}.")
    high, low, wrong = float(objective.high), float(optimum.low), None
    if others:
        wrong = f"these are not the data of the certificate: {' and '.join(others)} is another, or in another order"
    elif not facts["intercept"] and arrays["intercept"] != 0.0:
        wrong = "the model has an intercept, and the problem has none"
    elif not beyond <= OUTSIDE:
        wrong = f"the weights are outside of the set or its conditions, by {beyond:.2g} of their size"
    elif not (isfinite(high) and isfinite(low)):
        wrong = "the dual numbers prove no bound; sample_weight may be another than that of the fit"
    elif not high <= most:
        wrong = f"the objective is claimed to be at most {most!r}, and proven is {high!r}"
    elif not low >= least:
        wrong = f"every model is claimed to have at least {least!r}, and proven is {low!r}"
    if wrong:
        return Verdict(False, inf, f"Not proven: {wrong}.", objective, optimum)
    gap = max(0.0, float(np.nextafter(high - low, inf)))
    message = f"no model that is allowed is better by more than {gap:.2g}. The objective of this one is {high:.10g}"
    return Verdict(True, gap, f"Proven: {message}.", objective, optimum)
