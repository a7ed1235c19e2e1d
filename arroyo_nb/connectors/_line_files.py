"""Reading files of lines, plain or compressed, in blocks of whole lines."""

from __future__ import annotations

import codecs
import hashlib
import io
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, BinaryIO

from arroyo_nb.errors import RunProblem
from arroyo_nb.file_errors import refusals
from arroyo_nb.formats import Decoder, ListedFile, Piece
from arroyo_nb.tape import Position

LONGEST_LINE_BYTES = 64 * 2**20
_SKIPPED_BYTES = 2**20
_COMPARED_BYTES = 1024


class LineReader:
    """Reads files of records, one a line (see :class:`arroyo_nb.formats.FileReader`).

    Parameters
    ----------
    decoder
        Reads the records.
    compression
        ``none``, ``gzip`` or ``zstd``; places count the bytes that it packs. None: what
        the first bytes of a file say.
    """

    def __init__(self, decoder: Decoder, compression: str | None = None) -> None:
        self._decoder = decoder
        self._compression = compression

    @contextmanager
    def open(self, file: ListedFile, place: Position | None) -> Iterator[ReadLines]:
        """A file from a place on.

        Raises
        ------
        RunProblem
            When it is no file that can be read, or is shorter than that.
        """
        if file.path.is_dir():
            raise RunProblem(
                f"'{file.name}' is a folder, not a file",
                hint="give the path of one file",
            )
        with refusals("read", file.name), ExitStack() as opened:
            if file.path.exists() and not file.path.is_file():
                raise RunProblem(f"'{file.name}' is not a regular file")
            stream: BinaryIO = opened.enter_context(file.path.open("rb"))
            compression = self._compression_of(stream, file.name)
            if compression != "none":
                stream = opened.enter_context(unpacked(stream, compression))
            yield ReadLines(stream, file.name, self._decoder, place)

    def _compression_of(self, stream: BinaryIO, name: str) -> str:
        """How a file is packed.

        Raises
        ------
        RunProblem
            When its first bytes say that its lines cannot be read.
        """
        begin = stream.read(_BEGIN_BYTES)
        stream.seek(0)
        found = packing_of(begin)
        if self._compression == "none" and found:
            raise RunProblem(
                f"'{name}' is packed with {found}",
                hint=f"write 'source.compression' = '{found}', or leave it out",
            )
        if begin.startswith(_UTF_16):
            raise RunProblem(
                f"'{name}' is UTF-16, and lines are read as UTF-8",
                hint="convert it: iconv -f UTF-16 -t UTF-8 FILE > FILE.utf8",
            )
        return self._compression or found or "none"


_PACKED = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"))
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_BEGIN_BYTES = 4


def packing_of(begin: bytes) -> str:
    r"""How a file is packed that begins so; empty: not at all. No text begins so.

    >>> packing_of(b"\x1f\x8b\x08"), packing_of(b"{}")
    ('gzip', '')
    """
    return next((name for magic, name in _PACKED if begin.startswith(magic)), "")


class ReadLines:
    """A file of lines that is being read."""

    def __init__(
        self, file: BinaryIO, name: str, decoder: Decoder, place: Position | None
    ) -> None:
        self._file = file
        self._name = name
        self._decoder = decoder
        self._byte: int = place["byte"] if place else 0
        self._line: int = place["line"] if place else 1
        self._last: Mapping[str, Any] = place["last"] if place else _last_of(b"")
        size: int = self._last["bytes"]
        found = file.read(size) if _skip(file, self._byte - size) else b""
        if len(found) < size:
            raise _another(f"'{name}' is shorter than what was read of it before")
        if _last_of(found) != self._last:
            raise _another(f"'{name}' has other lines than were read of it before")

    @property
    def place(self) -> Position:
        """The byte and the line that come next, and what is right before them."""
        return {"byte": self._byte, "line": self._line, "last": self._last}

    @property
    def records(self) -> int:
        """The lines up to there, one that has no end included."""
        return self._line

    def read(self, size_bytes: int) -> Piece | None:
        """The next whole lines."""
        block = self._block(size_bytes)
        if not block:
            return None
        first_line = self._line
        is_first, self._byte = self._byte == 0, self._byte + len(block)
        self._line += block.count(b"\n")
        self._last = _last_of(block)
        text = block.removeprefix(codecs.BOM_UTF8) if is_first else block
        decoded = self._decoder.decode(text, self._name, first_line)
        return Piece(decoded, len(block))

    def _block(self, size_bytes: int) -> bytes:
        block = self._file.read(size_bytes)
        rest = self._file.readline(LONGEST_LINE_BYTES)
        if len(rest) == LONGEST_LINE_BYTES and not rest.endswith(b"\n"):
            line = self._line + block.count(b"\n")
            raise RunProblem(
                f"{self._name}:{line}: the line is longer than "
                f"{LONGEST_LINE_BYTES // 2**20} MiB",
                hint="write one JSON object on each line",
            )
        return block + rest


def _last_of(block: bytes) -> Mapping[str, Any]:
    """What tells the file that was read from one that has taken its place."""
    last = block[-_COMPARED_BYTES:]
    return {"bytes": len(last), "sha256": hashlib.sha256(last).hexdigest()}


def _another(message: str) -> RunProblem:
    hint = "start afresh: the file is not the one that the run had read"
    return RunProblem(message, hint=hint)


def unpacked(file: BinaryIO, compression: str) -> BinaryIO:
    """What a packed file holds; ``compression`` is as of :func:`packing_of`."""
    import pyarrow as pa

    # Arrow's stream has no lines, and its own buffers are small.
    stream: BinaryIO = io.BufferedReader(
        pa.CompressedInputStream(file, compression), _SKIPPED_BYTES
    )
    return stream


def _skip(file: BinaryIO, size_bytes: int) -> bool:
    """Go to a byte; False where the file ends before it."""
    if isinstance(file, io.BufferedReader) and file.seekable():
        file.seek(size_bytes)
        return size_bytes <= os.fstat(file.fileno()).st_size
    while size_bytes > 0:
        skipped = len(file.read(min(size_bytes, _SKIPPED_BYTES)))
        if not skipped:
            return False
        size_bytes -= skipped
    return True
