"""A page that has the live panel alone: without JupyterLab and without a kernel."""

from __future__ import annotations

import json
from pathlib import Path

from lab import Tab

from arroyo_nb.views.panel import style

ROOT = Path(__file__).parents[2]
MODULE = (ROOT / "arroyo_nb" / "views" / "static" / "panel.js").read_text("utf-8")

HARNESS = """<!doctype html><meta charset=utf-8><body data-jp-theme-light=true>
<div id=panel></div><script type=module>
%s
window.model = {
  frame: "", sheet: %s, still: "none", calls: [], sent: [],
  get(name) { return this[name]; },
  on(names, call) { if (names.includes("frame")) this.calls.push(call); },
  off() {},
  send(what) { this.sent.push(what.do); },
};
render({ model, el: document.getElementById("panel") });
window.ready = true;
</script>"""


def live_page(tab: Tab, tmp_path: Path) -> None:
    """Open it: ``model.frame`` is what it shows, ``model.sent`` what was pressed."""
    file = tmp_path / "live.html"
    sheet = json.dumps(style()).replace("<", "\\u003c")
    file.write_text(HARNESS % (MODULE, sheet), "utf-8")
    tab.page.goto(file.as_uri())
    tab.page.wait_for_function("() => window.ready")
