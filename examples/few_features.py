"""Medicine: the best model with five measurements
===============================================

How much better could any other model with as few features be? A bound is proven.

A test with five measurements is cheaper than one with thirty, and a doctor can check it. Choosing the best five is a
hard problem, and most methods return five good ones without saying how good. Here each model comes with a lower bound
on the objective of *all* models with so many features.
"""

import matplotlib.pyplot as plt
import numpy as np
from gallery import BLUE, GREY, ORANGE, arguments, save
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

import frankwolfe as fw


def main():
    given = arguments(__doc__, "few_features.png")
    table = load_breast_cancer()
    X, y = scale(table.data), table.target
    train = np.random.default_rng(0).random(len(y)) < 0.7
    sizes = range(1, 4) if given.small else range(1, 9)
    models = [
        fw.FrankWolfeClassifier(constraint="l2", radius=1.5, max_features=k).fit(X[train], y[train]) for k in sizes
    ]
    every = fw.FrankWolfeClassifier(constraint="l2", radius=1.5).fit(X[train], y[train])
    for k, model in zip(sizes, models, strict=True):
        used = ", ".join(table.feature_names[model.coef_.ravel().nonzero()[0]])
        print(f"{k}: {used}\n   {model.result_.message}")

    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 3.8), layout="constrained")
    objective = np.array([model.result_.fun for model in models])
    bound = np.array([model.result_.lower_bound for model in models])
    left.plot(sizes, objective, "o-", color=BLUE, label="models that were found")
    left.plot(sizes, bound, "x--", color=ORANGE, label="bound on every other choice")
    left.axhline(every.result_.fun, color="black", lw=0.8, ls=":", label="all 30 features")
    left.set(xlabel="features", ylabel="objective", title="Found and proven nearly touch")
    left.legend(frameon=False)
    accuracy = [100.0 * model.score(X[~train], y[~train]) for model in models]
    right.bar(sizes, accuracy, color=GREY)
    right.axhline(100.0 * every.score(X[~train], y[~train]), color="black", lw=0.8, ls=":", label="all 30 features")
    right.set(xlabel="features", ylabel="accuracy on rows kept back, %", ylim=(80, 100), title="A few features suffice")
    right.legend(frameon=False, loc="lower right")
    save(figure, given.out)


if __name__ == "__main__":
    main()
