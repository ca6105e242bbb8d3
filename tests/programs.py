"""The sets a second time, as convex programs: what an independent solver makes of them."""

import itertools
from math import comb, isqrt

import cvxpy as cp
import numpy as np
from scipy import sparse

import frankwolfe as fw
from frankwolfe.compile.part import Opaque

MOST_PIECES = 200
"""Most balls over single groups whose hull is described by its pieces: a program of more is slow to make."""


def _latent(groups, norm, radius, w):
    """Return the hull of the balls over single groups: a sum of vectors, one for each group."""
    pieces = [cp.Variable(len(group)) for group in groups]
    spread = [np.eye(w.size)[:, list(group)] @ piece for group, piece in zip(groups, pieces, strict=True)]
    return [w == sum(spread), sum(cp.norm(piece, norm) for piece in pieces) <= radius]


def _k_support(ball, w):
    """Return the hull of the balls over k entries: by definition where these are few, else by what is known of it."""
    if comb(w.size, ball.k) <= MOST_PIECES:
        return _latent(list(itertools.combinations(range(w.size), ball.k)), ball.norm, ball.radius, w)
    return k_support_in_short(ball, w)


def k_support_in_short(ball, w):
    """Return the same, without its pieces: for the l2 norm see Argyriou, Foygel and Srebro (2012)."""
    if ball.norm == np.inf:
        return [cp.norm_inf(w) <= ball.radius, cp.norm1(w) <= ball.k * ball.radius]
    shares, squares = cp.Variable(w.size, nonneg=True), cp.Variable(w.size)
    over = cp.SOC(squares + shares, cp.vstack([2.0 * w / ball.radius, squares - shares]))  # w^2 <= squares * shares
    return [over, shares <= 1.0, cp.sum(shares) <= ball.k, cp.sum(squares) <= 1.0]


def _group(ball, w):
    members = [np.flatnonzero(ball.groups == g) for g in range(len(ball.weights))]
    norms = [weight * cp.norm(w[group], ball.norm) for weight, group in zip(ball.weights, members, strict=True)]
    return [sum(norms) <= ball.radius]


def _owl(ball, w):
    drops = -np.diff(np.append(ball.weights, 0.0))
    return [sum(drop * cp.sum_largest(cp.abs(w), k + 1) for k, drop in enumerate(drops)) <= ball.radius]


def _ellipsoid(ellipsoid, w):
    S = np.diag(ellipsoid.shape**2) if ellipsoid.shape.ndim == 1 else ellipsoid.shape
    values, vectors = np.linalg.eigh(S)
    return [cp.norm((vectors / np.sqrt(values)).T @ (w - ellipsoid.centre)) <= ellipsoid.radius]


def _birkhoff(polytope, w):
    square = _matrix(polytope.size, polytope.size, w)
    return [w >= 0, cp.sum(square, axis=0) == 1, cp.sum(square, axis=1) == 1]


def _hull(hull, w):
    shares = cp.Variable(len(hull.points), nonneg=True)
    return [cp.sum(shares) == 1, hull.points.T @ shares == w]


def _monotone(box, w):
    steps = w[1:] - w[:-1]
    ordered = [steps >= 0 if box.increasing else steps <= 0] if w.size > 1 else []
    return [w >= box.lower, w <= box.upper, *ordered]


def _polytope(polytope, w):
    A, E = (M.value if isinstance(M, Opaque) else M for M in (polytope.A, polytope.E))
    return [A @ w <= polytope.b, *([E @ w == polytope.e] if E is not None else [])]


def _within(w, lower, upper):
    """Return bounds on the entries, of which some may be infinite."""
    low, high = np.flatnonzero(np.isfinite(lower)), np.flatnonzero(np.isfinite(upper))
    return [w[low] >= lower[low]] * bool(len(low)) + [w[high] <= upper[high]] * bool(len(high))


def _matrix(rows, columns, w):
    return cp.reshape(w, (rows, columns), order="C")


def _spectrahedron(spectrahedron, w):
    square = _matrix(isqrt(w.size), isqrt(w.size), w)
    return [square == square.T, square >> 0, cp.trace(square) == spectrahedron.trace]


def _product(product, w):
    ends = np.cumsum([0, *product.sizes])
    blocks = zip(product.sets, ends[:-1], ends[1:], strict=True)
    return [found for inner, low, high in blocks for found in described(inner, w[low:high])]


DESCRIPTIONS = {
    fw.L1Ball: lambda ball, w: [cp.norm1(w) <= ball.radius],
    fw.L2Ball: lambda ball, w: [cp.norm(w) <= ball.radius],
    fw.Simplex: lambda simplex, w: [w >= 0, cp.sum(w) == simplex.radius],
    fw.NonNegativeL1Ball: lambda ball, w: [w >= 0, cp.sum(w) <= ball.radius],
    fw.Box: lambda box, w: [w >= box.lower, w <= box.upper],
    fw.Budget: lambda budget, w: [
        *_within(w, np.broadcast_to(budget.lower, w.size), np.broadcast_to(budget.upper, w.size)),
        cp.norm1(w) <= budget.radius,
    ],
    fw.CappedSimplex: lambda simplex, w: [
        *_within(w, np.zeros(w.size), np.broadcast_to(simplex.cap, w.size)),
        cp.sum(w) == simplex.radius,
    ],
    fw.GroupBall: _group,
    fw.LatentGroupBall: lambda ball, w: _latent(ball.groups.value, 2, ball.radius, w),
    fw.KSupportBall: _k_support,
    fw.OWLBall: _owl,
    fw.LpBall: lambda ball, w: [cp.pnorm(w, ball.p) <= ball.radius],
    fw.Ellipsoid: _ellipsoid,
    fw.Birkhoff: _birkhoff,
    fw.ConvexHull: _hull,
    fw.MonotoneBox: _monotone,
    fw.Polytope: _polytope,
    fw.TraceBall: lambda ball, w: [cp.normNuc(_matrix(*ball.shape, w)) <= ball.radius],
    fw.Spectrahedron: _spectrahedron,
    fw.Product: _product,
    fw.sets.Translated: lambda moved, w: described(moved.set, w - moved.shift),
    fw.sets.Scaled: lambda scaled, w: described(scaled.set, w / scaled.factor),
    fw.sets.Cached: lambda cached, w: described(cached.set, w),
    fw.sets.Counted: lambda counted, w: described(counted.set, w),
}


def has_program(constraint):
    """Whether a solver can be told of a set; of the others, definitions tell (`tests.reference.sets`)."""
    inner = constraint.sets if isinstance(constraint, fw.Product) else (getattr(constraint, "set", None),)
    return type(constraint) in DESCRIPTIONS and all(part is None or has_program(part) for part in inner)


def described(constraint, w):
    """Return the constraints on ``w`` that a set stands for."""
    return DESCRIPTIONS[type(constraint)](constraint, w)


class Solver:
    """Smallest ``<r, s>`` over a set, for many directions: one program, made once."""

    def __init__(self, constraint, d):
        self.r, w = cp.Parameter(d), cp.Variable(d)
        self.program = cp.Problem(cp.Minimize(self.r @ w), described(constraint, w))

    def smallest(self, r):
        """Smallest ``<r, s>``; the solver is shown a direction of ordinary size."""
        size = np.abs(r).max() or 1.0
        self.r.value = r / size
        return size * self.program.solve(solver=cp.HIGHS if self.program.is_lp() else cp.CLARABEL)


def optimum(problem):
    """Least objective of a logistic or least-squares problem, by an interior-point solver."""
    X = problem.X.toarray() if sparse.issparse(problem.X) else problem.X
    w = cp.Variable(problem.d)
    if isinstance(problem.loss, fw.Logistic):
        losses = cp.logistic(-cp.multiply(problem.y, X @ w))
    else:
        losses = cp.square(X @ w - problem.y) / 2
    program = cp.Problem(cp.Minimize(problem.samples.weights @ losses), described(problem.constraint, w))
    return program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
