"""The settings of a notebook's Spark, one table with the reason for each.

Static settings are fixed when the JVM starts; SQL settings belong to a session and
are all that a session derived from a user's own gets.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

LOOPBACK = "127.0.0.1"
CORES = "ARROYO_NB_CORES"
"""Environment variable: how many tasks run at once."""

LOCAL_FILES_KEY, LOCAL_FILES_CLASS = "fs.file.impl", "arroyo_nb.LocalFiles"
"""Hadoop's setting for how it reads local files, and our class for that."""


class Setting(NamedTuple):
    """One Spark setting; a value may name ``{cores}`` and ``{work}``."""

    key: str
    value: str
    why: str


STATIC = (
    Setting("spark.master", "local[{cores}]", "the notebook's own machine"),
    Setting("spark.app.name", "arroyo_nb", "what lists of applications show"),
    Setting("spark.submit.deployMode", "client", "the driver is this JVM"),
    Setting("spark.ui.enabled", "false", "a web server: a port and 1 s of start"),
    Setting("spark.ui.showConsoleProgress", "false", "it would draw into the log"),
    Setting("spark.driver.host", LOOPBACK, "no listener off loopback"),
    Setting("spark.driver.bindAddress", LOOPBACK, "no listener off loopback"),
    Setting("spark.authenticate", "true", "loopback is shared with other users"),
    Setting(
        "spark.python.unix.domain.socket.enabled",
        "true",
        "Python workers need no port: sockets in a folder of mode 0700",
    ),
    Setting("spark.python.unix.domain.socket.dir", "{work}", "that folder"),
    Setting("spark.local.dir", "{work}", "swept when the kernel is gone"),
    Setting("spark.sql.warehouse.dir", "{work}/warehouse", "none in the user's folder"),
    Setting("spark.sql.catalogImplementation", "in-memory", "no Hive metastore"),
    Setting(
        f"spark.hadoop.{LOCAL_FILES_KEY}",
        LOCAL_FILES_CLASS,
        "Hadoop's own runs a chmod for each file: 70 ms of a micro-batch",
    ),
    Setting(
        "spark.python.sql.dataFrameDebugging.enabled",
        "false",
        "each Column would tell the JVM its line in our source: four calls more",
    ),
    Setting("spark.locality.wait", "0", "one machine: nothing to wait for"),
    Setting("spark.shutdown.timeout", "2s", "the JVM must go with its kernel"),
    Setting(
        "spark.buffer.pageSize",
        "2m",
        "an aggregate takes a page for each task and batch: 64 MB with a 4 GB heap",
    ),
    Setting("spark.ui.retainedJobs", "50", "bounded history"),
    Setting("spark.ui.retainedStages", "50", "bounded history"),
    Setting("spark.ui.retainedTasks", "1000", "bounded history"),
    Setting("spark.ui.retainedDeadExecutors", "1", "bounded history"),
    Setting("spark.sql.ui.retainedExecutions", "20", "bounded history"),
    Setting("spark.sql.streaming.ui.enabled", "false", "history kept for a UI"),
    Setting("spark.sql.ui.explainMode", "simple", "no UI shows it: 5 % of a batch"),
    Setting("spark.ui.liveUpdate.period", "-1", "status is kept for a UI only"),
    Setting(
        "spark.python.daemon.module",
        "arroyo_nb.spark.daemon",
        "Python workers are forked from one that has loaded what they need",
    ),
)

_STREAMING = "spark.sql.streaming."
_CHECKPOINT_WRITER = _STREAMING + "checkpointFileManagerClass"

SQL = (
    Setting("spark.sql.shuffle.partitions", "{cores}", "200 is for clusters"),
    Setting("spark.sql.session.timeZone", "UTC", "Arroyo's time is UTC"),
    Setting("spark.sql.ansi.enabled", "true", "overflow is an error, not a null"),
    Setting(
        "spark.sql.decimalOperations.allowPrecisionLoss",
        "false",
        "0.00000012 * 2 would be 0 where both are DECIMAL(38, 10)",
    ),
    Setting("spark.sql.caseSensitive", "true", "Arroyo tells a from A"),
    Setting(
        "spark.sql.analyzer.maxIterations",
        "1000",
        "nested calls with long arguments take an iteration for each level",
    ),
    Setting("spark.sql.variable.substitute", "false", "${..} in text is text"),
    Setting(
        "spark.sql.parquet.filterPushdown",
        "false",
        "what Parquet's reader leaves out of a tape is not counted as read",
    ),
    Setting("spark.sql.adaptive.enabled", "false", "it re-plans each micro-batch"),
    Setting(
        "spark.sql.optimizer.excludedRules",
        "org.apache.spark.sql.catalyst.optimizer.EliminateOuterJoin",
        "it leaves out a side of which nothing is used, and whose watermark counts",
    ),
    Setting(
        _CHECKPOINT_WRITER,
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager",
        "the default forks a chmod for each file: 445 ms a batch against 271",
    ),
    Setting(
        _STREAMING + "checkpoint.escapedPathCheck.enabled",
        "false",
        "a folder 'a b' would be refused where one named 'a%20b' is beside it",
    ),
    Setting(
        _STREAMING + "noDataMicroBatches.enabled",
        "false",
        "they run or not as time has it, and decide what is late in the next batch",
    ),
    Setting(
        "spark.sql.files.openCostInBytes",
        "262144",
        "a chunk that is larger is read by all cores, each some of its row groups",
    ),
    Setting(
        _STREAMING + "stopTimeout",
        "2s",
        "0 waits for ever; what has not ended by then hangs, and is freed",
    ),
    Setting(
        _STREAMING + "pollingDelay",
        "50ms",
        "a query that waits lists its folder or asks its broker each time: at 10 ms "
        "five of them keep a core busy with that",
    ),
    Setting(_STREAMING + "minBatchesToRetain", "10", "100 keeps hundreds of files"),
    Setting(_STREAMING + "numRecentProgressUpdates", "100", "bounded history"),
    Setting(
        _STREAMING + "stateStore.rocksdb.changelogCheckpointing.enabled",
        "true",
        "for runs that choose RocksDB: no snapshot at each commit",
    ),
    Setting(
        "spark.sql.hive.filesourcePartitionFileCacheSize",
        "0",
        "up to 250 MB of the heap for the states of chunks that no query lists again",
    ),
    Setting(
        _STREAMING + "stateStore.maintenanceInterval",
        "10s",
        "the state of a query that has ended stays open until then: 60 s of short runs "
        "are 500 descriptors",
    ),
    Setting("spark.sql.execution.arrow.pyspark.enabled", "true", "rows leave as Arrow"),
    Setting(
        "spark.sql.execution.arrow.maxRecordsPerBatch",
        "100000",
        "kernels take a batch at a time: 10,000 rows are mostly overhead",
    ),
    Setting(
        "spark.sql.execution.arrow.maxBytesPerBatch",
        str(2**31 - 1),
        "any less is compared after each row: more than half of what a row costs on "
        "its way to Python. Chunks, and so micro-batches, are bounded in bytes",
    ),
)

CLUSTER = (
    Setting("spark.sql.catalogImplementation", "in-memory", "no Hive metastore"),
    Setting(
        "spark.default.parallelism",
        "{cores}",
        "partitions of the state: before its executors have come Spark takes two",
    ),
    Setting("spark.cores.max", "{cores}", "a standalone cluster would give all it has"),
    Setting(
        "spark.driver.extraJavaOptions",
        "-Xss16m",
        "to stop a run inside a batch overflowed the default stack",
    ),
    Setting(
        "spark.executor.extraJavaOptions",
        "-Darrow.enable_unsafe_memory_access=true "
        "-Darrow.enable_null_check_for_get=false",
        "Arrow looks at the bounds of each value: a sixth of what rows cost",
    ),
    Setting(
        "spark.python.daemon.module",
        "arroyo_nb.spark.daemon",
        "Python workers are forked from one that has loaded what they need",
    ),
    Setting("spark.sql.streaming.ui.enabled", "false", "history kept for a UI"),
)
"""Of a Spark that spark-submit starts: what a session that is handed in cannot take
any more. The rest is set there (:func:`sql_settings`)."""


def cores() -> int:
    """Cores to use: those this process may run on, or ``ARROYO_NB_CORES``."""
    asked = os.environ.get(CORES, "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    # One slot alone would starve a run whose sources occupy it; so two at least.
    if hasattr(os, "sched_getaffinity"):
        return max(2, len(os.sched_getaffinity(0)))
    return max(2, os.cpu_count() or 2)


def static_settings(work: Path) -> dict[str, str]:
    """Settings for the start of the JVM: static ones, then the SQL ones."""
    return _filled((*STATIC, *SQL), work)


def cluster_settings(slots: int) -> dict[str, str]:
    """Settings for the start of a job's Spark on a cluster.

    Parameters
    ----------
    slots
        Tasks of the job that run at once.
    """
    return _filled(CLUSTER, Path(), slots)


def sql_settings(slots: int | None = None, *, local: bool = True) -> dict[str, str]:
    """Settings that a new session of a running Spark can take.

    Parameters
    ----------
    slots
        Tasks that run at once in that Spark; this machine's cores by default.
    local
        Does it run on this machine? A cluster keeps its own checkpoint writer.
    """
    filled = _filled(SQL, Path(), slots)
    if not local:
        del filled[_CHECKPOINT_WRITER]
    return filled


def _filled(
    table: tuple[Setting, ...], work: Path, n: int | None = None
) -> dict[str, str]:
    names = {"{cores}": str(n or cores()), "{work}": str(work)}
    filled = {}
    for setting in table:
        value = setting.value
        for name, text in names.items():
            value = value.replace(name, text)
        filled[setting.key] = value
    return filled


def heap_mib() -> int:
    """The JVM's heap in MiB: a quarter of the memory, 4 GiB at most.

    ``ARROYO_NB_HEAP`` overrides it, as ``-Xmx`` writes it: ``2g`` or ``1500m``.
    """
    asked = os.environ.get("ARROYO_NB_HEAP", "").lower()
    if asked[:-1].isdigit() and asked[-1] in "gm":
        return int(asked[:-1]) * (1024 if asked[-1] == "g" else 1)
    return max(512, min(4096, _memory_bytes() // 4 // 2**20))


def _memory_bytes() -> int:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    # A container's limit is below the machine's memory, or the text "max".
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
    except OSError:
        return total
    return min(total, int(limit)) if limit.isdigit() else total
