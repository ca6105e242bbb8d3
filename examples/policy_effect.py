"""Policy: the effect in every good control
========================================

What did the policy do, in every synthetic control that fits nearly as well as the best?

Weights in the simplex make an average of untreated units that follows the treated one before the policy. With more
units than periods many averages do. ``fw.ranges`` proves between which values the effect lies in all of them, period by
period: a line for what the data before the policy leave open. The panel is made, so the true effect is known.
"""

import matplotlib.pyplot as plt
import numpy as np
from gallery import BLUE, GREY, ORANGE, arguments, save

import frankwolfe as fw

EFFECT = -5.0
WITHIN = (0.5, 0.1)
"""How much worse the squared error before the policy may be."""


def panel(units, before, after, seed=1):
    """Return outcomes of shape (periods, units): common trends and noise, unit 0 treated."""
    rng = np.random.default_rng(seed)
    periods = before + after
    trends = np.column_stack([np.linspace(0.0, 10.0, periods), *rng.normal(size=(3, periods)).cumsum(axis=1)])
    loadings = rng.dirichlet(np.ones(4), size=units)
    loadings[0] = loadings[1:8].mean(axis=0)
    outcomes = 20.0 + trends @ (3.0 * loadings.T) + 0.6 * rng.normal(size=(periods, units))
    outcomes[before:, 0] += EFFECT * np.minimum(1.0, np.arange(1, after + 1) / 4.0)
    return outcomes


def main():
    given = arguments(__doc__, "policy_effect.png")
    units, before, after = (12, 16, 5) if given.small else (60, 40, 16)
    outcomes = panel(units, before, after)
    treated, donors = outcomes[:, 0], outcomes[:, 1:]
    problem = fw.Problem(donors[:before], treated[:before], loss="squared", constraint=fw.Simplex(1.0))
    result = fw.minimize(problem, tol=1e-9)
    effect = treated - donors @ result.x

    # the mean effect of the last periods is a functional of the weights, and so is the control in each period
    rows = np.vstack([donors[before:], donors[-4:].mean(axis=0)])
    found = {within: fw.ranges(problem, result, of=rows, within=within) for within in WITHIN}
    for within, ranges in found.items():
        low, high = treated[-4:].mean() - ranges.high_proven[-1], treated[-4:].mean() - ranges.low_proven[-1]
        print(f"error up to {1 + within:.1f} times the least: mean effect at the end between {low:.2f} and {high:.2f}")
    print(f"true effect {EFFECT:.2f}, that of the best control {effect[-4:].mean():.2f}")

    figure, ax = plt.subplots(figsize=(9, 4.2), layout="constrained")
    periods = np.arange(before, before + after)
    for (within, ranges), alpha in zip(found.items(), (0.25, 0.5), strict=True):
        ends = treated[before:] - ranges.high_proven[:-1], treated[before:] - ranges.low_proven[:-1]
        ax.fill_between(periods, *ends, color=BLUE, alpha=alpha, lw=0, label=f"all controls within {within:.0%}")
    ax.plot(effect, color=BLUE, lw=1.6, label="the best control")
    truth = EFFECT * np.minimum(1.0, np.arange(1, after + 1) / 4.0)
    ax.plot(periods, truth, color=ORANGE, lw=1.6, ls="--", label="truth")
    ax.axhline(0.0, color="black", lw=0.8)
    ax.axvline(before - 0.5, color=GREY, lw=1.0, ls=":")
    ax.set(
        xlabel="period",
        ylabel="treated less control",
        title="After its first period, the effect has one sign in all good controls",
    )
    ax.legend(frameon=False, loc="lower left")
    save(figure, given.out)


if __name__ == "__main__":
    main()
