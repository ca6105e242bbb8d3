"""Chunks under names of their own, so that nothing that happens to tasks of others happens to them."""

from collections.abc import Sequence
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
    graph: dict[Any, Any] = {}
    for chunk in chunks:
        graph.update(chunk.__dask_graph__())
    nodes = convert_legacy_graph(graph)
    names = {key: prefixed(key, prefix) for key in nodes}
    own = {names[key]: node.substitute(names, key=names[key]) for key, node in nodes.items()}
    layers = HighLevelGraph({prefix: own}, {prefix: set()})
    return [Delayed(names[chunk.key], layers, layer=prefix) for chunk in chunks]


def prefixed(key: Any, prefix: str) -> Any:
    """Return the name of a task with something before it."""
    return (f"{prefix}-{key[0]}", *key[1:]) if isinstance(key, tuple) else f"{prefix}-{key}"
