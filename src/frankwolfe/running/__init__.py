"""The driver of a run, with its certificates, trace, checkpoints, limits and likely stops."""
