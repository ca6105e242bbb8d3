"""Marketing: do higher prices lower sales?
========================================

The sign of a weight in every model that fits nearly as well as the best.

A media mix has few weeks and columns that move together: prices fall when there is advertising. Least squares finds one
model of many. ``fw.ranges`` proves between which values each weight lies in all of those whose squared error is at
most 2% above the best: the price is certain, how much each channel sells is not. What is known beforehand (advertising
does not lower sales) makes the ranges narrower. The weeks are made, so the true effects are known.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from gallery import BLUE, GREY, ORANGE, arguments, save

import frankwolfe as fw

TRUTH = {"price": -6.0, "tv": 4.0, "sponsoring": 1.0, "radio": 2.0, "search": 3.0, "season": 3.0}
POSITIVE = dict.fromkeys(("tv", "sponsoring", "radio", "search"), (0, None))


def weeks(n, seed=0):
    """Return weekly columns, most between zero and one, and sales. Discounts come with campaigns."""
    rng = np.random.default_rng(seed)
    season = np.sin(2.0 * np.pi * np.arange(n) / 52.0)
    campaign = np.clip(0.4 + 0.3 * season + 0.25 * rng.normal(size=n), 0.0, 1.0)
    X = pd.DataFrame({"price": 1.0 - 0.5 * campaign + 0.12 * rng.normal(size=n)})
    X["tv"] = np.clip(campaign + 0.15 * rng.normal(size=n), 0.0, None)
    X["sponsoring"] = 0.9 * X["tv"] + 0.05 * rng.random(n)  # booked together with spots
    X["radio"] = rng.random(n)
    X["search"] = np.clip(0.7 * campaign + 0.2 * rng.random(n), 0.0, None)
    X["season"] = season
    return X, 40.0 + X @ pd.Series(TRUTH) + 1.0 * rng.normal(size=n)


def main():
    given = arguments(__doc__, "price_sign.png")
    X, sales = weeks(104 if given.small else 208)
    models = {
        "all models": fw.FrankWolfeRegressor(radius=40.0, tol=1e-8),
        "models in which no channel lowers sales": fw.FrankWolfeRegressor(radius=40.0, bounds=POSITIVE, tol=1e-8),
    }
    found = {name: model.fit(X, sales).ranges(X, sales, within=0.02) for name, model in models.items()}
    for name, ranges in found.items():
        print(f"{name}\n{ranges}\n")

    figure, ax = plt.subplots(figsize=(9, 4.2), layout="constrained")
    places = np.arange(len(TRUTH))
    for shift, colour, (name, ranges) in zip((-0.15, 0.15), (GREY, BLUE), found.items(), strict=True):
        ax.hlines(places + shift, ranges.low_proven, ranges.high_proven, color=colour, lw=6, label=name)
        ax.plot(
            ranges.estimate, places + shift, "o", color="black", ms=4, label="the best of them" if shift > 0 else None
        )
    ax.plot(list(TRUTH.values()), places, "|", color=ORANGE, ms=26, mew=2, label="truth")
    ax.axvline(0.0, color="black", lw=0.8)
    ax.set(yticks=places, yticklabels=list(TRUTH), xlabel="weight, in every model within 2% of the best")
    ax.set_title("The price is certain. Which channel sells is not.")
    ax.invert_yaxis()
    ax.legend(frameon=False, loc="lower left")
    save(figure, given.out)


if __name__ == "__main__":
    main()
