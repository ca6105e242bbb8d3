"""Errors raised where no Python frame can carry them: inside a callback of compiled code.

A callback keeps its error here and lets the compiled code run out; whoever called the compiled code raises it.
"""

from threading import get_ident

_kept: dict[int, BaseException] = {}


def keep(error: BaseException) -> None:
    """Keep the first error of this thread until `reraise`."""
    _kept.setdefault(get_ident(), error)


def reraise() -> None:
    """Raise the error that this thread has kept, if there is one."""
    if _kept:  # nearly always empty, and then this is all there is to do
        error = _kept.pop(get_ident(), None)
        if error is not None:
            raise error
