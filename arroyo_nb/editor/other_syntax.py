"""Words of Flink, ksqlDB, Spark and others that are written otherwise here, or not at
all: what :mod:`arroyo_nb.sql.other_dialects` explains, as changes of the text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from arroyo_nb.editor.answers import Edit
from arroyo_nb.editor.sql_words import SqlWord

ANY = "..."


@dataclass(frozen=True)
class _Other:
    """Words in their order, and what is written in their place; nothing removes them.

    ``ANY`` stands for whatever word.
    """

    words: tuple[str, ...]
    text: str

    @property
    def title(self) -> str:
        """What the change does."""
        if self.text:
            return f"write {self.text}"
        return f"remove {' '.join(self.words).partition(ANY)[0].rstrip()}"


_OTHERS = tuple(
    _Other(tuple(words.split()), text)
    for words, text in (
        ("EMIT CHANGES", ""),
        ("EMIT FINAL", ""),
        ("EMIT ON WINDOW CLOSE", ""),
        ("&&", "AND"),
        ("INSERT OVERWRITE", "INSERT INTO"),
        ("CREATE MATERIALIZED VIEW", "CREATE VIEW"),
        ("CREATE OR REPLACE MATERIALIZED VIEW", "CREATE VIEW"),
        (f"FOR SYSTEM_TIME AS OF {ANY} . {ANY}", ""),
        ("ROW <", "STRUCT<"),
        ("NOT ENFORCED", ""),
    )
)


def rewritten_words(
    words: Sequence[SqlWord],
) -> Iterator[tuple[str, tuple[Edit, ...]]]:
    """The titles and changes for what the words of a statement have of other
    dialects."""
    for other in _OTHERS:
        edits = tuple(_edits(words, other))
        if edits:
            yield other.title, edits
    yield from _stream_as(words)


def _edits(words: Sequence[SqlWord], other: _Other) -> Iterator[Edit]:
    width = len(other.words)
    for first in range(len(words) - width + 1):
        found = words[first : first + width]
        if all(w in (ANY, f.upper) for w, f in zip(other.words, found, strict=True)):
            start = found[0].start
            if not other.text and first:
                # The blank before what is removed goes with it.
                start = words[first - 1].end
            yield Edit(start, found[-1].end, other.text)


def _stream_as(words: Sequence[SqlWord]) -> Iterator[tuple[str, tuple[Edit, ...]]]:
    """ksqlDB's ``CREATE STREAM name AS SELECT``, with EMIT CHANGES at its end."""
    upper = [word.upper for word in words[:6]]
    if upper[:1] != ["CREATE"] or "STREAM" not in upper:
        return
    stream = upper.index("STREAM")
    if upper[stream + 2 : stream + 3] != ["AS"]:
        return
    edits = [Edit(words[0].start, words[stream].end, "CREATE VIEW")]
    if [word.upper for word in words[-2:]] == ["EMIT", "CHANGES"]:
        edits.append(Edit(words[-3].end, words[-1].end, ""))
    yield "write CREATE VIEW", tuple(edits)
