"""A result in a notebook, and the progress bar of a run."""

import sys
from contextlib import ExitStack
from html import escape
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from frankwolfe.compile.kernels import notices_to
from frankwolfe.summary import verdict

if TYPE_CHECKING:
    from frankwolfe.result import Result


# --- A result in a notebook: the certificate in words, numbers, and a curve of the gap.

WIDTH, HEIGHT, MARGIN = 260.0, 56.0, 5.0
"""Size of the small picture, and the margin around its curve, in pixels."""

STYLE = """
#{id} {{ --ink: #1c1e21; --muted: #5d636b; --rule: #d9dce0; --sure: #1a7f4b; --open: #a15c00; --curve: #1d4f91;
  display: inline-block; max-width: 52em; padding: 0.7em 1em; border: 1px solid var(--rule); border-radius: 6px;
  font: 14px/1.5 system-ui, sans-serif; color: var(--ink); background: #fff; }}
@media (prefers-color-scheme: dark) {{ #{id} {{ {dark} }} }}
[data-jp-theme-light="false"] #{id}, .vscode-dark #{id}, [data-theme="dark"] #{id} {{ {dark} }}
#{id} p {{ margin: 0 0 0.5em; }}
#{id} .word {{ font-weight: 650; color: var(--open); }}
#{id} .word.sure {{ color: var(--sure); }}
#{id} .advice {{ border-left: 3px solid var(--open); padding-left: 0.7em; }}
#{id} .side {{ display: flex; flex-wrap: wrap; gap: 0.6em 2em; align-items: flex-start; }}
#{id} dl {{ display: grid; grid-template-columns: auto auto; gap: 0 1em; margin: 0; }}
#{id} dt {{ color: var(--muted); }}
#{id} dd {{ margin: 0; font-variant-numeric: tabular-nums; }}
#{id} figure {{ margin: 0; width: 260px; }}
#{id} figcaption {{ color: var(--muted); font-size: 12px; line-height: 1.3; }}
#{id} polyline {{ fill: none; stroke: var(--curve); stroke-width: 1.8; stroke-linejoin: round; }}
#{id} circle {{ fill: var(--curve); }}
#{id} line {{ stroke: var(--muted); stroke-dasharray: 3 3; }}
"""
DARK = (
    "--ink: #e4e6e9; --muted: #9aa1aa; --rule: #393e45; --sure: #5fd39a; --open: #f0b35a; --curve: #8fbcf5; "
    "background: #15171a;"
)


def html_of(result: "Result") -> str:
    """Return a result as HTML without scripts or other files, for light and dark backgrounds.

    Parameters
    ----------
    result : Result
        The result of a run.

    Returns
    -------
    str
    """
    identity = f"fw-{uuid4().hex[:12]}"  # unique: a page may show many, each with its own styles
    word, words = verdict(result)
    numbers = [
        *result.numbers_in_words(),
        *([] if result.violation is None else [("violation", result.violation_in_words())]),
        ("x", result.size_in_words()),
        ("method", f"{result.method}, batches of {result.batch_size:,}"),
        ("effort", f"{result.passes:.4g} passes, {result.nit:,} steps, {result.seconds:.3g} s"),
    ]
    advice = "".join(f'<p class="advice">{escape(sentence)}</p>' for sentence in result.advice)
    items = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in numbers)
    return (
        f'<div id="{identity}"><style>{STYLE.format(id=identity, dark=DARK)}</style>'
        f'<p><span class="word{" sure" if result.success else ""}">{word}.</span> {escape(words)}</p>{advice}'
        f'<div class="side"><dl>{items}</dl>{_picture(result)}</div></div>'
    )


def _picture(result: "Result") -> str:
    """Return a small drawing of the gap on a logarithmic scale; an empty text if there is no curve.

    The curve is the estimated gap: the exact one would cost a pass over the data for each point. The dot at its end
    is exact.
    """
    estimates = result.trace.gap_estimate
    gaps = np.append(estimates[np.isfinite(estimates) & (estimates > 0.0)], result.gap)
    if len(gaps) < 3 or not 0.0 < result.gap < np.inf:
        return ""
    levels = np.log10(gaps)
    goal = np.log10(result.tolerance) if result.tolerance > 0.0 else levels[-1]
    low, high = min(levels.min(), goal), max(levels.max(), goal)
    x = _spread(np.arange(len(levels)), 0.0, len(levels) - 1.0, WIDTH)
    y = HEIGHT - _spread(levels, low, high, HEIGHT)
    points = " ".join(f"{across:.1f},{down:.1f}" for across, down in zip(x, y, strict=True))
    line = ""
    if result.tolerance > 0.0:
        at = HEIGHT - float(_spread(goal, low, high, HEIGHT))
        line = f'<line x1="0" x2="{WIDTH:.0f}" y1="{at:.1f}" y2="{at:.1f}"/>'
    caption = f"estimated gap, from {gaps[0]:.2g}; the dot is the exact gap" + ("; dashed: tolerance" if line else "")
    return (
        f'<figure><svg width="{WIDTH:.0f}" height="{HEIGHT:.0f}" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" role="img" '
        f'aria-label="{caption}">{line}<polyline points="{points}"/>'
        f'<circle cx="{x[-1]:.1f}" cy="{y[-1]:.1f}" r="3"/></svg><figcaption>{caption}</figcaption></figure>'
    )


def _spread(values: Any, low: float, high: float, length: float) -> Any:
    """Return values between ``low`` and ``high`` on a scale of pixels, with a margin at both ends."""
    share = (values - low) / (high - low) if high > low else 0.5 + 0.0 * values
    return MARGIN + share * (length - 2.0 * MARGIN)


# --- The progress bar, by tqdm.


class Progress:
    """A progress bar, which also shows notices about compilation; it does nothing if it is off.

    Parameters
    ----------
    on : bool
        Whether there is a bar.
    title : str
        Text before the bar.
    total : float
        Amount at the end of the bar; infinite if that is not known.
    unit : str
        Unit of amounts.
    """

    def __init__(self, on: bool, title: str, total: float, unit: str = "passes"):
        self._bar: Any = None
        if on:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                raise ImportError("progress=True needs tqdm: pip install 'frankwolfe[progress]'") from None
            form = "{desc}: {percentage:3.0f}%|{bar}| {n:.4g}/{total:.0f} UNIT [{elapsed}<{remaining}{postfix}]"
            form = form if total < np.inf else "{desc}: {n:.4g} UNIT [{elapsed}{postfix}]"
            form = form.replace("UNIT", unit)
            self._bar = tqdm(total=total if total < np.inf else None, desc=title, bar_format=form)

    def update(self, done: float, words: str = "") -> None:
        """Move the bar to an amount, with a text behind it."""
        if self._bar is not None:
            if words:
                self._bar.set_postfix_str(words, refresh=False)
            self._bar.update(done - self._bar.n)

    def show_notice(self, notice: str) -> None:
        """Show a notice behind the bar until the next update, and in a line of its own above the bar."""
        self._bar.set_postfix_str(notice)
        self._bar.write(f"frankwolfe: {notice}", file=sys.stderr)

    def __enter__(self) -> "Progress":
        self._notices = ExitStack()
        if self._bar is not None:
            self._notices.enter_context(notices_to(self.show_notice))
        return self

    def __exit__(self, *error: object) -> None:
        self._notices.close()
        if self._bar is not None:
            self._bar.close()
