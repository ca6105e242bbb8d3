"""Figure 1 of the paper as a picture: relative suboptimality against gradient evaluations, three log-log panels."""

from collections.abc import Sequence
from pathlib import Path

from frankwolfe.paper.convergence import Race
from frankwolfe.paper.style import COLOURS


def figure_one(races: Sequence[Race], paths: Sequence[Path]) -> None:
    """Draw one panel a problem, with a band from the lowest to the highest seed, and save it under each path."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.4 * len(races), 3.9), layout="constrained")
    axes = figure.subplots(1, len(races), squeeze=False)[0]
    for ax, race in zip(axes, races, strict=True):
        for name, curve in race.curves.items():
            seen = curve.passes > 0
            evaluations = curve.passes[seen] * race.problem.n
            relative = race.relative(curve)[:, seen]
            colour = COLOURS[name]
            ax.plot(evaluations, relative.mean(axis=0), color=colour, lw=1.8, label=name)
            ax.fill_between(evaluations, relative.min(axis=0), relative.max(axis=0), color=colour, alpha=0.18, lw=0)
        ax.set(xscale="log", yscale="log", xlabel="gradient evaluations", title=race.table.label)
        ax.grid(alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("relative suboptimality")
    axes[0].legend(frameon=False, fontsize="small", loc="lower left")
    for path in paths:
        figure.savefig(path, dpi=160)
