"""Rows of Python as documents of changes, where there is no Spark to write them."""

from __future__ import annotations

from arroyo_nb.formats.json.payload_writer import DeclaredPayloads


class DeclaredDocuments(DeclaredPayloads):
    """Writes the rows of a declared table, each as one that is created."""

    def document(self, row: str) -> str:
        """The document that a row of this JSON text was created."""
        return f'{{"before":null,"after":{row},"op":"c"}}'
