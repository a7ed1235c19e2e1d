"""Values that a database did not send, and what Debezium writes for them.

Postgres leaves a large value that an UPDATE has not changed out of what it sends
(TOAST), unless the table has REPLICA IDENTITY FULL. Debezium has a placeholder then: a
value like any other to whoever reads it, and so it is here, as in Arroyo. It is
counted, to be told.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow as pa

UNSENT: Final = "__debezium_unavailable_value"
"""What Debezium writes where its unavailable.value.placeholder is not set."""

_AS_BYTES = base64.b64encode(UNSENT.encode()).decode()
"""The same of a column of bytes."""


def count_unsent(rows: pa.Array | pa.ChunkedArray) -> int:
    """How many rows have the placeholder in one of their texts.

    Parameters
    ----------
    rows
        Structs: what rows are after a change.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    forms = pa.array([UNSENT, _AS_BYTES])
    texts = [field.name for field in rows.type if pa.types.is_string(field.type)]
    found = None
    for name in texts:
        is_unsent = pc.is_in(pc.struct_field(rows, name), forms)
        found = is_unsent if found is None else pc.or_(found, is_unsent)
    return 0 if found is None else int(pc.sum(found).as_py() or 0)
