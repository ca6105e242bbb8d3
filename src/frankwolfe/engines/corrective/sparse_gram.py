"""Compiled work on the stored entries of active columns: Hessians, pair by pair, and the order column by column."""

import numpy as np

from frankwolfe.compile.kernels import kernel
from frankwolfe.rows.csr import ONE, TWO


@kernel
def add_pairs(data, columns, starts, curvatures, place, H):
    """Add the lower half of the Hessian of the columns that have a ``place``; a row only meets pairs of its own.

    Two entries at a time take all those before them: what is read of these serves both.
    """
    places, entries = np.empty(len(place) + 1, np.uint32), np.empty(len(place) + 1)
    for i in range(len(curvatures)):
        if curvatures[i] == 0.0:
            continue
        count = np.uint64(0)
        for k in range(np.uint64(starts[i]), np.uint64(starts[i + 1])):  # without a branch, as in `press`
            j = place[columns[k]]
            places[count] = j
            entries[count] = data[k]
            count += np.uint64(j >= 0)
        at = np.uint64(0)
        while at + ONE < count:
            first, second = H[places[at]], H[places[at + ONE]]
            x, y = curvatures[i] * entries[at], curvatures[i] * entries[at + ONE]
            for other in range(at + ONE):
                j, entry = places[other], entries[other]
                first[j] += x * entry
                second[j] += y * entry
            second[places[at + ONE]] += y * entries[at + ONE]
            at += TWO
        if at < count:
            first, x = H[places[at]], curvatures[i] * entries[at]
            for other in range(at + ONE):
                first[places[other]] += x * entries[other]


@kernel
def sort_by_columns(data, columns, starts, first, free, to_data, to_samples):
    """Move the entries of rows to where the next entries of their columns go, ``free``; the rows begin at ``first``."""
    for i in range(len(starts) - 1):
        sample = first + np.uint32(i)
        for k in range(np.uint64(starts[i]), np.uint64(starts[i + 1])):
            at = free[columns[k]]
            to_data[at] = data[k]
            to_samples[at] = sample
            free[columns[k]] = at + ONE


@kernel
def add_coupled_pairs(data, columns, starts, curvatures, place, H):
    """Add the same where a sample has several rows, one for each output, and a matrix of curvatures between them."""
    most, outputs = 0, curvatures.shape[1]
    for i in range(len(curvatures)):
        most = max(most, starts[(i + 1) * outputs] - starts[i * outputs])
    places, homes, entries = np.empty(most + 1, np.int64), np.empty(most + 1, np.int64), np.empty(most + 1)
    for i in range(len(curvatures)):
        count = 0
        for c in range(outputs):
            for k in range(starts[i * outputs + c], starts[i * outputs + c + 1]):
                j = place[columns[k]]
                places[count] = j
                homes[count] = c
                entries[count] = data[k]
                count += j >= 0
        for k in range(count):
            j, c, x = places[k], homes[k], entries[k]
            for other in range(k + 1):
                H[j, places[other]] += x * curvatures[i, c, homes[other]] * entries[other]
    for j in range(
        len(H)
    ):  # entries come output by output, not in ascending order: each pair was added once, somewhere
        for other in range(j):
            total = H[j, other] + H[other, j]
            H[j, other] = total
            H[other, j] = total
