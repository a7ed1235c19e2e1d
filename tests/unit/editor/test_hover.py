"""What each kind of word is said to be."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest
from editor_cells import context, known_tables, pointed

from arroyo_nb.catalog import Catalog
from arroyo_nb.editor.answers import EditorContext, Hover
from arroyo_nb.editor.cell_text import read_cell
from arroyo_nb.editor.hover import hover
from arroyo_nb.editor.signature import signature
from arroyo_nb.functions.signature import ScalarFunction, Signature
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.schema import BIGINT, DOUBLE

BY_HOUR = "tumble(INTERVAL '1 hour') AS w, count(*) AS n FROM trips GROUP BY w"
CREATE = (
    "CREATE TABLE x (id BIGINT, ts TIMESTAMP NOT NULL, "
    "WATERMARK FOR ts AS ts - INTERVAL '90 seconds') WITH (connector = 'kafka', "
    "bootstrap_servers = 'h:1', topic = 'x', type = 'source', format = 'json')"
)


def told(text: str, **variables: object) -> Hover:
    found = hover(*pointed(text), context(**variables))
    assert found is not None, "something is said"
    return found


def sql(text: str, **variables: object) -> Hover:
    return told(f"%%arroyo\n{text}", **variables)


@pytest.mark.parametrize(
    ("text", "title", "line"),
    [
        ("SELECT fa|re FROM trips", "fare DOUBLE", "A column of trips."),
        ("SELECT fare| FROM trips WHERE (", "fare DOUBLE", "A column of trips."),
        (
            "SELECT t.a|t FROM trips AS t",
            "at TIMESTAMP NOT NULL",
            "The event time: the watermark is 5 seconds behind.",
        ),
        ('SELECT "user|Id", FROM trips', "userId TEXT", "A column of trips."),
        ("SELECT place.at.la|t FROM trips", "lat DOUBLE", "A field of place of trips."),
        (
            "SELECT window.en|d FROM hourly",
            "end TIMESTAMP NOT NULL",
            "A field of window of hourly.",
        ),
        ("SELECT n| FROM hourly", "n BIGINT NOT NULL", "It is count(*)."),
        ("SELECT far|es FROM hourly", "fares DOUBLE", "It is sum(fare)."),
        ("SELECT na|me FROM hourly", "name TEXT", "A column of trips."),
        (
            "SELECT win|dow FROM hourly",
            "window STRUCT<start TIMESTAMP, end TIMESTAMP> NOT NULL",
            "It is tumble(INTERVAL '1 hours').",
        ),
        (f"SELECT {BY_HOUR}|", "w STRUCT<start TIMESTAMP, end TIMESTAMP> NOT NULL", ""),
        (
            f"SELECT {BY_HOUR.replace(' AS n', ' AS n|')}",
            "n BIGINT NOT NULL",
            "A name for count(*).",
        ),
        (
            "WITH a AS (SELECT fare AS f FROM trips), b AS (SELECT f FROM a) "
            "SELECT b.f| FROM b WHERE f >",
            "f DOUBLE",
            "A column of the query b.",
        ),
        (
            "SELECT s.z| FROM (SELECT seats + 1 AS z FROM trips) AS s",
            "z BIGINT",
            "It is CAST(seats AS BIGINT) + 1.",
        ),
        (
            "CREATE VIEW v AS SELECT at AS moment FROM trips; SELECT mom|ent, FROM v",
            "moment TIMESTAMP NOT NULL",
            "The event time: the watermark is 5 seconds behind.",
        ),
        (
            "SELECT * FROM trips WHERE fare > :least AND na|me = 'a'",
            "name TEXT",
            "A column of trips.",
        ),
        ("SELECT id FROM clicks UNION SELECT seat|s FROM trips", "seats INT", ""),
        (
            "SELECT name FROM clicks WHERE id IN (SELECT sea|ts FROM trips)",
            "seats INT",
            "A column of trips.",
        ),
        (
            "INSERT INTO totals (cit|y, total) SELECT name, fare FROM trips",
            "city TEXT",
            "A column of totals.",
        ),
        (
            CREATE.replace("(id BIGINT, ts", "(id BIGINT, t|s"),
            "ts TIMESTAMP NOT NULL",
            "The event time: the watermark is 1 minute 30 seconds behind.",
        ),
    ],
)
def test_a_column_has_its_type_and_origin(text: str, title: str, line: str) -> None:
    found = sql(text)
    assert found.title == title
    assert not line or line in found.lines


@pytest.mark.parametrize(
    ("text", "title", "lines"),
    [
        (
            "SELECT * FROM tri|ps WHERE",
            "trips: single_file source",
            {"Event time at, watermark 5 seconds behind.", "fare DOUBLE"},
        ),
        (
            "SELECT t|.fare FROM trips t",
            "t: trips: single_file source",
            {"fare DOUBLE"},
        ),
        ("SELECT * FROM hou|rly", "hourly: view", {"n BIGINT NOT NULL"}),
        (
            "SELECT * FROM trips JOIN us|ers ON trips.name = users.id",
            "users: redis lookup",
            {"Connector redis: looked up by id, asked for each key."},
        ),
        ("DESCRIBE tic|ks", "ticks: impulse source", set()),
        ("DROP VIEW hour|ly", "hourly: view", set()),
        ("INSERT INTO tot|als SELECT", "totals: single_file sink", {"city TEXT"}),
        (
            "WITH a AS (SELECT fare FROM trips) SELECT * FROM a|",
            "a: a query of WITH",
            {"fare DOUBLE"},
        ),
        (
            f"{CREATE}; SELECT * FROM x|",
            "x: kafka source",
            {"Event time ts, watermark 1 minute 30 seconds behind.", "id BIGINT"},
        ),
        (CREATE.replace("TABLE x", "TABLE x|"), "x: kafka source", {"id BIGINT"}),
    ],
)
def test_a_table_has_columns_watermark_and_connector(
    text: str, title: str, lines: set[str]
) -> None:
    found = sql(text)
    assert found.title == title
    assert lines <= set(found.lines)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("tum|ble(INTERVAL '1 hour')", "Windows of 1 hour, one after the other."),
        ("tumble(INTERVAL '90 min|utes')", "Windows of 1 hour 30 minutes, one after"),
        (
            "h|op(INTERVAL '10 minutes', INTERVAL '1 hour')",
            "Windows of 1 hour, one begins every 10 minutes; a row is in 6 of them.",
        ),
        ("sess|ion(INTERVAL '30' SECOND)", "until no row comes for 30 seconds."),
        ("tum|ble(", "Windows of a fixed width, one after the other."),
        ("tum|ble(INTERVAL '1 month')", "Windows of a fixed width"),
    ],
)
def test_a_window_has_its_width_in_words(call: str, words: str) -> None:
    found = sql(f"SELECT {call} AS w FROM trips GROUP BY w")
    assert words in found.lines[0]


def test_a_window_and_its_clause_have_the_badge_of_the_plan() -> None:
    window = sql(f"SELECT {BY_HOUR}".replace("tumble", "tum|ble"))
    clause = sql(f"SELECT {BY_HOUR}".replace("GROUP", "GR|OUP"))
    assert window.badge == clause.badge == "differs"
    assert any("oldest row of each batch" in line for line in window.lines)
    updating = sql("SELECT name, count(*) FROM trips GRO|UP BY name")
    assert updating.badge == "micro-batch"
    # It cannot be planned: nobody knows.
    assert sql("SELECT name, nothing FROM trips GRO|UP BY name").badge is None


def udf_context() -> EditorContext:
    udf = SimpleNamespace(
        signature="tax(fare DOUBLE) -> DOUBLE",
        language="python",
        called="once for each row",
        arroyo_refusal="",
    )
    row = ScalarFunction(
        "tax", (Signature((DOUBLE,), DOUBLE),), "", "a tax of yours", example="",
        udf=udf,  # type: ignore[arg-type]
    )  # fmt: skip
    return EditorContext(known_tables().with_functions({"tax": row}))


@pytest.mark.parametrize(
    ("call", "title", "example"),
    [
        ("upp|er(name)", "upper(TEXT) -> TEXT", "upper('abc') -> 'ABC'"),
        ("UPP|ER(name)", "upper(TEXT) -> TEXT", "upper('abc') -> 'ABC'"),
        ("cou|nt(*)", "count(a value or *)", "count(*) -> 5"),
        ("row_num|ber() OVER (ORDER BY at)", "row_number() OVER (...)", "row_number()"),
        ("first_va|lue(fare)", "first_value(a value)", "first_value("),
        ("unn|est(tags)", "unnest(list)", "unnest(tags)"),
        ("CA|ST(fare AS INT)", "CAST", "CAST(fare AS BIGINT)"),
    ],
)
def test_a_function_has_signature_and_example(
    call: str, title: str, example: str
) -> None:
    found = sql(f"SELECT {call} FROM trips")
    assert found.title.startswith(title)
    assert example in (found.example or "")
    assert found.lines


def test_the_meaning_of_a_function_with_over_is_its_own() -> None:
    alone = sql("SELECT first_val|ue(fare) FROM trips")
    framed = sql("SELECT first_val|ue(fare) OVER (ORDER BY at) FROM trips")
    assert "OVER" in framed.title
    assert "OVER" not in alone.title


@pytest.mark.parametrize(
    "text",
    ["SELECT * FROM no|body", "SELECT n|.id FROM nobody AS n"],
)
def test_nothing_is_said_of_a_table_that_does_not_exist(text: str) -> None:
    assert hover(*pointed(f"%%arroyo\n{text}"), context()) is None


def test_a_table_whose_declaration_is_wrong_is_not_finished() -> None:
    found = sql("CREATE VIEW v AS SELECT x FROM nobody; SELECT * FROM v|")
    assert found.title == "v"
    assert found.lines == ("Its columns are not known: it is not finished.",)


def test_a_function_of_the_user_has_its_signature() -> None:
    found = hover(*pointed("%%arroyo\nSELECT ta|x(fare) FROM trips"), udf_context())
    assert found is not None
    assert found.title == "tax(fare DOUBLE) -> DOUBLE"
    assert found.lines[0] == "A tax of yours."


@pytest.mark.parametrize(
    ("text", "title", "line"),
    [
        ("connec|tor = 'kafka'", "connector", "Required."),
        ("connector = 'kaf|ka'", "connector kafka", "bootstrap_servers, topic."),
        ("connector = 'kafka', top|ic = 'a'", "topic", "Required."),
        ("connector = 'kafka', form|at = 'json'", "format", "One of 'json'"),
        ("connector = 'kafka', format = 'js|on'", "format json", "are rows."),
        ("connector = 'kafka', bad_da|ta = 'drop'", "bad_data", "Default: fail."),
        ("connector = 'kafka', bad_data = 'dr|op'", "bad_data", "'drop', 'fail'"),
        ("connector = 'sample', 'disorder.shuf|fle' = ''", "disorder.shuffle", "tape"),
        ("connector = 'kafka', ty|pe = ", "type", "One of 'source', 'sink'."),
    ],
)
def test_an_option_has_meaning_values_and_default(
    text: str, title: str, line: str
) -> None:
    found = sql(f"CREATE TABLE x (a TEXT) WITH ({text})")
    assert found.title == title
    assert any(line in one for one in found.lines)


def test_a_variable_has_its_value_and_a_secret_has_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert sql("SELECT :le|ast FROM trips", least=3).lines == ("3",)
    password = sql("SELECT :pass|word FROM trips", password="rose")
    url = sql(
        "SELECT :add|ress FROM trips", address="redis://ann:rose@host/" + "x" * 90
    )
    monkeypatch.setenv("TOPIC_NAME", "rose")
    variable = sql(
        "CREATE TABLE x (a TEXT) WITH (connector = 'kafka', "
        "topic = '{{ TOP|IC_NAME }}')"
    )
    assert variable.title == "{{ TOPIC_NAME }}"
    assert "It is set" in variable.lines[1]
    assert "rose" not in f"{password}{url}{variable}"
    assert "no variable none" in sql("SELECT :no|ne FROM trips").lines[0]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("%%arroyo --wa|it\nSELECT 1", "--wait"),
        ("%%arr|oyo\nSELECT 1", "%%arroyo"),
        ("%%arroyo --speed 6|0\nSELECT 1", "--speed"),
        ("%%arroyo_rows t --wat|ermark '1 s'\na\n1", "--watermark"),
        ("%%arroyo_test t --time|out 1s\nGIVEN t", "--timeout"),
        ("%%arroyo_test t\nGIV|EN trips\nat\n", "GIVEN"),
        ("%%arroyo_test t\nGIVEN tri|ps\nat\n", "trips: single_file source"),
        ("%%arroyo_test t\nGIVEN trips\nat || fa|re\n", "fare DOUBLE"),
        ("%%arroyo_test t\nGIVEN trips --water|mark '1 s'\nat\n", "--watermark"),
        ("%%arroyo_test t\nWHEN\nSELECT fa|re FROM trips\nEXPECT TABLE", "fare DOUBLE"),
        ("%%arroyo_test t\nWHEN\nSELECT 1\nEXPECT LA|TE", "LATE"),
        ("%%arroyo_test t\nWHEN\nSELECT CASE WH|EN\nEXPECT LATE", ""),
    ],
)
def test_first_lines_and_tests_are_explained(text: str, title: str) -> None:
    found = hover(*pointed(text), context())
    assert (found is None) == (title == "")
    assert found is None or found.title.startswith(title)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (CREATE.replace("WATERMARK", "WATER|MARK"), "WATERMARK FOR"),
        (CREATE.replace("WATERMARK FOR", "WATERMARK FO|R"), "WATERMARK FOR"),
        (CREATE.replace("NOT NULL", "NOT NU|LL"), "NOT NULL"),
        (CREATE.replace("BIGINT", "BIG|INT"), "BIGINT"),
        ("SELECT CAST(fare AS IN|T) FROM trips", "INT"),
        ("SELECT CAST(fare AS NUMER|IC) FROM trips", "NUMERIC: DECIMAL"),
        ("SELECT fare FROM trips ORDER B|Y fare", "ORDER BY"),
        ("SELECT at - INTER|VAL '2 days' FROM trips", "INTERVAL '2 days'"),
        ("SEL|ECT", "SELECT"),
    ],
)
def test_types_and_keywords_are_explained(text: str, title: str) -> None:
    assert sql(text).title == title


@pytest.mark.parametrize(
    "text",
    [
        "SELECT fare -- fa|re\nFROM trips",
        "SELECT fare /* fa|re */ FROM trips",
        "SELECT 'fa|re' FROM trips",
        "SELECT 1|2 FROM trips",
        "SELECT nob|ody FROM trips",
        "SELECT n.o.b.o|.dy FROM trips.",
        "|",
        "((|",
        "WITH|",
        "WITH a AS (|",
        "CREATE TABLE x (a TEXT) WITH (|",
        "\"|",
        "$$|",
        "SELECT * FROM (SELECT * FROM (|",
    ],
)  # fmt: skip
def test_nothing_is_said_of_what_is_nothing(text: str) -> None:
    cell, at = pointed(f"%%arroyo\n{text}")
    found = hover(cell, at, context())
    assert found is None or found.title in ("WITH",)


@pytest.mark.parametrize("before", ["", "\t", "/* 🦆 é */ ", "-- 🦆\r\n", "\r\n\t🦆 "])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_places_are_those_of_the_text(before: str, line_end: str) -> None:
    cell, at = pointed(f"%%arroyo{line_end}{before}SELECT{line_end}\tfa|re FROM trips")
    found = hover(cell, at, context())
    assert found is not None
    assert cell.text[found.start : found.end] == "fare"
    assert found.title == "fare DOUBLE"


def test_hostile_names_are_texts_like_others() -> None:
    name = '<img src=x onerror="alert(1)">'
    quoted = '"' + name.replace('"', '""') + '"'
    found = sql(
        f"CREATE VIEW v AS SELECT fare AS {quoted} FROM trips; SELECT * FROM |v"
    )
    assert f"{name} DOUBLE" in found.lines
    alias = sql(f"SELECT fare AS |{quoted} FROM trips")
    assert alias.title == f"{name} DOUBLE"


def test_everything_is_asked_while_it_is_typed() -> None:
    """No place of an unfinished cell is an error."""
    whole = (
        "%%arroyo\nWITH a AS (SELECT tumble(INTERVAL '1 hour') AS w, place.at.lat AS "
        '"l" FROM trips t WHERE name = :n GROUP BY w, l) INSERT INTO totals (city) '
        "SELECT upper(a.l) FROM a LEFT JOIN users u ON u.id = a.l; " + CREATE
    )
    for end in range(len("%%arroyo"), len(whole)):
        cell = read_cell(whole[:end])
        assert cell is not None
        hover(cell, end, context(n="ann"))
        signature(cell, end, context(n="ann"))


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("SELECT upper(|", "upper(TEXT) -> TEXT"),
        ("SELECT upper(na|me) FROM trips", "upper(TEXT) -> TEXT"),
        ("SELECT round(fare, (1 + |", "round("),
        ("SELECT upper(trim(name|)) FROM trips", "btrim|trim("),
        ("SELECT upper(trim(name)|) FROM trips", "upper("),
        ("SELECT tumble(INTERVAL '1 ho|ur'", "tumble(width INTERVAL)"),
        ("SELECT row_number(|) OVER (ORDER BY at)", "row_number() OVER"),
        ("SELECT CAST(fare |", "CAST"),
    ],
)
def test_the_function_around_a_place(text: str, title: str) -> None:
    found = signature(*pointed(f"%%arroyo\n{text}"), context())
    assert found is not None
    assert found.title.startswith(tuple(title.split("|")))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT upper(name)| FROM trips",
        "SELECT |upper(name) FROM trips",
        "SELECT (1 + |2) FROM trips",
        "SELECT upper(name); |",
        "CREATE TABLE x (a |TEXT)",
        "|",
    ],
)
def test_no_function_is_around_a_place(text: str) -> None:
    assert signature(*pointed(f"%%arroyo\n{text}"), context()) is None


def test_a_question_is_quick_at_200_statements() -> None:
    statements = [
        f"CREATE VIEW v{n} AS SELECT name, fare + {n} AS f{n} FROM "
        f"{'trips' if n % 10 == 0 else f'v{n - 1}'} WHERE fare > {n}"
        for n in range(199)
    ]
    text = "%%arroyo\n" + ";\n".join([*statements, "SELECT tumble("])
    text = text.replace("SELECT name, fare +", "SELECT name, fare, fare +")
    places = [at for at in range(len(text)) if text.startswith("fare > ", at)]
    took_s = []
    for number, at in enumerate(places):
        # Each is another text, as each key makes one.
        typed = read_cell(f"{text} {number}")
        assert typed is not None
        # Of this process: other tests run beside it.
        begun = time.process_time()
        found = hover(typed, at + 2, EditorContext(known_tables()))
        took_s.append(time.process_time() - begun)
        assert found is not None
        assert found.title == "fare DOUBLE"
    assert sorted(took_s)[int(len(took_s) * 0.95)] <= 0.030


def test_a_session_without_tables_has_answers() -> None:
    cell, at = pointed("%%arroyo\nSELECT cou|nt(*) FROM nothing")
    found = hover(
        cell, at, EditorContext(plan_script("SHOW TABLES", Catalog()).catalog)
    )
    assert found is not None
    assert BIGINT.name not in found.title


def test_the_result_of_a_query_is_told_at_its_select_and_its_names() -> None:
    final, changed = "Append: a row that came", "Updating: a row may be changed"
    select = sql("SEL|ECT at AS seen, fare FROM trips")
    assert select.title == "SELECT"
    assert select.lines[1].startswith(final)
    assert select.lines[2:] == ("seen TIMESTAMP NOT NULL  (event time)", "fare DOUBLE")
    grouped = "SELECT name, count(*) AS n FROM trips GROUP BY name"
    named = told(f"%%arroyo by_|name <<\n{grouped}")
    assert named.title == "by_name: run"
    assert named.lines[1].startswith(changed)
    assert named.lines[-1] == "n BIGINT NOT NULL"
    view = sql(f"CREATE VIEW b|y AS {grouped}; SELECT n FROM by")
    assert (view.title, view.badge) == ("by: view", named.badge)
    assert view.lines[0].startswith(changed)
    # A query in brackets is no result, and an unfinished one has none yet.
    inner = sql("SELECT n FROM (SEL|ECT 1 AS n FROM trips) AS x")
    assert inner.lines == sql("SEL|ECT FROM").lines


def test_a_table_that_only_a_test_gives_has_columns() -> None:
    given = "%%arroyo_test t\nGIVEN hits\nat,user,n\n10:00:00,ann,1\n\n"
    column = told(f"{given}WHEN\nSELECT us|er FROM hits")
    assert (column.title, column.lines[0]) == ("user TEXT", "A column of hits.")
    time_column = told(f"{given}WHEN\nSELECT a|t FROM hits")
    assert any("event time" in line for line in time_column.lines)
