"""Plots of results (needs matplotlib: ``pip install 'frankwolfe[plot]'``)."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from frankwolfe.result import Result

COLOURS = {"gap": "#c2410c", "gap_estimate": "#94a3b8", "fun": "#1d4ed8"}


def _axes(ax: Any) -> Any:
    """Return the axes to draw on: the given ones, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'frankwolfe[plot]'") from None
    return plt.subplots(figsize=(6.4, 4.2), layout="constrained")[1]


def plot_result(result: "Result", ax: Any = None) -> Any:
    """Draw a run: how far the objective is above the best certified bound, and both gaps, against passes.

    The bound is ``max_t (F(w_t) - gap_t)``, the best lower bound on ``F*`` that the run itself proves. It is only
    drawn where it is one, for convex losses; there the curve is an honest ceiling on the true suboptimality.
    """
    ax = _axes(ax)
    trace = result.trace
    seen = trace.passes > 0
    passes = trace.passes[seen]
    ax.plot(passes, trace.gap_estimate[seen], color=COLOURS["gap_estimate"], lw=1.5, label="estimated gap")
    ax.plot(passes, trace.gap[seen], color=COLOURS["gap"], lw=2, label="exact gap")
    if result.convex:
        above = trace.fun[seen] - np.max(trace.fun - trace.gap)
        ax.plot(passes, above, color=COLOURS["fun"], lw=2, label="objective above the certified bound")
    if result.tolerance > 0:
        ax.axhline(result.tolerance, color="black", lw=0.8, ls=":", label="tolerance")
    ax.set(xscale="log", yscale="log", xlabel="passes over the data", title=f"{result.method}: {result.status}")
    ax.grid(alpha=0.25, which="major")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small")
    return ax
