"""Trackers: what keeps the leading entry, or group, of the gradient estimate at hand while rows are added to it."""
