"""Insurance: claim counts with exposure
=====================================

How often do drivers have claims? The rates fall with age, and the gap is proven.

Contracts last from some days to two years, those of young drivers less, so a count says nothing without its exposure.
A Poisson model with ``exposure=`` predicts claims per year. Bands of age have few contracts each; one rule,
``age_*: decreasing``, orders their rates, and the best model among the ordered ones is found with a certificate. The
data is made, so the true rates are known.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from gallery import BLUE, GREEN, GREY, ORANGE, arguments, save

import frankwolfe as fw

RULE = {"age_*": "decreasing", "class_*": "increasing"}


def rate(age, car):
    """Return the true number of claims a year."""
    return 0.06 * np.exp(1.8 * np.exp(-(age - 18.0) / 12.0) + 0.15 * car)


def contracts(n, seed=0):
    """Return bands of age and classes of cars as 0/1 columns, claims, years of exposure, and true rates."""
    rng = np.random.default_rng(seed)
    age, car = np.clip(rng.gamma(6.0, 8.0, n), 18, 89).astype(int), rng.integers(1, 6, n)
    years, true = rng.uniform(0.05, np.clip(age / 25.0 - 0.5, 0.2, 2.0)), rate(age, car)
    X = pd.get_dummies(pd.DataFrame({"age": age // 5 * 5, "class": car}), columns=["age", "class"], dtype=float)
    return X, rng.poisson(years * true), years, true


def main():
    given = arguments(__doc__, "claim_counts.png")
    X, claims, years, _ = contracts(1_500 if given.small else 8_000)
    new, counted, exposed, rates = contracts(20_000, seed=1)
    new = new.reindex(columns=X.columns, fill_value=0.0)
    plain = fw.FrankWolfeRegressor("poisson", radius=30.0).fit(X, claims, exposure=years)
    ordered = fw.FrankWolfeRegressor("poisson", radius=30.0, monotone=RULE).fit(X, claims, exposure=years)
    naive = fw.FrankWolfeRegressor("poisson", radius=30.0, monotone=RULE).fit(X, claims)
    print(ordered.summary())
    for name, model in (("without the rule", plain), ("with it", ordered)):
        share = model.score(new, counted, exposure=exposed)
        print(f"share of the deviance explained on new contracts {name}: {share:.4f}")

    bands = [name for name in X.columns if name.startswith("age_")]
    ages = np.array([int(name.removeprefix("age_")) for name in bands])
    probe = pd.DataFrame(0.0, index=range(len(bands)), columns=X.columns)
    probe.loc[range(len(bands)), bands], probe["class_3"] = np.eye(len(bands)), 1.0
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.0), layout="constrained")
    curves = ((plain, GREY, "without a rule"), (ordered, BLUE, "age_*: decreasing"), (naive, ORANGE, "no exposure"))
    for model, colour, label in curves:
        left.stairs(model.predict(probe), [*ages, ages[-1] + 5], baseline=None, color=colour, lw=1.8, label=label)
    left.plot(ages + 2.5, rate(np.maximum(ages + 2.5, 18.0), 3), "o", color=GREEN, ms=4, label="truth")
    left.set(xlabel="age", ylabel="claims a year, cars of class 3", title="Rates that can be explained")
    left.legend(frameon=False)

    expected = ordered.predict(new, exposure=exposed)
    group = np.argsort(np.argsort(expected)) * 10 // len(expected)
    sums = [np.bincount(group, values) for values in (expected, counted, exposed * rates)]
    right.plot(sums[0], sums[1], "o", color=BLUE, label="counted")
    right.plot(sums[0], sums[2], "o", mfc="none", color=GREEN, label="true expectation")
    right.axline((0.0, 0.0), slope=1.0, color=GREY, lw=1.0)
    right.set(xlabel="claims that the model expects", ylabel="claims", title="Ten groups of new contracts")
    right.legend(frameon=False)
    save(figure, given.out)


if __name__ == "__main__":
    main()
