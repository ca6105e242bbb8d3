"""The fully corrective methods: engines whose steps are rounds.

`engine` works on active atoms: `combinations` keeps them, `columns` holds their predictions, `models` minimises
quadratic models over them with the compiled loops of `exchange` and `cycle`. `lowrank` works on trace-norm balls, with
the model of `trace_model`. What the two engines share is in `rounds`.
"""
