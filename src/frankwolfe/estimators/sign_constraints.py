"""Signs that weights must have, told through the data: columns turned round, or doubled, and weights not negative."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.problem.on_cluster import is_on_cluster
from frankwolfe.sets import NonNegativeL1Ball
from frankwolfe.sets.checks import numbers
from frankwolfe.store.reader import RowStore


class SignedColumns(NamedTuple):
    """Features with the signs of their weights: column ``at[k]`` of the data times ``sign[k]`` has a weight >= 0.

    A feature that may have either sign appears twice.
    """

    at: np.ndarray
    sign: np.ndarray
    d: int

    @classmethod
    def of(cls, signs: np.ndarray) -> "SignedColumns":
        """Return the columns for signs of 1, -1 and 0 (either)."""
        upward, downward = np.flatnonzero(signs >= 0), np.flatnonzero(signs <= 0)
        ones = np.ones(len(upward) + len(downward))
        ones[len(upward) :] = -1.0
        return cls(np.concatenate([upward, downward]), ones, len(signs))

    def spread(self, X: Any) -> Any:
        """Return the data with these columns."""
        if isinstance(X, RowStore):
            raise TypeError("signs need a copy of the data, and the store does not fit into memory: use a set instead")
        if is_on_cluster(X):
            from frankwolfe.estimators.dask_data import spread_lazily

            return spread_lazily(self, X)
        sign = self.sign.astype(X.dtype)
        return X[:, self.at] @ sparse.diags_array(sign) if sparse.issparse(X) else X[:, self.at] * sign

    def gather(self, w: np.ndarray) -> np.ndarray:
        """Return the weights of the features, from those of the columns."""
        whole = np.zeros((self.d, *w.shape[1:]))
        np.add.at(whole, self.at, (w.T * self.sign).T)
        return whole


def checked_signs(signs: Any, d: int, names: Any) -> np.ndarray:
    """Return one sign for each feature, from a number, an array, or a dict by feature name or number.

    Examples
    --------
    >>> checked_signs({"age": 1}, 2, ["age", "weight"])
    array([1, 0])
    """
    if isinstance(signs, dict):
        places = {**{j: j for j in range(d)}, **{name: j for j, name in enumerate(() if names is None else names)}}
        unknown = [name for name in signs if name not in places]
        if unknown:
            raise ValueError(f"signs names the feature {unknown[0]!r}, which is not in X")
        found = np.zeros(d)
        for name, sign in signs.items():
            found[places[name]] = sign
    else:
        found = numbers("FrankWolfeRegressor", "signs", signs, "a number or a list")
        if found.ndim > 1 or found.size not in (1, d):
            raise ValueError(f"signs must be one number, or one for each of {d} features; got shape {found.shape}")
        found = np.broadcast_to(found, d)
    odd = found[~np.isin(found, (-1.0, 0.0, 1.0))]
    if odd.size:
        raise ValueError(f"signs must be 1 (not negative), -1 (not positive) or 0 (either), got {odd[0]:g}")
    return found.astype(np.int64)


def signed_set(constraint: Any) -> NonNegativeL1Ball:
    """Return the set that, over signed columns, is the given one with signs."""
    atoms = constraint.structure().coordinates
    if atoms is not None and atoms.filled:
        return NonNegativeL1Ball(atoms.radius)
    kind, bounds = type(constraint).__name__, "for bounds on each weight use fw.Box.signed(signs, bound)"
    raise ValueError(f"signs go with the constraints 'l1' and 'nonnegative-l1', not with {kind}; {bounds}")
