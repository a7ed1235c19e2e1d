"""Looking into topics without a run: which there are, and what their records hold."""
