"""Seeded faults: do the tests find a wrong line of the package?

``choose`` draws places over all rooms by lines of code, the same ones for the same
seed, and writes them to a table. ``run`` makes one fault after the other in a copy of
the tree, runs the tests that reach its line, and notes in the table which test failed.
``compare`` tells two tables apart by room.

Which test reaches a line is told by contexts of coverage (``make covered``). Tests of
the same room come first, short ones before long ones; what has killed a fault before
is tried before all others. A fault has survived when nothing failed within its budget.

Lipton's idea of seeded faults (1971), the usual operators of mutation testing.
"""

from __future__ import annotations

import argparse
import ast
import csv
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from queue import Empty, SimpleQueue

ROOT = Path(__file__).parents[1]
PACKAGES = ("arroyo_nb", "arroyo_udf")
GENERATED = ("_pb2.py",)

QUICK_S = 40.0
"""Of tests without Spark, so many seconds are tried first."""

SLOW_S = 150.0
"""Of all others, so many seconds are tried then."""

START_S = 90.0
"""What a test process may take beside its tests: collecting them, starting Spark."""

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
_SIGNS: dict[type[ast.operator], str] = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+"}


@dataclass(frozen=True)
class Fault:
    """One place and what is written there instead.

    ``killed_by`` is a test, ``timeout``, or empty for a survivor; so many ``tests``
    reach the line.
    """

    path: str
    line: int
    column: int
    kind: str
    before: str
    after: str
    killed_by: str = ""
    tests: int = 0
    seconds: float = 0.0

    @property
    def room(self) -> str:
        """The folder below the package, or the module."""
        return Path(self.path).parts[1].removesuffix(".py")

    @property
    def place(self) -> tuple[str, int, int, str]:
        """What tells it from the others of a table."""
        return self.path, self.line, self.column, self.kind


class _Module:
    """A source file with the places of its syntax tree."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text()
        self.lines = self.text.splitlines(keepends=True)

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    def offset(self, line: int, column: int) -> int:
        """Of the text; ``ast`` counts columns in bytes of UTF-8."""
        above = sum(map(len, self.lines[: line - 1]))
        return above + len(self.lines[line - 1].encode()[:column].decode())

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self.offset(node.lineno, node.col_offset)
        return start, self.offset(node.end_lineno, node.end_col_offset)

    @cached_property
    def code_lines(self) -> int:
        """Lines of statements, without docstrings, comments and blank lines."""
        strings = {
            line
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            for line in range(node.lineno, (node.end_lineno or 0) + 1)
        }
        return sum(
            bool(text.strip()) and not text.strip().startswith("#")
            for line, text in enumerate(self.lines, 1)
            if line not in strings
        )

    def edited(self, fault: Fault) -> str:
        """The text with the fault in it."""
        at = self.offset(fault.line, fault.column)
        assert self.text.startswith(fault.before, at), f"{fault.path} has changed"
        return self.text[:at] + fault.after + self.text[at + len(fault.before) :]


class _Places(ast.NodeVisitor):
    """The faults that a module could have."""

    def __init__(self, module: _Module) -> None:
        self.found: list[Fault] = []
        self._module = module
        self._name = str(module.path.relative_to(ROOT))
        self.visit(module.tree)

    def _add(self, kind: str, start: int, before: str, after: str) -> None:
        above = self._module.text[:start]
        line = above.count("\n") + 1
        column = len(above[above.rfind("\n") + 1 :].encode())
        self.found.append(Fault(self._name, line, column, kind, before, after))

    def _between(self, left: ast.expr, right: ast.expr, kind: str, after: str) -> None:
        """Replace the operator between two operands."""
        start, end = self._module.span(left)[1], self._module.span(right)[0]
        gap = self._module.text[start:end]
        word = gap.strip("() \t\n\\")
        if word and "#" not in word and "\n" not in word:
            self._add(kind, start + gap.index(word), word, after)

    def visit_Compare(self, node: ast.Compare) -> None:
        left = node.left
        for operator, right in zip(node.ops, node.comparators, strict=True):
            after = _COMPARISONS[type(operator)]
            self._between(left, right, "comparison", after)
            left = right
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        after = "or" if isinstance(node.op, ast.And) else "and"
        self._between(node.values[0], node.values[1], "and-or", after)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        texts = [
            side
            for side in (node.left, node.right)
            if isinstance(side, ast.JoinedStr | ast.List | ast.Tuple)
            or (isinstance(side, ast.Constant) and isinstance(side.value, str | bytes))
        ]
        if (after := _SIGNS.get(type(node.op))) and not texts:
            self._between(node.left, node.right, "sign", after)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if type(node.value) is int:
            start, end = self._module.span(node)
            before = self._module.text[start:end]
            self._add("constant", start, before, str(node.value + 1))

    def visit_If(self, node: ast.If) -> None:
        start, end = self._module.span(node.test)
        before = self._module.text[start:end]
        if before != "TYPE_CHECKING":
            self._add("branch", start, before, "False")
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        body = [s for s in node.body if not _is_docstring(s)]
        last = body[-1] if len(body) > 1 else ast.Pass()
        if not isinstance(last, ast.Pass) and ast.unparse(last) != "return None":
            start = self._module.span(last)[0]
            first = self._module.text[start:].split("\n", 1)[0]
            indent = " " * last.col_offset
            self._add("return", start, first, f"return None\n{indent}{first}")
        for part in (*node.decorator_list, node.args, *body):
            self.visit(part)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        """Annotations are for people."""


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def modules() -> list[_Module]:
    """All source files of the package, in order."""
    paths = (path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py")))
    return [_Module(path) for path in paths if not path.name.endswith(GENERATED)]


def choose(seed: int, count: int) -> list[Fault]:
    """Faults drawn by lines of code: a line of a large room is as likely as one of a
    small one, and no module has two before each had its chance."""
    drawn = random.Random(seed)
    files = [(module, _Places(module).found) for module in modules()]
    files = [(module, found) for module, found in files if found]
    weights = [module.code_lines for module, _ in files]
    faults: dict[tuple[str, int, int, str], Fault] = {}
    while len(faults) < count:
        _, found = drawn.choices(files, weights)[0]
        kinds = sorted({fault.kind for fault in found})
        kind = drawn.choice(kinds)
        fault = drawn.choice([fault for fault in found if fault.kind == kind])
        faults.setdefault(fault.place, fault)
    return sorted(faults.values(), key=lambda fault: fault.place)


def read(path: Path) -> list[Fault]:
    """A table of faults."""
    kinds = {field.name: field.type for field in fields(Fault)}
    with path.open(newline="") as file:
        return [
            Fault(
                **{
                    name: {"int": int, "float": float}.get(str(kinds[name]), str)(text)
                    for name, text in row.items()
                }
            )
            for row in csv.DictReader(file, delimiter="\t")
        ]


def write(path: Path, faults: Iterable[Fault]) -> None:
    """A table of faults, one a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        names = [field.name for field in fields(Fault)]
        table = csv.DictWriter(file, names, delimiter="\t", lineterminator="\n")
        table.writeheader()
        table.writerows(map(asdict, faults))


class Reached:
    """Which tests reach a line, and how long each takes.

    Parameters
    ----------
    coverage_file
        Combined data of coverage with the contexts of ``tests/coverage_contexts.py``.
    durations_file
        What ``tests/durations.py`` has written.
    """

    def __init__(self, coverage_file: Path, durations_file: Path) -> None:
        from coverage import CoverageData

        self._data = CoverageData(str(coverage_file))
        self._data.read()
        measured = {name: name for name in self._data.measured_files()}
        self._files = {
            name[name.index("arroyo_") :]: name
            for name in measured
            if "arroyo_" in name
        }
        durations = json.loads(durations_file.read_text())["tests"]
        self._seconds = {test: sum(took.values()) for test, took in durations.items()}
        self._of_file: dict[str, list[str]] = defaultdict(list)
        for test in self._seconds:
            self._of_file[test.partition("::")[0]].append(test)

    def by(self, fault: Fault) -> list[str]:
        """Tests whose failing would show the fault, the likeliest first."""
        if (name := self._files.get(fault.path)) is None:
            return []
        lines = self._data.contexts_by_lineno(name)
        statement = _lines_of_statement(ROOT / fault.path, fault)
        contexts = {c for line in statement for c in lines.get(line, ())}
        if not any("|" in context for context in contexts):
            # Reached by an import only: whoever uses the module may notice.
            contexts = {c for found in lines.values() for c in found}
        tests: set[str] = set()
        for context in contexts:
            test, _, phase = context.partition("|")
            if phase == "call":
                tests.add(test)
            elif phase:
                # A fixture serves the tests of its file, a worker those of its process.
                tests.update(self._of_file[test.partition("::")[0]])
        # Doctests take no time that would be noted.
        known = [t for t in tests if t in self._seconds or t.startswith(PACKAGES)]
        return sorted(known, key=lambda test: (_far(test, fault), self._took_s(test)))

    def within(self, tests: Sequence[str], budget_s: float) -> list[str]:
        """As many as fit, from all files in turn."""
        queues: dict[str, list[str]] = defaultdict(list)
        for test in tests:
            queues[test.partition("::")[0]].append(test)
        kept: list[str] = []
        while queues:
            for file in list(queues):
                test = queues[file].pop(0)
                if not queues[file]:
                    del queues[file]
                if self._took_s(test) <= budget_s:
                    budget_s -= self._took_s(test)
                    kept.append(test)
        # The tests of a file share their fixtures.
        files = {test.partition("::")[0]: None for test in kept}
        return [test for file in files for test in kept if test.startswith(file + "::")]

    def seconds(self, tests: Iterable[str]) -> float:
        """How long they take, one after the other."""
        return sum(map(self._took_s, tests))

    def _took_s(self, test: str) -> float:
        return self._seconds.get(test, 0.05)


def _lines_of_statement(path: Path, fault: Fault) -> set[int]:
    """Lines of the smallest statement that holds the fault; of a statement with a body,
    its head."""
    best: range | None = None
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.stmt) and node.end_lineno:
            body = getattr(node, "body", None)
            last = max(body[0].lineno - 1, node.lineno) if body else node.end_lineno
            lines = range(node.lineno, last + 1)
            if fault.line in lines and (best is None or len(lines) <= len(best)):
                best = lines
    return set(best or ())


def _far(test: str, fault: Fault) -> int:
    """How far a test is from the room of a fault: tests without Spark of the same room,
    then of any room, then the others."""
    folder = test.partition("::")[0]
    if folder.startswith("arroyo_"):
        return 0 if folder == fault.path else 1
    quick = folder.startswith(("tests/unit", "tests/golden"))
    same = fault.room in folder or Path(fault.path).stem in folder
    return (0 if same else 1) if quick else (2 if same else 3)


class Copy:
    """A copy of the tree in which a fault is made and its tests are run."""

    def __init__(self, folder: Path, tree: Path) -> None:
        self.folder = folder
        files = subprocess.run(
            ["git", "ls-files", "-z"], cwd=tree, capture_output=True, check=True
        )
        for name in filter(None, files.stdout.decode().split("\0")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(tree / name, folder / name)

    def failed(self, tests: Sequence[str], within_s: float) -> str:
        """The first test that fails, ``timeout``, or nothing."""
        if not tests:
            return ""
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        chosen = self.folder / "tests.txt"
        chosen.write_text("\n".join(tests))
        doctests = any(test.startswith("arroyo_") for test in tests)
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header"]
        command += ["-p", "no:cacheprovider", "-p", "first_failure", f"@{chosen}"]
        command += ["--doctest-modules"] if doctests else []
        path = os.pathsep.join((str(self.folder), str(ROOT / "scripts")))
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": path, "FIRST_FAILURE": str(report)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            status = process.wait(timeout=within_s)
        except subprocess.TimeoutExpired:
            return "timeout"
        finally:
            _end_group(process)
        if report.exists():
            return report.read_text()
        # Without a failed test it could not be collected, or the process died.
        return "" if status in (0, 5) else "collection"


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End a test process with the servers that it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


def run_all(
    faults: Sequence[Fault],
    reached: Reached,
    tree: Path,
    *,
    workers: int,
    quick_only: bool,
) -> Iterator[Fault]:
    """Each fault with what has killed it, as they end."""
    waiting: SimpleQueue[Fault] = SimpleQueue()
    done: SimpleQueue[Fault | BaseException] = SimpleQueue()
    for fault in faults:
        waiting.put(fault)

    def work(folder: Path) -> None:
        try:
            copy = Copy(folder, tree)
            while True:
                done.put(run_one(waiting.get_nowait(), reached, copy, quick_only))
        except Empty:
            pass
        except BaseException as error:
            done.put(error)

    with tempfile.TemporaryDirectory(prefix="mutants-") as home:
        threads = [
            threading.Thread(target=work, args=(Path(home) / str(n),), daemon=True)
            for n in range(workers)
        ]
        for thread in threads:
            thread.start()
        for _ in faults:
            result = done.get()
            if isinstance(result, BaseException):
                raise result
            yield result


def run_one(fault: Fault, reached: Reached, copy: Copy, quick_only: bool) -> Fault:
    """The fault, killed or not."""
    began_s = time.monotonic()
    tests = reached.by(fault)
    quick = [test for test in tests if _far(test, fault) < 2]
    slow = [test for test in tests if _far(test, fault) >= 2]
    before = [fault.killed_by] if fault.killed_by in tests else []
    rounds = [before, reached.within(quick, QUICK_S)]
    if not quick_only:
        rounds.append(reached.within(slow, SLOW_S))
    target = copy.folder / fault.path
    right = target.read_text()
    target.write_text(_Module(target).edited(fault))
    killed_by = ""
    try:
        for chosen in rounds:
            # A busy machine is given more time, up to four times.
            load = os.getloadavg()[0] / (os.cpu_count() or 1)
            limit_s = 3 * reached.seconds(chosen) + START_S
            killed_by = copy.failed(chosen, limit_s * min(max(load, 1.0), 4.0))
            if killed_by:
                break
    finally:
        target.write_text(right)
    took_s = round(time.monotonic() - began_s, 1)
    return replace(fault, killed_by=killed_by, tests=len(tests), seconds=took_s)


def table_by_room(faults: Iterable[Fault]) -> str:
    """Killed of all, by room."""
    every, killed = Counter[str](), Counter[str]()
    for fault in faults:
        every[fault.room] += 1
        killed[fault.room] += bool(fault.killed_by)
    lines = [f"{room:20} {killed[room]:4} of {every[room]:4}" for room in sorted(every)]
    return "\n".join([*lines, f"{'all':20} {killed.total():4} of {every.total():4}"])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    chosen = commands.add_parser("choose", help="draw faults and write their table")
    chosen.add_argument("table", type=Path)
    chosen.add_argument("--seed", type=int, required=True)
    chosen.add_argument("--count", type=int, default=150)
    run = commands.add_parser("run", help="try each fault on the tests that reach it")
    run.add_argument("table", type=Path)
    run.add_argument("--to", type=Path, help="write here instead of into the table")
    run.add_argument("--coverage", type=Path, default=ROOT / "build/coverage")
    run.add_argument("--durations", type=Path, default=ROOT / "build/durations.json")
    run.add_argument("--tree", type=Path, default=ROOT, help="whose tests are run")
    run.add_argument("--workers", type=int, default=2)
    run.add_argument("--quick", action="store_true", help="only tests without Spark")
    run.add_argument("--anew", action="store_true", help="also those that were killed")
    compared = commands.add_parser("compare", help="what one kills and not the other")
    compared.add_argument("before", type=Path)
    compared.add_argument("after", type=Path)
    given = parser.parse_args(arguments)
    if given.command == "choose":
        write(given.table, choose(given.seed, given.count))
        return 0
    if given.command == "compare":
        return compare(read(given.before), read(given.after))
    reached = Reached(given.coverage, given.durations)
    results: dict[tuple[str, int, int, str], Fault] = {}
    faults = read(given.table)
    # What a run before has killed is known, unless the tests are others now.
    wanted = faults if given.anew else [f for f in faults if not f.killed_by]
    results |= {f.place: f for f in faults if f not in wanted}
    for fault in run_all(
        wanted, reached, given.tree, workers=given.workers, quick_only=given.quick
    ):
        results[fault.place] = fault
        told = fault.killed_by or f"SURVIVED {fault.tests} tests"
        print(
            f"{len(results):4} {fault.seconds:6.1f} s {fault.path}:{fault.line} "
            f"{fault.kind}: {told}",
            flush=True,
        )
        write(given.to or given.table, [results.get(f.place, f) for f in faults])
    print(table_by_room(results.values()))
    return 0


def compare(before: Sequence[Fault], after: Sequence[Fault]) -> int:
    """Prints both by room; 1 if one that was killed survives now."""
    now = {fault.place: fault for fault in after}
    lost = [f for f in before if f.killed_by and not now[f.place].killed_by]
    print("before", table_by_room(before), "after", table_by_room(after), sep="\n")
    for fault in lost:
        print(f"survives now: {fault.path}:{fault.line} {fault.kind}")
        print(f"    was killed by {fault.killed_by}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
