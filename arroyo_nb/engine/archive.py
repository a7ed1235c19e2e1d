"""Make the class-data archive: start a JVM, work a little, let it write and exit.

``python -m arroyo_nb.engine.archive`` does it in the foreground and says how far it
is; ``--force`` makes it anew. The engine starts it in the background, where it reads
its stdin, which the kernel holds open. When the kernel is gone the JVM is killed with
its group, also in the middle of writing, when it no longer looks at its own stdin.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from arroyo_nb.engine import folders, gateway, launch, warm
from arroyo_nb.engine.class_data import Archive, archive_for, lock, remove_unused
from arroyo_nb.engine.config import static_settings
from arroyo_nb.engine.java import Java, find_java
from arroyo_nb.engine.launch import Jvm
from arroyo_nb.engine.problem import EngineProblem

_WRITING_S = 180

_kernel_is_gone = threading.Event()


def main(arguments: list[str] | None = None) -> int:
    """Make the archive if it is missing; the exit status is 0 if it is there now."""
    arguments = sys.argv[1:] if arguments is None else arguments
    background = "--background" in arguments
    java = find_java()
    archive = archive_for(java)
    if background:
        _give_way(os.getpid())
    forced = "--force" in arguments
    try:
        is_there = _there(java, archive, forced=forced, background=background)
        remove_unused(archive.path.parent)
    except OSError as error:
        _say(f"no archive: {error}")
        return 1
    return 0 if is_there else 1


def _there(java: Java, archive: Archive, *, forced: bool, background: bool) -> bool:
    """Make it where it is missing; whether it is there now."""
    while forced or not archive.exists:
        with lock(archive) as mine:
            if mine:
                return _made(java, archive, background)
        _say("another process is making it")
        if background:
            return False
        with lock(archive, wait=True):
            pass  # it has made it, or given up
    _say(f"{archive.path.name} is there")
    return True


def _made(java: Java, archive: Archive, background: bool) -> bool:
    """Make it; whether that went well."""
    try:
        _build(java, archive, background)
    except Exception as error:
        if not _kernel_is_gone.is_set():  # else no failure: the next kernel tries again
            archive.failed.write_text(str(error), encoding="utf-8")
            _say(f"no archive: {error}")
        return False
    return True


def _build(java: Java, archive: Archive, background: bool) -> None:
    started = time.monotonic()
    part = archive.path.with_name(f"{archive.path.stem}.part-{os.getpid()}")
    work = folders.make_work_folder()
    _say(f"starting Java {java.version} to record which classes Spark loads")
    jvm = launch.start(
        java, work, static_settings(work), archive_flags=archive.make(part)
    )
    if background:
        _give_way(jvm.pid)
        _end_with_stdin(jvm, work, part)
    try:
        _work(jvm, work)
        _say("writing the archive")
        jvm.close(_WRITING_S)
        if not part.exists():
            raise jvm.problem("java has written no archive")
        part.chmod(0o600)
        part.replace(archive.path)
        with suppress(FileNotFoundError):
            archive.failed.unlink()
    finally:
        _tidy(jvm, work, part)
    size_mb = archive.path.stat().st_size / 1e6
    _say(f"{archive.path.name}: {size_mb:.0f} MB in {time.monotonic() - started:.0f} s")


def _work(jvm: Jvm, work: Path) -> None:
    failed: list[BaseException] = []

    def run() -> None:
        try:
            gateway.import_pyspark()
            jvm.wait_until_up(180)
            _say("starting Spark")
            session = gateway.connect(jvm)
            _say("running a small stream")
            for _ in warm.more_steps(session, work / "warm"):
                pass
        except BaseException as error:
            failed.append(error)

    # On the main thread PySpark would take over SIGINT.
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join()
    if failed:
        raise EngineProblem(f"the sample stream failed: {failed[0]}") from failed[0]


def _give_way(pid: int) -> None:
    os.setpriority(os.PRIO_PROCESS, pid, 19)
    # Desktop kernels share the processor between sessions first, and each of these
    # two processes leads a session, whose own priority is this file's.
    with suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text("19", encoding="ascii")


def _end_with_stdin(jvm: Jvm, work: Path, part: Path) -> None:
    def watch() -> None:
        with suppress(OSError):
            while sys.stdin.buffer.read(1):
                pass
        _kernel_is_gone.set()
        _tidy(jvm, work, part)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _tidy(jvm: Jvm, work: Path, part: Path) -> None:
    jvm.kill()
    shutil.rmtree(work, ignore_errors=True)
    with suppress(FileNotFoundError):
        part.unlink()


def _say(text: str) -> None:
    sys.stderr.write(f"arroyo_nb archive: {text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
