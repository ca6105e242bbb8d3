"""Text: which words tell documents apart?
=======================================

Sparse logistic regression under a budget on the weights.

The rows are TF-IDF documents: the RCV1 subset if FRANKWOLFE_DATA names a folder that holds it, else documents that
are made. The l1 ball keeps most weights at exactly zero. Three methods solve the same problem, and the exact gap
says how far each has come: no optimum has to be known.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from gallery import BLUE, GREEN, ORANGE, arguments, save

import frankwolfe as fw
from frankwolfe.datasets import load, text_like


def documents(small):
    """Return rows, labels and what to call them."""
    if small:
        return *text_like(n=400, d=600), "Made documents"
    table = load("rcv1", "folder" if os.environ.get("FRANKWOLFE_DATA") else "stand-in")
    return table.X, table.y, table.title


def main():
    given = arguments(__doc__, "sparse_text.png")
    X, y, title = documents(given.small)
    train = np.random.default_rng(0).random(len(y)) < 0.8
    problem = fw.Problem(X[train], y[train], loss="logistic", constraint=fw.L1Ball(200.0), intercept=True)

    budgets = {"sfw": 30.0, "stochastic-pairwise": 60.0, "corrective": 200.0}
    results = {
        name: fw.minimize(problem, name, tol=1e-5, max_passes=5.0 if given.small else passes, random_state=0)
        for name, passes in budgets.items()
    }
    best = min(results.values(), key=lambda result: result.gap)
    right = np.mean(np.sign(X[~train] @ best.x + best.intercept) == y[~train])
    print(f"{title}: {problem.n} x {problem.d}")
    print(f"{best.nonzeros} words are used; {right:.1%} of the documents kept back are told right")
    print(f"{best.method}: objective {best.fun:.6f}, at most {best.gap:.1e} above the optimum")

    figure, (left, other) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for (name, result), colour in zip(results.items(), (ORANGE, GREEN, BLUE), strict=True):
        seen = result.trace.passes > 0
        left.plot(result.trace.passes[seen], result.trace.gap[seen], color=colour, lw=2, label=name)
    left.axhline(best.tolerance, color="black", lw=0.8, ls=":", label="tolerance")
    left.set(xscale="log", yscale="log", xlabel="passes over the data", ylabel="exact gap", title=title)
    left.legend(frameon=False, loc="lower left")
    largest = np.argsort(-np.abs(best.x))[:20][::-1]
    other.barh(range(len(largest)), best.x[largest], color=[BLUE if w > 0 else ORANGE for w in best.x[largest]])
    other.set_yticks(range(len(largest)), [f"word {j}" for j in largest], fontsize=8)
    other.set(xlabel="weight", title=f"The 20 largest of {best.nonzeros} weights that are not zero, of {problem.d}")
    save(figure, given.out)


if __name__ == "__main__":
    main()
