"""Figures of docs/article.md (corrective rounds beside coordinate descent, certified ranges) and of docs/gap.md.

    FRANKWOLFE_DATA=folder make article                                         # all four figures of the article
    python benchmarks/article.py --race out/article/results.json --out docs     # these

The first figure draws what `l1_ball/race.py` has measured: how far each answer is from the optimum, against the seconds
that it took. The others need no data: they are computed on tables that scikit-learn has.
"""

import argparse
import json
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.preprocessing import scale

import frankwolfe as fw

mpl.use("Agg")
import matplotlib.pyplot as plt

COLOURS = {"auto": "tab:blue", "skglm": "tab:orange", "liblinear": "tab:green", "celer": "tab:red"}
NAMES = {
    "rcv1-subset[radius=100.0]": "RCV1 subset, radius 100",
    "rcv1-subset[radius=1000.0]": "RCV1 subset, radius 1000",
    "rcv1-subset[radius=5000.0]": "RCV1 subset, radius 5000",
    "w8a": "w8a, radius 50",
    "california-housing": "California Housing, radius 0.1",
}
WITHIN = (0.001, 0.003, 0.01, 0.03, 0.1)


def tidy(ax):
    """Leave out what a reader does not need."""
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)


def draw_race(path, out):
    """Draw the distance from the optimum against seconds, for each solver of a race on each of its problems."""
    facts = json.loads(path.read_text(encoding="utf-8"))
    shown = [name for name in NAMES if any(each["dataset"].startswith(name) for each in facts["results"])]
    lines = -(-(len(shown) + 1) // 3)
    figure, axes = plt.subplots(lines, 3, figsize=(10.5, 3.2 * lines), layout="constrained", sharey=True, squeeze=False)
    for ax, name in zip(axes.flat, shown, strict=False):
        for result in facts["results"]:
            solver = result["solver"].partition("[")[0]
            if not result["dataset"].startswith(name) or solver not in COLOURS or not result["rungs"]:
                continue
            rungs = sorted((rung["seconds"], max(rung["suboptimality"], 1e-12)) for rung in result["rungs"])
            seconds, error = np.array(rungs).T
            best = np.minimum.accumulate(error)
            ours = solver == "auto"
            ax.loglog(seconds, best, "o-", ms=3, lw=2.2 if ours else 1.4, color=COLOURS[solver], label=solver)
        ax.axhline(1e-6, color="black", lw=0.8, ls=":")
        ax.set(title=NAMES[name], xlabel="seconds")
        tidy(ax)
    for ax in axes[:, 0]:
        ax.set_ylabel("(F - F*) / F(0)")
    for ax in axes.flat[len(shown) :]:
        ax.axis("off")
    axes.flat[-1].legend(*axes[0, 0].get_legend_handles_labels(), frameon=False, loc="center")
    figure.savefig(out / "article_rounds.png", dpi=110)


def draw_ranges(out):
    """Draw the ranges of thirty weights, attained and proven, and how they grow with what counts as good."""
    table = load_breast_cancer()
    problem = fw.Problem(
        scale(table.data), 2 * table.target - 1, loss="logistic", constraint=fw.L1Ball(5.0), intercept=True
    )
    result = fw.minimize(problem, tol=1e-8)
    found = {within: fw.ranges(problem, result, within=within) for within in WITHIN}
    figure, (left, right) = plt.subplots(1, 2, figsize=(11.0, 5.4), layout="constrained", width_ratios=[1.7, 1.0])
    shown = found[0.01]
    order = np.argsort(result.x)
    place, certain = np.arange(order.size), np.asarray(shown.sign_certain)[order]
    for mark, colour, label in ((certain, "tab:blue", "one sign in all good models"), (~certain, "0.6", "either sign")):
        left.hlines(
            place[mark], shown.low_proven[order][mark], shown.high_proven[order][mark], colors=colour, lw=5, label=label
        )
    for ends in (shown.low_attained, shown.high_attained):
        left.plot(ends[order], place, "|", color="black", ms=9)
    left.plot([], [], "|", color="black", ms=9, label="attained by a model")
    left.plot(result.x[order], place, "o", color="tab:orange", ms=4, label="the best model")
    left.axvline(0.0, color="black", lw=0.8)
    left.set_yticks(place, table.feature_names[order], fontsize="small")
    left.set(xlabel="weight", title="Objectives of at most 1% above the best")
    left.legend(frameon=False, fontsize="small", loc=(0.04, 0.4))
    each = [found[within] for within in WITHIN]
    wide = [np.median(one.high_proven - one.low_proven) for one in each]
    signs = [np.sum(one.sign_certain) for one in each]
    right.semilogx(np.array(WITHIN) * 100.0, wide, "o-", color="tab:blue")
    right.set(xlabel="objectives of at most so many % above the best", ylabel="median width of the 30 ranges")
    other = right.twinx()
    other.semilogx(np.array(WITHIN) * 100.0, signs, "s--", color="tab:orange")
    other.set_ylabel("weights whose sign is certain", color="tab:orange")
    right.yaxis.label.set_color("tab:blue")
    for ax in (left, right):
        tidy(ax)
    figure.savefig(out / "article_ranges.png", dpi=110)
    gap = max(np.max((one.high_proven - one.high_attained) / (one.high_proven - one.low_proven)) for one in each)
    print("within:", [f"{within:.1%}" for within in WITHIN])
    print("median width:", [f"{width:.2f}" for width in wide], "signs certain:", [int(number) for number in signs])
    print(f"widest bracket of an end: {gap:.1e} of the range")


def draw_gap(out):
    """Draw the objective and the proven floor along a run on scikit-learn's table of diabetes, for docs/gap.md."""
    X, y = load_diabetes(return_X_y=True)
    problem = fw.Problem(X / X.std(axis=0), y - y.mean(), loss="squared", constraint=fw.L1Ball(60.0))
    trace = fw.minimize(problem, "stochastic-pairwise", tol=0, max_passes=30, trace=25, rng=0).trace
    value = np.minimum.accumulate(trace.fun)
    floor = np.maximum.accumulate(trace.fun - trace.gap)
    shown = trace.passes >= 1.0
    figure, ax = plt.subplots(figsize=(7.0, 3.6), layout="constrained")
    ax.fill_between(trace.passes[shown], floor[shown], value[shown], color="tab:blue", alpha=0.15, label="the gap")
    ax.plot(trace.passes[shown], value[shown], color="tab:blue", lw=2, label="objective of the best model so far")
    ax.plot(trace.passes[shown], floor[shown], color="tab:orange", lw=2, label="no model can be below this line")
    ax.set(xscale="log", xlabel="passes over the data", ylabel="objective")
    ax.legend(frameon=False)
    tidy(ax)
    figure.savefig(out / "gap.png", dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--race", type=Path, help="results.json of a race")
    parser.add_argument("--out", type=Path, default=Path("docs"), help="the folder for the pictures (docs)")
    args = parser.parse_args()
    draw_gap(args.out)
    draw_ranges(args.out)
    if args.race:
        draw_race(args.race, args.out)


if __name__ == "__main__":
    main()
