"""Solvers: they make the steps of a run. The driver in `frankwolfe.running` certifies their iterates and stops them.

`protocol` is the interface between driver and solver; `state` saves a solver and restores it. `stepwise` runs methods
that are composed of an estimate, a direction and a step rule, by the compiled `loop`. `corrective` holds the fully
corrective solvers, whose steps are rounds.
"""
