"""Directions that a loss does not mind: the same change of all outputs, where only differences between them matter.

Along these the minimisers of a model are far apart, and the one that a barrier likes best may lie far out, where large
predictions cancel and digits are lost. A little curvature there leads back to the smallest weights that do as well.
"""

import numpy as np

from frankwolfe.engines.corrective.barrier_model import QuadraticModel
from frankwolfe.engines.corrective.hessian import Formed
from frankwolfe.objective.point import Point
from frankwolfe.problem import Problem

SHIFT_COST_SHARE = 0.1
"""Part of what may be left in a model, and part of the gap, that keeping common parts small may cost. Doubled: 3% fewer
passes, and one problem of 91 is not certified. Halved: no difference."""


def kept_small(model: QuadraticModel, problem: Problem, at: Point, goal: float, gap: float) -> QuadraticModel:
    """Return a model that prefers small common parts, where the loss does not mind them; else the model itself.

    The common part of a feature is the mean of its weights over all outputs. Its square is added, so weighted that all
    of them together cost a tenth of ``goal`` where the model begins. None is pressed below the differences between
    outputs: there it does no harm. The pull toward zero adds no more than a tenth to the gap, else common parts that
    the set does not let go would keep the gap from falling; what is left of the squares holds them where they are.
    No square outweighs the curvature of the objective in the weights of its feature: where these are as good as zero,
    those of a constant column for instance, a tenth of ``goal`` over their squares is more than numbers can hold.

    Parameters
    ----------
    model : QuadraticModel
        Of the objective.
    problem : Problem
        Whose loss may have several outputs.
    at : Point
        Where the model begins.
    goal : float
        What may be left in the model.
    gap : float
        The gap where it begins.
    """
    if problem.outputs < 2 or not isinstance(model.curvature, Formed):
        return model
    if not problem.objective.only_differences(at):
        return model
    W = model.centre.reshape(problem.d, problem.outputs)
    common = W.mean(axis=1)
    size = np.maximum(np.abs(common), np.abs(W - common[:, None]).max(axis=1))
    rho = np.divide(2.0 * SHIFT_COST_SHARE * goal, W.size * size**2, out=np.zeros(problem.d), where=size > 0.0)
    own = np.einsum("jj->j", model.curvature.H).reshape(W.shape)
    rho = np.minimum(rho, np.maximum(own.max(axis=1), 0.0))  # more would drown what the loss says
    rows = np.kron(np.diag(np.sqrt(rho / problem.outputs)), np.ones(problem.outputs))
    pull = np.repeat(rho * common, problem.outputs)
    cost = problem.gap_for(pull, model.centre)
    pull *= min(1.0, SHIFT_COST_SHARE * gap / cost) if cost > 0.0 else 1.0
    return QuadraticModel(model.centre, model.slope + pull, model.curvature.plus(rows.T @ rows, rows))
