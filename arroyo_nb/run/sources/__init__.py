"""The sources of a run: what reads them, where they stand, and what does not fit."""
