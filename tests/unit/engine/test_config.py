"""The settings tables, and the command line made from them."""

from pathlib import Path

import pytest

from arroyo_nb.engine import command, config
from arroyo_nb.engine.cache_folder import cache_folder
from arroyo_nb.engine.java import Java
from arroyo_nb.engine.unsigned_jars import SIGNED, unsigned

WORK = Path("/w")


def test_each_setting_is_named_once_and_has_a_reason() -> None:
    table = (*config.STATIC, *config.SQL)
    assert len({setting.key for setting in table}) == len(table)
    assert all(setting.why for setting in table)


def test_every_listener_is_told_to_stay_on_loopback() -> None:
    settings = config.static_settings(WORK)
    assert settings["spark.driver.host"] == "127.0.0.1"
    assert settings["spark.driver.bindAddress"] == "127.0.0.1"
    assert settings["spark.authenticate"] == "true"
    assert settings["spark.ui.enabled"] == "false"
    assert settings["spark.python.unix.domain.socket.enabled"] == "true"


def test_places_are_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARROYO_NB_CORES", "3")
    settings = config.static_settings(WORK)
    assert settings["spark.master"] == "local[3]"
    assert settings["spark.sql.shuffle.partitions"] == "3"
    assert settings["spark.local.dir"] == "/w"
    # "${..}" in a user's text stays as it is, and so must ours: no brace is left.
    assert not any("{" in value for value in settings.values())


def test_sql_settings_hold_nothing_static() -> None:
    static = {setting.key for setting in config.STATIC}
    assert not static & set(config.sql_settings())
    assert config.sql_settings(8)["spark.sql.shuffle.partitions"] == "8"


def test_a_cluster_keeps_its_checkpoint_writer() -> None:
    key = "spark.sql.streaming.checkpointFileManagerClass"
    assert key in config.sql_settings()
    assert key not in config.sql_settings(local=False)


@pytest.mark.parametrize(("asked", "mib"), [("2g", 2048), ("1500m", 1500)])
def test_heap_is_as_asked(
    monkeypatch: pytest.MonkeyPatch, asked: str, mib: int
) -> None:
    monkeypatch.setenv("ARROYO_NB_HEAP", asked)
    assert config.heap_mib() == mib


@pytest.mark.parametrize(
    ("memory_gib", "mib"), [(1, 512), (8, 2048), (64, 4096)], ids=str
)
def test_heap_is_a_quarter_within_bounds(
    monkeypatch: pytest.MonkeyPatch, memory_gib: int, mib: int
) -> None:
    monkeypatch.delenv("ARROYO_NB_HEAP", raising=False)
    monkeypatch.setattr(config, "_memory_bytes", lambda: memory_gib * 2**30)
    assert config.heap_mib() == mib


def test_the_class_path_ends_with_the_extra_jars() -> None:
    home = command.spark_home()
    paths = command.class_path(home, [Path("/x/kafka.jar")])
    assert paths[0].name.startswith("slf4j-api")
    assert paths[:-1] == command.class_path(home)
    assert paths[-1] == Path("/x/kafka.jar")
    jars = {*(home / "jars").glob("*.jar")}
    left_out = {jar.name for jar in jars - {*paths} if unsigned(jar) not in paths}
    assert [name.partition("_")[0] for name in left_out] == ["spark-mllib"]
    copies = [path for path in paths if path.parent == cache_folder()]
    assert len(copies) == len(SIGNED)


def test_arguments_are_quoted_for_javas_argument_file(tmp_path: Path) -> None:
    java = Java(Path("/jdk"), "17.0.1", "Maker 17", frozenset())
    settings = {"spark.app.name": 'a "b" \\ c'}
    line = command.java_command(java, tmp_path, settings)
    assert line == ["/jdk/bin/java", f"@{tmp_path}/java.args"]
    text = (tmp_path / "java.args").read_text()
    assert '"spark.app.name=a \\"b\\" \\\\ c"' in text
    assert "jdk.incubator.vector" not in text
