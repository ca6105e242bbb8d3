"""Names a user types: looked up in one place, with the nearest right spelling, or what is offered instead."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

Entry = TypeVar("Entry")

STOCHASTIC = "among the stochastic methods here are 'sfw' (SAG), 'stochastic-pairwise', 'saga', 'sarah', 'momentum'"
PENALISED = "that solves penalised problems; 'auto' picks the fastest method for a constraint"

ELSEWHERE: dict[str, dict[str, str]] = {
    "method": {
        **dict.fromkeys(("frank-wolfe", "conditional-gradient", "cg", "vanilla"), "here it is called 'fw'"),
        **dict.fromkeys(("afw", "away-step", "away-steps"), "here it is called 'away'"),
        **dict.fromkeys(("pfw", "pcg"), "here it is called 'pairwise'"),
        **dict.fromkeys(
            ("bpfw", "bpcg", "blended-pairwise-conditional-gradient"), "here it is called 'blended-pairwise'"
        ),
        **dict.fromkeys(("fcfw", "fully-corrective"), "here it is called 'corrective'"),
        **dict.fromkeys(("sag", "stochastic-frank-wolfe"), "here it is called 'sfw'"),
        **dict.fromkeys(("svrg", "lsvrg", "loopless-svrg"), "here it is called 'l-svrg'"),
        **dict.fromkeys(("1-sfw", "one-sfw", "1sfw"), "here it is called 'one-sample'"),
        "stochastic": STOCHASTIC,
        **dict.fromkeys(
            ("svrf", "spider", "storc", "svfw"),
            f"it is not offered; {STOCHASTIC}",
        ),
        **dict.fromkeys(
            (
                "sgd",
                "lbfgs",
                "l-bfgs",
                "liblinear",
                "newton-cg",
                "newton-cholesky",
                "cd",
                "coordinate-descent",
                "fista",
                "lars",
                "ista",
                "adam",
            ),
            PENALISED,
        ),
    },
    "loss": {
        **dict.fromkeys(
            ("squared-error", "mse", "l2", "least-squares", "ls", "quadratic"), "here it is called 'squared'"
        ),
        **dict.fromkeys(("log", "log-loss", "logloss", "binomial"), "here it is called 'logistic'"),
        **dict.fromkeys(
            ("cross-entropy", "softmax", "categorical"), "it is 'logistic' for two classes, 'multinomial' for more"
        ),
        "hinge": "it is not smooth, which these methods need; 'squared-hinge' is",
        **dict.fromkeys(
            ("absolute-error", "absolute", "mae", "l1", "quantile", "epsilon-insensitive"),
            "it is not smooth, which these methods need; 'huber' is near",
        ),
        "poisson": "it is not offered",
        "perceptron": "it is not offered; 'squared-hinge' is near",
        **dict.fromkeys(("biweight", "bisquare"), "here it is called 'tukey'"),
    },
    "constraint": {
        "lasso": "the set of the lasso is 'l1'",
        "ridge": "the set of ridge regression is 'l2'",
        **dict.fromkeys(("max", "inf", "infinity"), "here it is called 'linf'"),
        **dict.fromkeys(("nuclear", "nuclear-norm", "trace-norm", "low-rank"), "here it is called 'trace'"),
        **dict.fromkeys(("probability", "probabilities"), "here it is called 'simplex'"),
        **dict.fromkeys(("positive", "nonnegative", "non-negative"), "here it is called 'nonnegative-l1'"),
        **dict.fromkeys(("elasticnet", "elastic-net"), "there is none with two norms; 'l1' gives sparse weights"),
        **dict.fromkeys(("group-lasso", "grouplasso"), "its set is 'group', or fw.GroupBall(groups, radius)"),
        **dict.fromkeys(("none", "unconstrained"), "there is always one: a large radius hardly binds"),
    },
    "step": {
        **dict.fromkeys(("agnostic", "diminishing", "2/(t+2)"), "here it is called 'open-loop'"),
        **dict.fromkeys(("exact", "golden", "golden-section"), "here it is called 'line-search'"),
        **dict.fromkeys(("armijo", "adaptive", "goldstein"), "here it is called 'backtracking'"),
        **dict.fromkeys(("demyanov-rubinov", "dr", "lipschitz"), "here it is called 'short'"),
        **dict.fromkeys(("constant", "fixed"), "it is not offered; 'open-loop' looks at nothing but the step's number"),
    },
}
"""Names that the field knows and we do not have, by argument: what they are called here, or what is offered instead."""


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
    elsewhere = ELSEWHERE.get(argument, {}).get(name.strip().lower().replace("_", "-").replace(" ", "-"))
    hint = f": {elsewhere}." if elsewhere else nearest(name, table) or "."
    raise ValueError(f"unknown {argument} {name!r}{hint} Known: {known}.")
