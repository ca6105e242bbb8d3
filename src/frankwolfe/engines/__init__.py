"""Engines make the steps of a run; the driver looks at them, certifies and stops.

`protocol` is what the driver asks of an engine, `state` how a run is kept for later. `stepwise` calls the compiled
`loop`; `corrective` holds the engines that go in rounds. Around the `driver`: `observer` (trace, callback, progress
bar), `certificates`, `limits`, `endings`.
"""
