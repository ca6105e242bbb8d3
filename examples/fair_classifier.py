"""Fairness: the price of a fair classifier
========================================

The scores of this classifier may hardly vary with a group.

The covariance of the scores with membership of a group is linear in the weights, so a bound on it is a linear
condition, which holds exactly. Each bound gives a certified model: together they are the curve of accuracy against
fairness. The price of the condition is the slope of the curve of the loss: what the next bit of fairness costs.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from gallery import BLUE, GREEN, GREY, ORANGE, arguments, save

import frankwolfe as fw


def people(n, seed=0):
    """Return columns, whether a loan was paid back, and the group, on which two columns depend."""
    rng = np.random.default_rng(seed)
    group = rng.random(n) < 0.4
    X = pd.DataFrame(rng.normal(size=(n, 6)), columns=["income", "savings", "debt", "district", "tenure", "age"])
    X["district"] += 1.5 * group
    X["income"] -= 0.8 * group
    score = 1.2 * X["income"] + 0.8 * X["savings"] - X["debt"] - 0.6 * X["district"] + 0.3 * X["tenure"]
    return X, np.where(score + rng.logistic(size=n) > 0.0, 1, -1), group


def fitted(X, y, group, bound):
    """Return the best model whose scores have at most that covariance with the group."""
    covariance = (group - group.mean()) @ X.to_numpy() / len(X)
    side = fw.LinearBounds([covariance], -bound, bound, names=["covariance with the group"])
    problem = fw.Problem(X, y, "logistic", fw.L1Ball(10.0), intercept=True, side=side)
    return fw.minimize(problem, tol=1e-6)


def rates(result, X, y, group):
    """Return the accuracy, and the share of each group that is accepted."""
    accepted = X.to_numpy() @ result.x + result.intercept > 0.0
    return np.mean(accepted == (y > 0)), accepted[group].mean(), accepted[~group].mean()


def main():
    given = arguments(__doc__, "fair_classifier.png")
    X, y, group = people(1_000 if given.small else 10_000)
    train, test = np.arange(len(X)) % 2 == 0, np.arange(len(X)) % 2 == 1
    bounds = np.linspace(0.0, 0.6, 5 if given.small else 25)
    results = [fitted(X[train], y[train], group[train], bound) for bound in bounds]
    print(results[1].summary())
    held = np.array([rates(result, X[test], y[test], group[test]) for result in results])
    prices = np.array([result.prices["side"][0] for result in results])
    print(f"accuracy {held[-1, 0]:.1%} without a bound that binds, {held[0, 0]:.1%} with no covariance at all")

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
    left.plot(bounds, held[:, 0], color=BLUE, marker="o", ms=4)
    left.set(ylabel="accuracy on rows kept back", title="What is lost")
    middle.plot(bounds, held[:, 2], color=GREEN, marker="o", ms=4, label="others")
    middle.plot(bounds, held[:, 1], color=ORANGE, marker="o", ms=4, label="the group")
    middle.fill_between(bounds, held[:, 1], held[:, 2], color=GREY, alpha=0.2)
    middle.set(ylabel="share accepted", title="What is gained: equal shares", ylim=(0.0, 1.0))
    middle.legend(frameon=False)
    right.plot(bounds, prices, color=BLUE, marker="o", ms=4)
    right.set(ylabel="price of the bound", title="What the next bit of fairness costs", ylim=(0.0, None))
    for axes in (left, middle, right):
        axes.set(xlabel="bound on the covariance with the group")
    save(figure, given.out)


if __name__ == "__main__":
    main()
