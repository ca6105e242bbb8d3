"""Which methods run on which problems: every refusal of the library is a line of `REFUSALS`, or of a data source.

A method, a stopping rule or an estimator has *needs*: a short list of phrases. A problem has `Facts`. If a fact rules
out a need, `refuse` raises before anything runs. Its sentence says who needs what, why that is not possible, and what
to use instead.

To add one: a phrase, a line in `REFUSALS`, and a row in ``tests/problem/test_requirements.py``.
"""

from collections.abc import Callable, Iterable
from math import isfinite
from typing import Any, NamedTuple

from frankwolfe.arguments.types import Loss, TableLike
from frankwolfe.shards.sources import IN_MEMORY, ONE_PROCESS, DataSource, Refusal, source_of

SMOOTH_LOSS = "a smooth loss"
NO_SIDE = "a problem without side constraints"
SIDE_CONJUGATE = "a loss with a conjugate, to bound the optimum under side constraints"
EXACT_OBJECTIVE = "the exact objective for its step rule"
BOUNDED_CURVATURE = "a loss of bounded curvature"
WHOLE_ATOMS = "atoms that it stores as whole matrices"
ROWS_AGAIN = "rows that it can read again"

LIKELY = (
    "a convex loss",
    "no intercept, since slopes bound the optimum only if they sum to zero over all rows",
    "a loss with a conjugate",
    "a method whose table of derivatives sums to r",
)
"""Needs of ``stop="likely"``."""

STREAM = ("a loss that is smooth",)
"""Needs of ``partial_fit``, beside those of its method."""

SIDE = ("a convex loss, to bound the optimum",)
"""Needs of side constraints."""


class Facts(NamedTuple):
    """What is known of a problem, perhaps before its data is loaded.

    Attributes
    ----------
    loss : loss
        The loss.
    intercept, side, stream : bool
        Whether there is an intercept, whether there are side constraints, whether rows come once, in a stream.
    source : DataSource
        Where the rows are. By default in memory.
    factored : tuple of int, optional
        Shape of the weights, where they are a matrix that is kept as factors.
    table : bool
        Whether the method has a table of derivatives that sums to ``r``.
    smoothness : callable, optional
        Returns a Lipschitz constant of the losses' derivatives over the set; by default that of the loss.
    """

    loss: Loss
    intercept: bool = False
    side: bool = False
    stream: bool = False
    source: DataSource = DataSource(None)
    factored: tuple[int, ...] | None = None
    table: bool = True
    smoothness: Callable[[], float] | None = None

    @classmethod
    def of(cls, problem: Any, method: Any = None) -> "Facts":
        """Return the facts of a problem, and of the method that is to run on it."""
        return cls(
            problem.loss,
            problem.intercept,
            problem.side is not None,
            source=problem.source,
            factored=problem.shape if problem.factored else None,
            table=method is None or _has_table(method),
            smoothness=problem.smoothness,
        )


_KINK = "{loss} has a kink"
_INFINITE = (
    "the smoothness of {loss} is infinite (a bound over the set is known for losses with a log link, without an "
    "intercept, and rows in memory)"
)

REFUSALS = (
    Refusal(SMOOTH_LOSS, lambda p: not p.loss.smooth, _KINK, "use method='auto' or 'shcgm'{neighbours}"),
    Refusal(NO_SIDE, lambda p: p.side, "this one has some", "use method='auto'"),
    Refusal(
        SIDE_CONJUGATE,
        lambda p: p.side and not p.loss.has_conjugate,
        "{loss} does not define it",
        "use method='auto', or define it (docs/extending.md)",
    ),
    Refusal(
        EXACT_OBJECTIVE,
        lambda p: p.side or not p.loss.smooth,
        "kinks and side constraints are smoothed",
        "use method='shcgm' with its own steps, 'open-loop' or 'log-adaptive'",
    ),
    Refusal(
        BOUNDED_CURVATURE,
        lambda p: not isfinite(p.loss.smoothness() if p.smoothness is None else p.smoothness()),
        _INFINITE,
        "use method='auto', 'away' or 'pairwise', or a step rule that measures the curvature, such as "
        "step='line-search' or 'backtracking'",
    ),
    Refusal(
        WHOLE_ATOMS,
        lambda p: p.factored,
        "each would have {rows} x {columns} entries",
        "use 'auto' (or 'corrective'), which moves weight between directions in factors, or 'fw' or 'sfw'",
    ),
    Refusal(ROWS_AGAIN, lambda p: p.stream, "rows of a stream come once", "use method='auto' or 'momentum'"),
    Refusal(LIKELY[0], lambda p: not p.loss.convex, "{loss} is not convex", "use stop='proven'"),
    Refusal(LIKELY[1], lambda p: p.intercept, "the problem has one", "use stop='proven'"),
    Refusal(
        LIKELY[2],
        lambda p: not p.loss.has_conjugate,
        "{loss} does not define it",
        "use stop='proven', or define it (docs/extending.md)",
    ),
    Refusal(LIKELY[3], lambda p: not p.table, "{method!r} has none", "use 'sfw' or 'stochastic-pairwise'"),
    Refusal(STREAM[0], lambda p: not p.loss.smooth, _KINK, "use fit{neighbours}"),
    Refusal(SIDE[0], lambda p: not p.loss.convex, "{loss} is not convex", "use one such as 'logistic' or 'squared'"),
)
"""In the order in which they are checked, before those of the data source (`DataSource.refusals`)."""


def refuse(who: str, needs: Iterable[str], facts: Facts, method: str = "") -> None:
    """Raise ValueError for the first need that the facts rule out."""
    wanted = set(needs)
    for refusal in (*REFUSALS, *facts.source.refusals):
        if refusal.need in wanted and refusal.when(facts):
            neighbours = " or ".join(map(repr, facts.loss.neighbours))
            rows, columns = facts.factored or (0, 0)
            why = f"{refusal.need}, but {refusal.fact}: {refusal.instead}".format(
                loss=type(facts.loss).__name__,
                neighbours=f", or a smooth loss such as {neighbours}" if neighbours else "",
                source=facts.source,
                rows=rows,
                columns=columns,
                method=method,
            )
            raise ValueError(f"{who} needs {why}")


def check(problem: Any, method: Any, likely: bool = False) -> None:
    """Raise ValueError if a method, or with ``likely`` the rule ``stop="likely"``, cannot run on a problem."""
    facts, name = Facts.of(problem, method), method.name.removeprefix("auto: ")
    refuse(f"method {name!r}", needs_of(method), facts)
    if likely:
        refuse("stop='likely'", LIKELY, facts, name)
    problem.side_reach  # noqa: B018 - raises if no point of the set satisfies the side constraints


def require_memory(X: TableLike, who: str, instead: str = "") -> None:
    """Raise an error if data is not in memory, such as a dask collection; ``instead`` says what else to do."""
    source_of(X).require_memory(who, instead)


def check_source(source: DataSource, loss: Loss, intercept: bool, method: Any) -> None:
    """Raise ValueError if a method cannot run on data that is not loaded yet."""
    facts = Facts(loss, intercept, source=source)
    refuse(source.name, source.needs, facts)
    refuse(f"method {method.name!r}", needs_of(method), facts)


def needs_of(method: Any) -> tuple[str, ...]:
    """Return what a method needs of a problem: the lists of its parts, and what follows from both.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> needs_of(fw.methods.METHODS["shcgm"])[1:]
    ('all rows in this process', 'rows that it can read again')
    """
    if method.solver != "loop":
        return (ROWS_AGAIN,)
    step = method.step
    needs = [*method.estimate.needs, *method.direction.needs, *step.needs]
    if step.reads_all_rows:
        needs += [EXACT_OBJECTIVE, ROWS_AGAIN] if step.searches_line else [EXACT_OBJECTIVE, ROWS_AGAIN, ONE_PROCESS]
    if method.reads_all_rows and ONE_PROCESS in needs:  # a group of the rows is not enough
        needs.append(IN_MEMORY)
    return tuple(needs)


def _has_table(method: Any) -> bool:
    """Return whether a method has a table of derivatives with ``r = X' alpha`` between steps."""
    estimate = method.estimate
    return method.solver == "loop" and not method.reads_all_rows and estimate.has_table and estimate.state.total is None
