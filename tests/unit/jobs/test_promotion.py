"""A cell becomes a job: with the tables that it uses, and nothing else."""

from dataclasses import replace
from datetime import timedelta

import pandas as pd
import pytest

from arroyo_nb.catalog import Catalog, Definition
from arroyo_nb.errors import ArroyoError, PromoteProblem
from arroyo_nb.frames import lookup_table
from arroyo_nb.jobs.promotion import promoted
from arroyo_nb.jobs.spec import JobSpec, Origin, Udf
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.run.options import RunOptions

TICKS = "CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 10)"
FASTER = TICKS.replace("10", "20")
FEW = "CREATE VIEW few AS SELECT counter FROM ticks WHERE counter < 9"
EVEN = "CREATE VIEW even AS SELECT counter FROM few WHERE counter % 2 = 0"
SECOND = timedelta(seconds=1)
UNUSED = "CREATE TABLE unused WITH (connector = 'sample', dataset = 'flights')"


def planned(*cells, catalog=None):
    catalog = catalog or Catalog()
    for cell in cells:
        plan = plan_script(cell, catalog)
        catalog = plan.catalog
    return plan


def spec_of(*cells, **more):
    return promoted(planned(*cells), "job", **more).spec


def names(spec):
    return [table.name for table in spec.tables]


def test_a_job_has_what_its_cell_uses_each_after_what_it_reads():
    cells = (UNUSED, f"{TICKS};\n{FEW}", EVEN)
    spec = spec_of(*cells, "SELECT * FROM even UNION ALL SELECT * FROM Few;\n")
    assert names(spec) == ["ticks", "few", "even"]
    assert [table.sql for table in spec.tables] == [TICKS, FEW, EVEN]
    assert spec.sql == "SELECT * FROM even UNION ALL SELECT * FROM Few;\n"


def test_what_the_cell_declares_stays_in_its_script():
    spec = spec_of(TICKS, FEW, f"{TICKS};\n{EVEN.replace('few', 'ticks')};\n"
                   "SELECT * FROM even")  # fmt: skip
    assert names(spec) == []
    assert spec.sql.startswith(TICKS)


def test_a_view_that_was_replaced_by_one_over_itself_is_refused():
    again = "CREATE VIEW few AS SELECT counter + 1 AS counter FROM few"
    with pytest.raises(PromoteProblem, match="'few' means two tables"):
        spec_of(TICKS, FEW, again, "SELECT * FROM few")


def test_a_view_of_a_table_that_was_declared_again():
    # The view reads the table that it was made of: so does the job.
    spec = spec_of(TICKS, FEW, FASTER, "SELECT * FROM few")
    assert spec.tables[0].sql == TICKS
    with pytest.raises(PromoteProblem, match="'ticks' means two tables"):
        spec_of(TICKS, FEW, FASTER, "SELECT * FROM few; SELECT * FROM ticks")
    with pytest.raises(PromoteProblem, match="'ticks' means two tables"):
        spec_of(TICKS, FEW, f"{FASTER}; SELECT counter FROM ticks; SELECT * FROM few")


def test_a_table_that_was_declared_again_as_it_was_is_one_table():
    both = "SELECT counter FROM few UNION ALL SELECT counter FROM ticks"
    assert names(spec_of(TICKS, FEW, TICKS, both)) == ["ticks", "few"]


def test_a_table_that_is_not_what_its_statement_makes_is_refused():
    catalog = planned(TICKS).catalog
    other = replace(catalog.get("ticks"), definition=Definition(FASTER))
    plan = planned("SELECT counter FROM ticks", catalog=catalog.define(other))
    with pytest.raises(PromoteProblem, match="is not what the cell runs"):
        promoted(plan, "job")


def test_a_long_chain_of_views_is_followed():
    cells = [f"CREATE VIEW v{n + 1} AS SELECT counter FROM v{n}" for n in range(60)]
    base = "CREATE VIEW v0 AS SELECT counter FROM ticks"
    assert len(spec_of(TICKS, base, *cells, "SELECT counter FROM v60").tables) == 62


def test_a_data_frame_is_no_table_of_a_job():
    frame = pd.DataFrame({"counter": [1, 2], "name": ["a", "b"]})
    catalog = Catalog().define(lookup_table("called", frame, ["counter"]))
    query = "SELECT t.counter FROM ticks t JOIN called c ON t.counter = c.counter"
    with pytest.raises(PromoteProblem, match="'called' is a DataFrame: it exists"):
        promoted(planned(TICKS, query, catalog=catalog), "job")


def test_a_cell_that_only_declares_is_no_job():
    with pytest.raises(PromoteProblem, match="there is nothing to run"):
        spec_of(TICKS)


def test_a_secret_is_never_promoted_nor_told():
    sink = (
        "CREATE TABLE answers (counter BIGINT) WITH (connector = 'kafka', "
        "bootstrap_servers = 'b:9092', topic = 'answers', type = 'sink', "
        "format = 'json', 'auth.type' = 'sasl', 'auth.mechanism' = 'PLAIN', "
        "'auth.protocol' = 'SASL_SSL', 'auth.username' = 'ann', "
        "'auth.password' = 'rose'); "
    )
    insert = "INSERT INTO answers SELECT counter FROM ticks"
    with pytest.raises(ArroyoError) as caught:
        spec_of(TICKS, sink + insert)
    assert "job.yaml" in str(caught.value)
    assert "'auth.password' of 'answers' has a secret" in str(caught.value)
    assert "rose" not in str(caught.value)
    by_reference = sink.replace("'rose'", "'{{ ROSE }}'") + insert
    assert spec_of(TICKS, by_reference).environment == ("ROSE",)


def test_versions_are_those_of_what_is_needed():
    assert set(spec_of(TICKS, "SELECT counter FROM ticks").packages) == {
        *("arroyo-nb", "pyarrow", "pyspark", "sqlglot"),
    }
    source = (
        "CREATE TABLE orders (id BIGINT) WITH (connector = 'kafka', format = 'json', "
        "bootstrap_servers = 'b:9092', topic = 'orders', type = 'source'); "
    )
    packages = spec_of(source + "SELECT id FROM orders").packages
    assert "confluent-kafka" in packages


def test_a_job_that_is_promoted_again_keeps_what_no_cell_says():
    before = JobSpec(
        "job",
        "SELECT 1",
        origin=Origin("old.ipynb", "c"),
        options=RunOptions(
            strict=True,
            parallelism=4,
            trigger=timedelta(seconds=2),
            ttl=timedelta(hours=2),
        ),
        state="/data/state",
        udfs=(Udf("f", "python", "x = 1"),),
        packages={"pyspark": "3.0"},
        tags={"team": "air"},
    )
    cells = (TICKS, "SELECT counter FROM ticks")
    again = spec_of(*cells, before=before)
    assert again.options == replace(before.options, strict=False)
    assert spec_of(*cells, before=before, trigger=SECOND).options.trigger == SECOND
    assert (again.state, again.tags) == (before.state, before.tags)
    assert (again.udfs, again.origin) == ((), before.origin)
    assert again.packages["pyspark"] != "3.0"
    other = Origin("new.ipynb", "d")
    assert spec_of(*cells, before=before, origin=other).origin == other


def test_the_options_of_the_cell_are_those_of_the_job():
    sql = "SET updating_ttl = INTERVAL '1 hour'; SELECT counter FROM ticks"
    strict = plan_script(sql, planned(TICKS).catalog, strict=True)
    assert promoted(strict, "job").spec.options == RunOptions(strict=True)
    file = promoted(strict.with_updating_ttl(SECOND), "job", trigger=SECOND)
    assert file.spec.options == RunOptions(
        strict=True, parallelism=None, trigger=SECOND, ttl=SECOND
    )
    assert file.plan().strict
    assert file.plan().updating_ttl == SECOND


def test_what_only_asks_is_left_out_of_a_job() -> None:
    catalog = plan_script(
        "CREATE TABLE t WITH (connector = 'impulse', event_rate = 1);",
        Catalog(),
    ).catalog
    script = "SHOW TABLES; DESCRIBE t;\nSELECT counter FROM t; DROP TABLE t"
    assert promoted(plan_script(script, catalog), "j").spec.sql == (
        "SELECT counter FROM t;\n"
    )
    for aside in (
        "SHOW TABLES -- was: DROP TABLE x; SELECT counter + 1 FROM t\n",
        "SHOW TABLES -- all; of them\n;",
        "DESCRIBE t /* ; SELECT counter + 1 FROM t; */ ;",
        "DROP TABLE IF EXISTS x /* -- ; /* ; */ */",
    ):
        plan = plan_script(f"SELECT counter FROM t;\n{aside}", catalog)
        assert promoted(plan, "j").spec.sql == "SELECT counter FROM t;\n"
        plan = plan_script(f"{aside.rstrip(';')};SELECT ';' AS a FROM t", catalog)
        assert promoted(plan, "j").spec.sql == "SELECT ';' AS a FROM t\n"
    with pytest.raises(PromoteProblem, match="no end and no order"):
        promoted(plan_script("SELECT counter FROM t LIMIT 3", catalog), "j")
