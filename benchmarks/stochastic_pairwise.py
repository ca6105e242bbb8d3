"""Stochastic pairwise steps at a constant batch size: how fast, at which batch size, and what the damping rule adds.

    FRANKWOLFE_DATA=folder python benchmarks/stochastic_pairwise.py --figure docs/stochastic_pairwise.png

Draws F - F* against passes on three problems, for batch sizes from one row to a tenth of them, beside plain stochastic
Frank-Wolfe; and, on the smallest problem, against steps for every batch size up to all rows. Prints the same as tables,
with the damping constant held fixed beside the adaptive rule.
"""

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np
from tables import read

import frankwolfe as fw

mpl.use("Agg")
import matplotlib.pyplot as plt

PROBLEMS = [
    ("Breast Cancer", "breast_cancer", 5.0, 0.139038718212),
    ("RCV1 subset", "rcv1_subset", 100.0, 0.464834751230),
    ("w8a", "w8a", 50.0, 0.177250043301),
]
"""Title, file, l1 radius and optimal objective (certified to 1e-12)."""

CHECKPOINTS = (20.0, 60.0, 200.0)
FLOOR = 1e-14


def load(file, radius):
    return fw.Problem(*read(file), "logistic", fw.L1Ball(radius))


def curve(problem, optimum, method, batch_size, passes):
    result = fw.minimize(problem, method, batch_size=batch_size, tol=0, max_passes=passes, random_state=0, trace=25)
    error = np.maximum((result.trace.fun - optimum) / problem.zero_value, FLOOR)
    return result.trace.passes, result.trace.nit, error


def at(passes, error, wanted):
    return error[np.searchsorted(passes, wanted * (1 - 1e-9)).clip(max=len(error) - 1)]


def figure(problems, path):
    picture, grid = plt.subplots(2, 2, figsize=(9.5, 7.2), layout="constrained")
    axes = list(grid.flat)
    colours = plt.cm.viridis(np.linspace(0.0, 0.85, 4))
    for ax, (title, problem, optimum) in zip(axes, problems, strict=False):
        passes, _, error = curve(problem, optimum, "sfw", 1, 60.0)
        ax.semilogy(passes, error, color="#999999", lw=2, label="sfw, b = 1")
        ax.semilogy([], [], " ", label="stochastic-pairwise:")  # a heading in the legend
        for colour, batch in zip(colours, (1, 10, 0.01, 0.1), strict=True):
            passes, _, error = curve(problem, optimum, "stochastic-pairwise", batch, 60.0)
            name = f"b = {batch}" if batch >= 1 else f"b = {batch:.0%}"
            ax.semilogy(passes, error, color=colour, lw=2, label=name)
        ax.set(title=title, xlabel="passes over the data")
    for ax in grid[:, 0]:
        ax.set_ylabel("(F - F*) / F(0)")
    title, problem, optimum = problems[0]
    for colour, batch in zip(plt.cm.viridis(np.linspace(0.0, 0.85, 4)), (1, 10, 68, problem.n), strict=True):
        steps = 20_000 if batch == 1 else 4_000 if batch == 10 else 2_500
        _, nit, error = curve(problem, optimum, "stochastic-pairwise", batch, steps * batch / problem.n)
        axes[-1].semilogy(nit / steps, error, color=colour, lw=2, label=f"b = {batch}: {steps:,} steps")
    axes[-1].set(title=f"{title}: linear in the steps", xlabel="part of the steps")
    for ax in axes:
        ax.grid(alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
    for ax in (axes[0], axes[-1]):  # the three problems share theirs
        ax.legend(frameon=False, fontsize="small")
    picture.savefig(path, dpi=110)
    print(f"figure: {path}")


def tables(problems):
    adaptive = fw.methods.DampedStep()
    fixed = {
        c: fw.methods.DampedStep(start=c, window=1e9) for c in (0.5, 2.0, 8.0)
    }  # a window that never ends: never judged
    rules = {"adaptive": adaptive, **{f"c = {c:g}": rule for c, rule in fixed.items()}}
    print(f"(F - F*) / F(0) after {', '.join(f'{c:g}' for c in CHECKPOINTS)} passes\n")
    for title, problem, optimum in problems:
        for batch in (1, 10, 0.01):
            for name, rule in rules.items():
                method = fw.methods.METHODS["stochastic-pairwise"]._replace(step=rule)
                passes, _, error = curve(problem, optimum, method, batch, max(CHECKPOINTS))
                cells = "  ".join(f"{at(passes, error, wanted):8.0e}" for wanted in CHECKPOINTS)
                print(f"{title:14} b = {batch!s:5} {name:10} {cells}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--figure", type=Path, help="where to save the figure")
    parser.add_argument("--tables", action="store_true", help="compare the damping rules")
    args = parser.parse_args()
    problems = [(title, load(file, radius), optimum) for title, file, radius, optimum in PROBLEMS]
    if args.figure:
        figure(problems, args.figure)
    if args.tables:
        tables(problems)


if __name__ == "__main__":
    main()
