"""`verify`: check what a certificate claims of a model, from the data alone.

This file imports NumPy and the standard library, and nothing else of the package: an auditor reads it, and only it.

A certificate holds a model ``(w, b)``, a dual point (one slope ``a_i`` for each row, and a multiplier for each linear
condition) and two claims: the objective of the model is at most so much, and that of every model allowed is at least so
much. With ``p_i`` the weights of the rows, scaled to sum to one, ``o_i`` offsets and ``c`` a linear term, the objective
is ``F(w, b) = sum_i p_i f(x_i' w + b + o_i, y_i) + c' w``. For any slopes and multipliers, weak duality says that no
``w`` of the set ``C`` with ``lower <= A w <= upper`` and no ``b`` has an objective below

    - sum_i p_i (f*(a_i, y_i) - a_i o_i)  -  max over s in C of -<X'(p a) + c + A' m, s>  -  max over k of <m, k>

if ``sum_i p_i a_i = 0``, where there is an intercept. ``f*`` is the conjugate of ``f`` in its first argument.

Every number below comes with a bound on its rounding error, from the standard model of floating-point arithmetic: a
product or sum has a relative error of at most ``U``, a dot product of ``k`` terms one of ``gamma(k)`` relative to the
sum of the absolute terms, in whatever order they are added. ``math.fsum`` rounds once. NumPy's ``exp``, ``expm1``,
``log``, ``log1p`` and ``power`` are taken to be right to ``8 U``.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import fsum, inf, isfinite, nextafter
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

FORMAT, VERSION = "frankwolfe certificate", 1
U = 2.0**-53
"""Largest relative error of one rounding."""
SAFE = 64.0 * U
"""Relative error of a few operations on one number, of which none cancels."""
TINY = 1e-300
"""What products that underflow lose is less."""
OUTSIDE = 1e-9
"""By which part of its size a bound may be exceeded and count as kept: sums of weights are rounded."""


def gamma(terms: float) -> float:
    """Return the relative error of a dot product of so many terms."""
    return terms * U / (1.0 - terms * U)


class Interval(NamedTuple):
    """A number, or numbers, and a bound on how far each is from the true one."""

    at: Any
    error: Any


Array = np.ndarray
Terms = tuple[np.ndarray, np.ndarray]
"""Numbers, and for each the sum of the sizes of the terms that it was computed from."""


NOTHING = Interval(np.nan, inf)


# --- Losses: value and conjugate, each with the size of the terms that it is the sum of.


def _squared(z: Array, y: Array) -> Terms:
    return 0.5 * (z - y) * (z - y), 0.5 * (z - y) * (z - y)


def _squared_conjugate(a: Array, y: Array) -> Terms:
    return a * (0.5 * a + y), np.abs(a) * (0.5 * np.abs(a) + np.abs(y))


def _huber(z: Array, y: Array, delta: float) -> Terms:
    near = np.minimum(np.abs(z - y), delta)
    found = near * (np.abs(z - y) - 0.5 * near)
    return found, found


def _huber_conjugate(a: Array, y: Array, delta: float) -> Terms:
    found, size = _squared_conjugate(a, y)
    return np.where(np.abs(a) <= delta, found, inf), size


def _pinball(z: Array, y: Array, quantile: float) -> Terms:
    found = np.maximum((1.0 - quantile) * (z - y), -quantile * (z - y))
    return found, found


def _pinball_conjugate(a: Array, y: Array, quantile: float) -> Terms:
    return np.where((a >= -quantile) & (a <= 1.0 - quantile), a * y, inf), np.abs(a * y)


def _logistic(z: Array, y: Array) -> Terms:
    found = np.log1p(np.exp(-np.abs(z))) - np.minimum(y * z, 0.0)
    return found, found


def _entropy(q: Array) -> Array:
    return q * np.log(np.where(q > 0.0, q, 1.0))


def _logistic_conjugate(a: Array, y: Array) -> Terms:
    q = np.clip(-y * a, 0.0, 1.0)
    found = _entropy(q) + (1.0 - q) * np.log1p(-np.where(q < 1.0, q, 0.0))
    return np.where(q == -y * a, found, inf), -found


def _hinge(z: Array, y: Array, power: float = 1.0) -> Terms:
    lack = np.maximum(0.0, 1.0 - y * z)
    return lack**power, lack ** (power - 1.0) * (1.0 + np.abs(z))


def _hinge_conjugate(a: Array, y: Array) -> Terms:
    return np.where((y * a >= -1.0) & (y * a <= 0.0), y * a, inf), np.abs(a)


def _squared_hinge_conjugate(a: Array, y: Array) -> Terms:
    return np.where(y * a <= 0.0, y * a * (1.0 + 0.25 * y * a), inf), np.abs(a) * (1.0 + 0.25 * np.abs(a))


def _modified_huber(z: Array, y: Array) -> Terms:
    lack = np.clip(1.0 - y * z, 0.0, 2.0)
    return np.where(y * z < -1.0, -4.0 * y * z, lack * lack), (lack + 4.0) * (1.0 + np.abs(z))


def _modified_huber_conjugate(a: Array, y: Array) -> Terms:
    found, size = _squared_hinge_conjugate(a, y)
    return np.where(y * a >= -4.0, found, inf), size


# The losses with a log link are sums of terms q (exp(k t) - 1 - k t) / |k|, with t = z - log(y) and q = y^(2 - power).
# k is 2 - power and 1 - power, without rounding; where y = 0 there is exp(k z) / k alone.


def _log_link(z: Array, y: Array, power: float) -> Terms:
    """Return half the deviance of the means ``exp(z)``, where the variance is a power of the mean."""
    log = np.log(np.where(y > 0.0, y, 1.0))
    t, q, found, size = z - log, y ** (2.0 - power), np.zeros(len(z)), np.zeros(len(z))
    blur = 1.0 + np.abs(z) + np.abs(log)  # k t is wrong by up to 10 U blur, which moves a term by its derivative
    for k in filter(None, (2.0 - power, 1.0 - power)):
        e = np.expm1(k * t)
        zero = np.exp(k * z) if k > 0.0 else np.zeros(len(z))
        found = found + np.where(y > 0.0, q * (e - k * t), zero) / abs(k)
        size = size + np.where(y > 0.0, q * ((np.abs(e) + U * blur) * blur + np.abs(k * t)), zero * blur) / abs(k)
    return found, size


def _log_link_conjugate(a: Array, y: Array, power: float) -> Terms:
    """Return an upper bound on the conjugate, which is attained but for rounding.

    The conjugate of a sum of terms is at most the sum of their conjugates at slopes that add up to ``a``. Any such
    slopes are right. Those at the prediction whose derivative is ``a`` are the best: bisection finds them.
    """
    s, u, log, q = 2.0 - power, power - 1.0, np.log(np.where(y > 0.0, y, 1.0)), y ** (2.0 - power)
    rising, falling = a, -a
    if s and u:
        ratio = a / np.where(y > 0.0, q, 1.0)
        low, high = -np.log1p(np.maximum(-ratio, 0.0)) / u, np.log1p(np.maximum(ratio, 0.0)) / s
        for _ in range(64):
            t = 0.5 * (low + high)
            above = np.exp(s * t) - np.exp(-u * t) > ratio
            low, high = np.where(above, low, t), np.where(above, t, high)
        near = q * np.expm1(np.where(a > 0.0, -u, s) * low)
        rising = np.where(a > 0.0, np.where(y > 0.0, a + near, a), near)
        falling = np.where(a > 0.0, near, near - a)
    found, size = a * log, np.abs(a * log)
    for k, b in ((s, rising), (u, falling)):
        if k:
            some = q + b > 0.0
            t = np.log1p(np.where(some, b, 0.0) / np.where(q > 0.0, q, 1.0))
            t = np.where(q > 0.0, t, np.log(np.where(some, q + b, 1.0)))
            found = found + np.where(q + b >= 0.0, (q + b) * t - b, inf) / k
            size = size + ((q + np.abs(b)) * np.abs(t) + np.abs(b)) / k
    return found, size


LOSSES: dict[str, tuple[Callable[..., Terms], Callable[..., Terms]]] = {
    "Squared": (_squared, _squared_conjugate),
    "Huber": (_huber, _huber_conjugate),
    "Pinball": (_pinball, _pinball_conjugate),
    "Logistic": (_logistic, _logistic_conjugate),
    "Hinge": (_hinge, _hinge_conjugate),
    "SquaredHinge": (lambda z, y: _hinge(z, y, 2.0), _squared_hinge_conjugate),
    "ModifiedHuber": (_modified_huber, _modified_huber_conjugate),
    "Poisson": (lambda z, y: _log_link(z, y, 1.0), lambda a, y: _log_link_conjugate(a, y, 1.0)),
    "Gamma": (lambda z, y: _log_link(z, y, 2.0), lambda a, y: _log_link_conjugate(a, y, 2.0)),
    "Tweedie": (_log_link, _log_link_conjugate),
}
LABELS = ("Logistic", "Hinge", "SquaredHinge", "ModifiedHuber")
"""Losses whose targets are -1 and +1."""
AMOUNTS = {"Poisson": 0.0, "Tweedie": 0.0, "Gamma": 5e-324}
"""Losses with a log link, and their smallest target."""


# --- Sets: by how much weights are outside, relative to the size of the set, and the support function.


def _over(value: float, bound: float, size: float) -> float:
    """Return by which part of a size a value is above a bound."""
    return max(0.0, value - bound) / size


def _within(w: Array, lower: Array, upper: Array) -> float:
    """Return by how much weights are outside of bounds, relative to the bounds."""
    beyond = np.maximum(np.maximum(lower - w, w - upper), 0.0)
    ends = np.where(w > upper, upper, lower)
    return float(np.max(beyond / np.maximum(np.where(beyond > 0.0, np.abs(ends), 1.0), TINY), initial=0.0))


def _box_support(v: Interval, lower: Array, upper: Array) -> Array:
    """Return the largest ``v w`` over an interval for each entry."""
    ends = [end * (v.at + sign * v.error) for end in (lower, upper) for sign in (-1.0, 1.0)]
    return np.max(ends, axis=0)


def _least(values: Callable[[float], float], low: float, high: float) -> float:
    """Return about the least value of a convex function between two points: any of its values is an upper bound."""
    found = min(values(low), values(high))
    for _ in range(120):
        one, other = low + (high - low) / 3.0, high - (high - low) / 3.0
        here, there = values(one), values(other)
        low, high = (low, other) if here < there else (one, high)
        found = min(found, here, there)
    return float(found)


def _knapsack(v: Interval, lower: Array, upper: Array, radius: float, exact: bool) -> float:
    """Return a bound on ``max <v, w>`` over a box with a budget on ``sum |w|``, or with that sum given.

    For every price ``t`` of the budget the bound is ``t radius + sum_j max over w of (v_j w - t |w|)``. Bounds may be
    infinite in one direction or both: then the price is at least what the weight gains.
    """
    reach = np.abs(v.at) + v.error
    # a weight without an upper bound gains v_j by each unit, one without a lower bound -v_j
    gains = np.where(np.isinf(upper), v.at + v.error, 0.0), np.where(np.isinf(lower), v.error - v.at, 0.0)
    ends = [np.where(np.isinf(end), 0.0, end) for end in (lower, upper, np.clip(0.0, lower, upper))]
    inside = [(end >= lower) & (end <= upper) for end in ends]

    def at(t: float) -> float:
        worth = [
            np.where(ok, end * v.at + np.abs(end) * (v.error - t), -inf) for end, ok in zip(ends, inside, strict=True)
        ]
        best = np.max(worth, axis=0)
        return (
            t * radius + fsum(best) + SAFE * (abs(t) * radius + fsum(np.max(np.abs(ends), axis=0) * (reach + abs(t))))
        )

    least = -float(reach.max()) if exact else float(np.max(gains, initial=0.0))
    return _least(at, least, float(reach.max()))


def _norms(sizes: Array, groups: Array, norm: float) -> Array:
    """Return the norms of groups of non-negative entries."""
    found = np.zeros(int(groups.max()) + 1)
    if norm == inf:
        np.maximum.at(found, groups, sizes)
        return found
    return np.bincount(groups, sizes**norm) ** (1.0 / norm) * (1.0 + gamma(len(sizes) + 8.0))


def _l1(w: Array) -> float:
    return fsum(np.abs(w))


def _sum_is(w: Array, radius: float) -> float:
    return max(_over(abs(fsum(w) - radius), 0.0, radius), _over(float(-w.min()), 0.0, radius))


SETS: dict[str, tuple[Callable[..., float], Callable[..., float]]] = {
    "L1Ball": (
        lambda w, radius: _over(_l1(w), radius, radius),
        lambda v, radius: radius * float((np.abs(v.at) + v.error).max()),
    ),
    "NonNegativeL1Ball": (
        lambda w, radius: max(_over(_l1(w), radius, radius), _over(float(-w.min()), 0.0, radius)),
        lambda v, radius: radius * max(0.0, float((v.at + v.error).max())),
    ),
    "Simplex": (_sum_is, lambda v, radius: radius * float((v.at + v.error).max())),
    "L2Ball": (
        lambda w, radius: _over(fsum((w / radius) ** 2), 1.0, 2.0),
        lambda v, radius: radius * float(np.linalg.norm(np.abs(v.at) + v.error)) * (1.0 + gamma(len(v.at) + 8.0)),
    ),
    "Box": (
        _within,
        lambda v, lower, upper: fsum(_box_support(v, lower, upper)),
    ),
    "Budget": (
        lambda w, lower, upper, radius: max(_within(w, lower, upper), _over(_l1(w), radius, radius)),
        lambda v, lower, upper, radius: _knapsack(v, lower, upper, radius, exact=False),
    ),
    "CappedSimplex": (
        lambda w, cap, radius: max(_sum_is(w, radius), _over(float((w - cap).max()), 0.0, radius)),
        lambda v, cap, radius: _knapsack(v, np.zeros(len(v.at)), np.minimum(cap, radius), radius, exact=True),
    ),
    "GroupBall": (
        lambda w, groups, radius, norm, weights: _over(
            float(weights @ _norms(np.abs(w), groups, norm)), radius, radius
        ),
        lambda v, groups, radius, norm, weights: (
            radius * float((_norms(np.abs(v.at) + v.error, groups, 1.0 if norm == inf else 2.0) / weights).max())
        ),
    ),
}


# --- Certificates.


@dataclass(frozen=True)
class Certificate:
    """A model, a dual point, and what the two prove on some data.

    Attributes
    ----------
    facts : dict
        Plain values: ``loss`` and ``set`` by name, ``rows`` and ``columns``, ``intercept`` (whether it is free),
        ``data`` (fingerprint), and the claims ``objective`` (at most) and ``optimum`` (at least).
    arrays : dict of arrays
        ``weights``, ``intercept``, ``slopes``; perhaps ``multipliers``, ``side.A``, ``side.lower``, ``side.upper``
        and ``linear``; parameters of the loss and the set as ``loss.NAME`` and ``set.NAME``; ``classes``; and
        ``set_units``, if the weights times these are in the set, not the weights themselves.
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
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        facts = json.loads(arrays.pop("facts").tobytes().decode())
    except FileNotFoundError:
        raise
    except Exception as error:
        raise ValueError(f"{path} is not a certificate: {error}") from error
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise ValueError(f"{path} is not a certificate: it says no {FORMAT!r}")
    if facts.get("version") != VERSION:
        raise ValueError(f"{path} has version {facts.get('version')} of the format; this program knows {VERSION}")
    return Certificate(facts, arrays)


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
        The objective of the model and the lower bound, each with its rounding error.
    """

    proven: bool
    gap: float
    message: str
    objective: Interval = NOTHING
    optimum: Interval = NOTHING


# --- Data.


def _matrix(X: Any) -> Any:
    """Return rows as a float64 array, or a canonical CSR matrix (known by its methods: SciPy is not imported)."""
    if hasattr(X, "tocsr"):  # SciPy's sparse matrices
        X = X.tocsr().astype(np.float64)
        X.sum_duplicates()
        X.eliminate_zeros()
        return X
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2:
        raise ValueError(f"X must have rows and columns, got shape {X.shape}")
    return X


def _blocks(X: Any) -> Iterator[tuple[int, Array]]:
    """Yield the first row and the dense rows of blocks of at most 512 rows and some million entries."""
    height = max(1, min(512, 2**22 // max(1, X.shape[1])))
    for first in range(0, X.shape[0], height):
        block = X[first : first + height]
        yield first, block.toarray() if hasattr(block, "toarray") else block


def fingerprint(X: Any, *vectors: Any) -> str:
    """Return SHA-256 of the entries of a matrix that are not zero, with their places, and of vectors.

    Dense and sparse matrices with the same entries have the same fingerprint.
    """
    X = _matrix(X)
    found = hashlib.sha256(f"{X.shape[0]} x {X.shape[1]}".encode())
    for _, block in _blocks(X):
        row, column = np.nonzero(block)
        for part in (row, column):
            found.update(np.ascontiguousarray(part, dtype="<i8").tobytes())
        found.update(np.ascontiguousarray(block[row, column], dtype="<f8").tobytes())
    for vector in vectors:
        found.update(np.ascontiguousarray(vector, dtype="<f8").tobytes() if vector is not None else b"none")
    return found.hexdigest()


def targets_of(y: Any, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Return targets as numbers: labels of two classes as -1 and +1."""
    if "classes" not in arrays:
        return np.asarray(y, dtype=np.float64)
    y, classes = np.asarray(y), arrays["classes"]
    if not np.isin(y, classes).all():
        raise ValueError(f"y has other classes than {classes.tolist()}")
    return np.where(y == classes[1], 1.0, -1.0)


# --- The two numbers.


class WeightedRows(NamedTuple):
    """The rows with a weight: targets, weights, offsets, and the sum of the weights."""

    X: Any
    y: Array
    weights: Array
    offset: Array
    total: float


def _exact_products(a: Array, b: Array) -> tuple[Array, Array]:
    """Return products and their rounding errors, which together are exact (Dekker)."""
    halves = [(x, (shifted := 134217729.0 * x) - (shifted - x)) for x in (a, b)]
    (a, high_a), (b, high_b) = halves
    product, low_a, low_b = a * b, a - high_a, b - high_b
    return product, low_a * low_b - (((product - high_a * high_b) - low_a * high_b) - high_a * low_b)


def _predictions(X: Any, w: np.ndarray) -> Interval:
    """Return ``X w``. Columns without a weight add no error."""
    used, n = np.flatnonzero(w), X.shape[0]
    z, sizes = np.zeros(n), np.zeros(n)
    for first, block in _blocks(X[:, used]):
        here = slice(first, first + len(block))
        z[here], sizes[here] = block @ w[used], np.abs(block) @ np.abs(w[used])
    return Interval(z, 1.01 * gamma(len(used) + 2.0) * sizes + TINY)


def _pull(X: Any, c: np.ndarray) -> Interval:
    """Return ``X' c``. Blocks are added with their rounding errors kept, so that the error does not grow with ``n``."""
    total, rest, sizes = np.zeros((3, X.shape[1]))
    for first, block in _blocks(X):
        part, before = block.T @ c[first : first + len(block)], total
        total = before + part
        rest += (before - (total - (total - before))) + (part - (total - before))
        sizes += np.abs(block).T @ np.abs(c[first : first + len(block)])
    blocks = X.shape[0] / max(1, min(512, 2**22 // max(1, X.shape[1]))) + 2.0
    error = 1.01 * (gamma(516.0) * sizes + gamma(blocks) ** 2 * sizes + 2.0 * U * np.abs(total))
    return Interval(total + rest, error + TINY)


def _mean(values: Array, errors: Array, weights: Array, total: float) -> Interval:
    """Return the weighted mean of numbers."""
    at, sizes = fsum(weights * values), fsum(weights * (np.abs(values) + errors))
    return Interval(at / total, (1.01 * fsum(weights * errors) + SAFE * sizes) / total + TINY)


def _objective(
    data: WeightedRows, w: Array, intercept: float, loss: Callable[..., Terms], linear: Array | None
) -> Interval:
    """Return the objective; on an interval of predictions a convex loss is largest at an end."""
    X, y, weights, offset, total = data
    z = _predictions(X, w)
    at = z.at + intercept + offset
    error = z.error + 4.0 * U * (np.abs(z.at) + abs(intercept) + np.abs(offset)) + 4.0 * U * np.abs(at)
    middle, size = loss(at, y)
    largest = np.maximum(*((found + SAFE * size for found, size in (loss(at - error, y), loss(at + error, y)))))
    found = _mean(middle, np.maximum(largest - middle, 0.0) + SAFE * size, weights, total)
    if linear is None:
        return found
    added = linear * w
    return Interval(found.at + fsum(added), found.error + SAFE * (abs(found.at) + fsum(np.abs(added))))


def _optimum(
    data: WeightedRows, certificate: Certificate, conjugate: Callable[..., Terms], support: Callable[..., float]
) -> Interval:
    """Return the lower bound that the slopes and multipliers prove on the objective of every model."""
    X, y, weights, offset, total = data
    facts, arrays = certificate.facts, certificate.arrays
    a, c = arrays["slopes"], weights * arrays["slopes"]
    values, sizes = conjugate(a, y)
    values, errors = values - a * offset, SAFE * (sizes + np.abs(a * offset))
    pull, blur = _pull(X, c), np.zeros(X.shape[1])
    blur += pull.error + 2.0 * U * np.abs(pull.at)
    if facts["intercept"]:
        # One slope is changed so that the sum is zero exactly. What is missing is known but for one rounding.
        rest = fsum(np.concatenate(_exact_products(weights, a)))
        far = np.nextafter(a - rest / weights * (1.0 + SAFE), -np.sign(rest) * inf)  # it is between this and a
        largest, size = conjugate(far if rest else a, y)
        largest = largest + SAFE * size
        raised, room = np.maximum(weights * (largest - conjugate(a, y)[0]), 0.0), np.abs(rest) / weights
        k = int(np.argmin(np.where(np.isfinite(raised), raised, inf)))
        errors[k] += 1.01 * (raised[k] / weights[k] + room[k] * abs(offset[k])) + TINY
        row = X[[k]]
        blur += 1.01 * abs(rest) * np.abs(np.ravel(row.toarray() if hasattr(row, "toarray") else row))
    dual = _mean(values, errors, weights, total)
    r, blur, price = pull.at / total, blur / total + 2.0 * U * np.abs(pull.at / total), Interval(0.0, 0.0)
    extra = [(arrays["linear"], 0.0)] if "linear" in arrays else []
    if "multipliers" in arrays:
        A, m = arrays["side.A"], arrays["multipliers"]
        extra.append((A.T @ m, 1.01 * gamma(len(m) + 2.0) * (np.abs(A).T @ np.abs(m))))
        ends = np.where(m > 0.0, arrays["side.upper"], arrays["side.lower"])[m != 0.0] * m[m != 0.0]
        price = Interval(fsum(ends), SAFE * fsum(np.abs(ends)) + TINY)
    for part, error in extra:
        r, blur = r + part, blur + error + 2.0 * U * (np.abs(r) + np.abs(part))
    if "set_units" in arrays:
        r, blur = r / arrays["set_units"], blur / np.abs(arrays["set_units"])
        blur += 2.0 * U * np.abs(r) + TINY
    reach = support(Interval(-r, 1.01 * blur + TINY))
    middle = support(Interval(-r, np.zeros(len(r))))
    found = -dual.at - middle - price.at
    size = abs(dual.at) + abs(reach) + abs(price.at)
    return Interval(found, dual.error + abs(reach - middle) + SAFE * abs(reach) + price.error + SAFE * size)


def examine(
    certificate: Certificate, X: Any, y: Any, sample_weight: Any = None, offset: Any = None
) -> tuple[Interval, Interval, float]:
    """Return the objective, the lower bound, and by how much the weights are outside of what is allowed.

    Raises ValueError for losses and sets that this file does not know, and for data of another shape.
    """
    facts, arrays = certificate.facts, certificate.arrays
    for kind, known in (("loss", LOSSES), ("set", SETS)):
        if facts[kind] not in known:
            raise ValueError(f"verify does not know the {kind} {facts[kind]}; it knows {', '.join(known)}")
    given = {
        kind: {
            name.partition(".")[2]: array if array.ndim else float(array)
            for name, array in arrays.items()
            if name.startswith(f"{kind}.")
        }
        for kind in ("loss", "set")
    }
    X, w = _matrix(X), arrays["weights"]
    n, d = facts["rows"], facts["columns"]
    y = targets_of(y, facts, arrays)
    weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    offset = np.zeros(n) if offset is None else np.asarray(offset, dtype=np.float64)
    shapes = {"X": X.shape, "y": y.shape, "sample_weight": weights.shape, "offset": offset.shape}
    shapes |= {name: arrays[name].shape for name in ("weights", "slopes", "set_units") if name in arrays}
    wanted = {name: (n, d) if name == "X" else (d,) if name in ("weights", "set_units") else (n,) for name in shapes}
    for name, shape in shapes.items():
        if shape != wanted[name]:
            raise ValueError(f"{name} has shape {shape}, the certificate is for {wanted[name]}")
    if facts["loss"] in LABELS and not (np.abs(y) == 1.0).all():
        raise ValueError(f"{facts['loss']} needs targets -1 and +1")
    if facts["loss"] in AMOUNTS and not (y >= AMOUNTS[facts["loss"]]).all():
        raise ValueError(f"{facts['loss']} needs targets of at least {AMOUNTS[facts['loss']]:g}")
    if not 1.0 < given["loss"].get("power", 1.5) < 2.0:
        raise ValueError(f"{facts['loss']} needs a power between 1 and 2, got {given['loss']['power']:g}")
    if not (weights >= 0.0).all() or not weights.any():
        raise ValueError("sample_weight must not be negative, nor zero everywhere")
    weights = np.ldexp(weights, -np.frexp(fsum(weights))[1])  # of a sum near one, without rounding
    counted = weights > 0.0
    part = Certificate(facts, {**arrays, "slopes": arrays["slopes"][counted]})
    rows = X if counted.all() else X[counted]
    data = WeightedRows(rows, y[counted], weights[counted], offset[counted], fsum(weights))
    value, conjugate = LOSSES[facts["loss"]]
    outside, support = SETS[facts["set"]]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        objective = _objective(
            data, w, float(arrays["intercept"]), lambda z, y: value(z, y, **given["loss"]), arrays.get("linear")
        )
        optimum = _optimum(
            data, part, lambda a, y: conjugate(a, y, **given["loss"]), lambda v: support(v, **given["set"])
        )
    beyond = float(outside(w * arrays.get("set_units", 1.0), **given["set"]))
    if "side.A" in arrays:
        A, products = np.abs(arrays["side.A"]), arrays["side.A"] @ w
        excess = products - np.clip(products, arrays["side.lower"], arrays["side.upper"])
        beyond = max(beyond, float(np.max(np.abs(excess) / (A @ np.abs(w) + TINY), initial=0.0)))
    return objective, optimum, beyond


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
    'Not proven: these are not the data of the certificate.'
    """
    if not isinstance(certificate, Certificate):
        certificate = load_certificate(certificate)
    facts, arrays = certificate.facts, certificate.arrays
    try:
        objective, optimum, beyond = examine(certificate, X, y, sample_weight, offset)
        targets = targets_of(y, facts, arrays)
    except (ValueError, TypeError, KeyError, IndexError) as error:
        return Verdict(False, inf, f"Not proven: {error}.")
    high, low = nextafter(objective.at + objective.error, inf), nextafter(optimum.at - optimum.error, -inf)
    wrong = None
    if fingerprint(X, targets, offset) != facts["data"]:
        wrong = "these are not the data of the certificate"
    elif not facts["intercept"] and arrays["intercept"] != 0.0:
        wrong = "the model has an intercept, and the problem has none"
    elif not beyond <= OUTSIDE:
        wrong = f"the weights are outside of the set or its conditions, by {beyond:.2g} of their size"
    elif not (isfinite(high) and isfinite(low)):
        wrong = "the slopes and multipliers prove no bound"
    elif not high <= facts["objective"]:
        wrong = f"the objective is claimed to be at most {facts['objective']!r}, and it is {objective.at!r}"
    elif not low >= facts["optimum"]:
        wrong = f"every model is claimed to have at least {facts['optimum']!r}; proven is {low!r}"
    gap = inf if not isfinite(high - low) else max(0.0, high - low)
    if wrong:
        return Verdict(False, inf, f"Not proven: {wrong}.", objective, optimum)
    text = (
        f"Proven: no model that is allowed is better by more than {gap:.2g}. The objective of this one is {high:.10g}."
    )
    return Verdict(True, gap, text, objective, optimum)
