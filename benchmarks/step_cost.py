"""What a step costs, against the cheapest thing that touches the same rows, and against copt.

    FRANKWOLFE_DATA=folder python benchmarks/step_cost.py

All figures come from one run, repetitions interleaved, the least of them reported: the ratios are what counts. The
*floor* is a kernel that, for the same rows in the same order, takes the inner product, the loss's derivative, and
adds the row to the gradient: no table, no oracle, no step. Rows are those of a step's batch: methods that look at it
twice, or at a second one, or at all rows now and then, pay for that here.
"""

import argparse
import json
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy import sparse
from tables import read

import frankwolfe as fw
from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import derivative, row_add, row_dot
from frankwolfe.methods.registry import as_method
from frankwolfe.solvers.stepwise import StepwiseSolver

CONSTANT_BATCH = ("momentum", "saga", "sagafw", "sarah", "saga-sarah", "l-svrg", "one-sample")


@kernel
def floor(rows, targets, loss, order, w, r):
    """Touch the rows and do nothing else."""
    for i in order:
        row_add(rows, i, derivative(loss, row_dot(rows, i, w), targets[i]), r)


def spread(X, times):
    """Return the same non-zeros over ``times`` as many columns."""
    return sparse.csr_array((X.data, X.indices * times, X.indptr), shape=(X.shape[0], X.shape[1] * times))


class Case:
    """One thing to time: set up afresh, then run over the same number of rows."""

    def __init__(self, label, prepare, rows):
        self.label, self.prepare, self.rows, self.best = label, prepare, rows, np.inf

    def run(self):
        work = self.prepare()
        begun = perf_counter()
        work()
        self.best = min(self.best, perf_counter() - begun)

    @property
    def microseconds(self):
        return self.best / self.rows * 1e6


def floor_case(label, problem, rows):
    order = np.random.default_rng(0).integers(problem.n, size=rows)
    samples = problem.samples

    def prepare():
        w, r = np.zeros(problem.d), np.zeros(problem.d)
        return lambda: floor(samples.rows, samples.targets, samples.loss, order, w, r)

    return Case(label, prepare, rows)


def method_case(label, problem, method, batch_size, rows):
    def prepare():
        generator = np.random.default_rng(0)
        solver = StepwiseSolver(problem, as_method(method), batch_size, generator, problem.default_start())
        solver.warm_up()
        steps, sampler = rows // batch_size, solver.sampler
        order = sampler.draw(steps + sampler.ahead)  # the floor's rows are drawn beforehand, so these are too
        a_step = len(order) // (steps + sampler.ahead)
        sampler._next_drawn = 1

        def draw(number):
            first = sampler._next_drawn - 1
            sampler._next_drawn += number
            return order[first * a_step : (first + number) * a_step]

        sampler.draw = draw
        return lambda: solver.advance(steps)

    return Case(label, prepare, rows // batch_size * batch_size)


def copt_case(X, y, radius, steps):
    import copt

    n = steps  # copt counts in epochs of n steps: an epoch over a slice of the rows is ``steps`` steps
    part, labels = sparse.csr_matrix(X[:n]), y[:n]
    ball, deriv = copt.constraint.L1Ball(radius), lambda z, t: -t / (1.0 + np.exp(t * z))

    def prepare():
        x0 = np.zeros(X.shape[1])
        return lambda: copt.minimize_sfw(
            deriv, part, labels, x0, ball.lmo, batch_size=1, max_iter=1, tol=0, variant="SAG"
        )

    return Case("copt minimize_sfw, b = 1", prepare, steps)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--passes", type=float, default=5.0)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--without-copt", action="store_true")
    parser.add_argument("--json", type=Path, help="also write the table to this file, for the page of the race")
    args = parser.parse_args()

    X, y = read("rcv1_subset")
    n = len(y)
    rows, percent = int(args.passes * n), n // 100

    def problem(X, y):
        return fw.Problem(X, y, "logistic", fw.L1Ball(100.0))

    base, tall, wide = (
        problem(X, y),
        problem(sparse.vstack([X] * 10), np.tile(y, 10)),
        problem(spread(X, 10), y),
    )
    base_floor = floor_case("floor", base, rows)
    cases = [base_floor]
    cases += [method_case(f"{m}, b = 1", base, m, 1, rows) for m in ("sfw", "mokhtari", "momentum", "lu-freund")]
    cases += [method_case(f"{m}, b = 1%", base, m, percent, rows) for m in ("sfw", *CONSTANT_BATCH)]
    cases += [
        floor_case("floor, rows x 10", tall, rows),
        method_case("sfw, b = 1, rows x 10", tall, "sfw", 1, rows),
    ]
    cases += [
        floor_case("floor, columns x 10", wide, rows),
        method_case("sfw, b = 1, columns x 10", wide, "sfw", 1, rows),
    ]
    for _ in range(args.repeats):
        for case in cases:
            case.run()
    if not args.without_copt:
        cases.append(copt_case(X, y, 100.0, 2000))
        for _ in range(3):
            cases[-1].run()

    title = f"RCV1 subset, {n} x {X.shape[1]}, {X.nnz / n:.1f} non-zeros a row; least of {args.repeats} runs"
    rows = [(case.label, case.microseconds, case.microseconds / base_floor.microseconds) for case in cases]
    print(f"{title}\n\n{'':28}{'us a row':>10}{'/ floor':>10}")
    for label, microseconds, ratio in rows:
        print(f"{label:28}{microseconds:10.3f}{ratio:10.2f}")
    if args.json is not None:
        columns = ("step", "microseconds a row", "times the floor")
        table = {
            "title": f"Cost of a step, {title}",
            "columns": columns,
            "rows": rows,
            "note": __doc__.split("\n\n")[2],
        }
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(table), encoding="utf-8")


if __name__ == "__main__":
    main()
