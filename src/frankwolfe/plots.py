"""Plots of results (needs matplotlib: ``pip install 'frankwolfe[plot]'``)."""

from typing import TYPE_CHECKING, Any

import numpy as np

from frankwolfe.sets.groups import as_labels

if TYPE_CHECKING:
    from frankwolfe.certificates.ranges import Ranges
    from frankwolfe.path import RadiusPath
    from frankwolfe.result import Result

COLOURS = {"gap": "#c2410c", "gap_estimate": "#94a3b8", "fun": "#1d4ed8"}

PALETTE = ["#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#bcbd22", "#17becf", "#111827"]
"""Distinct colours for the weights along a path."""

MOST_GREY = 200
"""Most weights that are drawn without a name."""


def _axes(ax: Any) -> Any:
    """Return the axes to draw on: the given ones, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'frankwolfe[plot]'") from None
    return plt.subplots(figsize=(6.4, 4.2), layout="constrained")[1]


def _title(result: "Result") -> str:
    """Return the method and the status of its run."""
    return f"{result.method} ({result.status})"


def curve(ax: Any, x: np.ndarray, y: np.ndarray, **style: Any) -> None:
    """Draw the positive, finite points of a curve for a logarithmic axis; a single point as a dot."""
    seen = np.isfinite(y) & (y > 0.0)
    if seen.any():
        ax.plot(x[seen], y[seen], marker="o" if seen.sum() == 1 else None, ms=5, **style)


def plot_result(result: "Result", ax: Any = None) -> Any:
    """Draw the objective above the best certified bound, and both gaps, against passes.

    The bound is the best lower bound on ``F*`` that the run has proven, for convex losses only, so the curve is an
    upper bound on the suboptimality. A curve that equals another is omitted: the estimated gap of a method that reads
    all rows is the exact gap.
    """
    ax = _axes(ax)
    trace = result.trace
    passes = trace.passes
    # A logarithmic axis cannot show zero; runs of few passes have a linear one.
    few = passes[-1] < 20.0 * passes[passes > 0].min(initial=np.inf)
    seen = np.full(len(passes), True) if few else passes > 0
    if not np.allclose(trace.gap_estimate, trace.fw_gap, rtol=1e-6, atol=0.0):
        curve(ax, passes[seen], trace.gap_estimate[seen], color=COLOURS["gap_estimate"], lw=1.5, label="estimated gap")
    curve(ax, passes[seen], trace.fw_gap[seen], color=COLOURS["gap"], lw=2, label="exact gap")
    above = trace.fun - np.nanmax(trace.fun - trace.gap)
    if result.convex and not np.allclose(above, trace.fw_gap, rtol=1e-6, atol=0.0):
        curve(ax, passes[seen], above[seen], color=COLOURS["fun"], lw=2, label="objective above the certified bound")
    if result.tolerance > 0:
        ax.axhline(result.tolerance, color="black", lw=0.8, ls=":", label="tolerance")
    ax.set(xscale="linear" if few else "log", yscale="log", xlabel="passes over the data", title=_title(result))
    ax.set_ylabel(f"gap{' and error' * bool(result.convex)}, in units of the objective")
    ax.legend(frameon=False, fontsize="small")
    return tidy(ax)


def weight_names(shape: tuple[int, ...], names: Any = None) -> list[str]:
    """Return names of the flat weights: the column (``x0``, ``x1``, ... without names) and the number of the output.

    Examples
    --------
    >>> weight_names((2,), ["age", "weight"]), weight_names((1, 2))
    (['age', 'weight'], ['x0, output 0', 'x0, output 1'])
    """
    columns = [f"x{j}" for j in range(shape[0])] if names is None else [str(name) for name in names]
    if len(columns) != shape[0]:
        raise ValueError(f"names has {len(columns)} entries, but there are {shape[0]} columns")
    if len(shape) == 1:
        return columns
    return [f"{name}, output {c}" for name in columns for c in range(shape[1])]


def plot_path(path: "RadiusPath", ax: Any = None, most: int = 10, names: Any = None) -> Any:
    """Draw the weights along a path: those largest on average in colour and with names, the others in grey."""
    ax = _axes(ax)
    called = weight_names(path.shape, path.names if names is None else names)
    last = path.coefs[[-1], :].toarray()[0]
    sizes = np.ravel(abs(path.coefs).multiply(1.0 / path.radii[:, None]).mean(axis=0))
    used = np.flatnonzero(sizes)
    named = used[np.argsort(-sizes[used], kind="stable")[:most]]
    others = np.setdiff1d(used, named)[:MOST_GREY]
    dot = "o" if len(path) == 1 else None
    for k, line in enumerate(path.coefs[:, others].toarray().T):
        label = f"{used.size - named.size} others" if k == 0 else None
        ax.plot(path.radii, line, color=COLOURS["gap_estimate"], lw=0.8, marker=dot, label=label)
    weights = path.coefs[:, named].toarray()
    palette = PALETTE * (1 + len(named) // len(PALETTE))
    for k in np.argsort(-last[named], kind="stable"):  # the legend is in the order of the last points
        ax.plot(path.radii, weights[:, k], color=palette[k], lw=1.8, marker=dot, label=called[named[k]])
    ax.axhline(0.0, color="black", lw=0.8)
    title = f"{np.count_nonzero(last)} of {last.size} weights are not zero at the end"
    ax.set(xscale="log", xlabel="radius", ylabel="weight", title=title)
    if used.size:
        ax.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return tidy(ax)


def plot_scores(radii: np.ndarray, scores: np.ndarray, chosen: int, name: str, ax: Any = None) -> Any:
    """Draw a validation curve: mean and standard error of the scores over folds, and the chosen radius."""
    ax = _axes(ax)
    mean, error = scores.mean(axis=0), scores.std(axis=0, ddof=min(1, len(scores) - 1)) / np.sqrt(len(scores))
    ax.fill_between(radii, mean - error, mean + error, color=COLOURS["fun"], alpha=0.2, lw=0, label="standard error")
    ax.plot(radii, mean, color=COLOURS["fun"], lw=2, label=f"mean of {len(scores)} folds")
    ax.axvline(radii[chosen], color=COLOURS["gap"], lw=1.5, ls=":", label=f"chosen: {radii[chosen]:.4g}")
    ax.set(xscale="log", xlabel="radius", ylabel=name)
    ax.legend(frameon=False, fontsize="small")
    return tidy(ax)


def plot_complexity(result: "Result", ax: Any = None) -> Any:
    """Draw the rank of the iterate, or its number of non-zeros, against passes."""
    ax, trace = _axes(ax), result.trace
    what = "non-zeros" if np.ndim(result.x) == 1 else "rank"
    known = np.isfinite(trace.complexity)
    ax.step(trace.passes[known], trace.complexity[known], where="post", color=COLOURS["fun"], lw=2)
    ax.plot(trace.passes[known], trace.complexity[known], "o", color=COLOURS["fun"], ms=4)
    ax.set(xlabel="passes over the data", ylabel=f"{what} of the iterate", title=_title(result))
    ax.set_ylim(bottom=0.0)
    ax.yaxis.get_major_locator().set_params(integer=True)
    return tidy(ax)


def plot_spectrum(result: "Result", ax: Any = None) -> Any:
    """Draw the singular values of the solution, those that count for its rank in colour."""
    values, rank = result.singular_values, result.rank
    colours = [COLOURS["fun"] if k < rank else COLOURS["gap_estimate"] for k in range(len(values))]
    ax = _bars(_axes(ax), np.arange(1, len(values) + 1), values, colours)
    ax.set(xlabel="number", ylabel="singular value", title=f"rank {rank}, trace norm {values.sum():.4g}")
    ax.set_xlim(0.4, max(len(values), 1) + 0.6)
    return ax


def plot_groups(result: "Result", groups: Any, names: Any = None, ax: Any = None) -> Any:
    """Draw the Euclidean norm of each group of weights."""
    labels, number = as_labels("plot_groups", groups)
    squares = np.square(np.asarray(result.x, dtype=np.float64)).ravel()
    if len(labels) != len(squares):
        raise ValueError(f"plot_groups: groups has {len(labels)} coordinates, but x has {len(squares)}")
    if names is not None and len(names) != number:
        raise ValueError(f"plot_groups: {len(names)} names, but there are {number} groups")
    norms = np.sqrt(np.bincount(labels, squares, number))
    ax, selected = _bars(_axes(ax), np.arange(number), norms, COLOURS["fun"]), int(np.count_nonzero(norms))
    ax.set(xlabel="group", ylabel="norm of its weights", title=f"{selected} of {number} groups selected")
    if names is not None:
        ax.set_xticks(np.arange(number), names, rotation=45, ha="right")
    return ax


def _bars(ax: Any, places: np.ndarray, heights: np.ndarray, colours: Any) -> Any:
    """Draw bars at whole numbers."""
    ax.bar(places, heights, color=colours, width=0.8)
    ax.xaxis.get_major_locator().set_params(integer=True)
    return tidy(ax)


def tidy(ax: Any) -> Any:
    """Draw a light grid and no box."""
    ax.grid(alpha=0.25, which="major")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def plot_ranges(found: "Ranges", ax: Any = None) -> Any:
    """Draw the range of each functional over all good models: a thick line where it is attained, a dot for the answer.

    A thin line reaches to the proven ends. Ranges that leave the sign open are grey.

    Parameters
    ----------
    found : Ranges
        The ranges.
    ax : matplotlib Axes, optional
        Axes to draw on; by default those of a new figure, as tall as the names need.

    Returns
    -------
    matplotlib Axes
    """
    own, ax = ax is None, _axes(ax)
    if own:
        ax.figure.set_figheight(1.2 + 0.28 * len(found.names))
    places = np.arange(len(found.names))[::-1]
    colours = np.where(found.always_used, COLOURS["fun"], COLOURS["gap_estimate"])
    ax.axvline(0.0, color="#111827", lw=0.8)
    ax.hlines(places, found.low_proven, found.high_proven, colors=colours, lw=1.0)
    ax.hlines(places, found.low_attained, found.high_attained, colors=colours, lw=4.0)
    ax.scatter(found.estimate, places, s=22, color="#111827", zorder=3)
    ax.set_yticks(places, found.names)
    ax.set(xlabel=f"in all models with an objective of at most {found.limit:.4g}", ylim=(-0.6, len(places) - 0.4))
    return ax
