"""Random calls of aggregates and of functions of OVER."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from arroyo_nb.functions import over
from arroyo_nb.functions.aggregates import FAMILIES
from arroyo_nb.functions.aggregates.row import AggregateFunction
from oracle.aggregates.rows import ARGUMENTS
from oracle.cases import Case

NUMBERS = tuple("ijquvfdmx")
FILTERS = ("n > 3", "b", "NOT b", "i > 0", "n < 0", "s IS NOT NULL", "q IN (1, 2)")
ORDERS = ("n", "n DESC", "{x}, n", "{x} DESC, n", "{x} DESC NULLS LAST, n", "s, n DESC")
ORDERS_OF_DISTINCT = ("{x}", "{x} DESC", "{x} NULLS FIRST")
FRACTIONS = ("0", "0.25", "0.5", "1", "1.5")
PLACES = ("1", "2", "-1", "-3", "9", "0")
_FRAMED_BY_PLACE = ("first_value", "last_value", "nth_value")


def rows() -> list[AggregateFunction]:
    """The aggregates of the dialect."""
    return [row for family in FAMILIES for row in family.AGGREGATES]


class Calls:
    """Calls of a seed, the same each time."""

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)

    def aggregates(self, count: int) -> Iterator[Case]:
        """Calls over the groups of a query."""
        every = rows()
        for number in range(count):
            row = every[number % len(every)]
            yield self._aggregate(row)

    def over(self, count: int) -> Iterator[Case]:
        """Calls with OVER."""
        every = [*over.names(), *(row.name for row in rows())]
        for number in range(count):
            yield self._over(every[number % len(every)])

    def _argument(self, row: AggregateFunction) -> str:
        # Mostly one that it may take.
        pick = self.random.choice
        if self.random.random() < 0.75 and row.wants != "a value":
            wanted = {
                "a number": NUMBERS,
                "a BIGINT": ("i", "j", "q", "u", "v", "CAST(q AS TINYINT)"),
                "a BOOLEAN": ("b",),
                "TEXT": ("s",),
            }.get(row.wants)
            if wanted is not None:
                return pick(wanted)
        return pick([*ARGUMENTS])

    def _aggregate(self, row: AggregateFunction) -> Case:
        chance, pick = self.random.random, self.random.choice
        name = pick((row.name, row.name, *row.aliases))
        x = self._argument(row)
        arguments = [x]
        if row.arguments == 2 and not row.within:
            arguments.append(self._argument(row))
        kind = f"{row.name} of {', '.join(ARGUMENTS[a] for a in arguments)}"
        if row.of_rows and chance() < 0.1:
            call, kind = f"{name}(*)", f"{row.name}(*)"
        elif row.within:
            weight = pick(NUMBERS) if row.arguments == 2 else ""
            arguments += [weight] * bool(weight)
            call = self._within(name, x, weight)
        else:
            call, kind = self._plain(row, name, arguments, kind)
        if chance() < 0.25:
            call += f" FILTER (WHERE {pick(FILTERS)})"
        if chance() < (0.2 if row.ordered else 0.03):
            call += " IGNORE NULLS"
            kind += " IGNORE NULLS"
        return Case(call, kind=kind, operands=tuple(arguments))

    def _within(self, name: str, x: str, weight: str) -> str:
        weight = f"{weight}, " if weight else ""
        down = " DESC" * (self.random.random() < 0.3)
        fraction = self.random.choice(FRACTIONS)
        return f"{name}({weight}{fraction}) WITHIN GROUP (ORDER BY {x}{down})"

    def _plain(
        self, row: AggregateFunction, name: str, arguments: list[str], kind: str
    ) -> tuple[str, str]:
        chance, pick = self.random.random, self.random.choice
        distinct = chance() < 0.25
        # An order by a constant is none, and one by a list is the same by its parts.
        orders = ORDERS_OF_DISTINCT if distinct else ORDERS
        needs_order = row.name in _FRAMED_BY_PLACE
        order = ""
        if needs_order or (row.ordered and chance() < 0.8) or chance() < 0.03:
            order = f" ORDER BY {pick(orders).format(x=arguments[0])}"
        constants = {"string_agg": ("', '", "''"), "nth_value": PLACES}.get(row.name)
        inside = ", ".join([*arguments, *([pick(constants)] if constants else [])])
        kind += " DISTINCT" * distinct + " ORDER BY" * bool(order)
        return f"{name}({'DISTINCT ' * distinct}{inside}{order})", kind

    def _over(self, name: str) -> Case:
        function = over.over_function(name)
        if function is None:
            (row,) = (row for row in rows() if row.name == name)
            case = self._aggregate(row)
            call, kind, operands = case.expression, case.kind, case.operands
        else:
            call, kind = self._function(name, function.required)
            operands = ()
        order, frame = self._frame()
        if frame:
            kind += f" {frame.split()[0]}"
        return Case(
            f"{call} OVER (PARTITION BY k{order}{frame and ' ' + frame})",
            kind=f"{kind} OVER",
            operands=operands,
        )

    def _function(self, name: str, required: int) -> tuple[str, str]:
        chance, pick = self.random.random, self.random.choice
        if required == 0:
            return f"{name}()", name
        x = pick([*ARGUMENTS])
        kind = f"{name} of {ARGUMENTS[x]}"
        nulls = pick(("", "", " IGNORE NULLS", " RESPECT NULLS"))
        if name == "ntile":
            return f"ntile({pick(('1', '2', '3', '9', '0', '-1'))})", name
        if name == "nth_value":
            return f"nth_value({x}, {pick(PLACES)}){nulls}", kind + nulls
        if name in ("lag", "lead"):
            more = pick(("", ", 1", ", 2", ", 0", ", -1", ", 99"))
            if more and chance() < 0.4:
                more += ", NULL" if chance() < 0.5 else f", {x}"
                kind += " with a default"
            return f"{name}({x}{more}){nulls}", kind + nulls
        return f"{name}({x}){nulls}", kind + nulls

    def _frame(self) -> tuple[str, str]:
        pick = self.random.choice
        order = pick((" ORDER BY n", " ORDER BY n", " ORDER BY n DESC"))
        if self.random.random() < 0.4:
            return order, ""
        starts = ("UNBOUNDED PRECEDING", "2 PRECEDING", "CURRENT ROW", "1 FOLLOWING")
        ends = ("1 PRECEDING", "CURRENT ROW", "2 FOLLOWING", "UNBOUNDED FOLLOWING")
        start = self.random.randrange(4)
        end = self.random.randrange(max(start - 1, 0), 4)
        unit = pick(("ROWS", "ROWS", "RANGE", "GROUPS"))
        return order, f"{unit} BETWEEN {starts[start]} AND {ends[end]}"
