"""Quadratic programs with bounds on the variables and on linear rows, for up to some thousand variables.

    minimise    <slope, x - start> + (x - start)' H (x - start) / 2
    subject to  least <= rows x <= most,   lower <= x <= upper

A *face* says which variables are at a bound and which rows are tight. On the right face the minimiser solves
one linear system. `minimise` therefore first tries the face of an earlier, similar program and corrects it a few times
(a primal-dual active-set method). If that does not converge, an interior-point method (Mehrotra's predictor-corrector)
finds the face, and its own answer is the next choice.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from frankwolfe.objective.tasks import EPSILON

TOLERANCE = 1e-12
"""Largest violation of a bound or sign, in scaled units, at which a face counts as the right one."""


class Program(NamedTuple):
    """A quadratic program, see the top of the file. Bounds may be infinite, and ``lower < upper``."""

    H: np.ndarray
    slope: np.ndarray
    start: np.ndarray
    rows: np.ndarray
    least: np.ndarray
    most: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def scaled(self, unit: np.ndarray, size: np.ndarray, value: float) -> "Program":
        """Return the program for ``x / unit``, with rows divided by ``size`` and the objective by ``value``."""
        return Program(
            self.H * (unit / value) * unit[:, None],
            self.slope * (unit / value),
            self.start / unit,
            self.rows * unit / size[:, None],
            self.least / size,
            self.most / size,
            self.lower / unit,
            self.upper / unit,
        )

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return the gradient of the objective."""
        return self.slope + self.H @ (x - self.start)

    def price(self) -> float:
        """Return the typical size of multipliers in a scaled program, where variables and slacks are about one."""
        return max(1.0, float(np.abs(self.slope).max(initial=0.0)))


class Face(NamedTuple):
    """Which constraints hold with equality.

    Attributes
    ----------
    free : array of bool of shape (k,)
        Variables that are not at a bound.
    side : array of int of shape (k,)
        Of a variable at a bound, -1 for the lower and 1 for the upper one.
    tight : array of int of shape (m,)
        -1 if a row is at ``least``, 1 if it is at ``most``, else 0. Equations count as tight whatever is said here.
    """

    free: np.ndarray
    side: np.ndarray
    tight: np.ndarray

    def at_bounds(self, program: Program, x: np.ndarray) -> np.ndarray:
        """Return ``x`` with the variables that are not free at their bounds."""
        return np.where(self.free, x, np.where(self.side < 0, program.lower, program.upper))


class Minimiser(NamedTuple):
    """The answer: the variables, the multipliers of the rows (positive ones belong to ``most``), and the face.

    ``exact`` is False if the face is not proven to be the right one. The answer then has the accuracy of the
    interior-point method.
    """

    x: np.ndarray
    multipliers: np.ndarray
    face: Face
    exact: bool


def minimise(
    program: Program, unit: np.ndarray, value: float, face: Face | None = None, rescale: bool = True
) -> Minimiser:
    """Return the minimiser of a quadratic program.

    Parameters
    ----------
    program : Program
        The program.
    unit : array of shape (k,)
        Typical size of each variable.
    value : float
        Typical size of the objective.
    face : Face, optional
        A guess of the face.
    rescale : bool
        Whether to try again with the sizes of the answer as typical sizes, if its face is not found.

    Examples
    --------
    The point of the line ``x + y = 1`` with ``x, y >= 0`` next to (2, 0.5):

    >>> none, ones = np.full(2, np.inf), np.ones(2)
    >>> slope, one = np.array([-2.0, -0.5]), np.ones(1)
    >>> line = Program(np.eye(2), slope, np.zeros(2), ones[None, :], one, one, np.zeros(2), none)
    >>> minimise(line, ones, 1.0).x.round(6)
    array([1., 0.])
    """
    size = np.abs(program.rows * unit).max(axis=1, initial=0.0)
    idle = size == 0.0  # such rows do not depend on the variables
    least, most = np.where(idle, -np.inf, program.least), np.where(idle, np.inf, program.most)
    size[idle] = 1.0
    scaled = program._replace(least=least, most=most).scaled(unit, size, value)
    found = None if face is None else _corrected(scaled, face)
    if found is None:
        inside = _interior(scaled)
        found = _corrected(scaled, inside.face)
    if found is None and rescale:
        # The typical sizes may be far from those of the answer, and then the face is hard to see.
        sizes = np.maximum(np.abs(inside.x), 1e-6 * np.abs(inside.x).max(initial=1e-300))
        change = abs(float(scaled.slope @ (inside.x - scaled.start)))
        if np.isfinite(sizes).all() and 0.0 < change < np.inf:
            again = minimise(program, unit * sizes, value * change, rescale=False)
            if again.exact:
                return again
    if found is None:
        found = inside._replace(x=_snapped(scaled, inside.x, inside.face))
        products = scaled.rows @ found.x
        if not np.maximum(scaled.least - products, products - scaled.most).max(initial=0.0) <= 1e-11:
            found = _linear(scaled) or found
    return found._replace(x=unit * found.x, multipliers=found.multipliers * (value / size))


# --- active sets --------------------------------------------------------------------------------------------------


def _corrected(program: Program, face: Face) -> Minimiser | None:
    """Return the minimiser, from a guess of its face that is corrected until it is right. None if it never is.

    All wrong constraints are corrected at once: a variable that leaves its bounds is put on them, one whose reduced
    cost has the wrong sign is freed, and likewise for rows.
    """
    tried = set[bytes]()
    face = face._replace(tight=np.where(program.least == program.most, 1, face.tight))
    for _ in range(15):
        key = face.free.tobytes() + face.side.tobytes() + face.tight.tobytes()
        if key in tried:
            return None
        tried.add(key)
        found = _on_face(program, face)
        if found is None:
            return None
        x, multipliers = found
        better = _next_face(program, face, x, multipliers)
        if better is None:
            x = np.clip(x, program.lower, program.upper)
            # a ridge and dependent rows may cost digits: the last ones come from the tight rows alone
            return Minimiser(_snapped(program, x, face), multipliers, face, True)
        face = better
    return None


def _next_face(program: Program, face: Face, x: np.ndarray, multipliers: np.ndarray) -> Face | None:
    """Return the face with all wrong constraints corrected, None if there are none."""
    free, side, tight = face
    cost, products = program.gradient(x) + program.rows.T @ multipliers, program.rows @ x
    room = TOLERANCE * (1.0 + np.abs(x).max(initial=0.0))
    dual = TOLERANCE * (1.0 + np.abs(program.slope).max(initial=0.0))
    loosened = (program.least < program.most) & (tight * multipliers < -dual)
    below = (tight == 0) & (products < program.least - room)
    above = (tight == 0) & (products > program.most + room)
    wrong = loosened | below | above
    tight = np.where(below, -1, np.where(above, 1, np.where(loosened, 0, tight)))
    low, high = free & (x < program.lower - room), free & (x > program.upper + room)
    freed = ~free & (side * cost > dual)
    if not (wrong.any() or low.any() or high.any() or freed.any()):
        return None
    return Face((free & ~low & ~high) | freed, np.where(low, -1, np.where(high, 1, side)), tight)


def _on_face(program: Program, face: Face) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the minimiser on a face and the multipliers of the rows; None if the system is not solved.

    The system is solved with a small ridge, which tolerates dependent columns and rows. Iterative refinement removes
    its effect.
    """
    free, tight, x = face.free, np.flatnonzero(face.tight), face.at_bounds(program, program.start)
    rows, bounds = program.rows[tight], np.where(face.tight < 0, program.least, program.most)[tight]
    B, H = rows[:, free], program.H[np.ix_(free, free)]
    solve = _saddle_solver(H, B)
    if solve is None:
        return None
    y, best, last = np.zeros(len(bounds)), None, np.inf
    scale, terms = 1.0 + np.abs(program.slope).max(initial=0.0), np.abs(bounds) + 1e-300
    for _ in range(12):
        across, missing = program.gradient(x)[free] + B.T @ y, bounds - rows @ x
        misses = np.abs(missing) / (terms + np.abs(rows) @ np.abs(x))
        left = max(float(np.abs(across).max(initial=0.0)) / scale, float(misses.max(initial=0.0)))
        if not left < 0.7 * last:
            break
        best, last = (x.copy(), y), left
        if left <= 1e-16:
            break
        move, change = solve(-across, missing)
        x[free] += move
        y = y + change
    if best is None or not last <= TOLERANCE:
        return None
    x, y = best
    multipliers = np.zeros(len(program.rows))
    multipliers[tight] = y
    return x, multipliers


Solve = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def _saddle_solver(H: np.ndarray, B: np.ndarray) -> Solve | None:
    """Return a function that solves ``H x + B' y = a``, ``B x = b``, by Cholesky and a Schur complement of the rows.

    Variables with next to no curvature, such as weights of empty columns, get some. Refinement removes its effect.
    """
    diagonal = np.einsum("jj->j", H)
    scale = 1.0 / np.sqrt(np.maximum(diagonal, 1e-10 * diagonal.max(initial=0.0) + 1e-300))
    for ridge in (1e-13, 1e-10, 1e-7):
        square = H * scale * scale[:, None]
        np.einsum("jj->j", square)[:] = 1.0 + ridge
        try:
            factor = cho_factor(square, lower=True, overwrite_a=True, check_finite=False)
            inner = scale[:, None] * cho_solve(factor, (B * scale).T, check_finite=False)
            return partial(_solve_saddle, B, scale, factor, inner, _schur_solver(B @ inner))
        except (LinAlgError, ValueError):
            continue
    return None


def _solve_saddle(
    B: np.ndarray, scale: np.ndarray, factor: Any, inner: np.ndarray, schur: Any, a: np.ndarray, b: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``x`` and ``y`` with ``H x + B' y = a`` and ``B x = b``, for the factors of `_saddle_solver`."""
    alone = scale * cho_solve(factor, scale * a, check_finite=False)
    y = schur(B @ alone - b)
    return alone - inner @ y, y


def _schur_solver(S: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that solves systems with a positive semidefinite matrix, with a ridge of 1e-13."""
    diagonal = np.einsum("jj->j", S)
    scale = 1.0 / np.sqrt(np.maximum(diagonal, 1e-30 * diagonal.max(initial=0.0) + 1e-300))
    square = S * scale * scale[:, None]
    np.einsum("jj->j", square)[:] += 1e-13
    factor = cho_factor(square, lower=True, overwrite_a=True, check_finite=False)
    return lambda b: scale * cho_solve(factor, scale * b, check_finite=False)


# --- interior points ------------------------------------------------------------------------------------------------


class _Rows(NamedTuple):
    """The rows of a program in one direction: inequalities ``G x <= h`` and, at the end, equations.

    Attributes
    ----------
    G, h : arrays
        The rows and their right-hand sides.
    owner, sign : arrays
        The row of the program that each is, and -1 if it is turned around.
    loose : array of bool
        Which are inequalities.
    """

    G: np.ndarray
    h: np.ndarray
    owner: np.ndarray
    sign: np.ndarray
    loose: np.ndarray

    @classmethod
    def of(cls, program: Program) -> "_Rows":
        """Return the rows of a program."""
        least, most = program.least, program.most
        equation = least == most
        up, down = (np.flatnonzero(np.isfinite(ends) & ~equation) for ends in (most, least))
        owner = np.concatenate([up, down, np.flatnonzero(equation)])
        sign = np.where((np.arange(len(owner)) >= len(up)) & ~equation[owner], -1.0, 1.0)
        h = sign * np.where(sign > 0.0, most[owner], least[owner])
        return cls(sign[:, None] * program.rows[owner], h, owner, sign, ~equation[owner])


class _Iterate(NamedTuple):
    """Variables ``x`` with the multipliers ``z`` and ``w`` of their bounds; slacks ``t`` of rows, multipliers ``y``."""

    x: np.ndarray
    z: np.ndarray
    w: np.ndarray
    t: np.ndarray
    y: np.ndarray


def _interior(program: Program) -> Minimiser:
    """Return the minimiser by Mehrotra's method, with a guess of the face.

    Rows become inequalities ``G x + t = h`` with slacks ``t > 0``, and equations. Bounds of variables hold strictly at
    all iterates.
    """
    rows, k, lower, upper = _Rows.of(program), len(program.slope), program.lower, program.upper
    below, above, loose = np.isfinite(lower), np.isfinite(upper), rows.loose
    inset = np.minimum(0.3 * np.where(below & above, upper - lower, np.inf), 1.0 / k)
    x = np.clip(program.start, np.where(below, lower + inset, -np.inf), np.where(above, upper - inset, np.inf))
    price = program.price()
    at = _Iterate(
        x,
        np.where(below, price, 0.0),
        np.where(above, price, 0.0),
        np.where(loose, np.maximum(rows.h - rows.G @ x, 0.1), 0.0),
        np.where(loose, price, 0.0),
    )
    best, least, failures = at, np.inf, 0
    for _ in range(80):
        p = np.where(below, np.maximum(at.x - lower, 1e-18), 1.0)  # rounding may put a variable onto its bound
        q = np.where(above, np.maximum(upper - at.x, 1e-18), 1.0)
        dual = program.gradient(at.x) - at.z + at.w + rows.G.T @ at.y
        primal = rows.G @ at.x + at.t - rows.h
        count = max(1, int(below.sum() + above.sum() + loose.sum()))
        mu = float(p @ at.z + q @ at.w + at.t @ at.y) / count
        score = max(np.abs(dual).max(initial=0.0) / price, np.abs(primal).max(initial=0.0), mu * count / price)
        failures = 0 if score < 0.9 * least else failures + 1
        if score < least:
            best, least = at, score
        if failures == 10 or score <= 1e-13 or not score <= 1e8 * max(least, 1e-12):
            break
        step = _newton_step(program.H, rows, at, (p, q, below, above), dual, primal)
        if step is None:
            break
        rooms = ((p, 1.0), (q, -1.0))
        ahead = step(p * at.z, q * at.w, at.t * at.y)
        a = _longest(at, ahead, rooms, (below, above, loose))
        left = np.where(below, (p + a * ahead.x) * (at.z + a * ahead.z), 0.0).sum()
        left += np.where(above, (q - a * ahead.x) * (at.w + a * ahead.w), 0.0).sum()
        left += ((at.t + a * ahead.t) * (at.y + a * ahead.y))[loose].sum()
        goal = mu * min(1.0, max(float(left) / count / mu, 0.0) ** 3) if mu > 0.0 else 0.0
        move = step(
            p * at.z + ahead.x * ahead.z - goal,
            q * at.w - ahead.x * ahead.w - goal,
            at.t * at.y + ahead.t * ahead.y - goal,
        )
        a = 0.995 * _longest(at, move, rooms, (below, above, loose))
        a = min(1.0, a / 0.995 if a >= 0.995 else a)
        at = _Iterate(*(old + a * change for old, change in zip(at, move, strict=True)))
    return _read_off(program, rows, best)


def _newton_step(
    H: np.ndarray, rows: _Rows, at: _Iterate, bounds: tuple[np.ndarray, ...], dual: np.ndarray, primal: np.ndarray
) -> Callable[[np.ndarray, np.ndarray, np.ndarray], _Iterate] | None:
    """Return a function from residuals of the complementarity conditions to a Newton step; None without a factor."""
    (p, q, below, above), G, loose, K = bounds, rows.G, rows.loose, H.copy()
    largest = max(float(np.einsum("jj->j", H).max(initial=0.0)), 1e-300)
    ratio = np.where(loose, at.t / np.where(loose, np.maximum(at.y, 1e-300), 1.0), 0.0)
    try:
        np.einsum("jj->j", K)[:] += at.z / p + at.w / q + 1e-14 * largest
        solve = partial(cho_solve, cho_factor(K, lower=True, overwrite_a=True, check_finite=False), check_finite=False)
        inner = solve(G.T)
        S = G @ inner
        np.einsum("jj->j", S)[:] += ratio
        np.einsum("jj->j", S)[:] += 1e-14 * max(float(np.einsum("jj->j", S).max(initial=0.0)), 1e-300)
        schur = cho_factor(S, lower=True, overwrite_a=True, check_finite=False) if len(S) else None
    except (LinAlgError, ValueError):
        return None

    def step(pz: np.ndarray, qw: np.ndarray, ty: np.ndarray) -> _Iterate:
        alone = solve(-dual - np.where(below, pz / p, 0.0) + np.where(above, qw / q, 0.0))
        wanted = -primal + np.where(loose, ty / np.where(loose, at.y, 1.0), 0.0)
        y = np.zeros(0) if schur is None else cho_solve(schur, G @ alone - wanted, check_finite=False)
        x = alone - inner @ y
        z, w = np.where(below, -(pz + at.z * x) / p, 0.0), np.where(above, (at.w * x - qw) / q, 0.0)
        return _Iterate(x, z, w, np.where(loose, -primal - G @ x, 0.0), y)

    return step


def _longest(at: _Iterate, move: _Iterate, rooms: Any, which: tuple[np.ndarray, np.ndarray, np.ndarray]) -> float:
    """Return the largest step, at most 1, at which all slacks and multipliers stay non-negative."""
    below, above, loose = which
    pairs = [(room[on], sign * move.x[on]) for (room, sign), on in zip(rooms, (below, above), strict=True)]
    pairs += [(at.z[below], move.z[below]), (at.w[above], move.w[above])]
    pairs += [(at.t[loose], move.t[loose]), (at.y[loose], move.y[loose])]
    steps = [(-old[change < 0.0] / change[change < 0.0]).min(initial=np.inf) for old, change in pairs]
    return min(1.0, float(min(steps)))


def _read_off(program: Program, rows: _Rows, at: _Iterate) -> Minimiser:
    """Return the minimiser for an iterate: a bound is on the face if its slack is smaller than its multiplier.

    Both count in units of their own: slacks are about one, multipliers about `Program.price`.
    """
    m, price = len(program.rows), program.price()
    z, w, p, q = at.z / price, at.w / price, at.x - program.lower, program.upper - at.x
    active = ~rows.loose | (at.t < at.y / price)
    multipliers = np.bincount(rows.owner, rows.sign * np.where(active, at.y, 0.0), m)
    tight = np.zeros(m, np.intp)
    tight[rows.owner[active]] = rows.sign[active]
    return Minimiser(at.x, multipliers, Face((p >= z) & (q >= w), np.where(q < w, 1, -1), tight), False)


def _linear(program: Program) -> Minimiser | None:
    """Return the minimiser of the linear part of the objective, which at least satisfies all rows. None if none does.

    It serves where the interior-point method fails, as it may with dependent equations and hardly any room.
    """
    from scipy.optimize import linprog  # slow to import

    rows = _Rows.of(program)
    G, h, loose = rows.G, rows.h, rows.loose
    limits, options = np.column_stack([program.lower, program.upper]), {"primal_feasibility_tolerance": 1e-10}
    parts = G[loose], h[loose], G[~loose], h[~loose]
    found = linprog(program.slope, *parts, limits, method="highs-ds", options=options)
    if found.status != 0:
        return None
    x, y = found.x, np.zeros(len(h))
    y[loose], y[~loose] = -found.ineqlin.marginals, -found.eqlin.marginals
    t = np.where(loose & (y > 0.0), 0.0, np.maximum(h - G @ x, 1e-300))
    at = _Iterate(x, np.where(x <= program.lower, 1.0, 0.0), np.where(x >= program.upper, 1.0, 0.0), t, y)
    answer = _read_off(program, rows, at)
    return answer._replace(x=_snapped(program, answer.x, answer.face))


def _snapped(program: Program, x: np.ndarray, face: Face) -> np.ndarray:
    """Return the variables with those at a bound put there, and the others changed so that the tight rows hold.

    Rows that would be violated count as tight. There may be more of them than variables; then the misses are spread.
    """
    x = face.at_bounds(program, x)
    products = program.rows @ x
    side = np.where(face.tight, face.tight, (products > program.most) * 1 - (products < program.least))
    tight = np.flatnonzero(side)
    bounds = np.where(side < 0, program.least, program.most)[tight]
    return meeting(program.rows[tight], bounds, x, program.lower, program.upper)


def meeting(rows: np.ndarray, bounds: np.ndarray, x: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return variables near ``x``, within their bounds, for which ``rows x = bounds`` as well as they can be.

    Each variable moves in proportion to the square of its distance to its bounds, so those at a bound stay there.
    """
    for _ in range(5):
        missing = bounds - rows @ x
        if (np.abs(missing) <= EPSILON * (np.abs(rows) @ np.abs(x) + np.abs(bounds))).all():
            break
        room = np.minimum(np.minimum(x - lower, upper - x), 1.0 + np.abs(x))
        weighted = rows * room
        if not weighted.any():
            break
        move = room * np.linalg.lstsq(weighted, missing, rcond=1e-13)[0]
        x = np.clip(x + move, lower, upper)
    return x
