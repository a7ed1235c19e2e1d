"""Measurements with targets; ``python -m benchmarks.NAME [--json FILE]``."""
