"""Targets of a row store, as a loss takes them."""

from typing import Any

import numpy as np

from frankwolfe.arguments.arrays import as_targets
from frankwolfe.store.reader import RowStore


def stored_targets(store: RowStore, loss: Any) -> np.ndarray:
    """Return the targets of a store as a loss takes them: of two classes the first is -1 and the second +1."""
    if store.y is None:
        raise ValueError(f"{store.path} holds no targets: pass y, or write them with fw.write_rows")
    if store.classes is None:
        try:
            return as_targets(store.y, store.shape[0], loss)
        except ValueError as error:
            raise ValueError(f"the targets in {store.path} do not go with this loss: {error}") from None
    if loss.targets == "classes":
        return store.y
    count, kind = len(store.classes), type(loss).__name__
    if loss.targets != "labels":
        raise ValueError(f"{store.path} holds {count} classes for targets, and {kind} takes numbers: pass y")
    if count != 2:
        raise ValueError(f"{store.path} holds {count} classes for targets, and {kind} takes two: use 'multinomial'")
    return 2.0 * store.y - 1.0
