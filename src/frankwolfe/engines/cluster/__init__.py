"""Engines for data on a cluster: those of one machine, with what reads rows or vectors of samples done by the workers."""
