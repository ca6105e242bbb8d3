"""Solvers make the steps of a run; the driver looks at them, certifies and stops.

`protocol` is what the driver asks of a solver, `state` how a run is kept for later. `stepwise` calls the compiled
`loop`; `corrective` holds the solvers that go in rounds. Around the `driver`: `observer` (trace, callback, progress
bar), `certificates`, `limits`, `endings`.
"""
