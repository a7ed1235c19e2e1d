"""The ``arroyo-nb`` command."""

from arroyo_nb.cli.command import main

__all__ = ["main"]
