"""Experiments with the library: what reproduces them and how their results are shown."""
