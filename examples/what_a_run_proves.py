"""Research: what a stochastic run proves
======================================

The table that stochastic Frank-Wolfe keeps is a dual point, so it proves a gap.

The usual certificate is the Frank-Wolfe gap, which needs the gradient of all rows. Stochastic Frank-Wolfe remembers one
derivative for each row. By convex duality this table bounds the optimum, and more tightly. The true distance is
known here because another method has solved the problem to high accuracy.
"""

import matplotlib.pyplot as plt
import numpy as np
from gallery import BLUE, GREEN, GREY, ORANGE, arguments, save

import frankwolfe as fw
from frankwolfe.datasets import text_like


def main():
    given = arguments(__doc__, "what_a_run_proves.png")
    X, y = text_like(n=400, d=600) if given.small else text_like(n=5_000, d=5_000)
    problem = fw.Problem(X, y, loss="logistic", constraint=fw.L1Ball(50.0))
    optimum = fw.minimize(problem, tol=1e-9)
    points = []

    def remember(state):
        points.append((state.passes, state.x.copy()))

    result = fw.minimize(problem, "sfw", batch_size=0.01, tol=0.0, max_passes=100.0, random_state=0, callback=remember)
    passes, proven = result.trace.passes, result.trace.gap
    true = result.trace.fun - optimum.lower_bound
    print(f"objective {result.fun:.6f}, proven gap {result.gap:.1e}, true distance at most {true[-1]:.1e}")

    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 3.8), layout="constrained")
    seen = passes > 0
    usual = np.array([problem.gap(x) for _, x in points])
    left.plot([p for p, _ in points], usual, color=GREY, lw=2, label="Frank-Wolfe gap")
    left.plot(passes[seen], proven[seen], color=BLUE, lw=2, label="proven by the table")
    left.plot(passes[seen], true[seen], color=GREEN, lw=2, label="true distance")
    left.set(xscale="log", yscale="log", xlabel="passes over the data", ylabel="gap", title="Proven and true gaps")
    left.legend(frameon=False)
    right.plot(passes[seen], result.trace.gap_estimate[seen], color=ORANGE, lw=2, label="estimate, at every step")
    right.plot(passes[seen], proven[seen], color=BLUE, lw=2, label="proven")
    right.set(xscale="log", yscale="log", xlabel="passes over the data", title="The estimate says when to check")
    right.legend(frameon=False)
    save(figure, given.out)


if __name__ == "__main__":
    main()
