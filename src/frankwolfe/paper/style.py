"""Colours of the methods: the same in every figure, told apart without red and green (Okabe and Ito's palette)."""

from collections.abc import Sequence

COLOURS = {
    "sfw": "#0072b2",
    "mokhtari": "#e69f00",
    "lu-freund": "#009e73",
    "momentum": "#cc79a7",
    "fw": "#7f7f7f",
    "exact gap": "#d55e00",
    "proven by the table": "#009e73",
    "estimated gap": "#56b4e9",
    "error bar": "#9aa5b1",
    "suboptimality": "#0072b2",
    "measured": "#0072b2",
    "bound": "#d55e00",
}

PALETTE = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#7f3c8d",
    "#8c6d31",
    "#b22222",
    "#5b6c00",
    "#1f7a8c",
    "#a0527a",
)
"""Where more methods are drawn than have colours of their own: these in turn, then the same dashed."""


def method_styles(names: Sequence[str]) -> dict[str, tuple[str, bool]]:
    """Return a colour for each method and whether its line is dashed: no two are alike among the first two dozen.

    Examples
    --------
    >>> method_styles(["sfw", "fw", "mine"])["sfw"]
    ('#0072b2', False)
    """
    styles = {name: (COLOURS[name], False) for name in names if name in COLOURS}
    taken = set(styles.values())
    free = [style for dashed in (False, True) for colour in PALETTE if (style := (colour, dashed)) not in taken]
    others = [name for name in names if name not in styles]
    return styles | {name: free[k % len(free)] for k, name in enumerate(others)}
