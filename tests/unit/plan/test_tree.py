from __future__ import annotations

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan.nodes import Filter, Node, Project, Union
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.plan.tree import size, transform, walk

SCRIPT = """
CREATE TABLE t WITH (connector = 'impulse', event_rate = 1);
CREATE VIEW v AS SELECT counter FROM t WHERE counter > 1;
SELECT counter FROM v UNION ALL SELECT counter FROM v
"""


def union() -> Union:
    (sink,) = plan_script(SCRIPT, Catalog()).sinks
    assert isinstance(sink.input, Union)
    return sink.input


def test_a_shared_node_is_walked_once_and_after_its_inputs() -> None:
    nodes = list(walk(union()))
    assert [type(n) for n in nodes].count(Filter) == 1
    seen: list[Node] = []
    for node in nodes:
        assert all(any(child is s for s in seen) for child in node.inputs)
        seen.append(node)


def test_nothing_changed_is_the_same_object() -> None:
    root = union()
    assert transform(root, lambda node: node) is root


def test_a_shared_node_stays_shared() -> None:
    def dropped(node: Node) -> Node:
        return node.input if isinstance(node, Filter) else node

    changed = transform(union(), dropped)
    left, right = changed.inputs
    assert isinstance(left, Project)
    assert isinstance(right, Project)
    assert left.input is right.input
    assert Filter not in {type(node) for node in walk(changed)}


def test_doubling_views_are_planned_once_each() -> None:
    views = "".join(
        f"CREATE VIEW v{n + 1} AS SELECT counter FROM v{n} UNION ALL "
        f"SELECT counter FROM v{n};"
        for n in range(9)
    )
    first = "CREATE VIEW v0 AS SELECT counter FROM t;"
    table = SCRIPT.split(";")[0] + ";"
    script = f"{table}{first}{views}SELECT counter FROM v9"
    (sink,) = plan_script(script, Catalog()).sinks
    # 2 ** 9 readings of the table, but a node or three for each view.
    assert size(sink) > 2**10
    assert len(list(walk(sink))) < 4 * 10
