"""The norm of the latent group lasso, by a conic solver."""

import clarabel
import numpy as np
from scipy import sparse


def latent_norm(w, groups):
    """Upper bound on the least sum of Euclidean norms of vectors, one within each group, that add up to ``w``.

    The solver finds such vectors; what they miss of ``w`` is put into any group that has the coordinate, so that the
    answer is a bound whatever the solver's accuracy.
    """
    if not w.any():
        return 0.0
    scale = np.abs(w).max()
    pieces = _split(w / scale, [list(group) for group in groups])
    for j in np.flatnonzero(w):
        home = next(g for g, group in enumerate(groups) if j in group)
        pieces[home][j] += w[j] / scale - sum(piece[j] for piece in pieces)
    return scale * sum(float(np.linalg.norm(piece)) for piece in pieces)


def _split(w, groups):
    """Vectors of full length, one for each group."""
    d, sizes = len(w), [len(group) for group in groups]
    starts = np.cumsum([0, *sizes])
    total, count = int(starts[-1]), len(groups)  # variables: all pieces, then one norm for each
    sums = sparse.csc_array((np.ones(total), (np.concatenate(groups), np.arange(total))), shape=(d, total + count))
    used = np.unique(np.concatenate(groups))
    blocks, sides, cones = [sums.tocsr()[used]], [w[used]], [clarabel.ZeroConeT(len(used))]
    for g, size in enumerate(sizes):
        block = sparse.lil_array((size + 1, total + count))
        block[0, total + g] = -1.0
        for k in range(size):
            block[1 + k, int(starts[g]) + k] = -1.0
        blocks.append(block)
        sides.append(np.zeros(size + 1))
        cones.append(clarabel.SecondOrderConeT(size + 1))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    cost = np.concatenate([np.zeros(total), np.ones(count)])
    A = sparse.csc_matrix(sparse.vstack(blocks))
    nothing = sparse.csc_matrix((total + count, total + count))
    found = np.array(clarabel.DefaultSolver(nothing, cost, A, np.concatenate(sides), cones, settings).solve().x)
    pieces = np.zeros((count, d))
    for g, group in enumerate(groups):
        pieces[g, group] = found[starts[g] : starts[g] + sizes[g]]
    return pieces
