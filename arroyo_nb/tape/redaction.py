"""Fields whose values are replaced before anything of a recording is on disk.

A text becomes a token: a hash under a key that is made for one recording, held in
memory and forgotten with it. Equal texts have equal tokens within a recording, so
joins, groups and counts of distinct values go on working; nobody can find the text of
a token by trying texts, as the key is gone; and tokens of two recordings cannot be
matched. What a token still tells is how often its text came.

- A field is named as it is written; wherever in a document it stands, its value goes.
- A whole number becomes one of 31 bits, so that it is still read as an INT, and another
  number one that is whole; ``true`` becomes ``false``; ``null`` stays. Objects and
  lists become ``null``: their parts have other names, and are lost.
- A key is a text without a name, and often the value of a field: one that is no JSON
  object becomes the token of its text, the same as a field's of that text.
- A header is replaced by its name. A text inside a text is not looked into.
- A value that is no JSON object has no fields that could be named: none of its bytes
  are kept, it is empty. Whoever reads the tape finds a bad record there, as before.

All other bytes of a document stay as they were.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Iterable, Iterator
from typing import Any

from arroyo_nb.tape.records import TapeRecord

REGISTRY_BYTES = 5
"""A zero, and the number of a schema: before a document, where there is a registry."""

EMPTIED = b""
"""What is kept of a value that is no JSON object."""

TOKEN_HEX = 16
_NUMBER_BITS = 31
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_COLON = re.compile(r"[ \t\n\r]*:[ \t\n\r]*")
_value_at = json.JSONDecoder().raw_decode


class Redactor:
    """Replaces the values of fields, for one recording.

    Parameters
    ----------
    fields
        Their names.
    """

    def __init__(self, fields: Iterable[str]) -> None:
        self.fields = frozenset(fields)
        self.emptied = 0
        """How many values could not be looked into, and are empty now."""
        self._met: set[str] = set()
        self._key = secrets.token_bytes(32)

    @property
    def unmet(self) -> tuple[str, ...]:
        """The names that no record had so far: they may be misspelt."""
        return tuple(sorted(self.fields - self._met))

    def __call__(self, record: TapeRecord) -> TapeRecord:
        """The record as it may be kept."""
        value = record.value
        if value is not None:
            value = self._document(value)
            if value is None:
                self.emptied += 1
                value = EMPTIED
        return record._replace(
            key=None if record.key is None else self._redacted_key(record.key),
            value=value,
            headers=record.headers and [self._header(*pair) for pair in record.headers],
        )

    def _redacted_key(self, key: bytes) -> bytes:
        document = self._document(key)
        return self._token(key) if document is None else document

    def _header(self, name: str, value: bytes | None) -> tuple[str, bytes | None]:
        if value is None or name not in self.fields:
            return name, value
        self._met.add(name)
        return name, self._token(value)

    def _document(self, payload: bytes) -> bytes | None:
        """A document without the values; None where it is no JSON object."""
        frame = payload[:REGISTRY_BYTES] if payload[:1] == b"\0" else b""
        try:
            text = payload[len(frame) :].decode("utf-8")
            if not isinstance(json.loads(text), dict):
                return None
            return frame + "".join(self._pieces(text)).encode("utf-8")
        except (ValueError, RecursionError):
            return None

    def _pieces(self, text: str) -> Iterator[str]:
        """The text of a JSON document in pieces, values replaced.

        Only texts have quotes in a document, and only names are followed by a colon.
        """
        kept = at = 0
        while (found := _STRING.search(text, at)) is not None:
            at = found.end()
            colon = _COLON.match(text, at)
            if colon is None or (name := json.loads(found[0])) not in self.fields:
                continue
            self._met.add(name)
            value, at = _value_at(text, colon.end())
            yield text[kept : colon.end()]
            yield json.dumps(self._replaced(value))
            kept = at
        yield text[kept:]

    def _replaced(self, value: Any) -> Any:
        match value:
            case bool():
                return False
            case str():
                return self._token(value.encode("utf-8", "surrogatepass")).decode()
            case int() | float():
                digest = self._digest(repr(value).encode())
                number = int.from_bytes(digest[:4]) >> (32 - _NUMBER_BITS)
                return float(number) if isinstance(value, float) else number
            case _:
                return None

    def _token(self, text: bytes) -> bytes:
        return b"redacted-" + self._digest(text).hex()[:TOKEN_HEX].encode()

    def _digest(self, text: bytes) -> bytes:
        return hashlib.blake2b(text, key=self._key).digest()
