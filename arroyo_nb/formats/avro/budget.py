"""How much the containers of a batch may become.

A few bytes may say that they are millions of rows, or of gigabytes, and a batch may be
thousands of such records. So what comes out of a batch is in proportion to its bytes;
what is more than that has to fit into what the whole batch has to spare.
"""

from __future__ import annotations

from arroyo_nb.formats.json.strict import BadRecord

ROWS_PER_BYTE, BYTES_PER_BYTE = 1, 64
"""What each byte of a record may become: rows, and bytes of blocks and texts."""

SPARE_ROWS, SPARE_BYTES = 1_000_000, 512 * 2**20
"""What the records of a batch together may become beyond that."""


class Allowance:
    """What one quantity may become: of each record by itself, and of all together."""

    def __init__(self, spare: int) -> None:
        self._spare = spare
        self._own = 0

    @property
    def left(self) -> int:
        """How much the present record may still become."""
        return self._own + self._spare

    def begin(self, own: int) -> None:
        """The next record may become so much without using what is spare."""
        self._own = own

    def use(self, amount: int) -> None:
        """It has become so much.

        Raises
        ------
        BadRecord
            When that is too much.
        """
        beyond = max(0, amount - self._own)
        if beyond > self._spare:
            raise BadRecord(
                "invalid Avro: the container becomes too many rows or bytes for its "
                "size, as others of its batch do"
            )
        self._own -= amount - beyond
        self._spare -= beyond


class Budget:
    """What is left for the containers of one batch."""

    def __init__(self) -> None:
        self.rows = Allowance(SPARE_ROWS)
        self.size_bytes = Allowance(SPARE_BYTES)

    def begin(self, size_bytes: int) -> None:
        """The next container is of so many bytes."""
        self.rows.begin(ROWS_PER_BYTE * size_bytes)
        self.size_bytes.begin(BYTES_PER_BYTE * size_bytes)
