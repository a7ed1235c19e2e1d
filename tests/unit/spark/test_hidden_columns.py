"""Names that the run's own columns have are no user's."""

from __future__ import annotations

from arroyo_nb.changelog import ROW_ID, SEQUENCE, WEIGHT
from arroyo_nb.run.results import changes
from arroyo_nb.schema import HIDDEN_COLUMNS, TIMESTAMP
from arroyo_nb.spark import lookups, lower, windows
from arroyo_nb.tape import ARRIVAL
from arroyo_nb.tape.fit import COUNTED, SEEN


def test_they_are_all_refused():
    own = {TIMESTAMP, WEIGHT, ROW_ID, SEQUENCE, ARRIVAL}
    own |= {
        windows.WINDOW,
        lower._WATERMARK,
        lookups.FOUND,
        lookups.UNREAD,
        changes._SEEN,
        SEEN,
        *COUNTED,
    }
    assert own == HIDDEN_COLUMNS
