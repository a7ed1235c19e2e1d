"""What every node answers, and what those with one input answer alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from arroyo_nb.plan.nodes.windows import Window
from arroyo_nb.schema import Schema
from arroyo_nb.source import Span


class Changelog(Enum):
    """Which changes a relation sends."""

    APPEND = "append"
    RETRACT = "retract"


@dataclass(frozen=True, kw_only=True)
class Node:
    """A relation. Inputs are the fields that are Nodes or tuples of Nodes."""

    # Equal nodes mean the same, wherever in the script they were written.
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def schema(self) -> Schema:
        """Visible columns; ``_timestamp`` is always there beside them."""
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[Node, ...]:
        """Nodes that this one reads, left to right."""
        return ()

    @cached_property
    def changelog(self) -> Changelog:
        """Whether rows are ever taken back."""
        retracts = any(i.changelog is Changelog.RETRACT for i in self.inputs)
        return Changelog.RETRACT if retracts else Changelog.APPEND

    @cached_property
    def window(self) -> Window | None:
        """The window that each row belongs to; sticky once there is one. Kept: shared
        inputs would else be asked twice at each level of a union."""
        return next((i.window for i in self.inputs if i.window), None)

    @cached_property
    def window_columns(self) -> frozenset[str]:
        """Names of the columns that are the window struct itself."""
        return frozenset()


@dataclass(frozen=True)
class Unary(Node):
    """A node over one input; its rows are the input's, unless it says otherwise."""

    input: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The one input."""
        return (self.input,)

    @property
    def schema(self) -> Schema:
        """The input's columns."""
        return self.input.schema

    @cached_property
    def window_columns(self) -> frozenset[str]:
        """The input's window columns."""
        return self.input.window_columns
