"""A run as a whole: the driver that advances a solver, certificates, the trace, checkpoints, likely stops."""
