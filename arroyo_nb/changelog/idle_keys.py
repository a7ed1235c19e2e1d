"""Groups of a state that are idle: no row was appended to them for longer than the ttl.

The instant of the last append stands beside each group, by processing time, as Arroyo's
``updating_ttl`` is; what becomes of an idle group is its operator's business.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arroyo_nb.changelog.zset import int64s

TOUCHED = "_touched_us"
"""Of a state: processing time of a group's last append, microseconds."""


def idle_since(groups: pa.Table, before_us: int) -> npt.NDArray[np.bool_]:
    """Which groups were last appended to before an instant."""
    return int64s(groups[TOUCHED]) < before_us
