"""Names for annotations of values whose class the library cannot know.

Losses, sets, row layouts and the parts of methods may be users' own classes, and each gains the defaults of its kind
when it is passed in (`frankwolfe.compile.part.defaults_from`). No type checker sees these members, so the names here
stand for `Any` and say what a value is. Each docstring names the place that lists the members.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

Loss = Any
"""A loss with its defaults: `frankwolfe.losses.base`."""

ConstraintSet = Any
"""A constraint set with its defaults: `frankwolfe.sets.base`."""

Rows = Any
"""A row layout: `frankwolfe.rows`."""

MethodPart = Any
"""A gradient estimate, a direction, a step rule, or the state of one: `frankwolfe.methods.base`."""

TableLike = Any
"""Rows as users pass them: an array, a sparse matrix, a data frame, a store or a dask collection."""

Matrix = Any
"""A checked matrix: an array or a CSR array."""

Weights = Any
"""Weights as a problem stores them: a flat array or, in matrix completion, `Factors`."""

Seed = int | Sequence[int] | np.random.SeedSequence | np.random.BitGenerator | np.random.Generator | None
"""What `numpy.random.default_rng` takes."""

TargetValues = Any
"""Targets as users pass them: an array, a list, a series, or a dask collection."""

RowNumbers = Any
"""Sample weights or offsets as users pass them, a number for each row, or None."""

PerRow = Any
"""Numbers with an entry for each row: an array, or the name of one that stays with the rows of a cluster."""
