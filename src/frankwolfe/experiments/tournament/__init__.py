"""A tournament: every method on every problem, with several seeds, to one page."""

from frankwolfe.experiments.tournament.organise import tournament
from frankwolfe.experiments.tournament.outcome import Tournament

__all__ = ["Tournament", "tournament"]
