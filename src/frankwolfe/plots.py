"""Plots of results (needs matplotlib: ``pip install 'frankwolfe[plot]'``)."""

from typing import TYPE_CHECKING, Any

import numpy as np

from frankwolfe.sets.grouping import as_labels

if TYPE_CHECKING:
    from frankwolfe.path import RadiusPath
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
    ax.legend(frameon=False, fontsize="small")
    return _tidy(ax)


def plot_path(path: "RadiusPath", ax: Any = None, most: int = 20) -> Any:
    """Draw the weights along a path, those that are largest at its end."""
    ax = _axes(ax)
    last = np.abs(path.coefs[[-1], :].toarray()[0])
    shown = np.sort(np.argsort(-last, kind="stable")[:most])
    weights = path.coefs[:, shown].toarray()
    ax.plot(path.radii, weights[:, last[shown] > 0.0], lw=1.5)
    ax.axhline(0.0, color="black", lw=0.8)
    used = int(np.count_nonzero(last))
    ax.set(
        xscale="log", xlabel="radius", ylabel="weight", title=f"{used} of {last.size} weights are not zero at the end"
    )
    return _tidy(ax)


def plot_scores(radii: np.ndarray, scores: np.ndarray, chosen: int, name: str, ax: Any = None) -> Any:
    """Draw a validation curve: mean and standard error of the folds' scores, and the radius that was chosen."""
    ax = _axes(ax)
    mean, error = scores.mean(axis=0), scores.std(axis=0, ddof=min(1, len(scores) - 1)) / np.sqrt(len(scores))
    ax.fill_between(radii, mean - error, mean + error, color=COLOURS["fun"], alpha=0.2, lw=0, label="standard error")
    ax.plot(radii, mean, color=COLOURS["fun"], lw=2, label=f"mean of {len(scores)} folds")
    ax.axvline(radii[chosen], color=COLOURS["gap"], lw=1.5, ls=":", label=f"chosen: {radii[chosen]:.4g}")
    ax.set(xscale="log", xlabel="radius", ylabel=name)
    ax.legend(frameon=False, fontsize="small")
    return _tidy(ax)


def plot_complexity(result: "Result", ax: Any = None) -> Any:
    """Draw the rank of the iterate, or its number of non-zeros, against passes."""
    ax, trace = _axes(ax), result.trace
    what = "non-zeros" if np.ndim(result.x) == 1 else "rank"
    ax.step(trace.passes, trace.complexity, where="post", color=COLOURS["fun"], lw=2)
    ax.plot(trace.passes, trace.complexity, "o", color=COLOURS["fun"], ms=4)
    ax.set(xlabel="passes over the data", ylabel=f"{what} of the iterate", title=f"{result.method}: {result.status}")
    ax.set_ylim(bottom=0.0)
    ax.yaxis.get_major_locator().set_params(integer=True)
    return _tidy(ax)


def plot_spectrum(result: "Result", ax: Any = None) -> Any:
    """Draw the singular values of the matrix that was found, those that count in colour."""
    values = result.singular_values
    ax, rank = _axes(ax), result.rank
    number = np.arange(1, len(values) + 1)
    colours = [COLOURS["fun"] if k < rank else COLOURS["gap_estimate"] for k in range(len(values))]
    ax.bar(number, values, color=colours, width=0.8)
    ax.set(xlabel="number", ylabel="singular value", title=f"rank {rank}, trace norm {values.sum():.4g}")
    ax.set_xlim(0.4, max(len(values), 1) + 0.6)
    ax.xaxis.get_major_locator().set_params(integer=True)
    return _tidy(ax)


def plot_groups(result: "Result", groups: Any, names: Any = None, ax: Any = None) -> Any:
    """Draw the Euclidean norm of each group of weights; those that are not selected are left out of the bars."""
    labels, number = as_labels("plot_groups", groups)
    squares = np.square(np.asarray(result.x, dtype=np.float64)).ravel()
    if len(labels) != len(squares):
        raise ValueError(f"plot_groups: groups has {len(labels)} coordinates, but x has {len(squares)}")
    if names is not None and len(names) != number:
        raise ValueError(f"plot_groups: {len(names)} names, but there are {number} groups")
    norms = np.sqrt(np.bincount(labels, squares, number))
    ax, selected = _axes(ax), int(np.count_nonzero(norms))
    ax.bar(np.arange(number), norms, color=COLOURS["fun"], width=0.8)
    ax.set(xlabel="group", ylabel="norm of its weights", title=f"{selected} of {number} groups selected")
    if names is None:
        ax.xaxis.get_major_locator().set_params(integer=True)
    else:
        ax.set_xticks(np.arange(number), names, rotation=45, ha="right")
    return _tidy(ax)


def _tidy(ax: Any) -> Any:
    """Draw a light grid and no box."""
    ax.grid(alpha=0.25, which="major")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
