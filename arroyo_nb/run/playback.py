"""Pause, step and speed of a run: what its sources release and its queries begin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arroyo_nb.errors import RunProblem

if TYPE_CHECKING:
    from arroyo_nb.run.output import Output
    from arroyo_nb.run.pause_gate import BatchGate
    from arroyo_nb.run.sources.sources import Sources


@dataclass(frozen=True)
class Playback:
    """The controls of a run; each may be used from any thread.

    Parameters
    ----------
    name
        The run's, for messages.
    sources
        What feeds it: a tape is held by its conductor.
    outputs
        Its queries: those of topics are held before a batch begins to read.
    """

    name: str
    sources: Sources
    outputs: tuple[Output, ...]

    @property
    def can_pause(self) -> bool:
        """Whether it can be paused and stepped."""
        return not self.sources.streamed or all(o.can_pause for o in self.outputs)

    def pause(self) -> None:
        """See :meth:`arroyo_nb.run.run.Run.pause`."""
        self.require_pausable()
        self.sources.pause()
        for gate in self._gates():
            gate.pause()

    def resume(self) -> None:
        """See :meth:`arroyo_nb.run.run.Run.resume`."""
        self.sources.resume()
        for gate in self._gates():
            gate.resume()

    def step(self) -> None:
        """See :meth:`arroyo_nb.run.run.Run.step`."""
        self.require_pausable()
        self.sources.step()
        for gate in self._gates():
            gate.step()

    def set_speed(self, speed: float | str) -> None:
        """See :meth:`arroyo_nb.run.run.Run.set_speed`."""
        self.sources.set_speed(speed)

    def require_pausable(self) -> None:
        """Refuse what cannot be paused.

        Raises
        ------
        RunProblem
            When Spark itself reads topics and writes the table, as in real-time mode.
        """
        if not self.can_pause:
            raise RunProblem(
                f"'{self.name}' cannot be paused or stepped: Spark reads its topics "
                "and writes its tables itself",
                hint="stop the run; with a state folder it resumes where it stopped",
            )

    def _gates(self) -> Iterator[BatchGate]:
        return (output.gate for output in self.outputs if self.sources.streamed)
