"""Names that a user types: entries of tables and keyword arguments, with the nearest known spelling."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from typing import Any, TypeVar, cast

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
