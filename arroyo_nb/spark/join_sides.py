"""The two inputs of a join that Spark itself runs, as it is given them.

The key of each is one struct, in which NULL equals NULL: of a row with a NULL among its
keys, the last field equals none of the other side. Of a struct Spark also infers no
``IS NOT NULL`` that it could move below the watermark, where rows that it filters out
would no longer move it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from arroyo_nb.plan.expressions.naming import free
from arroyo_nb.schema import quoted
from arroyo_nb.spark.expressions import spark_sql

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from sqlglot import exp

    from arroyo_nb.plan import nodes

_KEY, _UNMATCHED = "_key", "unmatched"


@dataclass(frozen=True)
class JoinSide:
    """An input of the join, and what its hidden columns are called.

    Parameters
    ----------
    node
        The input.
    keys
        Its expressions that must equal the other side's.
    number
        0 for the left side, 1 for the right one.
    time, key
        Columns of no other name of the pairs: what says when a row is, and the key.
    """

    node: nodes.Node
    keys: tuple[exp.Expr, ...]
    number: int
    time: str
    key: str

    def rows(self, frame: DataFrame, row_time: str, time: Column) -> DataFrame:
        """The columns of the lowered input, when each row is, and its key.

        Parameters
        ----------
        row_time
            The event time of a row, as Spark SQL text.
        time
            The column that is called :attr:`time`.
        """
        from pyspark.sql import functions as F  # noqa: N812

        # Their order is that of saved states.
        columns = [F.col(quoted(name)) for name in self.node.schema.names]
        columns.append(time)
        values = [spark_sql(key, row_time=row_time) for key in self.keys]
        fields = [f"'key_{place}', {value}" for place, value in enumerate(values)]
        if fields:
            is_null = " OR ".join(f"({value}) IS NULL" for value in values)
            fields.append(f"'{_UNMATCHED}', IF({is_null}, {self.number + 1}, 0)")
            key = f"named_struct({', '.join(fields)})"
            columns.append(F.expr(key).alias(self.key))
        return frame.select(*columns)

    def columns(self) -> list[str]:
        """The input's columns, out of the pairs, as Spark SQL text.

        All go through one struct, of which Spark drops no field that nobody reads: so
        what the join keeps of a row depends on the plan alone, and not on what is above
        it.
        """
        names = [quoted(name) for name in self.node.schema.names]
        row = f"element_at(array(struct({', '.join(names)})), 1)"
        return [f"{row}.{name} AS {name}" for name in names]


def join_sides(
    node: nodes.WindowJoin | nodes.UpdatingJoin, time: str
) -> tuple[JoinSide, JoinSide]:
    """Both sides; ``time`` is what the column that says when a row is begins with."""
    keys = tuple(zip(*node.keys, strict=True)) or ((), ())
    taken = node.schema.names

    def side(number: int) -> JoinSide:
        names = (free(f"{name}_{number}", taken) for name in (time, _KEY))
        return JoinSide(node.inputs[number], keys[number], number, *names)

    return side(0), side(1)


def keys_equal(left: JoinSide, right: JoinSide) -> str:
    """That the keys of a pair are equal, as Spark SQL text."""
    return f"{quoted(left.key)} = {quoted(right.key)}"
