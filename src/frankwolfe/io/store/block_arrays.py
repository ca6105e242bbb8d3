"""What goes with rows, as arrays."""

from typing import Any

import numpy as np


def as_array(values: Any) -> np.ndarray:
    """Return a list, an array or a column of a frame as an array."""
    return np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
