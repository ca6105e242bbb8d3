"""Engineering: bands of power that do not cross
=============================================

How much power will a town need at a temperature, and how much at worst? Nine quantiles answer, none against another.

Demand rises in cold and in heat, and varies more there. Columns such as ``cold_10``, the degrees below 10, let a linear
model bend; ``bounds`` by name say that neither cold nor heat saves power. A model for each quantile by itself makes
bands that cross where rows are few: a 95% quantile below the 90% one. ``crossing=False`` fits all of them as one
problem, in which none crosses on the rows of the fit, and whose gap is proven. The data is made, so the true quantiles
are known.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from gallery import BLUE, GREEN, GREY, ORANGE, arguments, save
from scipy.stats import norm

import frankwolfe as fw

QUANTILES = [0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95]


def features(degrees):
    """Return degrees below and above some temperatures as columns."""
    cold = {f"cold_{k}": np.maximum(k - degrees, 0.0) for k in (16, 10, 4, -2)}
    return pd.DataFrame(cold | {f"hot_{k}": np.maximum(degrees - k, 0.0) for k in (20, 25, 30)})


def days(n, seed=0):
    """Return temperatures, the demand, and its true quantiles."""
    rng = np.random.default_rng(seed)
    degrees = rng.uniform(-8.0, 35.0, n)
    cold, hot = np.maximum(16.0 - degrees, 0.0), np.maximum(degrees - 20.0, 0.0)
    middle, spread = 50.0 + 1.5 * cold + 0.08 * hot**2, 3.0 + 0.25 * cold + 0.4 * hot
    return degrees, middle + spread * rng.normal(size=n), middle[:, None] + spread[:, None] * norm.ppf(QUANTILES)


def main():
    given = arguments(__doc__, "quantile_bands.png")
    degrees, demand, _ = days(60 if given.small else 80)
    new, _, true = days(2000, seed=1)
    X, options = features(degrees), {"radius": 50.0, "quantiles": QUANTILES, "bounds": {"*": (0, None)}}
    apart = fw.FrankWolfeRegressor("pinball", **options).fit(X, demand)
    bands = fw.FrankWolfeRegressor("pinball", crossing=False, **options).fit(X, demand)
    print(bands.result_.message)
    for name, model in (("each by itself", apart), ("in one problem", bands)):
        crossed = (np.diff(model.predict(X)) < -1e-9).any(axis=1).mean()
        error = np.abs(model.predict(features(new)) - true).mean()
        print(f"quantiles {name}: {crossed:.0%} of the days cross, {error:.2f} MW from the truth on new days")

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained", sharey=True)
    grid = np.linspace(degrees.min(), degrees.max(), 300)
    for ax, (name, model) in zip(axes, (("each by itself", apart), ("none may cross", bands)), strict=True):
        found = model.predict(features(grid))
        ax.scatter(degrees, demand, s=8, color=GREY)
        for k, quantile in enumerate(QUANTILES):
            colour = ORANGE if quantile == 0.5 else GREEN if quantile in (0.05, 0.95) else BLUE
            ax.plot(grid, found[:, k], color=colour, lw=1.2)
        crossing = degrees[(np.diff(model.predict(X)) < -1e-9).any(axis=1)]
        ax.plot(crossing, np.full(len(crossing), 25.0), "|", color="black", ms=14, label="days on which some cross")
        ax.set(xlabel="temperature (degrees Celsius)", title=f"Nine quantiles, {name}")
    axes[0].set(ylabel="demand (MW)")
    for colour, label in ((ORANGE, "median"), (GREEN, "5% and 95%"), (BLUE, "between")):
        axes[0].plot([], color=colour, label=label)
    axes[0].legend(frameon=False)
    save(figure, given.out)


if __name__ == "__main__":
    main()
