"""The events of Nexmark: people who open auctions and bid, as struct columns.

The method is that of the benchmark's generator, which Apache Beam wrote down after the
NEXMark paper (Tucker, Tufte, Papadimos, Maier, 2002), with the parameters that Arroyo
uses (arroyo-semantics b.4): of fifty events one is a person, three are auctions and the
rest are bids, and popular ("hot") auctions, sellers and bidders are drawn more often.
Everything is computed for a batch of events at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from arroyo_nb.connectors.nexmark._draws import LONGEST_TEXT, Draws
from arroyo_nb.schema import (
    BIGINT,
    EPOCH,
    TEXT,
    Field,
    Schema,
    StructOf,
    Timestamp,
    Type,
    arrow_type,
)
from arroyo_nb.schema import TIMESTAMP as EVENT_TIME
from arroyo_nb.tape import ARRIVAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]


def _struct(name: str, fields: Iterable[tuple[str, Type]]) -> Field:
    return Field(name, StructOf(tuple(Field(n, t, False) for n, t in fields)))


PERSON = _struct(
    "person",
    (
        ("id", BIGINT),
        *((name, TEXT) for name in ("name", "email_address", "credit_card")),
        *((name, TEXT) for name in ("city", "state")),
        ("datetime", Timestamp()),
        ("extra", TEXT),
    ),
)
AUCTION = _struct(
    "auction",
    (
        ("id", BIGINT),
        *((name, TEXT) for name in ("description", "item_name")),
        *((name, BIGINT) for name in ("initial_bid", "reserve")),
        *((name, Timestamp()) for name in ("datetime", "expires")),
        *((name, BIGINT) for name in ("seller", "category")),
        ("extra", TEXT),
    ),
)
BID = _struct(
    "bid",
    (
        *((name, BIGINT) for name in ("auction", "bidder", "price")),
        *((name, TEXT) for name in ("channel", "url")),
        ("datetime", Timestamp()),
        ("extra", TEXT),
    ),
)
SCHEMA = Schema((PERSON, AUCTION, BID))
"""Of each event one of the three is not NULL."""

_SHUFFLED = 50  # events that are shuffled among each other
_EPOCH, _PEOPLE, _AUCTIONS = 50, 1, 3  # of fifty events, that many
_FIRST_ID = 1000  # of people and auctions
_LEAD = 10  # ids ahead of the newest that are drawn already
_HOT = 100  # of so many ids one is hot
_ACTIVE_PEOPLE, _OPEN_AUCTIONS = 1000, 100
_CATEGORIES = 10, 5  # the first, and how many
_PERSON_BYTES, _AUCTION_BYTES, _BID_BYTES = 200, 500, 32
_CHANNELS = 10_000
_NS_PER_US = 1_000

_FIRST_NAMES = (
    *("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah"),
    *("Deiter", "Walter"),
)
_LAST_NAMES = (
    *("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones"),
    "Noris",
)
_CITIES = (
    *("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend"),
    *("Redmond", "Seattle", "Kent", "Cheyenne"),
)
_STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
_HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")


@dataclass(frozen=True)
class EventGenerator:
    """Makes events by their numbers.

    Parameters
    ----------
    rate
        Events a second of event time.
    start
        Event time of the first, in UTC.
    seed
        Two generators of one seed make the same events.
    """

    rate: float
    start: datetime
    seed: int = 0

    @property
    def _spacing_ns(self) -> int:
        return int(1e9 / self.rate)

    def time_us(self, number: int) -> int:
        """When an event is released, in microseconds since 1970; its event time is up
        to fifty events off."""
        start_us = round((self.start - EPOCH).total_seconds() * 1e6)
        return start_us + self._spacing_ns * number // _NS_PER_US

    def rows(self, first: int, end: int) -> pa.Table:
        """The events [first, end), counted from 1, in the order of their release.

        Returns
        -------
        pyarrow.Table
            The columns of :data:`SCHEMA`, the arrival and the event time.
        """
        import numpy as np
        import pyarrow as pa

        numbers = np.arange(first, end, dtype=np.int64)
        places = numbers // _SHUFFLED * _SHUFFLED + numbers * 953 % _SHUFFLED
        ids = places + 1
        arrival = self._times_us(numbers)
        times = self._times_us(places)
        kind = ids % _EPOCH
        events = _Events(self.seed, ids, times, self._spacing_ns)
        instant = pa.timestamp("us", "UTC")
        return pa.table(
            {
                "person": events.scattered(kind < _PEOPLE, _person, PERSON),
                "auction": events.scattered(
                    (kind >= _PEOPLE) & (kind < _PEOPLE + _AUCTIONS), _auction, AUCTION
                ),
                "bid": events.scattered(kind >= _PEOPLE + _AUCTIONS, _bid, BID),
                ARRIVAL: pa.array(arrival, instant),
                EVENT_TIME: pa.array(times, instant),
            }
        )

    def _times_us(self, places: Numbers) -> Numbers:
        return self.time_us(0) + self._spacing_ns * places // _NS_PER_US


@dataclass(frozen=True)
class _Events:
    """A batch of events of any kind: ids, event times, and the space between two."""

    seed: int
    ids: Numbers
    times_us: Numbers
    spacing_ns: int

    def scattered(self, chosen: NDArray[np.bool_], make: Any, field: Field) -> pa.Array:
        """A column with what is made of the chosen events, and NULL of all others."""
        import numpy as np
        import pyarrow as pa

        ids = self.ids[chosen]
        one = _OneKind(ids, self.times_us[chosen], Draws(self.seed, ids), self)
        fields = list(arrow_type(field.type))
        made = pa.StructArray.from_arrays(
            [pa.array(c, f.type) for c, f in zip(make(one), fields, strict=True)],
            fields=fields,
        )
        places = np.cumsum(chosen) - 1
        return made.take(pa.array(places, mask=~chosen))


@dataclass(frozen=True)
class _OneKind:
    """Those events of a batch that are of one kind."""

    ids: Numbers
    times_us: Numbers
    draws: Draws
    batch: _Events

    @property
    def last_person(self) -> Numbers:
        """Number of the newest person at each event, from 0."""
        return self.ids // _EPOCH * _PEOPLE

    @property
    def last_auction(self) -> Numbers:
        """Number of the newest auction at each event, from 0; -1 before the first."""
        import numpy as np

        place = self.ids % _EPOCH - _PEOPLE
        return self.ids // _EPOCH * _AUCTIONS + np.minimum(place, _AUCTIONS - 1)

    def hot(self, newest: Numbers) -> Numbers:
        """The hot id among those up to the newest."""
        return newest // _HOT * _HOT

    def person(self, *, hot_of: int) -> Numbers:
        """The id of somebody who sells or bids: of so many all but one are hot."""
        import numpy as np

        people = self.last_person + 1
        active = np.minimum(people, _ACTIVE_PEOPLE)
        others = people - active + self.draws.below(active + _LEAD)
        is_hot = self.draws.below(hot_of) > 0
        return _FIRST_ID + np.where(is_hot, self.hot(self.last_person), others)

    def price(self) -> Numbers:
        """In cents, from 1 to a million dollars, small ones more often."""
        import numpy as np

        return (np.power(10.0, self.draws.uniform() * 6) * 100).astype(np.int64)

    def picked(self, values: Sequence[str]) -> pa.Array:
        """One of some values."""
        import pyarrow as pa

        return pa.array(values).take(pa.array(self.draws.below(len(values))))

    def padding(self, sizes: Any, wanted: int) -> pa.Array:
        """Random text that brings events to about so many bytes."""
        import numpy as np

        missing = np.maximum(wanted - np.asarray(sizes), 0)
        spread = np.round(missing * 0.2).astype(np.int64)
        lengths = missing - spread + self.draws.below(2 * spread)
        return self.draws.texts(np.minimum(lengths, LONGEST_TEXT))


def _person(people: _OneKind) -> Iterable[Any]:
    import pyarrow.compute as pc

    draws = people.draws
    name = pc.binary_join_element_wise(
        people.picked(_FIRST_NAMES), people.picked(_LAST_NAMES), " "
    )
    email = pc.binary_join_element_wise(
        draws.words(7), pc.binary_join_element_wise(draws.words(5), "com", "."), "@"
    )
    card = pc.binary_join_element_wise(*(people.picked(_digits()) for _ in "four"), " ")
    city, state = people.picked(_CITIES), people.picked(_STATES)
    sizes = sum((_bytes(text) for text in (name, email, card, city, state)), start=8)
    extra = people.padding(sizes, _PERSON_BYTES)
    person = _FIRST_ID + people.last_person
    return person, name, email, card, city, state, people.times_us, extra


def _auction(auctions: _OneKind) -> Iterable[Any]:
    import numpy as np

    draws = auctions.draws
    seller = auctions.person(hot_of=4)
    category = _CATEGORIES[0] + draws.below(_CATEGORIES[1])
    initial = auctions.price()
    reserve = initial + auctions.price()
    item, description = draws.words(20), draws.words(100)
    # Time until so many more auctions are open.
    horizon_ns = auctions.batch.spacing_ns * (_OPEN_AUCTIONS * _EPOCH // _AUCTIONS)
    open_ns = 1 + np.maximum(draws.below(2 * horizon_ns), 1)
    expires = auctions.times_us + open_ns // _NS_PER_US
    extra = auctions.padding(_bytes(item) + _bytes(description) + 40, _AUCTION_BYTES)
    return (
        *(_FIRST_ID + auctions.last_auction, description, item, initial, reserve),
        *(auctions.times_us, expires, seller, category, extra),
    )


def _bid(bids: _OneKind) -> Iterable[Any]:
    import numpy as np

    draws, newest = bids.draws, bids.last_auction
    oldest = np.maximum(newest - _OPEN_AUCTIONS, 0)
    open_one = oldest + draws.below(newest - oldest + 1 + _LEAD)
    auction = _FIRST_ID + np.where(draws.below(2) > 0, bids.hot(newest), open_one)
    bidder, price = bids.person(hot_of=4), bids.price()
    hot = draws.below(len(_HOT_CHANNELS))
    other = len(_HOT_CHANNELS) + draws.below(_CHANNELS)
    chosen = np.where(draws.below(2) > 0, hot, other)
    names, urls = _channels()
    extra = bids.padding(np.full(len(price), _BID_BYTES), _PERSON_BYTES)
    channel, url = names.take(chosen), urls.take(chosen)
    return auction, bidder, price, channel, url, bids.times_us, extra


def _bytes(text: pa.Array) -> Any:
    import pyarrow.compute as pc

    return pc.binary_length(text).to_numpy(zero_copy_only=False)


@cache
def _digits() -> list[str]:
    return [f"{number:04d}" for number in range(10_000)]


@cache
def _channels() -> tuple[pa.Array, pa.Array]:
    """The names of all channels and their URLs: the four hot ones, then the others."""
    import numpy as np
    import pyarrow as pa

    numbers = np.arange(len(_HOT_CHANNELS) + _CHANNELS)
    draws = Draws(0, numbers)
    folders = zip(*(draws.words(6).to_pylist() for _ in "abc"), strict=True)
    tagged = draws.below(10) > 0
    urls = []
    for number, path in enumerate(folders):
        channel = number - len(_HOT_CHANNELS)
        tag = f"&channel_id={channel}" if channel >= 0 and tagged[number] else ""
        urls.append(f"https://www.nexmark.com/{'/'.join(path)}/item.htm?query=1{tag}")
    others = (f"channel-{number}" for number in range(_CHANNELS))
    return pa.array([*_HOT_CHANNELS, *others]), pa.array(urls)
