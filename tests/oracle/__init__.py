"""Apache DataFusion as the oracle of expressions: Arroyo evaluates all of them with it.

``scripts/oracle.py`` compares one expression, or the random ones of a seed.
"""
