"""The progress bar: tqdm, if it is asked for."""

import sys
from typing import Any


class Progress:
    """A bar over passes that shows the estimated gap; nothing at all when it is off."""

    def __init__(self, on: bool, method: str, max_passes: float, unit: str = "passes"):
        self._bar: Any = None
        if on:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                raise ImportError("progress=True needs tqdm: pip install 'frankwolfe[progress]'") from None
            total = max_passes if max_passes < float("inf") else None
            form = "{desc}: {percentage:3.0f}%|{bar}| {n:.1f}/{total:.0f} UNIT [{elapsed}<{remaining}{postfix}]"
            form = form if total else "{desc}: {n:.1f} UNIT [{elapsed}{postfix}]"
            self._bar = tqdm(total=total, desc=method, bar_format=form.replace("UNIT", unit))

    def update(self, passes: float, gap_estimate: float | None = None) -> None:
        """Move the bar."""
        if self._bar is not None:
            if gap_estimate is not None:
                self._bar.set_postfix_str(f"estimated gap {gap_estimate:.2e}", refresh=False)
            self._bar.update(passes - self._bar.n)

    @property
    def on(self) -> bool:
        """Whether there is a bar."""
        return self._bar is not None

    def tell(self, notice: str) -> None:
        """Show a notice behind the bar until the next update, and in a line of its own above the bar."""
        self._bar.set_postfix_str(notice)
        self._bar.write(f"frankwolfe: {notice}", file=sys.stderr)

    def close(self) -> None:
        """Leave the bar as it stands."""
        if self._bar is not None:
            self._bar.close()
