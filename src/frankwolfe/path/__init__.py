"""The answers along a grid of radii: which radii, the runs, and what is returned."""

from frankwolfe.path.along_radii import RadiusPath, collected, posed, radius_path
from frankwolfe.path.choice import at_the_edge, held_out_loss
from frankwolfe.path.grid import as_radii, radius_grid
from frankwolfe.path.warm_runs import follow, until_interrupted

__all__ = [
    "RadiusPath",
    "as_radii",
    "at_the_edge",
    "collected",
    "follow",
    "held_out_loss",
    "posed",
    "radius_grid",
    "radius_path",
    "until_interrupted",
]
