"""Random cases: every function of the tables, operators, casts and syntax.

The functions and what they take come from their rows, so a new one is covered by
itself. Only texts that mean something to it (a pattern, a unit) are listed here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from arroyo_nb import functions
from arroyo_nb.functions import clock, json, unions
from arroyo_nb.functions.signature import (
    Parameter,
    ParameterKind,
    ScalarFunction,
    Signature,
)
from arroyo_nb.functions.types import is_integer, is_number, is_unsigned
from arroyo_nb.schema import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    TEXT,
    TIME,
    Decimal,
    ListOf,
    Primitive,
    StructOf,
    Timestamp,
    Type,
)
from oracle import values
from oracle.cases import Case, Column
from oracle.values import value_of

NOT_THERE = (json, unions, clock)
"""Families that DataFusion's package lacks, or whose values are those of a clock."""


def compared_functions() -> list[ScalarFunction]:
    """Those that are compared."""
    return [
        row
        for family in functions.FAMILIES
        if family not in NOT_THERE
        for row in family.FUNCTIONS
        if not row.volatile and row.name != "version"
    ]


# Texts of an argument, by function and place.
_TEXTS: dict[tuple[str, int], tuple[str, ...]] = {
    **{
        (f"regexp_{name}", 1): values.PATTERNS
        for name in ("like", "count", "match", "replace")
    },
    ("regexp_replace", 2): values.REPLACEMENTS,
    **dict.fromkeys(
        (("regexp_like", 2), ("regexp_match", 2), ("regexp_count", 3)),
        ("i", "m", "s", "x", "im", "U", "q", ""),
    ),
    ("regexp_replace", 3): ("g", "i", "gi", "g", "gm", "x", "q", ""),
    ("encode", 1): ("hex", "base64", "HEX", "x"),
    ("decode", 0): values.ENCODED,
    ("decode", 1): ("hex", "base64", "hex", "x"),
    ("digest", 1): ("md5", "sha224", "sha256", "sha384", "sha512", "blake3", "x"),
    ("date_part", 0): values.PARTS,
    ("date_trunc", 0): values.UNITS,
    ("to_char", 1): values.FORMATS,
    **dict.fromkeys(
        (("to_date", 0), ("date_part", 1), ("date_trunc", 1), ("date_bin", 1)),
        values.DATE_TEXTS,
    ),
    **{
        (f"to_timestamp{unit}", 0): values.DATE_TEXTS
        for unit in ("", "_seconds", "_millis", "_micros", "_nanos")
    },
    **{
        (f"to_{name}", 1): ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%+", "%d.%m.%Y", "%s")
        for name in ("date", "timestamp", "timestamp_seconds", "timestamp_millis")
    },
    ("array_sort", 1): ("ASC", "DESC", "asc", "x"),
    ("array_sort", 2): ("NULLS FIRST", "NULLS LAST", "x"),
    ("arrow_cast", 1): values.ARROW_TYPES,
    ("get_field", 1): ("a", "b", "A", "c"),
    ("split_part", 1): (",", ".", "", " ", "ab"),
    ("string_to_array", 1): (",", ".", "", " ", "ab"),
    ("substr_index", 1): (",", ".", "", " ", "ab"),
    ("array_to_string", 1): (",", "-", ""),
}
_LITERAL = frozenset(("named_struct", "get_field", "arrow_cast"))
# A large number would be a large text or list.
_ANY_NUMBER = frozenset(
    ("left", "right", "substr", "split_part", "chr", "to_hex", "from_unixtime")
)


@dataclass
class Operand:
    """An argument: its SQL and what it is made of."""

    sql: str
    type: Type
    columns: list[Column] = field(default_factory=list)
    parts: list[Case] = field(default_factory=list)


class Generator:
    """Cases one after the other; the same ones for the same seed.

    Parameters
    ----------
    seed
        Any text.
    """

    def __init__(self, seed: str) -> None:
        self._random = Random(f"oracle {seed}")
        self._columns = 0
        self._functions = compared_functions()
        self._named = {row.name: row for row in self._functions}
        self._giving: dict[Type, list[tuple[ScalarFunction, Signature]]] = {}
        for row in self._functions:
            for signature in row.signatures:
                if isinstance(signature.result, Primitive | Decimal | Timestamp):
                    self._giving.setdefault(signature.result, []).append(
                        (row, signature)
                    )

    def cases(self, count: int) -> Iterator[Case]:
        """So many cases."""
        for number in range(count):
            yield self._case(number)

    def _case(self, number: int) -> Case:
        self._columns = 0
        # Half of them are functions, each as often as any other.
        if number % 2 == 0:
            row = self._functions[number // 2 % len(self._functions)]
            return self._call(row, depth=self._random.choice((0, 0, 1)))
        makers = (
            *(self._cast, self._cast, self._cast, self._arithmetic, self._arithmetic),
            *(self._comparison, self._comparison, self._bits, self._matching),
            *(self._matching, self._temporal, self._temporal, self._joined),
            *(self._conditional, self._logical, self._element, self._syntax),
        )
        return self._random.choice(makers)()

    # Operands

    def _operand(
        self,
        type_: Type,
        *,
        texts: Sequence[str] = (),
        small: bool = False,
        depth: int = 0,
        literal: bool = False,
    ) -> Operand:
        random = self._random
        if depth and not texts and not literal and random.random() < 0.4:
            nested = self._nested(type_)
            if nested is not None:
                return nested
        chance = random.random()
        if not literal and chance < 0.08:
            # Its parser reads no struct as the type of a cast.
            typed = () if isinstance(type_, StructOf) else (f"CAST(NULL AS {type_})",)
            sql = random.choice(("NULL", *typed))
            return Operand(sql, type_)
        value = random.choice(texts) if texts else value_of(type_, random, small=small)
        if literal or chance < 0.5:
            return self._literal(type_, value)
        if random.random() < 0.12:
            value = None
        return self._column(type_, value)

    def _literal(self, type_: Type, value: object) -> Operand:
        if type_ == INTERVAL:
            text = self._random.choice(values.INTERVAL_TEXTS)
            return Operand(f"INTERVAL '{text}'", type_)
        if type_ == TIME:
            text = self._random.choice(values.TIME_TEXTS)
            return self._through(TEXT, type_, Operand(quoted(text), TEXT))
        if type_ == DATE:
            text = self._random.choice(values.DATE_TEXTS[:4])
            return Operand(f"DATE '{text}'", type_)
        return Operand(literal(value, type_), type_)

    def _column(self, type_: Type, value: object) -> Operand:
        random = self._random
        if type_ in (INTERVAL, TIME):
            texts = values.TIME_TEXTS if type_ == TIME else values.INTERVAL_TEXTS
            given = None if value is None else random.choice(texts)
            return self._through(TEXT, type_, self._column(TEXT, given))
        if type_ == DATE:
            given = None if value is None else value_of(Timestamp(), random)
            return self._through(Timestamp(), type_, self._column(Timestamp(), given))
        if isinstance(type_, Primitive) and type_ not in values.DECLARED:
            return self._through(BIGINT, type_, self._column(BIGINT, value))
        column = Column(f"x{self._columns}", type_, value)
        self._columns += 1
        return Operand(column.name, type_, [column])

    def _through(self, source: Type, target: Type, given: Operand) -> Operand:
        """A value of a type that no column has, by a cast, which is a part."""
        sql = f"CAST({given.sql} AS {target})"
        kind = _cast_kind(source, target)
        part = Case(sql, tuple(given.columns), kind, operands=(given.sql,))
        return Operand(sql, target, given.columns, [part])

    def _nested(self, type_: Type) -> Operand | None:
        giving = self._giving.get(type_)
        if type_ == BOOLEAN and self._random.random() < 0.5:
            case = self._comparison()
        elif giving:
            row, signature = self._random.choice(giving)
            case = self._call(row, signature=signature)
        else:
            return None
        return Operand(
            f"({case.expression})", type_, list(case.columns), [*case.parts, case]
        )

    def _made(self, kind: str, sql: str, *operands: Operand) -> Case:
        columns = [column for operand in operands for column in operand.columns]
        parts = [part for operand in operands for part in operand.parts]
        once = {column.name: column for column in columns}
        texts = tuple(operand.sql for operand in operands)
        return Case(sql, tuple(once.values()), kind, tuple(parts), texts)

    def _text_for(self, type_: Type) -> Operand:
        """A text where another type is wanted, which mostly may be read as it."""
        return self._operand(TEXT, texts=values.texts_for(type_))

    def _any(self, *types: Type, depth: int = 0) -> Operand:
        return self._operand(self._random.choice(types or values.TYPES), depth=depth)

    # Functions

    def _call(
        self,
        row: ScalarFunction,
        *,
        depth: int = 0,
        signature: Signature | None = None,
    ) -> Case:
        special = _SPECIAL.get(row.name)
        if special is not None:
            return special(self, row.name)
        signature = signature or self._random.choice(row.signatures)
        chance = self._random.random()
        odd, of_texts = chance < 0.06, 0.06 < chance < 0.14
        operands = [
            self._text_for(self._type(parameter))
            if of_texts and self._random.random() < 0.6
            else self._argument(row.name, place, parameter, depth, odd)
            for place, parameter in enumerate(self._parameters(signature))
        ]
        kind = row.name + " of other types" * odd + " of texts" * of_texts
        sql = f"{row.name}({', '.join(o.sql for o in operands)})"
        return self._made(kind, sql, *operands)

    def _parameters(self, signature: Signature) -> list[Parameter]:
        wanted = list(signature.parameters)
        if signature.optional:
            wanted = wanted[: len(wanted) - self._random.randint(0, signature.optional)]
        if signature.repeats and wanted:
            wanted += wanted[-1:] * self._random.choice((0, 1, 1, 2))
        self._common = self._random.choice((BIGINT, TEXT, DOUBLE))
        return wanted

    def _argument(
        self, name: str, place: int, parameter: Parameter, depth: int, odd: bool
    ) -> Operand:
        random = self._random
        texts = _TEXTS.get((name, place), ())
        small = name not in _ANY_NUMBER
        is_literal = (name in _LITERAL and place > 0) or (
            bool(texts) and random.random() < 0.6
        )
        if odd and random.random() < 0.6:
            return self._any()
        type_ = self._type(parameter)
        if type_ != TEXT:
            texts = ()
        # A function of dates takes text too.
        is_time = isinstance(parameter, Timestamp) or parameter is ParameterKind.MOMENT
        if is_time and random.random() < 0.15:
            type_, texts = TEXT, values.DATE_TEXTS
        if parameter in (BIGINT, INT) and self._is_numeric(name):
            small = False
        return self._operand(
            type_, texts=texts, small=small, depth=depth, literal=is_literal
        )

    def _is_numeric(self, name: str) -> bool:
        row = self._named.get(name)
        return name.startswith("to_timestamp") or (
            row is not None and row in functions.math.FUNCTIONS
        )

    def _type(self, parameter: Parameter) -> Type:
        random = self._random
        match parameter:
            case ParameterKind.ANY:
                if random.random() < 0.7:
                    return self._common
                return random.choice(values.TYPES)
            case ParameterKind.NUMBER:
                return random.choice(values.NUMBERS)
            case ParameterKind.LIST | ParameterKind.TYPED_LIST:
                return ListOf(self._common)
            case ParameterKind.WHOLE:
                return random.choice((BIGINT, BIGINT, INT, *values.WHOLE))
            case ParameterKind.OTHER_LIST:
                return random.choice(values.LISTS)
            case ParameterKind.ELEMENT:
                return self._common
            case ParameterKind.STRUCT:
                return values.PAIR
            case ParameterKind.DECIMAL:
                return random.choice((values.MONEY, values.WIDE))
            case ParameterKind.FLOAT:
                return FLOAT
            case ParameterKind.FLOAT_OR_WHOLE:
                return random.choice((FLOAT, FLOAT, *values.WHOLE))
            case ParameterKind.BIGINT:
                return BIGINT
            case ParameterKind.AS_TEXT:
                return TEXT if random.random() < 0.7 else random.choice(values.SCALARS)
            case Primitive("DOUBLE"):
                return random.choice((DOUBLE, DOUBLE, DOUBLE, *values.NUMBERS))
            case Primitive("BIGINT"):
                return random.choice((BIGINT, BIGINT, BIGINT, *values.WHOLE))
            case Primitive("BYTEA"):
                return random.choice((BYTEA, TEXT))
            case Timestamp() | ParameterKind.MOMENT:
                return random.choice((Timestamp(), *values.TIMESTAMPS, DATE))
            case ParameterKind():
                return TEXT
        return parameter

    # Operators

    def _cast(self) -> Case:
        random = self._random
        source, target = random.choice(values.TYPES), random.choice(values.TYPES)
        if random.random() < 0.3:
            source = TEXT
        texts = values.texts_for(target) if source == TEXT else ()
        given = self._operand(source, texts=texts)
        word = "TRY_CAST" if random.random() < 0.15 else "CAST"
        sql = f"{word}({given.sql} AS {target})"
        return self._made(_cast_kind(source, target), sql, given)

    def _two(self, operator: str, one: Operand, other: Operand, kind: str) -> Case:
        name = f"{family(one.type)} {kind} {family(other.type)}"
        return self._made(name, f"{one.sql} {operator} {other.sql}", one, other)

    def _arithmetic(self) -> Case:
        if self._random.random() < 0.1:
            one = self._any(*values.NUMBERS)
            return self._made(f"- {family(one.type)}", f"-({one.sql})", one)
        operator = self._random.choice("+-*/%")
        one, other = (self._any(*values.NUMBERS, depth=1) for _ in range(2))
        return self._two(operator, *self._one_of_text(one, other), operator)

    def _one_of_text(self, one: Operand, other: Operand) -> tuple[Operand, Operand]:
        """Both operands, one of which may become a text."""
        chance = self._random.random()
        if chance < 0.08:
            one = self._text_for(one.type)
        elif chance < 0.16:
            other = self._text_for(other.type)
        return one, other

    def _bits(self) -> Case:
        operator = self._random.choice(("&", "|", "#", "<<", ">>"))
        one, other = (self._any(*values.WHOLE) for _ in range(2))
        one, other = self._one_of_text(one, other)
        kind = "bits" if operator in "&|#" else "bit shifts"
        kind += " of texts" * (TEXT in (one.type, other.type))
        return self._made(kind, f"{one.sql} {operator} {other.sql}", one, other)

    def _comparison(self) -> Case:
        random = self._random
        operator = random.choice(
            ("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "==", "<=>")
        )
        one_type = random.choice(values.TYPES)
        near = (
            values.NUMBERS
            if is_number(one_type)
            else values.TIMES
            if one_type in values.TIMES
            else (one_type,)
        )
        other_type = random.choice((one_type, *near, *near, TEXT))
        one = self._operand(one_type)
        texts = values.texts_for(one_type) if other_type == TEXT else ()
        other = self._operand(other_type, texts=texts)
        if random.random() < 0.15:
            third = (
                self._text_for(one_type)
                if random.random() < 0.2
                else self._operand(other_type)
            )
            name = f"{family(one_type)} compare {family(other_type)}"
            form = random.choice(
                ("{} BETWEEN {} AND {}", "{} IN ({}, {})", "{} NOT IN ({}, {})")
            )
            sql = form.format(one.sql, other.sql, third.sql)
            return self._made(name, sql, one, other, third)
        if random.random() < 0.5:
            one, other = other, one
        return self._two(operator, one, other, "compare")

    def _matching(self) -> Case:
        random = self._random
        if random.random() < 0.35:
            operator = random.choice(("LIKE", "ILIKE", "NOT LIKE", "SIMILAR TO"))
            texts = values.LIKES
            kind = "SIMILAR TO" if operator == "SIMILAR TO" else "LIKE"
        else:
            operator = random.choice(("~", "~*", "!~", "!~*"))
            texts = values.PATTERNS
            kind = "~"
        one = self._operand(TEXT, depth=1)
        other = self._operand(TEXT, texts=texts, literal=random.random() < 0.6)
        return self._made(kind, f"{one.sql} {operator} {other.sql}", one, other)

    def _temporal(self) -> Case:
        random = self._random
        operator = random.choice("+-")
        one = self._any(*values.TIMES)
        other = self._any(*values.TIMES, INTERVAL, INTERVAL, INTERVAL, INT)
        if random.random() < 0.15:
            part = random.choice(values.PARTS)
            sql = f"extract({part.upper()} FROM {one.sql})"
            return self._made(f"extract of {family(one.type)}", sql, one)
        if random.random() < 0.15:
            sql = f"extract(EPOCH FROM {one.sql} {operator} {other.sql})"
            return self._made("extract of a sum", sql, one, other)
        return self._two(operator, *self._one_of_text(one, other), operator)

    def _joined(self) -> Case:
        one = self._any(TEXT, TEXT, *values.LISTS, *values.SCALARS)
        other = self._any(TEXT, *values.LISTS, *values.SCALARS)
        return self._made("||", f"{one.sql} || {other.sql}", one, other)

    def _logical(self) -> Case:
        random = self._random
        one = self._operand(BOOLEAN, depth=1)
        form = random.choice(
            (
                *("{} AND {}", "{} OR {}", "NOT {}", "{} IS TRUE", "{} IS NOT FALSE"),
                *("{} IS UNKNOWN", "{} IS NOT UNKNOWN", "{} IS NULL", "{} IS NOT NULL"),
            )
        )
        if "NULL" in form:
            one = self._any()
        operands = [one, *[self._operand(BOOLEAN)] * (form.count("{}") - 1)]
        kind = form.replace("{}", "").strip()
        return self._made(kind, form.format(*(o.sql for o in operands)), *operands)

    def _conditional(self) -> Case:
        random = self._random
        type_ = random.choice(values.TYPES)
        other = random.choice((type_, type_, *values.NUMBERS, TEXT))
        when = self._operand(BOOLEAN, depth=1)
        one = self._operand(type_)
        two = self._text_for(type_) if other == TEXT else self._operand(other)
        if random.random() < 0.2:
            # Its branches tell which one it takes.
            sql = f"CASE {one.sql} WHEN {two.sql} THEN 1 ELSE 0 END"
            return self._made("CASE of a value", sql, one, two)
        sql = f"CASE WHEN {when.sql} THEN {one.sql} ELSE {two.sql} END"
        return self._made("CASE", sql, when, one, two)

    def _element(self) -> Case:
        random = self._random
        chance = random.random()
        if chance < 0.3:
            struct = self._operand(values.PAIR)
            form = random.choice(("({})['a']", "({})['b']", "({})['c']"))
            return self._made("struct[]", form.format(struct.sql), struct)
        items = self._any(*values.LISTS, depth=1)
        one = self._operand(BIGINT, small=True)
        if chance < 0.6:
            return self._made("list[]", f"({items.sql})[{one.sql}]", items, one)
        if chance < 0.7:
            key = self._operand(TEXT, texts=("a", "b", "z"), literal=True)
            sql = f"map(make_array('a', 'b'), make_array(1, 2))[{key.sql}]"
            return self._made("map[]", sql, key)
        other = self._operand(BIGINT, small=True)
        sql = f"({items.sql})[{one.sql}:{other.sql}]"
        return self._made("list[:]", sql, items, one, other)

    def _syntax(self) -> Case:
        one, two = self._operand(TEXT), self._operand(TEXT, texts=("a", "ab", " ", "é"))
        number, count = (self._operand(BIGINT, small=True) for _ in range(2))
        kind, form = self._random.choice(
            (
                ("btrim", "trim(both {1} from {0})"),
                ("ltrim", "trim(leading {1} from {0})"),
                ("rtrim", "trim(trailing {1} from {0})"),
                ("substr", "substring({0} from {2} for {3})"),
                ("substr", "substring({0} from {2})"),
                ("strpos", "position({1} in {0})"),
                ("overlay", "overlay({0} placing {1} from {2} for {3})"),
            )
        )
        operands = (one, two, number, count)
        places = {form.find(f"{{{n}}}"): o for n, o in enumerate(operands)}
        used = [places[place] for place in sorted(places) if place >= 0]
        return self._made(kind, form.format(*(o.sql for o in operands)), *used)

    # Functions whose arguments belong together

    def _of_struct(self, name: str) -> Case:
        operands = [self._any() for _ in range(self._random.choice((1, 2)))]
        fields = [f"'f{n}', {o.sql}" for n, o in enumerate(operands)]
        return self._made(name, f"named_struct({', '.join(fields)})", *operands)

    def _of_map(self, name: str) -> Case:
        count = self._random.choice((1, 2))
        keys = [self._operand(TEXT, texts=("a", "b")) for _ in range(count)]
        items = [self._operand(BIGINT) for _ in range(count)]
        sql = "map(make_array({}), make_array({}))".format(
            ", ".join(k.sql for k in keys), ", ".join(i.sql for i in items)
        )
        if name == "map":
            return self._made(name, sql, *keys, *items)
        key = self._operand(TEXT, texts=("a", "b", "z"))
        more = f", {key.sql}" if name == "map_extract" else ""
        used = [key] if more else []
        return self._made(name, f"{name}({sql}{more})", *keys, *items, *used)

    def _of_sequence(self, name: str) -> Case:
        random = self._random
        if random.random() < 0.7:
            count = random.choice((1, 2, 2, 3))
            operands = [self._operand(BIGINT, small=True) for _ in range(count)]
        else:
            first, last = random.choice(
                (
                    ("DATE '2024-01-31'", "DATE '2024-05-01'"),
                    ("TIMESTAMP '1969-12-31 22:00'", "TIMESTAMP '1970-01-03 01:00'"),
                    ("DATE '2024-05-01'", "DATE '2024-01-31'"),
                )
            )
            step = random.choice(("1 day", "1 month", "7 hours", "-1 day", "1 week"))
            operands = [Operand(sql, DATE) for sql in (first, last)]
            operands.append(Operand(f"INTERVAL '{step}'", INTERVAL))
        sql = f"{name}({', '.join(o.sql for o in operands)})"
        return self._made(name, sql, *operands)


_SPECIAL: dict[str, Callable[[Generator, str], Case]] = {
    "named_struct": Generator._of_struct,
    **dict.fromkeys(
        ("map", "map_keys", "map_values", "map_extract"), Generator._of_map
    ),
    **dict.fromkeys(("generate_series", "range"), Generator._of_sequence),
}


def family(type_: Type) -> str:
    """What a type is called in the name of a kind."""
    match type_:
        case Timestamp():
            return "TIMESTAMP"
        case Decimal():
            return "DECIMAL"
        case ListOf():
            return "list"
        case StructOf():
            return "struct"
        case _ if is_unsigned(type_):
            return "UNSIGNED"
        case _ if is_integer(type_):
            return "integer"
    return str(type_)


def _cast_kind(source: Type, target: Type) -> str:
    return f"cast {family(source)} to {family(target)}"


def quoted(text: str) -> str:
    """A text in Arroyo's SQL, whose backslashes are no escapes."""
    return "'" + text.replace("'", "''") + "'"


def literal(value: object, type_: Type) -> str:
    """A value in Arroyo's SQL."""
    match type_:
        case _ if value is None:
            return "NULL"
        case Primitive("TEXT"):
            return quoted(str(value))
        case Primitive("BIGINT"):
            if value == -(2**63):
                return "(-9223372036854775807 - 1)"
            return f"({value})" if isinstance(value, int) and value < 0 else str(value)
        case Primitive("BOOLEAN"):
            return str(value).lower()
        case Primitive("DOUBLE") if isinstance(value, float) and math.isfinite(value):
            return f"({value!r})" if str(value).startswith("-") else repr(value)
        case Primitive("BYTEA") if isinstance(value, bytes):
            return f"decode('{value.hex()}', 'hex')"
        case Timestamp(digits):
            text = f"TIMESTAMP '{value}'"
            return text if digits == 9 else f"CAST({text} AS {type_})"
        case ListOf(element) if isinstance(value, list):
            if not value:
                return f"CAST(make_array() AS {type_})"
            return f"make_array({', '.join(literal(item, element) for item in value)})"
        case StructOf(fields) if isinstance(value, dict):
            pairs = (f"'{f.name}', {literal(value[f.name], f.type)}" for f in fields)
            return f"named_struct({', '.join(pairs)})"
        case Decimal():
            return f"CAST('{value:f}' AS {type_})"
    return f"CAST('{value}' AS {type_})"
