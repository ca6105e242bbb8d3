"""What the examples share: their arguments, and how a picture is saved."""

import argparse
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
mpl.rcParams |= {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "axes.axisbelow": True,
}

BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#9aa5b1"


def arguments(about, picture):
    """Return where the picture goes, and whether the example is to be small and quick."""
    parser = argparse.ArgumentParser(description=about.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path(picture), help="where the picture goes (default: %(default)s)")
    parser.add_argument("--small", action="store_true", help="fewer rows: done in a moment")
    return parser.parse_args()


def save(figure, out):
    """Save a picture and say where it is."""
    figure.savefig(out, dpi=100)
    print(f"Picture: {out}")
