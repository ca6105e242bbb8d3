"""`warm_up`: compile before the first fit, for containers and clusters."""

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.arguments.names import teaching
from frankwolfe.arguments.types import Loss
from frankwolfe.compile.kernels import compile_above, timed, waiting
from frankwolfe.display import Progress
from frankwolfe.losses import as_loss
from frankwolfe.methods.registry import Method, as_method, pick
from frankwolfe.problem import Problem
from frankwolfe.problem.requirements import check
from frankwolfe.run import minimize
from frankwolfe.sets.named import as_constraint
from frankwolfe.solvers.corrective.active_atoms import HessianLimits
from frankwolfe.solvers.corrective.fully_corrective import CorrectiveSolver

LOSSES, SETS, METHODS = ("logistic", "multinomial", "squared"), ("l1",), ("auto",)
"""Defaults, which are also those of the estimators and of the command line."""

ROWS, COLUMNS = 40, 6
"""Size of the problems that are solved to compile code."""


class Combination(NamedTuple):
    """A problem and a method to compile for, and their name."""

    problem: Problem
    method: Method
    name: str


@teaching
@timed
def warm_up(
    *,
    losses: Iterable[Any] = LOSSES,
    constraints: Iterable[Any] = SETS,
    methods: Iterable[str | Method] = METHODS,
    progress: bool = False,
    callback: Callable[[int, int, str], None] | None = None,
) -> float:
    """Compile combinations of losses, sets and methods, so that later processes load them from disk.

    Stochastic methods, large data and users' own losses need compiled code; other runs do not. Each combination is
    compiled for dense and for sparse rows (float64), with and without an intercept. The reader of svmlight files is
    compiled too. Call it once when a container image is built, or once on each machine of a cluster. The code is stored
    in the folder ``NUMBA_CACHE_DIR``, by default next to the package.

    Parameters
    ----------
    losses : iterable of str or loss
        Names such as ``"huber"``, or objects.
    constraints : iterable of str or set
        Names such as ``"simplex"``, or objects such as ``fw.Box(-1.0, 1.0)``.
    methods : iterable of str or Method
        Names such as ``"sfw"``, or compositions.
    progress : bool
        Whether to show a progress bar (needs tqdm).
    callback : callable, optional
        Called before each combination with the number done so far, the number of all, and its name.

    Returns
    -------
    float
        Seconds of compiling and loading: few if all had been compiled before.

    Raises
    ------
    ValueError
        If a name is unknown, or if no loss goes with any of the sets. Combinations that are not possible, such as a
        trace-norm ball for one output, are skipped.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> seconds = fw.warm_up(losses=["squared"], constraints=["l1"], methods=["auto"])
    """
    from frankwolfe.io.svmlight import load_code

    combinations = _combinations([*losses], [*constraints], [as_method(method) for method in methods])
    seconds = 0.0
    with Progress(progress, "warm-up", len(combinations), unit="combinations") as bar:
        load_code()
        for done, (problem, method, name) in enumerate(combinations):
            if callback is not None:
                callback(done, len(combinations), name)
            bar.update(done, name)
            seconds += _compiled(problem, method)
        bar.update(len(combinations))
    return seconds + waiting().seconds


def _compiled(problem: Problem, method: Method) -> float:
    """Run a method with kernels, which data of this size would not use; return the seconds of compiling."""
    with compile_above(0):
        seconds = minimize(problem, method, max_passes=30, trace=0, random_state=0).compile_seconds
        _warm_columns(problem, method)
    return seconds


def _combinations(losses: list[Any], constraints: list[Any], methods: list[Method]) -> list[Combination]:
    """Return all combinations that make a problem which a method accepts."""
    found: list[Combination] = []
    refused: Exception | None = None
    layouts = product((False, True), (False, True))
    kinds = map(as_loss, losses)
    for (is_sparse, intercept), loss, constraint, method in product(layouts, kinds, constraints, methods):
        X, y = _data(loss, is_sparse)
        try:
            outputs = y.shape[1] if y.ndim > 1 else len(np.unique(y)) * (loss.targets == "classes")
            problem = Problem(X, y, loss, as_constraint(constraint, None, COLUMNS, outputs), intercept=intercept)
            check(problem, pick(np.inf, problem) if method.solver == "auto" else method)
        except ValueError as error:
            refused = error
            continue
        parts = method.name, type(problem.loss).__name__, type(problem.constraint).__name__
        name = " ".join([*parts, "sparse" if is_sparse else "dense", *(["intercept"] * intercept)])
        found.append(Combination(problem, method, name))
    if not found and refused is not None:
        raise refused
    return found


def _data(loss: Loss, is_sparse: bool) -> tuple[Any, np.ndarray]:
    """Return rows and targets that fit a loss."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, COLUMNS))
    score = X @ rng.normal(size=(COLUMNS, 3)) + rng.normal(size=(ROWS, 3))
    targets = {"labels": np.sign(score[:, 0]), "classes": score.argmax(axis=1), "rows": score}
    targets |= dict.fromkeys(("nonnegative", "positive"), np.exp(score[:, 0]))
    return sparse.csr_array(X) if is_sparse else X, targets.get(loss.targets, score[:, 0])


def _warm_columns(problem: Problem, method: Method) -> None:
    """Compile the corrective method's model of many columns, which a problem of few columns does not need."""
    rounds = method.solver in ("auto", "corrective") and problem.loss.smooth
    if rounds and problem.constraint.structure().hull is not None:
        problem = problem.own()
        CorrectiveSolver(problem, problem.default_start(), limits=HessianLimits(0, 0, 0)).advance(2)
