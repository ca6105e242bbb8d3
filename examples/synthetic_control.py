"""Policy: synthetic control
=========================

What would have happened without the policy? A weighted average of other units answers.

One unit of a panel is treated from some date on. Weights in the simplex make an average of the untreated units that
follows the treated one before that date; after it, the difference is the estimated effect. The panel is made, so
the true effect is known. Placebo runs, in which an untreated unit is taken for the treated one, show how large a
difference chance makes. The weights tell a story only if they are the only best ones: ``uniqueness`` proves that they
are, or names the units between which they could be exchanged.
"""

import matplotlib.pyplot as plt
import numpy as np
from gallery import BLUE, GREY, ORANGE, arguments, save

import frankwolfe as fw

EFFECT = -6.0


def panel(units, before, after, seed=0):
    """Return outcomes of shape (periods, units): three common trends, a little noise, unit 0 treated."""
    rng = np.random.default_rng(seed)
    periods = before + after
    trends = np.column_stack([np.linspace(0.0, 12.0, periods), *rng.normal(size=(2, periods)).cumsum(axis=1)])
    loadings = rng.dirichlet([1.0, 1.0, 1.0], size=units)
    loadings[0] = loadings[1:6].mean(axis=0)  # what the treated unit is like, others are between them
    outcomes = 20.0 + trends @ (3.0 * loadings.T) + 0.4 * rng.normal(size=(periods, units))
    outcomes[before:, 0] += EFFECT * np.minimum(1.0, np.arange(1, after + 1) / 4.0)
    return outcomes


def control(outcomes, treated, before):
    """Return the model, and what the treated unit would have done."""
    donors = np.delete(outcomes, treated, axis=1)
    model = fw.SimplexRegressor().fit(donors[:before], outcomes[:before, treated])
    return model, model.predict(donors)


def main():
    given = arguments(__doc__, "synthetic_control.png")
    units, before, after = (8, 15, 8) if given.small else (40, 40, 16)
    outcomes = panel(units, before, after)
    model, counterfactual = control(outcomes, 0, before)
    effect, used = outcomes[:, 0] - counterfactual, np.flatnonzero(model.coef_)
    print(model.result_)
    print(f"{len(used)} of {units - 1} units make the control")
    print(f"estimated effect at the end {effect[-4:].mean():.2f}, true effect {EFFECT:.2f}")
    placebos = [outcomes[:, j] - control(outcomes, j, before)[1] for j in range(1, units)]

    donors, treated = outcomes[:before, 1:], outcomes[:before, 0]
    print(model.uniqueness(donors, treated))
    whole = np.column_stack([donors, donors[:, used[:3]].mean(axis=1)])  # a country beside its three regions
    print(f"With column {units - 1}, the mean of {used[:3]}:", end=" ")
    print(fw.SimplexRegressor().fit(whole, treated).uniqueness(whole, treated))

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.0), layout="constrained")
    left.plot(outcomes[:, 1:], color=GREY, lw=0.6, alpha=0.5)
    left.plot(outcomes[:, 0], color=ORANGE, lw=2.2, label="treated")
    left.plot(counterfactual, color=BLUE, lw=2.2, ls="--", label=f"control, of {len(used)} units")
    left.set(xlabel="period", ylabel="outcome", title=f"Certified to {model.gap_:.0e}")
    right.plot(np.transpose(placebos), color=GREY, lw=0.7, alpha=0.6)
    right.plot(effect, color=ORANGE, lw=2.2, label="treated less control")
    right.plot([], color=GREY, label="placebos")
    right.set(xlabel="period", ylabel="difference", title="The effect, and what chance makes of it")
    for axes in (left, right):
        axes.axvline(before - 0.5, color="black", lw=0.8, ls=":")
        axes.legend(frameon=False)
    save(figure, given.out)


if __name__ == "__main__":
    main()
