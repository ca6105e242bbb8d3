"""What a stochastic step on a group ball costs as the number of columns grows and the number of groups does not.

    FRANKWOLFE_DATA=folder python benchmarks/group_step.py

The rows are those of the RCV1 subset, their non-zeros spread over more and more columns, which are dealt to 5,000
groups at random. Floor and ratios are those of `step_cost.py`; beside the group balls stands the l1 ball.
"""

import argparse

import numpy as np
from step_cost import floor_case, load, method_case, spread

import frankwolfe as fw

GROUPS = 5000


def balls(d):
    labels = np.random.default_rng(0).integers(GROUPS, size=d)
    labels[:GROUPS] = np.arange(GROUPS)  # none of them empty
    return {
        "l1 ball": fw.L1Ball(100.0),
        "l1/l2 ball": fw.GroupBall(labels, 100.0),
        "l1/linf ball": fw.GroupBall(labels, 100.0, norm=np.inf),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--passes", type=float, default=3.0)
    parser.add_argument("--repeats", type=int, default=7)
    args = parser.parse_args()

    X, y = load()
    rows = int(args.passes * len(y))
    cases = []
    for times in (1, 4, 16):
        wide = spread(X, times)
        for name, ball in balls(wide.shape[1]).items():
            problem = fw.Problem(wide, y, "logistic", ball)
            cases.append(method_case(f"{wide.shape[1]:7d} columns, {name}", problem, "sfw", 1, rows))
        cases.append(floor_case(f"{wide.shape[1]:7d} columns, floor", problem, rows))
    for _ in range(args.repeats):
        for case in cases:
            case.run()

    print(f"{X.nnz / len(y):.1f} non-zeros a row, {GROUPS} groups; sfw, one row a step; least of {args.repeats} runs\n")
    print(f"{'':32}{'us a row':>10}")
    for case in cases:
        print(f"{case.label:32}{case.microseconds:10.3f}")


if __name__ == "__main__":
    main()
