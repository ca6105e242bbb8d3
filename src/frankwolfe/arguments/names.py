"""What a user types: names in tables, keyword arguments, and settings of a run, checked with errors that advise."""

import inspect
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from numbers import Integral, Real
from typing import Any, TypeVar, cast

import numpy as np

Entry = TypeVar("Entry")

ALSO_CALLED: dict[str, dict[str, str]] = {
    "method": {
        "fw": "frank-wolfe conditional-gradient cg vanilla",
        "away": "afw away-step away-steps",
        "pairwise": "pfw pcg",
        "blended-pairwise": "bpfw bpcg blended-pairwise-conditional-gradient",
        "corrective": "fcfw fully-corrective",
        "sfw": "sag stochastic-frank-wolfe",
        "l-svrg": "svrg lsvrg loopless-svrg",
        "one-sample": "1-sfw one-sfw 1sfw",
    },
    "loss": {
        "squared": "squared-error mse l2 least-squares ls quadratic",
        "logistic": "log log-loss logloss binomial",
        "pinball": "quantile quantile-loss check",
        "tukey": "biweight bisquare",
    },
    "constraint": {
        "l1": "lasso",
        "l2": "ridge",
        "linf": "max inf infinity",
        "trace": "nuclear nuclear-norm trace-norm low-rank",
        "simplex": "probability probabilities",
        "nonnegative-l1": "positive nonnegative non-negative",
        "group": "group-lasso grouplasso",
    },
    "step": {
        "open-loop": "agnostic diminishing 2/(t+2)",
        "line-search": "exact golden golden-section",
        "backtracking": "armijo adaptive goldstein",
        "short": "demyanov-rubinov dr lipschitz",
        "constant": "fixed",
    },
}
"""What other libraries call an entry of a table, by argument and by our name for it."""

PENALISED = "that solves penalised problems; for a constraint there is {}"

INSTEAD: dict[str, list[tuple[str, str, str]]] = {
    "method": [
        ("stochastic", "stochastic methods are {}", "sfw stochastic-pairwise saga sarah momentum"),
        ("sgd lbfgs l-bfgs liblinear newton-cg newton-cholesky cd coordinate-descent", PENALISED, "auto"),
        ("fista lars ista adam", PENALISED, "auto"),
    ],
    "loss": [
        ("cross-entropy softmax categorical", "for two classes, and for more, it is {}", "logistic multinomial"),
        ("absolute-error absolute mae l1", "half of it is {}, whose default is the median", "pinball"),
        ("absolute-error absolute mae l1 epsilon-insensitive", "near it is {}", "huber"),
        ("perceptron", "near it is {}", "hinge squared-hinge"),
    ],
    "constraint": [
        ("elasticnet elastic-net", "no set has two norms; sparse weights come with {}", "l1"),
        ("none unconstrained", "there is always one; a large radius of {} hardly binds", "l2"),
    ],
}
"""Names without an equal here: what to say of them, best first, and the entries that it is about (``{}``)."""


def known_elsewhere(argument: str, name: str, table: Iterable[str]) -> str:
    """Return what a name of another library means here, or nothing: only entries of the table are ever named.

    Examples
    --------
    >>> known_elsewhere("loss", "quantile", ["huber", "pinball"])
    "here it is called 'pinball'"
    >>> known_elsewhere("loss", "mae", ["huber"])
    "near it is 'huber'"
    """
    known, typed = set(table), name.strip().lower().replace("_", "-").replace(" ", "-")
    for own, foreign in ALSO_CALLED.get(argument, {}).items():
        if own in known and typed in foreign.split():
            return f"here it is called {own!r}"
    for foreign, text, about in INSTEAD.get(argument, []):
        offered = [entry for entry in about.split() if entry in known]
        if offered and typed in foreign.split():
            return text.format(", ".join(map(repr, offered)))
    return ""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the known name nearest to ``name``, or nothing if none is near.

    A name is near if most of its letters match in order, or if it shares a word.

    Examples
    --------
    >>> nearest("linesearch", ["open-loop", "line-search"])
    "; did you mean 'line-search'?"
    >>> nearest("saga", ["sfw", "away"])
    ''
    """
    names, typed = {_letters(other): other for other in known}, _letters(name)
    cutoff = 0.66 if len(typed) > 2 else 0.5  # one letter of two may differ
    close = [names[letters] for letters in get_close_matches(typed, names, 1, cutoff)]
    close = close or sorted((other for other in names.values() if _shares_a_word(name, other)), key=len)
    return f"; did you mean {close[0]!r}?" if close else ""


def _letters(name: str) -> str:
    """Return a name as it is compared: small letters, nothing between words."""
    return "".join(character for character in name.lower() if character.isalnum())


def _shares_a_word(name: str, other: str) -> bool:
    """Whether one of the names is a word, of two letters or more, of the other."""
    words, theirs = (text.strip().lower().replace("_", "-").replace(" ", "-").split("-") for text in (name, other))
    return any(len(a) == 1 and len(a[0]) > 1 and a[0] in b for a, b in ((words, theirs), (theirs, words)))


def lookup(argument: str, name: Any, table: Mapping[str, Entry]) -> Entry:
    """Entry of ``table`` called ``name``; a ValueError that names the argument and the choices otherwise.

    Examples
    --------
    >>> lookup("loss", "logistc", {"logistic": 1, "squared": 2})
    Traceback (most recent call last):
    ...
    ValueError: unknown loss 'logistc'; did you mean 'logistic'? Known: 'logistic', 'squared'.
    """
    if isinstance(name, str) and name in table:
        return table[name]
    known = ", ".join(repr(key) for key in table)
    if not isinstance(name, str):
        raise TypeError(f"{argument} must be a name, got {type(name).__name__}. Known: {known}.")
    elsewhere = known_elsewhere(argument, name, table)
    hint = f": {elsewhere}." if elsewhere else nearest(name, table) or "."
    raise ValueError(f"unknown {argument} {name!r}{hint} Known: {known}.")


# --- keyword arguments ------------------------------------------------------------------------------------------------

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
    (
        "C alpha alphas lam lambda_ lambd reg regularization l1 l2 nu",
        [
            (
                "radius",
                BOUND,
            ),
            ("constraint", OF_THE_SET),
        ],
    ),
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
    (
        "dual intercept_scaling copy_X selection precompute shuffle",
        [("tol", UNNEEDED)],
    ),
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


# --- settings of a run ------------------------------------------------------------------------------------------------


def as_batch_size(batch_size: Any, n: int) -> int:
    """Return the number of rows that a step reads, from a count or a fraction of ``n``."""
    if isinstance(batch_size, bool) or not isinstance(batch_size, Real):
        raise TypeError(f"batch_size must be an int, a fraction in (0, 1) or None, got {type(batch_size).__name__}")
    if isinstance(batch_size, Integral):
        if not 1 <= int(batch_size) <= n:
            raise ValueError(f"batch_size must be between 1 and the number of rows, {n}; got {batch_size}")
        return int(batch_size)
    fraction = float(batch_size)
    if not 0.0 < fraction < 1.0:
        raise ValueError(f"batch_size as a fraction must lie in (0, 1), got {fraction}; for all rows pass {n}")
    return max(1, int(fraction * n))


def as_budget(name: str, number: Any, least: float = 0.0, optional: bool = False) -> float:
    """Return a non-negative number; None means no limit where it is ``optional``."""
    if number is None and optional:
        return np.inf
    if isinstance(number, bool) or not isinstance(number, Real):
        raise TypeError(f"{name} must be a number{' or None' if optional else ''}, got {type(number).__name__}")
    try:
        found = float(number)
    except OverflowError:
        raise ValueError(f"{name} is too large for a float{': None means no limit' if optional else ''}") from None
    if not found >= least or (np.isinf(found) and not optional):
        raise ValueError(f"{name} must be at least {least:g}{'' if optional else ', and finite'}; got {number}")
    return found


def as_flag(name: str, value: Any) -> bool:
    """Return a yes or no; anything else, such as the word ``"no"``, is refused rather than taken for yes."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def as_callback(callback: Any) -> Any:
    """Return a function that can be called with one argument, or None."""
    if callback is None:
        return None
    if not callable(callback):
        raise TypeError(f"callback must be callable, got {type(callback).__name__}")
    try:
        signature = inspect.signature(callback)
    except (TypeError, ValueError):  # some built-in functions do not say
        return callback
    try:
        signature.bind(None)
    except TypeError as error:
        raise TypeError(f"callback must take one argument, the state of the run: {error}") from None
    return callback


def as_seed(random_state: Any, rng: Any = None) -> Any:
    """Return what NumPy makes a generator of, from the two names of one argument.

    Parameters
    ----------
    random_state, rng : int, sequence of int, SeedSequence, BitGenerator, Generator or None
        Only one of them may be given.

    Returns
    -------
    object
        What was given; None stands for a seed that differs from run to run.

    Examples
    --------
    >>> as_seed(None, rng=7)
    7
    """
    if random_state is not None and rng is not None:
        raise TypeError("rng and random_state are two names of one argument, and both were given: leave one out")
    name, seed = ("random_state", random_state) if rng is None else ("rng", rng)
    if seed is None or isinstance(seed, np.random.SeedSequence | np.random.BitGenerator | np.random.Generator):
        return seed
    several = isinstance(seed, list | tuple) or (isinstance(seed, np.ndarray) and seed.ndim > 0)
    numbers = [*seed] if several else [seed]
    if not all(isinstance(number, Integral) and not isinstance(number, bool) for number in numbers):
        kinds = "an int, a sequence of them, a SeedSequence, a BitGenerator, a Generator or None"
        legacy = ": pass a numpy.random.Generator" if isinstance(seed, np.random.RandomState) else ""
        raise TypeError(f"{name} must be {kinds}, got {type(seed).__name__}{legacy}")
    if any(int(number) < 0 for number in numbers):
        raise ValueError(f"{name} must not be negative, got {seed}")
    return seed


def as_threads(n_threads: Any) -> int | None:
    """Return a number of threads; None stands for the default.

    Examples
    --------
    >>> as_threads(2)
    2
    """
    if n_threads is None:
        return None
    if isinstance(n_threads, bool) or not isinstance(n_threads, int | np.integer):
        raise TypeError(f"n_threads must be an int, or None for as many as there are cores; got {n_threads!r}")
    if n_threads < 1:
        raise ValueError(f"n_threads must be at least 1, or None for as many as there are cores; got {n_threads}")
    return int(n_threads)


def warn_user(text: str, category: type[Warning]) -> None:
    """Issue a warning at the innermost line outside of this library, scikit-learn and joblib.

    Parameters
    ----------
    text : str
        What the warning says.
    category : type
        Its class.
    """
    level, frame, skipped = 1, sys._getframe(), ("frankwolfe", "sklearn", "joblib")
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in skipped:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
