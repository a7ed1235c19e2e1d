"""EXPLAIN: nodes as text, the whole page, and hints for the author of a script."""
