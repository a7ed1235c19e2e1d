"""Events of messages of Protocol Buffers: of the classes that protoc makes."""

from __future__ import annotations

from google.protobuf.message import Message

from arroyo_nb.codecs.protobuf_fields import record_of as record_of


def is_message_class(cls: object) -> bool:
    """Whether it is the class of a message."""
    return isinstance(cls, type) and issubclass(cls, Message) and cls is not Message
