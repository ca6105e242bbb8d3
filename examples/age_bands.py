"""Insurance: a tariff that falls with age
=======================================

The weights of ordered bands of age are monotone, because the insurer says so.

The chance of a claim falls with the age of a driver. Bands of age have few rows each, so a model without rules makes
a tariff that goes up and down by chance, which nobody could explain to a customer. One rule, ``age_*: decreasing``,
orders the bands, and the best tariff among the ordered ones is found with a proven gap. The data is made, so the
true chances are known.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from gallery import BLUE, GREEN, GREY, arguments, save
from scipy.special import expit
from sklearn.metrics import log_loss

import frankwolfe as fw

RULE = {"age_*": "decreasing", "class_*": "increasing"}


def log_odds(age):
    """Return the true log-odds of a claim, but for the class of the car."""
    return -2.0 + 2.2 * np.exp(-(age - 18.0) / 12.0)


def drivers(n, seed=0):
    """Return bands of age and classes of cars as 0/1 columns, claims, and the first year of each band."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.gamma(6.0, 8.0, n), 18, 89).astype(int)
    band, car = age // 5 * 5, rng.integers(1, 6, n)
    claim = rng.random(n) < expit(log_odds(age) + 0.25 * car)
    X = pd.get_dummies(pd.DataFrame({"age": band, "class": car}), columns=["age", "class"], dtype=float)
    ages = np.array([int(name.removeprefix("age_")) for name in X.columns if name.startswith("age_")])
    return X, claim.astype(int), ages


def main():
    given = arguments(__doc__, "age_bands.png")
    X, y, ages = drivers(400 if given.small else 1_500)
    test, claims = drivers(20_000, seed=1)[:2]
    test = test.reindex(columns=X.columns, fill_value=0.0)
    ordered = fw.FrankWolfeClassifier(monotone=RULE, radius=30.0).fit(X, y)
    plain = fw.FrankWolfeClassifier(radius=30.0).fit(X, y)
    print(ordered.summary())
    losses = [log_loss(claims, model.predict_proba(test)) for model in (plain, ordered)]
    print(f"log-loss on new drivers: {losses[0]:.4f} without the rule, {losses[1]:.4f} with it")

    bands = [name.startswith("age_") for name in X.columns]
    truth = log_odds(np.maximum(ages + 2.5, 18.0))
    counts = X.to_numpy()[:, bands].sum(axis=0)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.0), layout="constrained")
    for model, colour, label in ((plain, GREY, "without a rule"), (ordered, BLUE, "age_*: decreasing")):
        weights = np.ravel(model.coef_)[bands]
        weights = weights - np.average(weights, weights=counts)
        width = 2.2 if model is ordered else 1.4
        left.stairs(weights, [*ages, ages[-1] + 5], baseline=None, color=colour, lw=width, label=label)
    left.plot(ages + 2.5, truth - np.average(truth, weights=counts), "o", color=GREEN, ms=4, label="truth")
    left.set(xlabel="age", ylabel="weight of the band, less the mean", title="A tariff that can be explained")
    left.legend(frameon=False)
    right.bar(ages + 2.5, counts, 4.2, color=GREY)
    right.set(xlabel="age", ylabel="drivers", title="Few rows in many bands")
    save(figure, given.out)


if __name__ == "__main__":
    main()
