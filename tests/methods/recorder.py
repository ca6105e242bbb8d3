"""Runs that are looked at step by step."""

import numpy as np

from frankwolfe.solvers.stepwise import StepwiseSolver


class Recorder:
    """A solver, a step at a time: the batches it was dealt, its iterates, its snapshots and what it was charged."""

    def __init__(self, problem, method, batch_size, seed=0):
        self.solver = StepwiseSolver(problem, method, batch_size, np.random.default_rng(seed), problem.default_start())
        self.batches, self.charged, self.snapshots, self.path = [], [], [], [self.solver.point()]

    def run(self, steps):
        solver, taken = self.solver, self.solver.sampler.take

        def take(steps):
            found = taken(steps)
            self.batches += np.split(found.order, found.offsets[1:-1])[:steps]
            return found

        solver.sampler.take = take
        for step in range(1, steps + 1):
            before = solver.rows_read
            if solver.passes.steps_to_certificate() == 0 and solver.passes.certificate() is None:
                self.snapshots.append(step)
            solver.advance(1)
            if solver.passes.certificate() is not None:
                self.snapshots.append(step + 1)
            self.charged.append(solver.rows_read - before)
            self.path.append(solver.point())
        return self
