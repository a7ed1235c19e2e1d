"""The command line that starts Spark's JVM, and what an archive of it depends on.

Spark's own launcher is a shell script and a second JVM; both only compute this
command. The flags are those of Spark's ``JavaModuleOptions``. The class path names
jars only, each by itself: a class-data archive refuses folders, and is valid for any
class path that begins with the one it was made with, so further jars go last.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable
from pathlib import Path

from arroyo_nb.engine.config import heap_mib
from arroyo_nb.engine.errors import EngineProblem
from arroyo_nb.engine.java import VECTOR_MODULE, Java
from arroyo_nb.engine.paths import Links
from arroyo_nb.engine.unsigned_jars import unsigned

_OPEN_IN_BASE = (
    *("java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net"),
    *("java.nio", "java.util", "java.util.concurrent", "java.util.concurrent.atomic"),
    *("jdk.internal.ref", "sun.nio.ch", "sun.nio.cs", "sun.security.action"),
    "sun.util.calendar",
)

# What Spark's launcher passes, for every Java that it supports.
_SPARK_FLAGS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in _OPEN_IN_BASE),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "-Djdk.reflect.useDirectMethodHandle=false",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
    "-Dderby.connection.requireAuthentication=false",
)

# What a notebook adds.
_OUR_FLAGS = (
    # Stopping a run inside a Python batch function overflowed the default stack.
    "-Xss16m",
    # A JVM out of memory lingers half dead; one that ends is noticed and replaced.
    "-XX:+ExitOnOutOfMemoryError",
    # One small heap, few cores: as fast as G1 when warm, 0.6 s faster to the first row.
    "-XX:+UseSerialGC",
    # The optimising compiler starts later: it competes with the start for two cores.
    # Stopping at the first compiler starts 1 s faster still, and was then 1.5 to 4
    # times slower for ever; later is as fast when warm.
    "-XX:Tier3DelayOn=0",
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=400000",
    # Growing to it would take a full collection in the middle of the start.
    "-XX:MetaspaceSize=192m",
    "-XX:-UsePerfData",
    # Arrow looks at the bounds of each value it puts: a sixth of what rows cost on
    # their way to Python. Spark puts with setSafe, which makes room first.
    "-Darrow.enable_unsafe_memory_access=true",
    "-Darrow.enable_null_check_for_get=false",
    "-Dfile.encoding=UTF-8",
    "-Djava.awt.headless=true",
    # Netty would load Java's flight recorder with the first chunk it allocates.
    "-Dio.netty.jfr.enabled=false",
)


_OF_25 = (
    # Objects take 8 bytes less: 0.1 s less to the first row.
    "-XX:+UseCompactObjectHeaders",
)

_BEFORE_25 = (
    # What the first compiler makes counts less for the second: 0.25 s less to the first
    # row; windowed counts are 0 to 8 % slower when warm. To count no calls either
    # would save 0.3 s more and cost 5 to 8 %. Java 25 finds such counts in its cache.
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:-C1ProfileInlinedCalls",
    "-XX:-C1ProfileBranches",
)

# It registers its functions with each first session, by Scala's reflection: a second of
# six to the first row. Who wants pyspark.ml hands in a session of their own.
_MLLIB = "spark-mllib_"

LOCAL_FILES = Path(__file__).with_name("local_files.jar")
"""Hadoop's view of local files without a process for each; see LocalFiles.java."""

ARROW_SINK = Path(__file__).with_name("arrow_sink.jar")
"""Gives Python the rows of micro-batches; see ArrowSink.java."""

PANE_COUNTS = Path(__file__).with_name("pane_counts.jar")
"""Counts rows by their panes, inside the code of a stage; see PaneCounts.java."""

LEFTOVERS = Path(__file__).with_name("leftovers.jar")
"""Ends threads and closes descriptors that Spark forgets; see Leftovers.java."""


def spark_home() -> Path:
    """PySpark's folder, found without importing it.

    Raises
    ------
    EngineProblem
        When PySpark, or its jars, is not installed.
    """
    spec = importlib.util.find_spec("pyspark")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(place) / "jars").is_dir():
            return Path(place)
    raise EngineProblem(
        "PySpark with its jars is not installed here",
        hint='pip install "pyspark>=4.3,<4.4"; pyspark-client alone has no engine',
    )


def spark_version() -> str:
    """The version of the installed PySpark."""
    # Imported late: it costs a quarter of what loading the extension may cost.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("pyspark")
    except PackageNotFoundError:  # it is Spark's own, of its folder on a cluster
        import pyspark

        return str(pyspark.__version__)


def class_path(home: Path, extra: Iterable[Path] = ()) -> list[Path]:
    """Spark's jars in a fixed order, then ours, then the extra ones.

    The logging API goes first, as Spark's own launcher puts it. MLlib is left out, and
    signed jars are given by copies without their signatures.
    """
    found = (home / "jars").glob("*.jar")
    jars = sorted(jar for jar in found if not jar.name.startswith(_MLLIB))
    logging_first = sorted(jars, key=lambda jar: not jar.name.startswith("slf4j-api"))
    ours = (ARROW_SINK, PANE_COUNTS, LOCAL_FILES, LEFTOVERS)
    return [*map(unsigned, logging_first), *ours, *map(Path, extra)]


def java_flags(java: Java) -> list[str]:
    """Flags for the JVM itself that an archive depends on."""
    vector = [f"--add-modules={VECTOR_MODULE}"] if java.has_vector_module else []
    ours = _OUR_FLAGS + (_OF_25 if java.major >= 25 else _BEFORE_25)
    asked = os.environ.get("ARROYO_NB_JAVA_OPTS", "").split()
    return [*vector, *_SPARK_FLAGS, *ours, *asked]


def _heap_flags(most_mib: int) -> tuple[str, ...]:
    # Not of the archive, which a container with another limit of memory can use.
    # The start allocates 600 MB, nearly all of it short-lived: a young generation that
    # begins large saves six collections, 0.3 s.
    first = min(768, most_mib // 2)
    return f"-Xmx{most_mib}m", f"-Xms{first}m", f"-XX:NewSize={first // 2}m"


def java_command(
    java: Java,
    work: Path,
    settings: dict[str, str],
    *,
    archive_flags: Iterable[str] = (),
    jars: Iterable[Path] = (),
) -> list[str]:
    """The whole command; writes its arguments to a file in the work folder.

    280 jars make 30 kB: the file keeps the process list readable.
    """
    links = Links(work)
    paths = os.pathsep.join(links.entry(jar) for jar in class_path(spark_home(), jars))
    logging = write_logging(work, "spark")
    arguments = [
        *("-cp", paths),
        # Before what the user asks for: of two such flags the last one counts.
        *_heap_flags(heap_mib()),
        *java_flags(java),
        *archive_flags,
        # Only here, where the class path has it: Java would not open any socket.
        "-Djava.nio.channels.spi.SelectorProvider=arroyo_nb.Leftovers",
        f"-Djava.io.tmpdir={work}",
        f"-XX:ErrorFile={work}/crash.log",
        f"-Dlog4j2.configurationFile={logging}",
        "org.apache.spark.deploy.SparkSubmit",
        *(part for pair in settings.items() for part in ("--conf", "=".join(pair))),
        "pyspark-shell",
    ]
    file = work / "java.args"
    file.write_text("\n".join(map(_quoted, arguments)) + "\n", encoding="utf-8")
    return [str(java.command), f"@{file}"]


def _quoted(argument: str) -> str:
    # In java's argument files a backslash escapes, also inside quotes.
    escaped = argument.replace("\\", "\\\\").replace('"', '\\"')
    escaped = escaped.replace("\n", "\\n")
    return f'"{escaped}"'


_LOGGING = """\
rootLogger.level = {level}
rootLogger.appenderRef.file.ref = file
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {work}/{name}.log
appender.file.filePattern = {work}/{name}-%i.log
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yy/MM/dd HH:mm:ss.SSS}} %p %c{{1}}: %m%n%ex
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 20MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 1
"""


def write_logging(work: Path, name: str) -> Path:
    """Settings of log4j that write ``name.log`` in the work folder."""
    level = os.environ.get("ARROYO_NB_LOG_LEVEL", "warn")
    file = work / "log4j2.properties"
    file.write_text(
        _LOGGING.format(level=level, work=work, name=name), encoding="utf-8"
    )
    return file
