"""Self-concordant barriers of the sets: what lets the corrective method use a set's curvature.

A set that has one returns it from its method ``barrier``; see `frankwolfe.sets.barriers.barrier`.
"""

from frankwolfe.sets.barriers.barrier import Barrier, Expansion

__all__ = ["Barrier", "Expansion"]
