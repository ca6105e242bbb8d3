"""Keyword arguments under the names that other libraries use: refused with the name that is meant here."""

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import TypeVar, cast

from frankwolfe.arguments.lookup import nearest

Function = TypeVar("Function", bound=Callable)

BUDGET = "use max_passes, the budget in passes over the data"
BOUND = "there is no penalty but a bound on the weights: use radius, and a larger one to fit more closely"
OF_THE_SET = "the set says it: constraint=fw.L1Ball(radius)"
OF_THE_PROBLEM = "it belongs to the problem: fw.Problem(X, y, loss=..., constraint=...)"
SCALING = "nothing is scaled: put sklearn.preprocessing.StandardScaler before it in a pipeline"
UNNEEDED = "there is no such choice to make here: leave it out"

# What is meant by a foreign name, best first: the argument that must be there for the advice to fit, and the advice.
_MEANT: list[tuple[str, list[tuple[str, str]]]] = [
    ("max_iter maxiter n_iter max_iters num_iter iterations max_epochs epochs", [("max_passes", BUDGET)]),
    ("time_limit timeout max_time", [("max_seconds", "use max_seconds"), ("max_passes", BUDGET)]),
    ("C alpha alphas lam lambda_ lambd reg regularization l1 l2 nu", [("radius", BOUND), ("constraint", OF_THE_SET)]),
    ("Cs n_alphas lambdas radius_grid", [("radii", "use radii, an array or how many of them to try")]),
    ("radius r R", [("constraint", OF_THE_SET)]),
    ("penalty regularizer ball constraints bounds set_", [("constraint", "use constraint, for instance 'l1'")]),
    ("l1_ratio", [("constraint", "there is no mixture of norms: choose one by constraint, for instance 'l1' or 'l2'")]),
    ("solver algorithm optimizer variant", [("method", "use method, for instance 'auto'")]),
    ("learning_rate lr step_size eta gamma", [("step", "use step, for instance 'line-search'")]),
    ("eps epsilon rtol atol ftol gtol tolerance", [("tol", "use tol, the gap relative to the objective of zero")]),
    ("seed random_seed rng", [("random_state", "use random_state")]),
    (
        "positive nonnegative",
        [("signs", "use signs=1"), ("constraint", "use the set: 'nonnegative-l1' or fw.Box(0, 1)")],
    ),
    ("batch minibatch batchsize n_batch", [("batch_size", "use batch_size, a number of rows or a fraction of them")]),
    ("intercept", [("fit_intercept", "use fit_intercept")]),
    ("fit_intercept add_intercept bias", [("intercept", "use intercept")]),
    ("weights sample_weights", [("sample_weight", "use sample_weight")]),
    ("init w0 start coef_init warm_start", [("x0", "use x0, a feasible point or an earlier result")]),
    ("sample_weight", [("loss", "give it to fit"), ("problem", OF_THE_PROBLEM)]),
    ("loss constraint radius C intercept X y", [("problem", OF_THE_PROBLEM)]),
    ("verbose disp", [("progress", "use progress=True")]),
    ("progress", [("verbose", "use verbose=1")]),
    ("normalize standardize scale", [("tol", SCALING), ("constraint", SCALING)]),
    ("dual intercept_scaling copy_X selection precompute shuffle", [("tol", UNNEEDED)]),
    ("labels target targets", [("y", "use y")]),
    ("data A", [("X", "use X")]),
]


def advice(name: str, known: Iterable[str]) -> str:
    """Return what to use instead of an argument that is not among the known ones, as the end of a sentence.

    Examples
    --------
    >>> advice("max_iter", ["tol", "max_passes"])
    ': use max_passes, the budget in passes over the data'
    >>> advice("raduis", ["radius"])
    "; did you mean 'radius'?"
    """
    names = list(known)
    for foreign, meant in _MEANT:
        if name in foreign.split():
            for argument, text in meant:
                if argument in names:
                    return f": {text}"
    return nearest(name, names) or f". Known: {', '.join(names)}"


def teaching(function: Function) -> Function:
    """Make a function refuse an unknown keyword argument with the name that is meant here: a decorator.

    The signature, which scikit-learn reads parameters from, is the function's own.

    Examples
    --------
    >>> @teaching
    ... def fit(radius=1.0): ...
    >>> fit(raduis=10.0)
    Traceback (most recent call last):
    ...
    TypeError: fit() got an unexpected keyword argument 'raduis'; did you mean 'radius'?
    """
    parameters = inspect.signature(function).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return function
    owner = function.__qualname__.removesuffix(".__init__")
    known = [name for name in parameters if name != "self"]

    @wraps(function)
    def checked(*args, **kwargs):
        for name in kwargs:
            if name not in parameters:
                problem = f"{owner}() got an unexpected keyword argument {name!r}"
                raise TypeError(f"{problem}{advice(name, known)}")
        return function(*args, **kwargs)

    return cast(Function, checked)
