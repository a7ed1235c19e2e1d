"""The queries of Nexmark as an experienced PySpark author writes them.

Each takes the stream of events, with its three structs, and gives the query's rows.
Those without a counterpart are missing: Spark has no row_number on streams, and no
aggregate over an updating one. Updating ones are Spark's own update mode: new values
without what they replace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

DELAY = "1 second"
TEN_S, TWO_S = "10 seconds", "2 seconds"


def person(events: DataFrame) -> DataFrame:
    """The events that are people."""
    return events.where("person IS NOT NULL").select("person.*")


def auction(events: DataFrame) -> DataFrame:
    """The events that are auctions."""
    return events.where("auction IS NOT NULL").select("auction.*")


def bid(events: DataFrame) -> DataFrame:
    """The events that are bids."""
    return events.where("bid IS NOT NULL").select("bid.*")


# Spark takes one column of event time a stream: a key that is a time is a number.
AT = "unix_micros(datetime) AS at"


def _timed(rows: DataFrame) -> DataFrame:
    return rows.withWatermark("datetime", DELAY)


def q0(events: DataFrame) -> DataFrame:
    """Pass through."""
    return bid(events).select("auction", "bidder", "price", "datetime", "extra")


def q1(events: DataFrame) -> DataFrame:
    """A projection."""
    price = F.expr("0.908D * price AS price")
    return bid(events).select("auction", "bidder", price, "datetime", "extra")


def q2(events: DataFrame) -> DataFrame:
    """A filter."""
    return bid(events).where("auction % 123 = 0").select("auction", "price")


def q3(events: DataFrame) -> DataFrame:
    """A join that keeps all rows."""
    sellers = person(events).where("state IN ('OR', 'ID', 'CA')")
    opened = auction(events).where("category = 10").select("id", "seller")
    joined = opened.alias("a").join(sellers.alias("p"), F.expr("a.seller = p.id"))
    return joined.select("p.name", "p.city", "p.state", "a.id")


def _hot(events: DataFrame) -> DataFrame:
    window = F.window("datetime", TEN_S, TWO_S).alias("w")
    return _timed(bid(events)).groupBy(window, "auction").agg(F.count("*").alias("num"))


def q5(events: DataFrame) -> DataFrame:
    """Two windowed counts, one of them with its maximum, joined."""
    most = _hot(events).groupBy("w").agg(F.max("num").alias("maxn"))
    same = F.expr("a.w = m.w AND a.num >= m.maxn")
    joined = _hot(events).alias("a").join(most.alias("m"), same)
    return joined.select("a.auction", "a.num", "a.w")


def q6(events: DataFrame) -> DataFrame:
    """A windowed join, an aggregate over it, and a mean over the last rows."""
    window = F.window("datetime", TEN_S).alias("w")
    opened = _timed(auction(events)).groupBy(
        window, "id", "seller", F.expr(AT), F.expr("unix_micros(expires) AS until")
    )
    bids = _timed(bid(events)).groupBy(window, "auction", "price", F.expr(AT))
    within = F.expr("a.w = b.w AND a.id = b.auction AND b.at BETWEEN a.at AND a.until")
    joined = opened.agg(F.count("*")).alias("a")
    joined = joined.join(bids.agg(F.count("*")).alias("b"), within)
    final = joined.groupBy("a.w", "seller", "id").agg(
        F.max("price").alias("final"), F.max("b.at").alias("sold")
    )
    columns = "w STRUCT<start TIMESTAMP, end TIMESTAMP>, seller BIGINT, id BIGINT"
    return final.groupBy("w", "seller").applyInArrow(
        _rolling_mean, f"{columns}, average DOUBLE"
    )


def _rolling_mean(rows: pa.Table) -> pa.Table:
    rows = rows.sort_by([("sold", "ascending"), ("id", "ascending")])
    sums = pc.cumulative_sum(rows["final"].cast(pa.float64())).to_numpy()
    means = [
        (total - (sums[n - 11] if n > 10 else 0)) / min(n + 1, 11)
        for n, total in enumerate(sums)
    ]
    return rows.select(["w", "seller", "id"]).append_column("average", pa.array(means))


def q7(events: DataFrame) -> DataFrame:
    """The rows of a window, joined with its maximum."""
    window = F.window("datetime", TEN_S).alias("w")
    names = ["auction", "price", "bidder", "extra"]
    rows = _timed(bid(events)).groupBy(window, *names, F.expr(AT)).agg(F.count("*"))
    most = _timed(bid(events)).groupBy(window).agg(F.max("price").alias("maxprice"))
    same = F.expr("b.w = m.w AND b.price = m.maxprice")
    joined = rows.alias("b").join(most.alias("m"), same)
    at = F.expr("timestamp_micros(b.at) AS datetime")
    return joined.select(*(f"b.{name}" for name in names), at)


def q8(events: DataFrame) -> DataFrame:
    """Two windowed streams, joined."""
    window = F.window("datetime", TEN_S).alias("w")
    people = _timed(person(events)).groupBy(window, "id", "name").agg(F.count("*"))
    sellers = _timed(auction(events)).groupBy(window, "seller").agg(F.count("*"))
    same = F.expr("p.w = a.w AND p.id = a.seller")
    joined = people.alias("p").join(sellers.alias("a"), same)
    return joined.select("p.id", "p.name", "p.w")


def q10(events: DataFrame) -> DataFrame:
    """The day and the minute of a row."""
    day = F.date_format("datetime", "yyyy-MM-dd").alias("dt")
    minute = F.date_format("datetime", "HH:mm").alias("hm")
    return q0(events).select("*", day, minute)


def _counted(events: DataFrame, window: Column) -> DataFrame:
    groups = _timed(bid(events)).groupBy(window.alias("w"), "bidder")
    return groups.agg(F.count("*").alias("bid_count"))


def q11(events: DataFrame) -> DataFrame:
    """Sessions."""
    return _counted(events, F.session_window("datetime", TEN_S))


def q12(events: DataFrame) -> DataFrame:
    """Tumbling windows."""
    return _counted(events, F.window("datetime", TEN_S))


def q13(events: DataFrame) -> DataFrame:
    """A join with a small table."""
    side = events.sparkSession.range(10_000).selectExpr(
        "id AS key", "concat('side ', id) AS value"
    )
    found = bid(events).join(F.broadcast(side), F.expr("auction % 10000 = key"))
    return found.select("auction", "bidder", "price", "datetime", "value")


def q14(events: DataFrame) -> DataFrame:
    """Expressions and a filter."""
    kind = """CASE WHEN hour(datetime) >= 8 AND hour(datetime) <= 18 THEN 'dayTime'
        WHEN hour(datetime) <= 6 OR hour(datetime) >= 20 THEN 'nightTime'
        ELSE 'otherTime' END AS bid_time_type"""
    rows = bid(events).where("0.908D * price > 1000000 AND 0.908D * price < 50000000")
    return rows.selectExpr(
        "auction",
        "bidder",
        "0.908D * price AS price",
        kind,
        "datetime",
        "extra",
        "length(extra) - length(replace(extra, 'c', '')) AS c_counts",
    )


_RANKS = (
    "price < 10000",
    "price >= 10000 AND price < 1000000",
    "price >= 1000000",
)


def _bids() -> list[Column]:
    parts = [f"count_if({rank})" for rank in _RANKS]
    return [F.expr(text).alias(f"b{n}") for n, text in enumerate(("count(1)", *parts))]


def _distinct(column: str) -> list[Column]:
    # Spark refuses count(DISTINCT) on streams.
    sets = [f"collect_set(CASE WHEN {rank} THEN {column} END)" for rank in _RANKS]
    sets = [f"collect_set({column})", *sets]
    return [F.expr(f"size({s})").alias(f"{column}{n}") for n, s in enumerate(sets)]


def _day() -> Column:
    return F.date_format("datetime", "yyyy-MM-dd").alias("day")


def q15(events: DataFrame) -> DataFrame:
    """Counts of a day, many of them distinct."""
    measures = [*_bids(), *_distinct("bidder"), *_distinct("auction")]
    return bid(events).groupBy(_day()).agg(*measures)


def q16(events: DataFrame) -> DataFrame:
    """Those of a channel."""
    minute = F.max(F.date_format("datetime", "HH:mm")).alias("minute")
    measures = [minute, *_bids(), *_distinct("bidder"), *_distinct("auction")]
    return bid(events).groupBy("channel", _day()).agg(*measures)


def q17(events: DataFrame) -> DataFrame:
    """Counts and prices of an auction's day."""
    prices = [f(F.col("price")) for f in (F.min, F.max, F.avg, F.sum)]
    return bid(events).groupBy("auction", _day()).agg(*_bids(), *prices)


def q20(events: DataFrame) -> DataFrame:
    """A join with a filter."""
    opened = auction(events).where("category = 10").alias("a")
    joined = bid(events).alias("b").join(opened, F.expr("b.auction = a.id"))
    return joined.select("b.*", "a.*")


def q21(events: DataFrame) -> DataFrame:
    """A CASE over patterns."""
    found = r"regexp_extract(url, '(&|^)channel_id=([^&]*)', 2)"
    own = """CASE WHEN lower(channel) = 'apple' THEN '0'
        WHEN lower(channel) = 'google' THEN '1'
        WHEN lower(channel) = 'facebook' THEN '2'
        WHEN lower(channel) = 'baidu' THEN '3' ELSE FOUND END AS channel_id"""
    known = "lower(channel) IN ('apple', 'google', 'facebook', 'baidu')"
    rows = bid(events).where(f"{found} <> '' OR {known}")
    case = own.replace("FOUND", found)
    return rows.selectExpr("auction", "bidder", "price", "channel", case)


def q22(events: DataFrame) -> DataFrame:
    """Parts of a text."""
    parts = (f"split_part(url, '/', {n}) AS dir{n - 3}" for n in (4, 5, 6))
    return bid(events).selectExpr("auction", "bidder", "price", "channel", *parts)


def q23(events: DataFrame) -> DataFrame:
    """A join of three streams."""
    bidders = person(events).alias("p")
    opened = auction(events).alias("a")
    joined = bid(events).alias("b").join(bidders, F.expr("b.bidder = p.id"))
    joined = joined.join(opened, F.expr("p.id = a.seller"))
    # All that the planned one gives, times too: a join keeps what is selected.
    return joined.select(
        *(f"b.{n}" for n in ("auction", "bidder", "price", "channel", "url")),
        F.col("b.datetime").alias("bid_at"),
        *(f"p.{n}" for n in ("name", "email_address", "credit_card", "city", "state")),
        F.col("p.datetime").alias("registered"),
        *(f"a.{n}" for n in ("item_name", "description", "initial_bid", "reserve")),
        F.col("a.datetime").alias("opened"),
        *(f"a.{n}" for n in ("expires", "seller", "category")),
    )


Query = Callable[["DataFrame"], "DataFrame"]


def queries() -> Iterator[tuple[int, Query | None]]:
    """Each query's number with its form by hand, or None."""
    made = globals()
    return ((number, made.get(f"q{number}")) for number in range(24))
