"""How methods are drawn on the page: colours, and which of them show at first."""

from typing import Any

from frankwolfe.experiments.report import Series
from frankwolfe.experiments.style import method_styles
from frankwolfe.experiments.tournament.outcome import Tournament
from frankwolfe.experiments.tournament.ranking import Standing

ALWAYS_SHOWN = ("sfw", "mokhtari", "lu-freund", "fw")


class Style:
    """How methods are drawn: colours, and which of them show at first."""

    def __init__(self, found: Tournament):
        self._styles = method_styles(found.methods)
        leaders = [
            standing.method
            for by, number in (("passes", 4), ("seconds", 3))
            for standing in [each for each in standings(found, by) if each.contends][:number]
        ]
        self._shown = {*leaders, *ALWAYS_SHOWN, *found.references}
        self._references = found.references
        if len(found.methods) <= 8:
            self._shown = set(found.methods)

    def series(self, name: str, values: dict, **options: Any) -> Series:
        """Return a curve of a method."""
        colour, dashed = self._styles[name]
        if name in self._references:
            colour, dashed = "#111111", True
        return Series(name, values, colour, dashed=dashed, shown=name in self._shown, **options)


def standings(found: Tournament, by: str) -> list[Standing]:
    """Return the ranking at the middle accuracy; empty where no convex problem was played."""
    return found.ranking(by=by) if found.names() else []
