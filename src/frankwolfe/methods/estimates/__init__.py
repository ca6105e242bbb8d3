"""Gradient estimates: how ``r`` follows the gradient ``X' alpha`` as the iterate moves.

The classes that a user names hold settings and say what the estimate can do (`frankwolfe.methods.base`). Their
``for_run`` makes the state of a run: arrays, and the methods that the loop compiles. A state reads its batch in
`refresh`, before the vertex is chosen, or in `follow`, after that and before the iterate moves. What it remembers of
the data is ``alpha``, one weighted derivative a sample, wherever it has one, so that a later run can take it over.

To add one: a class and its state in a file here, a line in `frankwolfe.methods.registry.METHODS`, a textbook version in
``tests/reference/textbook.py``.
"""
