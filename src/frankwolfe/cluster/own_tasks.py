"""Chunks under names of their own, so that nothing that happens to tasks of others happens to them."""

from collections.abc import Iterable, Sequence
from typing import Any

from dask._task_spec import convert_legacy_graph
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph


def renamed(chunks: Sequence[Delayed], prefix: str) -> list[Delayed]:
    """Return chunks that are made by the same tasks under other names.

    Dask knows tasks by their names alone. Two problems of the same data share them, with the workers that are to load
    them; where these are gone, one problem's tasks may never be done because the other's still wait.

    Parameters
    ----------
    chunks : sequence of Delayed
        Of one graph or several, none of them in memory.
    prefix : str
        What the names begin with.

    Examples
    --------
    >>> import dask
    >>> chunk = dask.delayed(abs)(-2, dask_key_name="abs-1")
    >>> mine, = renamed([chunk], "mine")
    >>> mine.key, mine.compute(scheduler="sync")
    ('mine-abs-1', 2)
    """
    nodes = convert_legacy_graph(graph_of(chunks))
    names = {key: prefixed(key, prefix) for key in nodes}
    own = {names[key]: node.substitute(names, key=names[key]) for key, node in nodes.items()}
    layers = HighLevelGraph({prefix: own}, {prefix: set()})
    return [Delayed(names[chunk.key], layers, layer=prefix) for chunk in chunks]


def graph_of(chunks: Iterable[Delayed]) -> dict[Any, Any]:
    """Return all that chunks are made by, as they hold it."""
    graphs = {id(graph): graph for graph in (chunk.__dask_graph__() for chunk in chunks)}  # most have one in common
    found: dict[Any, Any] = {}
    for graph in graphs.values():
        found.update(graph)
    return found


def needed(tasks: dict[Any, Any], keys: Iterable[Any]) -> dict[Any, Any]:
    """Return those of some tasks that others are made by; what is in memory is made by none.

    Examples
    --------
    >>> import dask
    >>> one, other = dask.delayed(abs)(-2, dask_key_name="one"), dask.delayed(abs)(-3, dask_key_name="other")
    >>> [*needed(convert_legacy_graph(graph_of([one, other])), ["other"])]
    ['other']
    """
    found, left = {}, [*keys]
    while left:
        key = left.pop()
        if key in tasks and key not in found:
            found[key] = tasks[key]
            left += tasks[key].dependencies
    return found


def prefixed(key: Any, prefix: str) -> Any:
    """Return the name of a task with something before it."""
    return (f"{prefix}-{key[0]}", *key[1:]) if isinstance(key, tuple) else f"{prefix}-{key}"
