"""The errors of the engine: no Java, a JVM that does not start, a closed engine."""

from __future__ import annotations

from arroyo_nb.errors import RunProblem


class EngineProblem(RunProblem):
    """The engine cannot start, or has ended; the kernel itself is unharmed."""


class SlowStart(EngineProblem):
    """A process that has stopped working, or takes too long, before it is up."""
