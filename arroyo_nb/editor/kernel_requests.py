"""How a kernel answers for cells of ours: ``inspect_request`` and ``complete_request``.

Shift-Tab, the documentation beside completions, and VS Code ask a kernel to inspect the
word at the cursor. IPython hands on the word alone, so the kernel's own method is the
one place where the cell is known. Elsewhere it is called as before.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arroyo_nb.editor.answers import Hover
    from arroyo_nb.session import Session

_OURS = "%%arroyo"
_TYPES = "_jupyter_types_experimental"
"""Where a reply to ``complete_request`` has what is inserted for each label."""


def answer_for_cells(shell: Any, session: Session) -> Callable[[], None]:
    """Have a shell's kernel answer for cells of ours; one that has none stays.

    Returns
    -------
    callable
        Takes it away again.
    """
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return lambda: None
    inspect, complete = kernel.do_inspect, kernel.do_complete
    # Who has wrapped them since still calls ours when it is taken away.
    is_on = True

    def do_inspect(code: str, cursor_pos: int, *args: Any, **kwargs: Any) -> Any:
        if is_on and code.startswith(_OURS):
            # At the first question, not while the extension loads.
            reply = inspection(session, shell.user_ns, code, cursor_pos)
            if reply is not None:
                return reply
        return inspect(code, cursor_pos, *args, **kwargs)

    def do_complete(code: str, cursor_pos: int) -> Any:
        reply = complete(code, cursor_pos)
        is_ours = is_on and code.startswith(_OURS) and isinstance(reply, dict)
        return with_labels(reply) if is_ours else reply

    kernel.do_inspect, kernel.do_complete = do_inspect, do_complete

    def forget() -> None:
        nonlocal is_on
        is_on = False
        for name, ours in (("do_inspect", do_inspect), ("do_complete", do_complete)):
            if vars(kernel).get(name) is ours:
                delattr(kernel, name)

    return forget


def inspection(
    session: Session, variables: Mapping[str, Any], code: str, at: int
) -> dict[str, Any] | None:
    """The reply to an ``inspect_request``; None: IPython's own is right.

    Parameters
    ----------
    code
        The cell; where a completion is asked about, up to it.
    at
        The cursor, in characters; it may be behind the end.
    """
    from arroyo_nb.cell_magics import Content
    from arroyo_nb.editor.cell_text import read_short_cell

    cell = read_short_cell(code)
    if cell is None or cell.magic.content is Content.PYTHON:
        return None
    # Of the magic itself IPython shows its help, the table of its options.
    if at <= len(f"%%{cell.magic.name}"):
        return None
    found = _found(session, variables, code, min(at, len(code)))
    if found is None:
        # Of the first line IPython has the magic's own help.
        is_first = "\n" not in code[:at]
        return None if is_first else {"status": "ok", "found": False, **_data()}
    return {"status": "ok", "found": True, **_data(found)}


def _found(
    session: Session, variables: Mapping[str, Any], code: str, at: int
) -> Hover | None:
    from arroyo_nb.editor.answers import EditorContext
    from arroyo_nb.editor.cell_text import read_short_cell
    from arroyo_nb.editor.hover import hover
    from arroyo_nb.editor.signature import signature
    from arroyo_nb.editor.snippets import snippet_hover

    cell = read_short_cell(code)
    assert cell is not None, "it is one"
    catalog = session.catalog.with_functions(session.function_rows())
    context = EditorContext(catalog, session.strict, variables)
    return (
        snippet_hover(code[:at])
        or hover(cell, at, context)
        or signature(cell, at, context)
    )


def _data(found: Hover | None = None) -> dict[str, Any]:
    data = {} if found is None else mime_bundle(found)
    return {"data": data, "metadata": {}}


def mime_bundle(found: Hover) -> dict[str, str]:
    """An explanation as text and as HTML; all of it is escaped."""
    title = f"{found.title}  ({found.badge})" if found.badge else found.title
    example = f"Example: {found.example}" if found.example else ""
    lines = [title, *found.lines, *([example] if example else [])]
    parts = [f"<b><code>{html.escape(title)}</code></b>"]
    parts += [f"<div>{html.escape(line)}</div>" for line in found.lines]
    if found.example:
        parts.append(f"<pre>{html.escape(found.example)}</pre>")
    return {"text/plain": "\n".join(lines), "text/html": "".join(parts)}


NO_BREAK = "\u00a0"


def with_labels(reply: dict[str, Any]) -> dict[str, Any]:
    """A reply to a ``complete_request`` as pages list it: what has several lines by a
    label, as front ends insert what stands beside it; and each type on one line, where
    JupyterLab would break it and write the next item over it."""
    matches = list(reply.get("matches", ()))
    items = reply.get("metadata", {}).get(_TYPES, ())
    for place, item in enumerate(items):
        kind, _, label = str(item.get("type", "")).partition(" ")
        if kind == "snippet" and place < len(matches):
            matches[place] = label
            item["type"] = kind
        item["type"] = str(item.get("type", "")).replace(" ", NO_BREAK)
    return {**reply, "matches": matches}
