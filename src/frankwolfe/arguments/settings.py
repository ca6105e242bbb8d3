"""Checks of the settings of a run: sizes, budgets, flags, callbacks, seeds and threads; warnings to users."""

import inspect
import sys
import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np


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


LIBRARIES = ("frankwolfe", "sklearn", "joblib")
"""Packages whose frames are skipped: ours, and those that call our estimators on behalf of a user."""


def warn_user(text: str, category: type[Warning]) -> None:
    """Issue a warning at the innermost line outside of this library, scikit-learn and joblib.

    Parameters
    ----------
    text : str
        What the warning says.
    category : type
        Its class.
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in LIBRARIES:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
