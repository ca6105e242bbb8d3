"""Names a user types: looked up in one place, with the nearest right spelling, or what is offered instead."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

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

    Near is a name that differs by a slip or two of the fingers (at most a third of its letters), or one of its words.

    Examples
    --------
    >>> nearest("linesearch", ["open-loop", "line-search"])
    "; did you mean 'line-search'?"
    >>> nearest("saga", ["sfw", "away"])
    ''
    """
    names = list(known)
    typed = _letters(name)
    slips = {other: _slips(typed, _letters(other)) for other in names}
    close = [
        other for other in names if slips[other] <= max(1, len(_letters(other)) // 3) and slips[other] < len(typed)
    ]
    close = sorted(close, key=lambda other: slips[other]) or sorted(
        (other for other in names if _shares_a_word(name, other)), key=len
    )
    return f"; did you mean {close[0]!r}?" if close else ""


def _letters(name: str) -> str:
    """Return a name as it is compared: small letters, nothing between words."""
    return "".join(character for character in name.lower() if character.isalnum())


def _shares_a_word(name: str, other: str) -> bool:
    """Whether one of the names is a word, of two letters or more, of the other."""
    words, theirs = (text.strip().lower().replace("_", "-").replace(" ", "-").split("-") for text in (name, other))
    return any(len(a) == 1 and len(a[0]) > 1 and a[0] in b for a, b in ((words, theirs), (theirs, words)))


def _slips(a: str, b: str) -> int:
    """Return how many letters must be changed, added, left out or swapped with the next to turn one into the other.

    Examples
    --------
    >>> _slips("raduis", "radius"), _slips("saga", "away")
    (1, 3)
    """
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        before, last, row = row, before, [i]
        for j, other in enumerate(b, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                best = min(best, last[j - 2] + 1)
            row.append(best)
    return row[-1]


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
