"""The verbs of the kernels: what rows, losses, sets, estimates, directions and steps can be asked to do.

A *part* is a ``typing.NamedTuple`` with plain methods. A *verb* is a function that calls the method of the
same name on its first argument. Interpreted, that is an ordinary method call. Compiled, numba picks the
method from the part's class while it types the call, so nothing is left to dispatch at run time (see
`frankwolfe.compile.kernels`). The same source serves both; a part written outside this package runs as fast.

Two rules keep compiled parts fast. A verb works on a whole row (or batch), never on one element. A method
copies the fields it needs into locals before its loop: a field read inside the loop costs reference counting.
"""

from collections.abc import Callable
from ctypes import CFUNCTYPE, c_void_p
from functools import wraps
from typing import TypeVar

import numpy as np

Function = TypeVar("Function", bound=Callable)

ASKED = CFUNCTYPE(None, c_void_p, c_void_p)
"""What `ask` calls: a function of two addresses."""

VERBS: list[Callable] = []
ROUTINES: list[Callable] = []
RELAXED: set[Callable] = set()
TWOFOLD: dict[Callable, tuple[Callable, Callable]] = {}


def verb(function: Function) -> Function:
    """Mark a function as a verb: compiled, it becomes its first argument's method of the same name."""
    VERBS.append(function)
    return function


def routine(function: Function) -> Function:
    """Mark a plain function that kernels call: compiled as it stands, whatever its arguments."""
    ROUTINES.append(function)
    return function


def relaxed(function: Function) -> Function:
    """Mark a routine whose sum the compiler may reorder, which lets it use vector instructions.

    The result then depends on the processor in its last digits. Use it only for sums of products that are accurate in
    any order, never for a bound or an oracle, and call nothing else from it.
    """
    RELAXED.add(function)
    return routine(function)


def twofold(several: Callable) -> Callable[[Function], Function]:
    """Mark a function of a number, with its twin for arrays: compiled, its last argument decides between the two."""

    def mark(single):
        @wraps(single)
        def choose(*args):
            return (several if isinstance(args[-1], np.ndarray) else single)(*args)

        TWOFOLD[choose] = (single, several)
        return choose

    return mark


# --- predictions: numbers or short arrays ----------------------------------------------------------------------

# A prediction is a number or, where there are several outputs (one weight column a class), a short array; ``alpha[i]``
# is then a row. Parts therefore only add, subtract and scale what `prediction` and `derivative` return, assign to
# ``alpha[i]`` whole, and leave the rest to the *twofold* functions, compiled for the one or the other.


def _sizes(z):
    total = 0.0
    for c in range(len(z)):
        total += abs(z[c])
    return total


@twofold(_sizes)
def magnitude(z):
    """Sum of absolute values."""
    return abs(z)


def _contracted(p, q):
    total = 0.0
    for c in range(len(p)):
        total += p[c] * q[c]
    return total


@twofold(_contracted)
def contract(p, q):
    """Inner product of what belongs to two predictions."""
    return p * q


# --- rows: how x_i is stored -------------------------------------------------------------------------------


@verb
def row_size(rows, i):
    """Return the number of stored entries of row ``i``."""
    return rows.row_size(i)


@verb
def row_item(rows, i, at):
    """Column and value of the stored entry number ``at`` of row ``i``."""
    return rows.row_item(i, at)


@verb
def row_dot(rows, i, v):
    """Inner product of row ``i`` with the dense vector ``v``."""
    return rows.row_dot(i, v)


@verb
def row_add(rows, i, c, r):
    """Add ``c`` times row ``i`` to the dense vector ``r``, in place."""
    return rows.row_add(i, c, r)


@verb
def row_entry(rows, i, j):
    """Entry ``j`` of row ``i``."""
    return rows.row_entry(i, j)


@verb
def row_sandwich(rows, i, left, right):
    """Prediction of row ``i`` for the weight matrix ``left right'``."""
    return rows.row_sandwich(i, left, right)


@verb
def row_add_tracked(rows, i, c, r, bounds, starts, flip):
    """Add ``c`` times row ``i`` to ``r`` and lift the bounds of a lazy argmax over ``r``, in one go."""
    return rows.row_add_tracked(i, c, r, bounds, starts, flip)


@verb
def row_add_grouped(rows, i, c, r, groups):
    """Add ``c`` times row ``i`` to ``r`` and keep the bounds of a tracker over groups of entries, in one go."""
    return rows.row_add_grouped(i, c, r, groups)


# --- memory: what will be wanted soon can be asked for now, which changes nothing but the time --------------------


def hint(array, k):
    """Ask the processor for entry ``k`` of an array: nothing in Python, one instruction when compiled."""


@verb
def fetch_row(rows, i):
    """Ask for what is stored of row ``i``."""
    return rows.fetch_row(i)


# --- outside: what cannot be compiled is asked through the address of a callback ----------------------------------


def ask(address, question, answer):
    """Call the function at an address with where two contiguous arrays of float64 begin; it fills in the answer."""
    ASKED(int(address))(question.ctypes.data, answer.ctypes.data)


# --- numbers or arrays: losses serve both ---------------------------------------------------------------------------


def where(condition, a, b):
    """Return ``a`` where the condition holds, ``b`` elsewhere; compiled, a plain choice between two numbers."""
    return np.where(condition, a, b) if isinstance(condition, np.ndarray) else a if condition else b


def chosen(condition, a, b):
    """Return what `where` returns for a single condition: the source that is compiled."""
    return a if condition else b


# --- losses: f(z, y) of one sample ---------------------------------------------------------------------------


@verb
def value(loss, z, y):
    """Loss of the prediction ``z`` for the target ``y``."""
    return loss.value(z, y)


@verb
def derivative(loss, z, y):
    """First derivative in ``z``."""
    return loss.derivative(z, y)


@verb
def smoothed_derivative(loss, z, y, beta):
    """First derivative in ``z`` of the loss, smoothed by the parameter ``beta`` where it has kinks."""
    return loss.smoothed_derivative(z, y, beta)


@verb
def kink_slopes(loss, y):
    """Slopes before and after the kink of a loss that has one, which is at ``z = y``."""
    return loss.kink_slopes(y)


@verb
def curvature(loss, z, y):
    """Second derivative in ``z`` (where it jumps, of one side); of several outputs, a diagonal that bounds it."""
    return loss.curvature(z, y)


@verb
def hessian_product(loss, z, y, q):
    """Second derivative in ``z``, a matrix, times ``q``: for losses of several outputs."""
    return loss.hessian_product(z, y, q)


@verb
def residual(loss, z, y, a):
    """Return ``f(z) + f*(a) - <a, z>``, zero where ``a`` is the derivative at ``z`` and positive elsewhere."""
    return loss.residual(z, y, a)


@verb
def conjugate(loss, a, y):
    """Return ``f*(a) = sup_z <a, z> - f(z)``, infinite where that is not bounded."""
    return loss.conjugate(a, y)


@verb
def nearest_slope(loss, a, y):
    """Return a slope near ``a`` at which the conjugate is finite."""
    return loss.nearest_slope(a, y)


@verb
def smoothness(loss):
    """Smallest known Lipschitz constant ``L`` of the derivative."""
    return loss.smoothness()


def _curvature_of_outputs(loss, z, y, q):
    return contract(q, hessian_product(loss, z, y, q))


@twofold(_curvature_of_outputs)
def curvature_along(loss, z, y, q):
    """Second derivative of the loss along ``z + gamma q``."""
    return q * q * curvature(loss, z, y)


# --- points of R^d: the iterate and the atoms ----------------------------------------------------------------


@verb
def prediction(point, rows, i):
    """Inner product of row ``i`` with a point."""
    return point.prediction(rows, i)


@verb
def inner(point, r):
    """Inner product of a point with the dense vector ``r``."""
    return point.inner(r)


@verb
def deposit(atom, iterate, c):
    """Add ``c`` times an atom to the iterate, in place."""
    return atom.deposit(iterate, c)


@verb
def coordinate(atom):
    """Return an atom of a set whose vertices are single coordinates as a `frankwolfe.sets.atoms.Hot`."""
    return atom.coordinate()


@verb
def accept(iterate, left, right, c):
    """Add ``c left right'`` to the iterate, in place."""
    return iterate.accept(left, right, c)


@verb
def compress(iterate):
    """Make room in the factors of an iterate."""
    return iterate.compress()


@verb
def shrink(iterate, c):
    """Multiply the iterate by ``c``, in place."""
    return iterate.shrink(c)


# --- trackers: what a set keeps about r so that its oracle is cheap ---------------------------------------------


@verb
def add_row(tracker, rows, i, c, r):
    """Add ``c`` times row ``i`` to ``r`` and update the tracker."""
    return tracker.add_row(rows, i, c, r)


@verb
def rebuild(tracker, r):
    """Tell the tracker that all of ``r`` changed."""
    return tracker.rebuild(r)


@verb
def leader(tracker, r):
    """Position of the entry of ``r`` that the tracker ranks first."""
    return tracker.leader(r)


@verb
def recount(tracker, r):
    """Let a tracker find what it ranks first in ``r`` and keep it for the oracle."""
    return tracker.recount(r)


@verb
def written(memory, place, atom):
    """Write an atom down at a place of a memory; say whether it is finite."""
    return memory.written(place, atom)


@verb
def recalled(memory, place):
    """Return the atom at a place of a memory."""
    return memory.recalled(place)


@verb
def fill(pieces, r, room):
    """Write the vertex that minimises ``<r, s>`` over a product of sets into ``room``, piece by piece."""
    return pieces.fill(r, room)


# --- sets, estimates, directions, steps ----------------------------------------------------------------------


@verb
def oracle(constraint, tracker, r):
    """Atom of the set that minimises ``<r, s>`` (the linear minimisation oracle)."""
    return constraint.oracle(tracker, r)


@verb
def refresh(estimate, samples, iterate, gradient, batch, upcoming, t):
    """Let the estimate look at the batch, and the one after it, before the vertex is chosen."""
    return estimate.refresh(samples, iterate, gradient, batch, upcoming, t)


@verb
def pull(side, gradient, iterate, kept, t):
    """Renew what side constraints add to the gradient estimate, of which the part ``kept`` is left."""
    return side.pull(gradient, iterate, kept, t)


@verb
def follow(estimate, samples, iterate, move, gradient, batch, upcoming, t):
    """Let the estimate look at both batches once the move is chosen, before the iterate moves."""
    return estimate.follow(samples, iterate, move, gradient, batch, upcoming, t)


@verb
def gradient_point(direction, iterate, t):
    """Point at which a direction wants the gradient: the iterate, unless it says otherwise."""
    return direction.gradient_point(iterate, t)


@verb
def choose(direction, constraint, gradient, iterate):
    """Choose a move: where from, where to, how far at most."""
    return direction.choose(constraint, gradient, iterate)


@verb
def pair(pieces, constraint, gradient, iterate):
    """Move of the pairwise direction."""
    return pieces.pair(constraint, gradient, iterate)


@verb
def turn(pieces, constraint, gradient, iterate):
    """Move of the away direction."""
    return pieces.turn(constraint, gradient, iterate)


@verb
def blend(pieces, constraint, gradient, iterate):
    """Move of the blended pairwise direction."""
    return pieces.blend(constraint, gradient, iterate)


@verb
def slope(move, gradient, iterate):
    """Return ``-<r, direction>``: how fast the linear model falls along the move."""
    return move.slope(gradient, iterate)


@verb
def shift(move, rows, i, z):
    """Return ``x_i' direction`` given the current prediction ``z = x_i' w``."""
    return move.shift(rows, i, z)


@verb
def target_prediction(move, rows, i):
    """Return ``x_i' s`` for the vertex ``s`` that the move leads to."""
    return move.target_prediction(rows, i)


@verb
def spread(move, norms, iterate):
    """Upper bound on ``||X direction||`` from the norms of the columns."""
    return move.spread(norms, iterate)


@verb
def active_count(move):
    """Return the number of active atoms."""
    return move.active_count()


@verb
def adapt(step, gradient, iterate):
    """Let a step rule learn from what has become of earlier steps."""
    return step.adapt(gradient, iterate)


@verb
def max_step(move):
    """Largest step that stays feasible."""
    return move.max_step()


@verb
def apply(move, iterate, gamma):
    """Move the iterate ``gamma`` along the move, in place."""
    return move.apply(iterate, gamma)


@verb
def length(step, move, samples, gradient, iterate, t):
    """Step size ``gamma_t`` along the move."""
    return step.length(move, samples, gradient, iterate, t)


# --- lines: the objective along a move ------------------------------------------------------------------------


@verb
def search(step, line, fall, most, t):
    """Step size of a rule that measures the objective along a line; ``fall`` is minus the estimated slope."""
    return step.search(line, fall, most, t)


@verb
def along(line, gamma):
    """Objective, and its first and second derivative in ``gamma``, after a part ``gamma`` of the line."""
    return line.along(gamma)


@verb
def squares(line):
    """Return ``sum_i p_i q_i^2`` for the changes ``q_i`` of the predictions along the whole line."""
    return line.squares()
