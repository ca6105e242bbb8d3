"""Policy: placebos for hundreds of donors
=======================================

How large an effect does chance make? A placebo for each donor, in one call.

One unit of a panel is treated from some date on; a weighted average of the others says what would have happened
otherwise. To judge the difference, each donor in turn is taken for the treated unit and explained by all others:
``exclude=`` keeps it, and the treated unit, out of its own average. Every fit is proven to be the best. The rank of the
treated unit's ratio of errors after and before the date, among those of the placebos, is a p-value.
"""

import matplotlib.pyplot as plt
import numpy as np
from gallery import BLUE, GREY, ORANGE, arguments, save

import frankwolfe as fw

EFFECT = -2.0


def panel(units, before, after, seed=0):
    """Return outcomes of shape (periods, units): common trends and noise, unit 0 treated."""
    rng = np.random.default_rng(seed)
    trends = rng.normal(size=(before + after, 4)).cumsum(axis=0)
    outcomes = 20.0 + 3.0 * trends @ rng.dirichlet(np.ones(4), size=units).T
    outcomes += 0.4 * rng.normal(size=outcomes.shape)
    outcomes[before:, 0] += EFFECT
    return outcomes


def main():
    given = arguments(__doc__, "placebos.png")
    units, before, after = (30, 20, 8) if given.small else (600, 44, 16)
    outcomes = panel(units, before, after)
    exclude = [[0, j] for j in range(units)]  # no unit explains itself, and the treated one explains nobody
    model = fw.SimplexRegressor().fit(outcomes[:before], outcomes[:before], exclude=exclude)
    certified = sum(run.success for run in model.result_)
    print(f"{certified} of {units} fits are certified, the largest gap is {model.gap_:.1e}")

    print(f"treated unit: {model.uniqueness(outcomes[:before], outcomes[:before], target=0)}")

    errors = outcomes - model.predict(outcomes)
    size_before, size_after = (np.sqrt(np.mean(part**2, axis=0)) for part in (errors[:before], errors[before:]))
    ratio = size_after / size_before
    p_value = np.mean(ratio >= ratio[0])
    print(f"estimated effect {errors[before:, 0].mean():.2f}, true effect {EFFECT:.2f}, p-value {p_value:.3f}")

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.0), layout="constrained")
    left.plot(errors[:, 1:], color=GREY, lw=0.5, alpha=0.25)
    left.plot(errors[:, 0], color=ORANGE, lw=2.2, label="treated unit")
    left.plot([], color=GREY, label=f"{units - 1} placebos")
    left.axvline(before - 0.5, color="black", lw=0.8, ls=":")
    left.set(xlabel="period", ylabel="outcome less its control", title=f"{certified} fits, each certified")
    left.legend(frameon=False, loc="lower left")
    right.hist(ratio[1:], bins=30, color=BLUE, label="placebos")
    right.axvline(ratio[0], color=ORANGE, lw=2.2, label=f"treated unit: p = {p_value:.3f}")
    right.set(xlabel="error after the date / error before it", ylabel="units", title="What chance makes of it")
    right.legend(frameon=False)
    save(figure, given.out)


if __name__ == "__main__":
    main()
