"""Parts (NamedTuples with methods): checks of their fields, default methods, and errors for missing methods."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import wraps
from math import inf, isfinite
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

Part = TypeVar("Part")

FIXED: Any = "fixed"
"""Value in a part's ``index_ranges`` for an array that no step changes."""

ROWS: Any = "rows"
"""Value in ``index_ranges`` that stands for the number of rows of the data."""

COUNT = (0, 2**62)
"""Value in ``index_ranges`` for an array of counts."""


def is_part_class(kind: Any) -> bool:
    """Return whether a class is a NamedTuple class, as the classes of all parts are."""
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def is_part(value: Any) -> bool:
    """Return whether a value is a part: a NamedTuple, not a plain tuple."""
    return is_part_class(type(value))


def finite(part: str, name: str, number: Any) -> float:
    """Return ``number`` as a float. Raise an error that names the part and the field if it is not a finite number."""
    if isinstance(number, bool) or not isinstance(number, Real):
        raise TypeError(f"{part}: {name} must be a number, got {type(number).__name__}")
    try:
        number = float(number)
    except OverflowError:
        raise ValueError(f"{part}: {name} must be finite, and is too large for a float") from None
    if not isfinite(number):
        raise ValueError(f"{part}: {name} must be finite, got {number}")
    return number


def positive(part: str, name: str, number: Any, most: float = inf, why: str = "") -> float:
    """Return ``number`` as a float. Raise an error that names the part and the field unless it is in ``(0, most]``.

    The error for a larger number ends with ``why``, the reason for the limit.
    """
    number = finite(part, name, number)
    if number <= 0.0:
        raise ValueError(f"{part}: {name} must be positive, got {number:g}")
    if number > most:
        raise ValueError(f"{part}: {name} must be at most {most:g}, got {number:g}{why}")
    return number


def part(cls: type[Part]) -> type[Part]:
    """Class decorator of the package's parts: validate new instances, and compare by class and fields.

    The body of a NamedTuple may not define ``__new__``. The decorator therefore calls the method ``_checked``, if the
    class defines it, which validates a new instance and returns it in normal form. Instances made inside compiled code,
    by ``_make`` or ``_replace``, and copies and pickles come from validated instances and are not checked again.

    Tuples of different classes with equal fields compare equal, so ``L1Ball(1.0)`` would equal ``Simplex(1.0)`` in
    dictionaries and caches. The decorator defines equality and hash to include the class.
    """
    if hasattr(cls, "_checked"):
        plain_new: Any = cls.__new__

        @wraps(plain_new)  # so that help and editors show its signature
        def __new__(kind, *args, **kwargs):
            return plain_new(kind, *args, **kwargs)._checked()

        cls.__new__ = __new__  # type: ignore[method-assign, assignment]

    def __eq__(self, other):
        return type(self) is type(other) and _comparable(self) == _comparable(other)

    def __ne__(self, other):  # otherwise tuple's own __ne__ would be used
        return not self == other

    def __hash__(self):
        return hash((type(self).__qualname__, _comparable(self)))

    def __reduce__(self):
        return _restored, (type(self), *self)

    for method in (__eq__, __ne__, __hash__, __reduce__):
        setattr(cls, method.__name__, method)
    return cls


def defaults_from(methods: type) -> Callable[[type[Part]], type[Part]]:
    """Return a class decorator that copies missing members from the class ``methods``: NamedTuples cannot inherit."""

    def add(kind: type[Part]) -> type[Part]:
        for source in methods.__mro__[:-1]:
            for name, method in vars(source).items():
                if not name.startswith("__") and not hasattr(kind, name):
                    setattr(kind, name, method)
        return kind

    return add


def _restored(kind: Any, *fields: Any) -> Any:
    """Return a part of validated fields."""
    return kind._make(fields)


def _comparable(part: Any) -> tuple:
    """Return the fields of a part for comparison. Arrays become bytes, because ``==`` of arrays is not a bool."""
    return tuple(map(_comparable_field, part))


def _comparable_field(field: Any) -> Any:
    if isinstance(field, Opaque):
        return field.comparable()
    return (field.dtype.str, field.shape, field.tobytes()) if isinstance(field, np.ndarray) else field


def short(part: Any) -> str:
    """Return the name of a part with those of its fields that are numbers or parts.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> short(fw.sets.Scaled(fw.L1Ball(2.0), 3.0))
    'Scaled(L1Ball(radius=2), factor=3)'
    """
    shown = (_short_field(name, value) for name, value in part._asdict().items())
    return f"{type(part).__name__}({', '.join(text for text in shown if text)})"


def _short_field(name: str, value: Any) -> str:
    if isinstance(value, np.ndarray):  # shown as one number if all entries are equal
        same = value.dtype.kind == "f" and value.size and (value == value.flat[0]).all() and np.isfinite(value.flat[0])
        return f"{name}={value.flat[0]:g}" if same else ""
    if isinstance(value, tuple):
        return ", ".join(short(each) for each in ((value,) if is_part(value) else value) if is_part(each))
    return f"{name}={value:g}" if isinstance(value, float) else ""


def require(argument: str, part: Any, methods: Sequence[str], purpose: str) -> None:
    """Raise TypeError unless ``part`` is a NamedTuple instance that has all these methods."""
    name = getattr(part, "__name__", type(part).__name__)
    if isinstance(part, type):
        raise TypeError(f"{argument} must be an instance: write {name}(...), not {name}")
    if not is_part(part):
        raise TypeError(f"{argument} must be {purpose} (a NamedTuple), got {name}")
    missing = [method for method in methods if not callable(getattr(part, method, None))]
    if missing:
        raise TypeError(f"{argument}: {name} is not {purpose}: it has no method {', '.join(missing)}")


class Opaque(np.ndarray):
    """An array that references a Python object. Compiled code uses the array, Python code the object.

    The object lives as long as the array. By default the array is empty.

    Examples
    --------
    >>> Opaque.of({"any": "thing"}).value
    {'any': 'thing'}
    """

    value: Any

    @classmethod
    def of(cls, value: Any, numbers: Any = ()) -> "Opaque":
        """Return an array of ``numbers`` (integers) that holds ``value``."""
        held = np.array(numbers, dtype=np.int64).view(cls)
        held.value = value
        return held

    def comparable(self) -> Any:
        """Return a value for comparisons: the object itself, or the arrays of a sparse matrix as bytes."""
        if sparse.issparse(self.value):
            matrix = self.value.tocsr()
            return matrix.shape, *(array.tobytes() for array in (matrix.data, matrix.indices, matrix.indptr))
        return self.value

    def __reduce__(self):
        return Opaque.of, (self.value, self.tolist())

    def __copy__(self):
        return Opaque.of(self.value, self)

    def __deepcopy__(self, memo):  # ndarray's own method would drop the object
        return Opaque.of(deepcopy(self.value, memo), self)

    def __repr__(self) -> str:
        return repr(self.value)
