"""The fully corrective methods: engines whose steps are rounds.

`engine` works on active atoms: `active_atoms` keeps them, `columns` holds their predictions, `models` minimises
quadratic models over them with the compiled loops of `pairwise_descent` and `cyclic_descent`. `low_rank` works on
trace-norm balls, with the model of `trace_model`. `interior` minimises models over the whole set, with `barrier_model`
and `hessian`. What the engines share is in `rounds`; `choose` says which of them a problem gets.
"""
