"""Finance: follow an index within limits
======================================

Weights sum to one, none is above a cap, and sectors stay within bounds.

A fund is to follow an index, but its rules allow less of some stocks and sectors than the index has. Weights in a
simplex sum to one; the cap on each stock and the limits on sectors are rules by name. All hold exactly, and the
distance to the best such portfolio is proven. Prices say which limits cost most.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from gallery import BLUE, GREEN, GREY, ORANGE, arguments, save

import frankwolfe as fw

SECTORS = {"tech": 0.30, "energy": 0.15, "health": 0.30, "banks": 0.35}
COLOURS = dict(zip(SECTORS, [BLUE, ORANGE, GREEN, "#cc79a7"], strict=True))
CAP = 0.10


def market(days, stocks, seed=0):
    """Return daily returns in percent of some stocks, by name, the sector of each, and those of the index."""
    rng = np.random.default_rng(seed)
    sector = np.array(list(SECTORS))[np.arange(stocks) % len(SECTORS)]
    size = rng.lognormal(0.0, 1.4, stocks) * np.where(sector == "tech", 4.0, 1.0)
    common, own = rng.normal(size=(days, 1)), {name: rng.normal(size=(days, 1)) for name in SECTORS}
    beta = rng.uniform(0.6, 1.4, stocks)
    returns = (
        0.7 * common * beta + 0.6 * np.hstack([own[name] for name in sector]) + 0.8 * rng.normal(size=(days, stocks))
    )
    names = [f"{name}_{j // len(SECTORS) + 1}" for j, name in enumerate(sector)]
    return pd.DataFrame(returns, columns=names), sector, returns @ (size / size.sum())


def main():
    given = arguments(__doc__, "portfolio.png")
    days, stocks = (120, 24) if given.small else (500, 80)
    returns, sector, index = market(days, stocks)
    past = days // 2
    limits = [f'sum("{name}_*") <= {limit}' for name, limit in SECTORS.items()]
    model = fw.SimplexRegressor(bounds=(None, CAP), conditions=limits).fit(returns[:past], index[:past])
    print(model.summary())
    free = fw.SimplexRegressor().fit(returns[:past], index[:past])
    weights, tracked, equal = model.coef_, model.predict(returns), returns.mean(axis=1)
    print(f"tracking error a day after the fit: {np.std(tracked[past:] - index[past:]):.3f}%")

    members = np.array([sector == name for name in SECTORS], dtype=float)
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.7), layout="constrained")
    order = np.argsort(-weights, kind="stable")[: np.count_nonzero(weights > 1e-9)]
    left.bar(np.arange(len(order)), 100.0 * weights[order], color=[COLOURS[name] for name in sector[order]])
    left.axhline(100.0 * CAP, color="black", lw=0.8, ls=":")
    for name, colour in COLOURS.items():
        left.bar(0, 0, color=colour, label=name)
    left.set(xlabel="stocks that are held", ylabel="weight, %", title=f"{len(order)} stocks, none above 10%")
    places = np.arange(len(SECTORS))
    middle.bar(places - 0.2, 100.0 * members @ free.coef_, 0.35, color=GREY, label="without limits")
    middle.bar(places + 0.2, 100.0 * members @ weights, 0.35, color=list(COLOURS.values()), label="with limits")
    for place, limit in zip(places, SECTORS.values(), strict=True):
        middle.plot([place - 0.4, place + 0.4], [100.0 * limit] * 2, color="black", lw=1.5, ls=":")
    labels = [f"{name}\nprice\n{model.prices_[limit]:.2g}" for name, limit in zip(SECTORS, limits, strict=True)]
    middle.set(xticks=places, xticklabels=labels, ylabel="sum of weights, %", title="Sectors, limits, and their prices")
    for values, colour, label in (
        (index, "black", "index"),
        (tracked, BLUE, "portfolio"),
        (equal, GREY, "equal weights"),
    ):
        right.plot(np.cumsum(values), color=colour, lw=1.8 if colour == BLUE else 1.2, label=label)
    right.axvline(past, color="black", lw=0.8, ls=":")
    right.set(xlabel="day; fitted before the dotted line", ylabel="sum of returns, %", title="It follows the index")
    for axes in (left, middle, right):
        axes.legend(frameon=False)
    save(figure, given.out)


if __name__ == "__main__":
    main()
