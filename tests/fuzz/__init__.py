"""Random problems over every set, loss, method and layout, each answer checked from scratch: ``make fuzz``.

A case is made from a seed and its number alone (`make`), run and checked (`examine`); ``python -m tests.fuzz --seed 3
--case 17`` runs one again.
"""
