"""Verbs: the methods of rows, losses, sets, estimates, directions and step rules, as functions for kernels.

A *part* is a ``typing.NamedTuple`` with plain methods. A *verb* is a function that calls the method of the
same name on its first argument. Interpreted, that is an ordinary method call. Compiled, numba selects the
method by the part's class during type inference, so there is no dispatch at run time (see
`frankwolfe.compile.kernels`). The same source serves both. Parts defined by users run equally fast.

Two rules keep compiled parts fast. A verb works on a whole row (or batch), never on one element. A method
copies the fields it needs into locals before its loop: a field read inside the loop costs reference counting.
"""

from collections.abc import Callable
from ctypes import CFUNCTYPE, c_void_p
from functools import wraps
from typing import TypeVar, cast

import numpy as np

Function = TypeVar("Function", bound=Callable)

ASKED = CFUNCTYPE(None, c_void_p, c_void_p)
"""C type of the callbacks that `ask` calls: a function of two addresses."""

VARIANTS: dict[Callable, tuple[Callable, ...]] = {}
"""What numba compiles for a call of a function: for a verb, whose tuple is empty, the method of its first argument; for
a routine itself; for a `twofold` function the one for numbers or the one for arrays."""

RELAXED: set[Callable] = set()
"""The routines whose sums the compiler may reorder."""


def verb(function: Function) -> Function:
    """Turn a function without a body into a verb, which calls its first argument's method of the same name."""
    name = function.__name__

    @wraps(function)
    def call(part, *args):
        return getattr(part, name)(*args)

    VARIANTS[call] = ()
    return cast("Function", call)


def routine(function: Function) -> Function:
    """Mark a plain function that kernels call: compiled as it is, for arguments of any type."""
    VARIANTS[function] = (function,)
    return function


def relaxed(function: Function) -> Function:
    """Mark a routine whose sum the compiler may reorder, which lets it use vector instructions.

    The result then depends on the processor in its last digits. Use it only for sums of products that are accurate in
    any order, never for a bound or an oracle, and call nothing else from it.
    """
    RELAXED.add(function)
    return routine(function)


def twofold(several: Callable) -> Callable[[Function], Function]:
    """Mark a function of numbers whose variant for arrays is ``several``. The type of the last argument selects."""

    def mark(single):
        @wraps(single)
        def choose(*args):
            return (several if isinstance(args[-1], np.ndarray) else single)(*args)

        VARIANTS[choose] = (single, several)
        return choose

    return mark


# --- predictions: numbers or short arrays ----------------------------------------------------------------------

# A prediction is a number or, for several outputs (one weight column per class), a short array; ``alpha[i]`` is then a
# row. Parts therefore only add, subtract and scale the results of `prediction` and `derivative`, and assign whole
# entries ``alpha[i]``. For everything else they call *twofold* functions, which are compiled for either case.


def _sizes(z):
    total = 0.0
    for c in range(len(z)):
        total += abs(z[c])
    return total


@twofold(_sizes)
def magnitude(z):
    """Return the sum of absolute values of a prediction."""
    return abs(z)


def _contracted(p, q):
    total = 0.0
    for c in range(len(p)):
        total += p[c] * q[c]
    return total


@twofold(_contracted)
def contract(p, q):
    """Return the inner product of two predictions, slopes or directions of one sample."""
    return p * q


# --- rows: how x_i is stored -------------------------------------------------------------------------------


@verb
def row_size(rows, i):
    """Return the number of stored entries of row ``i``."""


@verb
def row_item(rows, i, at):
    """Return column and value of the stored entry number ``at`` of row ``i``."""


@verb
def row_dot(rows, i, v):
    """Return the inner product of row ``i`` with the dense vector ``v``."""


@verb
def row_add(rows, i, c, r):
    """Add ``c`` times row ``i`` to the dense vector ``r``, in place."""


@verb
def row_entry(rows, i, j):
    """Return entry ``j`` of row ``i``."""


@verb
def row_sandwich(rows, i, left, right):
    """Return the prediction of row ``i`` for the weight matrix ``left right'``."""


@verb
def row_add_tracked(rows, i, c, r, bounds, starts, flip):
    """Add ``c`` times row ``i`` to ``r`` and raise the bounds of a lazy argmax over ``r``, in one pass."""


@verb
def row_add_grouped(rows, i, c, r, groups):
    """Add ``c`` times row ``i`` to ``r`` and update the bounds of a tracker over groups of entries, in one pass."""


# --- prefetching: load memory into the cache before it is used; affects the time only -----------------------------


def hint(array, k):
    """Prefetch entry ``k`` of an array: one instruction when compiled, nothing in Python."""


@verb
def fetch_row(rows, i):
    """Prefetch the stored entries of row ``i``."""


# --- callbacks: code that cannot be compiled is called by its address ----------------------------------------------


def ask(address, question, answer):
    """Call the function at ``address`` with the addresses of two contiguous float64 arrays. It fills ``answer``."""
    ASKED(int(address))(question.ctypes.data, answer.ctypes.data)


# --- numbers or arrays: losses serve both ---------------------------------------------------------------------------


def where(condition, a, b):
    """Return ``a`` where the condition holds, ``b`` elsewhere; compiled, a choice between two numbers."""
    return np.where(condition, a, b) if isinstance(condition, np.ndarray) else a if condition else b


def chosen(condition, a, b):
    """Return `where` for a single condition: the version that is compiled."""
    return a if condition else b


# --- losses: f(z, y) of one sample ---------------------------------------------------------------------------


@verb
def value(loss, z, y):
    """Return the loss of the prediction ``z`` for the target ``y``."""


@verb
def derivative(loss, z, y):
    """Return the first derivative in ``z``."""


@verb
def smoothed_derivative(loss, z, y, beta):
    """Return the first derivative in ``z`` of the loss, smoothed with the parameter ``beta`` if it has kinks."""


@verb
def kink_slopes(loss, y):
    """Return the slopes to the left and right of the kink at ``z = y``, for a loss with a kink."""


@verb
def curvature(loss, z, y):
    """Return the second derivative in ``z``, one-sided at a jump; for several outputs a diagonal upper bound."""


@verb
def hessian_product(loss, z, y, q):
    """Return the Hessian-vector product with ``q``, for losses of several outputs."""


@verb
def residual(loss, z, y, a):
    """Return ``f(z) + f*(a) - <a, z>``, zero where ``a`` is the derivative at ``z`` and positive elsewhere."""


@verb
def conjugate(loss, a, y):
    """Return ``f*(a) = sup_z <a, z> - f(z)``, infinite where that is not bounded."""


@verb
def nearest_slope(loss, a, y):
    """Return a slope near ``a`` at which the conjugate is finite."""


@verb
def smoothness(loss):
    """Return the smallest known Lipschitz constant ``L`` of the derivative."""


def _curvature_of_outputs(loss, z, y, q):
    return contract(q, hessian_product(loss, z, y, q))


@twofold(_curvature_of_outputs)
def curvature_along(loss, z, y, q):
    """Return the second derivative of the loss along ``z + gamma q``."""
    return q * q * curvature(loss, z, y)


# --- points of R^d: the iterate and the atoms ----------------------------------------------------------------


@verb
def prediction(point, rows, i):
    """Return the inner product of row ``i`` with a point."""


@verb
def inner(point, r):
    """Return the inner product of a point with the dense vector ``r``."""


@verb
def deposit(atom, iterate, c):
    """Add ``c`` times an atom to the iterate, in place."""


@verb
def coordinate(atom):
    """Return an atom with one non-zero entry as a `frankwolfe.sets.atoms.Hot`."""


@verb
def accept(iterate, left, right, c):
    """Add ``c left right'`` to the iterate, in place."""


@verb
def compress(iterate):
    """Reduce the rank of a factored iterate to free columns of its factors."""


@verb
def shrink(iterate, c):
    """Multiply the iterate by ``c``, in place."""


# --- trackers: state about r that makes the oracle of a set cheap -----------------------------------------------


@verb
def add_row(tracker, rows, i, c, r):
    """Add ``c`` times row ``i`` to ``r`` and update the tracker."""


@verb
def rebuild(tracker, r):
    """Rebuild the tracker after a change of all of ``r``."""


@verb
def leader(tracker, r):
    """Return the position of the entry (or group) of ``r`` with the largest key."""


@verb
def recount(tracker, r):
    """Compute the leading singular vectors, or eigenvectors, of ``r`` and store them in the tracker."""


@verb
def fill(pieces, r, room):
    """Write the vertex that minimises ``<r, s>`` over a product of sets into ``room``, piece by piece."""


# --- sets, estimates, directions, steps ----------------------------------------------------------------------


@verb
def oracle(constraint, tracker, r):
    """Return the atom of the set that minimises ``<r, s>`` (the linear minimisation oracle)."""


@verb
def refresh(estimate, samples, iterate, gradient, batch, upcoming, t):
    """Update the gradient estimate from the batch, before the direction calls the oracle; the next batch is known."""


@verb
def pull(side, gradient, iterate, kept, t):
    """Update the term of the side constraints in the gradient estimate, whose old value has been scaled by ``kept``."""


@verb
def follow(estimate, samples, iterate, move, gradient, batch, upcoming, t):
    """Update the gradient estimate after the move is chosen and before the iterate moves."""


@verb
def gradient_point(direction, iterate, t):
    """Return the point at which the direction needs the gradient: by default the iterate."""


@verb
def choose(direction, constraint, gradient, iterate):
    """Return the move that the direction chooses."""


@verb
def slope(move, gradient, iterate):
    """Return ``-<r, direction>``, the rate of decrease of the linear model along the move."""


@verb
def shift(move, rows, i, z):
    """Return ``x_i' direction`` given the current prediction ``z = x_i' w``."""


@verb
def target_prediction(move, rows, i):
    """Return ``x_i' s`` for the vertex ``s`` that the move leads to."""


@verb
def spread(move, norms, iterate):
    """Return an upper bound on ``||X direction||`` from the norms of the columns."""


@verb
def active_count(move):
    """Return the number of active atoms."""


@verb
def max_step(move):
    """Return the largest feasible step."""


@verb
def apply(move, iterate, gamma):
    """Move the iterate by a step ``gamma`` along the move, in place."""


@verb
def length(step, move, samples, gradient, iterate, t):
    """Return the step size ``gamma_t`` along the move."""


# --- lines: the objective along a move ------------------------------------------------------------------------


@verb
def search(step, line, fall, most, t):
    """Return the step size of a line-search rule, at most ``most``; ``fall`` is minus the estimated slope."""


@verb
def along(line, gamma):
    """Return the objective, and its first and second derivative in ``gamma``, at the point ``gamma`` of the line."""


@verb
def squares(line):
    """Return ``sum_i p_i q_i^2``, where ``q_i`` is the change of prediction ``i`` for a step of 1."""
