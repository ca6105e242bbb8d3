"""Learning from a stream of rows, which arrive in chunks and are not stored.

Rows of a stream have no identities, so there is no table, and there is no pass over the data. The gradient estimate is
the fading mean of batch gradients of Mokhtari, Hassani and Karbasi (2018). Steps are made by the same compiled loop as
in other runs. Between chunks only the iterate, the estimate and a few numbers are stored. Every iterate is a convex
combination of vertices and the start, so it is feasible.

No set bounds the intercept, so it cannot make Frank-Wolfe steps. Before the weights learn from a segment of some
batches, the intercept makes a damped Newton step on it. The damping is the weight that the gradient estimate gives to
as many batches. It falls as ``t^(-2/3)`` and the steps of the weights as ``1 / t``, so the intercept follows the
optimal one for weights that hardly move (two time scales), and its noise is averaged out.

The loss, and the gap on the last rows of a chunk, are measured at the iterate before the segment is learnt. They are
therefore fair estimates for new data.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from frankwolfe.arguments.types import Loss
from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import curvature, derivative, prediction, value
from frankwolfe.linalg.threads import single_threaded
from frankwolfe.methods.base import Setting, estimate_for_run, others_for_run
from frankwolfe.methods.gradient import ALL_ROWS, COUNTERS, FAILED, Gradient
from frankwolfe.methods.registry import METHODS, Method
from frankwolfe.objective.offset import shifted
from frankwolfe.problem import Problem
from frankwolfe.problem.requirements import STREAM, Facts, needs_of, refuse
from frankwolfe.sets.base import tracker_of
from frankwolfe.sets.callbacks import connected
from frankwolfe.solvers.loop import advance
from frankwolfe.solvers.sampled_gap import SampledGap, deviation, sum_rows
from frankwolfe.solvers.state import arrays, with_arrays
from frankwolfe.solvers.stepwise import PARTS

SEGMENT = 16
"""Number of batches that are measured together before they are learnt."""


DRAWS = 10
"""Number of bootstrap draws for the error of the estimated gap."""


OVERFLOW = "the gradient estimate is not finite at step {step}: rescale X or y. Nothing was learnt from this chunk"

UNKNOWN = SampledGap(float("nan"), float("inf"), 0.0)


@kernel
def measure(samples, iterate, first, losses, alpha, curvatures):
    """Fill in the losses, weighted derivatives and weighted curvatures of the rows from ``first`` on."""
    rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
    for k in range(len(losses)):
        i = first + k
        z = prediction(iterate, rows, i)
        losses[k] = weights[i] * value(loss, z, targets[i])
        alpha[k] = weights[i] * derivative(loss, z, targets[i])
        curvatures[k] = weights[i] * np.abs(curvature(loss, z, targets[i]))


@dataclass(frozen=True, eq=False)
class RowStream:
    """The state of a stream after some chunks. `learn` returns the state after one more, and changes nothing.

    Parameters
    ----------
    w, r : array
        Flat weights, in the set, and the gradient estimate.
    shift : array of shape (1,), or (outputs,), optional
        The intercept; None for a model without one.
    method : Method
        A method whose gradient estimate remembers no rows.
    steps : int
        Number of steps so far; step sizes depend on it.
    curve : array, optional
        Fading mean of the curvature in the intercept; None before the first chunk.
    rows, weight : int, float
        Number of rows so far, and the sum of their sample weights.
    loss, last_loss : float
        Mean losses, before rows were learnt, of all rows and of those of the last chunk.
    gap : SampledGap
        Estimate of the Frank-Wolfe gap on the last rows of the last chunk, before they were learnt.
    memory : dict
        Arrays of the method's parts, by name.
    """

    w: np.ndarray
    r: np.ndarray
    shift: np.ndarray | None = None
    method: Method = METHODS["momentum"]
    steps: int = 0
    curve: np.ndarray | None = None
    rows: int = 0
    weight: float = 0.0
    loss: float = 0.0
    last_loss: float = float("nan")
    gap: SampledGap = UNKNOWN
    memory: dict[str, np.ndarray] = field(default_factory=dict)

    @single_threaded
    def learn(self, chunk: Problem, weight: float | None = None) -> "RowStream":
        """Return the state after one more chunk, whose rows are learnt in order.

        Parameters
        ----------
        chunk : Problem
            The rows, as a problem without an intercept.
        weight : float, optional
            Sum of their sample weights; by default the number of rows. A row counts in proportion to its weight within
            the whole stream so far.
        """
        weight, rows = float(chunk.n if weight is None else weight), self.rows + chunk.n
        total = self.weight + weight
        relative = (weight / chunk.n) / (total / rows)
        run = ChunkRun(self, chunk, relative)
        run.learn_all()
        last_loss, parts = run.loss / relative, zip(PARTS, run.parts, strict=True)
        return replace(
            self,
            w=run.iterate.dense(),
            r=run.gradient.dense(),
            shift=run.shift,
            curve=run.curve,
            steps=int(run.clock[0]),
            rows=rows,
            weight=total,
            loss=self.loss + weight / total * (last_loss - self.loss),
            last_loss=last_loss,
            gap=run.gap,
            memory={name: array for part in parts for name, array in arrays(*part).items()},
        )


class ChunkRun:
    """One chunk while it is learnt: copies of the stream's arrays, which the loop changes.

    Parameters
    ----------
    stream : RowStream
        The state before the chunk.
    chunk : Problem
        The rows.
    relative : float
        The mean sample weight of the chunk, divided by that of all rows so far.
    """

    def __init__(self, stream: RowStream, chunk: Problem, relative: float):
        self.chunk, self.curve, self.gap, self.loss = chunk, stream.curve, stream.gap, 0.0
        self.constraint = chunk.constraint.for_run()
        self.shift = None if stream.shift is None else stream.shift.copy()
        loss = chunk.loss if self.shift is None else shifted(chunk.loss)._replace(shift=self.shift)
        self.samples = chunk.samples._replace(weights=relative * chunk.samples.weights, loss=loss)
        self.iterate, r = chunk.first_iterate(stream.w)
        r[:] = stream.r
        counters = np.zeros(COUNTERS)
        counters[ALL_ROWS] = chunk.n
        tracker = connected(tracker_of(self.constraint, chunk.size), counters[FAILED : FAILED + 1])
        tracker.rebuild(r)
        self.gradient = Gradient(r, np.ones(1), counters, tracker)
        self.clock = np.array([stream.steps, 0])
        number = -(-chunk.n // batch_size(stream.method, chunk, tracker.lazy))
        self.offsets, self.order = np.arange(number + 1) * chunk.n // number, np.arange(chunk.n)
        setting = Setting(
            self.samples, int(self.offsets[1]), stream.w, self.constraint, steps=stream.steps, size=chunk.size
        )
        states = estimate_for_run(stream.method, setting), *others_for_run(stream.method, setting)
        self.parts = tuple(with_arrays(name, part, stream.memory) for name, part in zip(PARTS, states, strict=True))

    def learn_all(self) -> None:
        """Measure and learn one segment after the other."""
        n = self.chunk.n
        # The gap is estimated on the last rows of a chunk.
        window = n - min(n, 4096, max(64, n // 8))
        for k in range(0, len(self.offsets) - 1, SEGMENT):
            part = self.offsets[k : k + SEGMENT + 1]
            losses, alpha, curvatures = self._measured(part[0], part[-1])
            self.loss += float(losses.sum())
            if part[0] <= window < part[-1]:
                self.gap = self._estimated_gap(part[0])
            if self.shift is not None:
                mass = self.samples.weights[part[0] : part[-1]].sum()
                self._move_intercept(alpha.sum(axis=0) / mass, curvatures.sum(axis=0) / mass, len(part) - 1)
            self._make_steps(part)
        if not np.isfinite(self.gradient.r).all():
            raise ValueError(OVERFLOW.format(step=self.clock[0]))

    def _measured(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the weighted losses, derivatives and curvatures of some rows at the iterate."""
        shape = (last - first, *self.samples.shape[1:])
        losses, alpha, curvatures = np.empty(last - first), np.empty(shape), np.empty(shape)
        measure(self.samples, self.iterate, first, losses, alpha, curvatures)
        return losses, alpha, curvatures

    def _estimated_gap(self, first: int) -> SampledGap:
        """Return the gap at the iterate, estimated from the rows from ``first`` on, with its error."""
        chunk, w, chosen = self.chunk, self.iterate.dense(), np.arange(first, self.chunk.n)
        alpha = self._measured(first, chunk.n)[1] * (chunk.n / len(chosen))
        gradient, rng = np.empty(chunk.size), np.random.default_rng(self.clock[0])
        sum_rows(self.samples, chosen, alpha, gradient)
        error = deviation(chunk, w, chosen, alpha, gradient, rng, DRAWS) if len(chosen) >= 8 else np.inf
        return SampledGap(chunk.gap_for(gradient, w), error, (1.0 + DRAWS / 2.0) * len(chosen) / chunk.n)

    def _move_intercept(self, slope: Any, curvature: Any, batches: int) -> None:
        """Make a Newton step of the intercept, damped to the weight of this number of batches."""
        share = 1.0 - (1.0 - (self.clock[0] + 1.0) ** (-2.0 / 3.0)) ** batches  # all of it before the first step
        now = np.atleast_1d(curvature)
        self.curve = now if self.curve is None else (1.0 - share) * self.curve + share * now
        assert self.shift is not None
        # The smallest curvature limits steps where losses are flat.
        self.shift -= share * slope / np.maximum(self.curve, 0.01 * self.chunk.objective.curvature_scale)

    def _make_steps(self, offsets: np.ndarray) -> None:
        """Make a step for each batch."""
        steps, before = len(offsets) - 1, self.clock[0]
        advance(
            self.samples,
            self.constraint,
            self.parts,
            self.gradient,
            self.iterate,
            None,
            None,
            self.order,
            offsets,
            None,
            0,
            self.clock,
            steps,
        )
        if self.clock[0] < before + steps:
            raise ValueError(OVERFLOW.format(step=before + 1))


def batch_size(method: Method, chunk: Problem, cheap: bool) -> int:
    """Return the number of rows of a step: that of the method, if it has one, else enough to repay an oracle call.

    An oracle that is not ``cheap`` reads all weights. A batch then has about twice as many entries as there are
    weights.
    """
    if not callable(method.batch_size) and method.batch_size >= 1:
        return int(method.batch_size)
    entries = chunk.samples.rows.stored() / chunk.n
    # of 8 to 512 rows none was best: after a million rows of a simulation all losses were within half a percent
    return 32 if cheap else int(min(1024, max(32, 2 * chunk.size / max(entries, 1.0))))


def for_stream(method: Method, loss: Loss) -> Method:
    """Return the method for a stream. Raise ValueError if the method or the loss needs more than one read of a row."""
    facts = Facts(loss, stream=True)
    refuse("partial_fit", STREAM, facts)
    if method.solver == "auto":
        return METHODS["momentum"]
    refuse(f"method {method.name!r}", needs_of(method), facts)
    return method
