"""Runs that are looked at step by step."""

import numpy as np

from frankwolfe.engines.stepwise import StepwiseEngine


class Recorder:
    """An engine, a step at a time: the batches it was dealt, its iterates, its snapshots and what it was charged."""

    def __init__(self, problem, method, batch_size, seed=0):
        self.engine = StepwiseEngine(problem, method, batch_size, np.random.default_rng(seed), problem.default_start())
        self.batches, self.charged, self.snapshots, self.path = [], [], [], [self.engine.point()]

    def run(self, steps):
        engine, taken = self.engine, self.engine.sampler.take

        def take(steps):
            found = taken(steps)
            self.batches += np.split(found.order, found.offsets[1:-1])[:steps]
            return found

        engine.sampler.take = take
        for step in range(1, steps + 1):
            before = engine.rows_read
            if engine.passes.steps_to_certificate() == 0 and engine.passes.certificate() is None:
                self.snapshots.append(step)
            engine.advance(1)
            if engine.passes.certificate() is not None:
                self.snapshots.append(step + 1)
            self.charged.append(engine.rows_read - before)
            self.path.append(engine.point())
        return self
