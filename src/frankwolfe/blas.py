"""One thread for linear algebra on small matrices.

NumPy and SciPy bring a library of their own each, whose threads wait for work by turning round and round. Where calls
on small matrices take turns between the two, these threads stand in each other's way: models of a few hundred weights
take four times as long with two threads as with one. And one thread gives the same bits on every machine.
"""

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any


@cache
def _libraries() -> Any:
    """Return the libraries that are loaded; None where threadpoolctl, which comes with scikit-learn, is missing."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController().select(user_api="blas")


def one_thread() -> AbstractContextManager[Any]:
    """Let linear algebra use one thread inside the block, where threadpoolctl is installed."""
    libraries = _libraries()
    return nullcontext() if libraries is None else libraries.limit(limits=1)
