"""Colours of the methods: the same in every figure, told apart without red and green (Okabe and Ito's palette)."""

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
