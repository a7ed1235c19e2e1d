"""Functions in Python: their definitions, and how workers call them."""
