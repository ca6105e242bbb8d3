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
from typing import Any, TypeVar

import numpy as np

Function = TypeVar("Function", bound=Callable)

CALLBACK = CFUNCTYPE(None, c_void_p, c_void_p)
"""C type of the callbacks that `call_back` calls: a function of two addresses."""

VARIANTS: dict[Callable, tuple[Callable, ...]] = {}
"""What numba compiles for a call of a function: for a verb, whose tuple is empty, the method of its first argument; for
a routine itself; for a `twofold` function the one for numbers or the one for arrays."""

RELAXED: set[Callable] = set()
"""The routines whose sums the compiler may reorder."""


def verb(name: str) -> Callable[..., Any]:
    """Return the verb of a name: a function that calls its first argument's method of that name.

    Below, a comment beside each verb lists its arguments and says what it returns or does.
    """

    def call(part, *args):
        return getattr(part, name)(*args)

    call.__name__ = call.__qualname__ = name
    VARIANTS[call] = ()
    return call


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

row_size = verb("row_size")  # (rows, i): the number of stored entries of row `i`
row_item = verb("row_item")  # (rows, i, at): column and value of the stored entry number `at` of row `i`
row_dot = verb("row_dot")  # (rows, i, v): the inner product of row `i` with the dense vector `v`
row_add = verb("row_add")  # (rows, i, c, r): add `c` times row `i` to the dense vector `r`, in place
row_entry = verb("row_entry")  # (rows, i, j): entry `j` of row `i`
# (rows, i, left, right): the prediction of row `i` for the weight matrix `left right'`
row_sandwich = verb("row_sandwich")
# (rows, i, c, r, bounds, starts, flip): add `c` times row `i` to `r` and raise the bounds of a lazy argmax over `r`,
# in one pass
row_add_tracked = verb("row_add_tracked")
# (rows, i, c, r, groups): add `c` times row `i` to `r` and update the bounds of a tracker over groups of entries, in
# one pass
row_add_grouped = verb("row_add_grouped")


# --- prefetching: load memory into the cache before it is used; affects the time only -----------------------------


def hint(array, k):
    """Prefetch entry ``k`` of an array: one instruction when compiled, nothing in Python."""


fetch_row = verb("fetch_row")  # (rows, i): prefetch the stored entries of row `i`


# --- callbacks: code that cannot be compiled is called by its address ----------------------------------------------


def call_back(address, argument, result):
    """Call the function at ``address`` with the addresses of two contiguous float64 arrays. It fills the second one."""
    CALLBACK(int(address))(argument.ctypes.data, result.ctypes.data)


# --- numbers or arrays: losses serve both ---------------------------------------------------------------------------


def where(condition, a, b):
    """Return ``a`` where the condition holds, ``b`` elsewhere; compiled, a choice between two numbers."""
    return np.where(condition, a, b) if isinstance(condition, np.ndarray) else a if condition else b


def chosen(condition, a, b):
    """Return `where` for a single condition: the version that is compiled."""
    return a if condition else b


# --- losses: f(z, y) of one sample ---------------------------------------------------------------------------

value = verb("value")  # (loss, z, y): the loss of the prediction `z` for the target `y`
derivative = verb("derivative")  # (loss, z, y): the first derivative in `z`
# (loss, z, y, beta): the first derivative in `z` of the loss, smoothed with the parameter `beta` if it has kinks
smoothed_derivative = verb("smoothed_derivative")
# (loss, y): the slopes to the left and right of the kink at `z = y`, for a loss with a kink
kink_slopes = verb("kink_slopes")
# (loss, z, y): the second derivative in `z`, one-sided at a jump; for several outputs a diagonal upper bound
curvature = verb("curvature")
# (loss, z, y, q): the Hessian-vector product with `q`, for losses of several outputs
hessian_product = verb("hessian_product")
# (loss, z, y, a): `f(z) + f*(a) - <a, z>`, zero where `a` is the derivative at `z` and positive elsewhere
residual = verb("residual")
conjugate = verb("conjugate")  # (loss, a, y): `f*(a) = sup_z <a, z> - f(z)`, infinite where that is not bounded
nearest_slope = verb("nearest_slope")  # (loss, a, y): a slope near `a` at which the conjugate is finite
smoothness = verb("smoothness")  # (loss): the smallest known Lipschitz constant `L` of the derivative


def _curvature_of_outputs(loss, z, y, q):
    return contract(q, hessian_product(loss, z, y, q))


@twofold(_curvature_of_outputs)
def curvature_along(loss, z, y, q):
    """Return the second derivative of the loss along ``z + gamma q``."""
    return q * q * curvature(loss, z, y)


# --- points of R^d: the iterate and the atoms ----------------------------------------------------------------

prediction = verb("prediction")  # (point, rows, i): the inner product of row `i` with a point
inner = verb("inner")  # (point, r): the inner product of a point with the dense vector `r`
deposit = verb("deposit")  # (atom, iterate, c): add `c` times an atom to the iterate, in place
coordinate = verb("coordinate")  # (atom): an atom with one non-zero entry as a `frankwolfe.sets.atoms.Hot`
accept = verb("accept")  # (iterate, left, right, c): add `c left right'` to the iterate, in place
compress = verb("compress")  # (iterate): reduce the rank of a factored iterate to free columns of its factors
shrink = verb("shrink")  # (iterate, c): multiply the iterate by `c`, in place


# --- trackers: state about r that makes the oracle of a set cheap -----------------------------------------------

add_row = verb("add_row")  # (tracker, rows, i, c, r): add `c` times row `i` to `r` and update the tracker
rebuild = verb("rebuild")  # (tracker, r): rebuild the tracker after a change of all of `r`
leader = verb("leader")  # (tracker, r): the position of the entry (or group) of `r` with the largest key
# (tracker, r): compute the leading singular vectors, or eigenvectors, of `r` and store them in the tracker
recount = verb("recount")
# (pieces, r, room): write the vertex that minimises `<r, s>` over a product of sets into `room`, piece by piece
fill = verb("fill")


# --- sets, estimates, directions, steps ----------------------------------------------------------------------

# (constraint, tracker, r): the atom of the set that minimises `<r, s>` (the linear minimisation oracle)
oracle = verb("oracle")
# (estimate, samples, iterate, gradient, batch, upcoming, t): update the gradient estimate from the batch, before the
# direction calls the oracle; the next batch is known
refresh = verb("refresh")
# (side, gradient, iterate, kept, t): update the term of the side constraints in the gradient estimate, whose old
# value has been scaled by `kept`
pull = verb("pull")
# (estimate, samples, iterate, move, gradient, batch, upcoming, t): update the gradient estimate after the move is
# chosen and before the iterate moves
follow = verb("follow")
# (direction, iterate, t): the point at which the direction needs the gradient: by default the iterate
gradient_point = verb("gradient_point")
choose = verb("choose")  # (direction, constraint, gradient, iterate): the move that the direction chooses
# (move, gradient, iterate): `-<r, direction>`, the rate of decrease of the linear model along the move
slope = verb("slope")
shift = verb("shift")  # (move, rows, i, z): `x_i' direction` given the current prediction `z = x_i' w`
target_prediction = verb("target_prediction")  # (move, rows, i): `x_i' s` for the vertex `s` that the move leads to
spread = verb("spread")  # (move, norms, iterate): an upper bound on `||X direction||` from the norms of the columns
active_count = verb("active_count")  # (move): the number of active atoms
max_step = verb("max_step")  # (move): the largest feasible step
apply = verb("apply")  # (move, iterate, gamma): move the iterate by a step `gamma` along the move, in place
length = verb("length")  # (step, move, samples, gradient, iterate, t): the step size `gamma_t` along the move


# --- lines: the objective along a move ------------------------------------------------------------------------

# (step, line, fall, most, t): the step size of a line-search rule, at most `most`; `fall` is minus the estimated slope
search = verb("search")
# (line, gamma): the objective, and its first and second derivative in `gamma`, at the point `gamma` of the line
along = verb("along")
squares = verb("squares")  # (line): `sum_i p_i q_i^2`, where `q_i` is the change of prediction `i` for a step of 1
