"""Engines make the steps of a run; the driver traces, certifies and stops them."""
