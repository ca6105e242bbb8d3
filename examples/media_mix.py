"""Marketing: what does each channel sell?
=======================================

A media mix model whose weights keep to what everybody knows.

Advertising works on after its week, and less and less the more of it there is: pandas makes columns of the decayed
spend (the adstock), whose square root saturates. More advertising does not lower sales, and a higher price does not
raise them: these are bounds on weights by name. A budget on all weights says how much the model may attribute in all;
its price says what one more unit of budget would still explain. The weeks are made, so the true effects are known.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from gallery import BLUE, GREEN, GREY, ORANGE, arguments, save
from sklearn.linear_model import LinearRegression

import frankwolfe as fw

CHANNELS = {"tv_spots": 8.0, "tv_sponsoring": 0.0, "radio": 3.0, "search": 5.0, "social": 0.0}
BOUNDS = {"tv_*": (0, None), "radio": (0, None), "search": (0, None), "social": (0, None), "price": (None, 0)}
COLOURS = [BLUE, "#56b4e9", GREEN, ORANGE, "#cc79a7"]


def weeks(n, seed=0):
    """Return weekly columns and sales: saturated adstock of each channel, price, and the season."""
    rng = np.random.default_rng(seed)
    season = np.sin(2.0 * np.pi * np.arange(n) / 52.0)
    spend = pd.DataFrame({name: rng.gamma(2.0, 1.0, n) * (rng.random(n) < 0.6) for name in CHANNELS})
    spend["tv_sponsoring"] = 0.8 * spend["tv_spots"] + 0.2 * spend["tv_sponsoring"]  # often booked together
    adstock = spend.ewm(alpha=0.5, adjust=False).mean()
    X = np.sqrt(adstock / adstock.max())
    X["price"] = 1.0 + 0.1 * rng.normal(size=n) - 0.05 * season
    X["season"] = season
    effects = X[list(CHANNELS)] @ pd.Series(CHANNELS)
    return X, 50.0 + effects - 10.0 * X["price"] + 4.0 * season + 2.0 * rng.normal(size=n)


def main():
    given = arguments(__doc__, "media_mix.png")
    X, sales = weeks(104 if given.small else 208)
    plain = LinearRegression().fit(X, sales)
    model = fw.FrankWolfeRegressor(bounds=BOUNDS, tol=1e-7).fit(X, sales)  # no radius: all weights that keep the bounds
    print(model.summary())

    budgets = np.linspace(1.0, 40.0, 9 if given.small else 40)
    models = [fw.FrankWolfeRegressor(bounds=BOUNDS, radius=budget).fit(X, sales) for budget in budgets]
    attributed = np.array([one.coef_ * X.mean() for one in models])[:, : len(CHANNELS)]
    prices = np.array([one.prices_["radius"] for one in models])
    enough = budgets[np.argmax(prices < 0.1)]
    print(f"Beyond a budget of {enough:.0f} one more unit lowers the objective by less than 0.1.")

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4.0), layout="constrained")
    names = [*CHANNELS, "price", "season"]
    places = np.arange(len(names))
    truth = [*CHANNELS.values(), -10.0, 4.0]
    left.barh(places - 0.2, plain.coef_, 0.35, color=GREY, label="least squares")
    left.barh(places + 0.2, model.coef_, 0.35, color=BLUE, label="with bounds")
    left.plot(truth, places, "k|", ms=16, mew=2, label="truth")
    left.set(yticks=places, yticklabels=names, xlabel="weight", title="Weights with the right signs")
    left.invert_yaxis()
    middle.stackplot(budgets, attributed.T, labels=list(CHANNELS), colors=COLOURS)
    middle.set(xlabel="budget of the weights", ylabel="sales attributed, per week", title="Attributed sales saturate")
    right.plot(budgets, [one.result_.fun for one in models], color=BLUE, label="objective")
    right.set(xlabel="budget of the weights", ylabel="objective", title="What one more unit of budget gains")
    other = right.twinx()
    other.plot(budgets, prices, color=ORANGE, ls="--", label="its price")
    other.set(ylabel="price of the budget", ylim=(0.0, None))
    other.grid(visible=False)
    other.spines["right"].set_visible(True)
    right.legend(handles=[*right.lines, *other.lines], frameon=False)
    left.legend(frameon=False, loc="center left")
    middle.legend(frameon=False)
    save(figure, given.out)


if __name__ == "__main__":
    main()
