"""Python objects in parts that go into compiled code."""

from copy import deepcopy
from typing import Any

import numpy as np
from scipy import sparse


class Opaque(np.ndarray):
    """An array that carries a Python object along: compiled code sees the array, Python the object.

    The object lives as long as the array. By default the array is empty and the object is all there is to it.

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
        """Return what tells this object from others: itself, or the numbers of a sparse matrix."""
        if sparse.issparse(self.value):
            matrix = self.value.tocsr()
            return matrix.shape, *(array.tobytes() for array in (matrix.data, matrix.indices, matrix.indptr))
        return self.value

    def __reduce__(self):
        return Opaque.of, (self.value, self.tolist())

    def __copy__(self):
        return Opaque.of(self.value, self)

    def __deepcopy__(self, memo):  # an array's own would leave the object behind
        return Opaque.of(deepcopy(self.value, memo), self)

    def __repr__(self) -> str:
        return repr(self.value)
