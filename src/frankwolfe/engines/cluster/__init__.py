"""Engines for data on a cluster: those of one machine, with all that reads rows or samples done by the workers."""
