"""Compare expressions with what DataFusion gives, which is what Arroyo evaluates with.

One expression, over columns where it has some::

    python scripts/oracle.py "regexp_replace(s, 'b?', 'X')" --column "s TEXT = 'abc'"

Several are separated by lines on the standard input: ``python scripts/oracle.py -``.

The random cases of a seed, and the table of their differences by kind; with ``--note``
the kinds that are not in ``tests/oracle/not_yet.tsv`` are added to it::

    python scripts/oracle.py --cases 2000 --seed 7
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import os
import re
import sys
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
os.environ.setdefault("ARROYO_NB_JAVA_OPTS", "-XX:TieredStopAtLevel=1")

from oracle import ours, theirs
from oracle.cases import Case, Column
from oracle.comparison import compare
from oracle.generator import Generator
from oracle.report import not_yet, one_line, report, table, write_not_yet

from arroyo_nb.catalog import Catalog
from arroyo_nb.engine import Engine
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.spark.expressions import spark_sql

_COLUMN = re.compile(r"(\w+)\s+([^=]+?)\s*=\s*(.*)", re.DOTALL)
_NAMES = {
    "Decimal": Decimal,
    "datetime": datetime,
    "date": date,
    "timedelta": timedelta,
    "nan": float("nan"),
    "inf": float("inf"),
}


def column(text: str) -> Column:
    """A column as it is given: ``name TYPE = value``, the value as Python writes it."""
    found = _COLUMN.fullmatch(text)
    if found is None:
        raise argparse.ArgumentTypeError("write a column as: name TYPE = value")
    name, type_, value = found.groups()
    script = (
        f"CREATE TABLE data ({name} {type_}) WITH (connector = 'single_file', "
        "path = '/x', format = 'json', type = 'source')"
    )
    table = plan_script(script, Catalog()).catalog.tables["data"]
    return Column(name, table.physical[name].type, _value(value))


def _value(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except ValueError:
        code = compile(text.replace("datetime.", ""), "<value>", "eval")
        return eval(code, {"__builtins__": {}}, _NAMES)


def show_expressions(engine: Engine, cases: list[Case]) -> None:
    """Print both outcomes of each."""
    there = [theirs.evaluate(case) for case in cases]
    failing = [n for n, outcome in enumerate(there) if outcome.failure]
    here = ours.evaluate(engine, cases, alone=failing)
    for case, one, other in zip(cases, here, there, strict=True):
        print(case)
        with contextlib.suppress(Exception):
            text = spark_sql(ours.plan(case), row_time="NULL")
            print(f"  Spark SQL:  {text}")
        print(f"  ours:       {one}\n  DataFusion: {other}")
        print(f"  -> {compare(one, other).value}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("expressions", nargs="*", metavar="EXPRESSION")
    parser.add_argument("--column", action="append", type=column, default=[])
    parser.add_argument("--cases", type=int, default=0, metavar="N")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--note", action="store_true")
    options = parser.parse_args()
    texts = options.expressions
    if texts == ["-"]:
        texts = [line.strip() for line in sys.stdin if line.strip()]
    engine = Engine()
    try:
        cases = [Case(text, tuple(options.column)) for text in texts]
        if cases:
            show_expressions(engine, cases)
        if options.cases:
            found = report(engine, Generator(options.seed).cases(options.cases))
            print(table(found))
            if options.note:
                news = {key: one_line(one) for key, one in found.kinds.items()}
                write_not_yet(news | not_yet())
    finally:
        engine.close()


if __name__ == "__main__":
    main()
