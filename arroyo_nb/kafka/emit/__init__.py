"""Sending rows to topics from Python."""
