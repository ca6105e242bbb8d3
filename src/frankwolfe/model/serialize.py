"""Losses and sets as plain data, names, numbers and arrays, and back: what a saved model holds of what made it."""

from typing import Any

import numpy as np
from scipy import sparse

from frankwolfe.compile.opaque import Opaque
from frankwolfe.compile.part import is_part, is_part_class

OMITTED = object()
"""Stands for a field that only matters while a run goes on, such as a cache: it is made anew."""


def described(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Return a part, or a field of one, as what JSON can hold; arrays are put into ``arrays`` and named.

    Parameters
    ----------
    value : part, array, sparse matrix, tuple or number
        Only parts of this package: code of one's own cannot be stored.
    arrays : dict
        Where arrays go.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> described(fw.L1Ball(2.0), {})
    {'part': 'L1Ball', 'fields': {'radius': 2.0}}
    """
    if isinstance(value, Opaque):
        stored = isinstance(value.value, tuple) or sparse.issparse(value.value)
        return described(value.value, arrays) if stored else OMITTED
    if isinstance(value, tuple):
        return _described_part(value, arrays) if is_part(value) else _described_tuple(value, arrays)
    if sparse.issparse(value):
        csr = sparse.csr_array(value)
        pieces = [_stored(piece, arrays) for piece in (csr.data, csr.indices, csr.indptr)]
        return {"sparse": pieces, "shape": [int(size) for size in csr.shape]}
    if isinstance(value, np.ndarray):
        return {"array": _stored(value, arrays)}
    return value.item() if isinstance(value, np.generic) else value


def _described_part(part: Any, arrays: dict[str, np.ndarray]) -> dict:
    _part_class(type(part).__name__, type(part))
    fields = {name: described(field, arrays) for name, field in part._asdict().items()}
    kept = {name: field for name, field in fields.items() if field is not OMITTED}
    return {"part": type(part).__name__, "fields": kept}


def _described_tuple(values: tuple, arrays: dict[str, np.ndarray]) -> dict:
    return {"tuple": [described(value, arrays) for value in values]}


def _stored(array: np.ndarray, arrays: dict[str, np.ndarray]) -> str:
    name = f"part_{len(arrays)}"
    arrays[name] = np.asarray(array)
    return name


def _part_class(name: str, given: type | None = None) -> Any:
    """Return the part of this package with that name, or say that there is none."""
    import frankwolfe

    known = getattr(frankwolfe, name) if name in frankwolfe.__all__ else None
    if not is_part_class(known) or given not in (None, known):
        raise ValueError(f"{name} is not a loss or set of frankwolfe {frankwolfe.__version__}: it cannot be stored")
    return known


def restored(description: Any, arrays: Any) -> Any:
    """Return what `described` was given.

    Parameters
    ----------
    description : dict, list or number
        What `described` returned.
    arrays : mapping
        The arrays it put away.
    """
    if not isinstance(description, dict):
        return description
    if "part" in description:
        fields = {name: restored(field, arrays) for name, field in description["fields"].items()}
        return _part_class(description["part"])(**fields)  # checked like any other
    if "tuple" in description:
        return tuple(restored(value, arrays) for value in description["tuple"])
    if "sparse" in description:
        pieces = tuple(arrays[name] for name in description["sparse"])
        matrix = sparse.csr_array(pieces, shape=tuple(description["shape"]))
        matrix.check_format(full_check=True)  # an index out of range would be memory that is not ours
        return matrix
    return arrays[description["array"]]
