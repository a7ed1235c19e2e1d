"""The editor of the cells beside a kernel that is busy, restarted, dead or absent; in a
notebook that is read only; switched off; hostile names."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from editor_page import (
    LOAD,
    MARKS,
    TABLE,
    TOOLTIP,
    ask,
    cell,
    edit,
    show,
    underlined,
    wait_underlined,
)
from lab import Lab, Tab, write_notebook

WRONG = "%%arroyo\nSELECT price FROM nowhere"
PLUGIN = "arroyo-nb:editor"


def kernel(tab: Tab, what: str) -> Any:
    return tab.page.evaluate(
        "async () => { const kernel = window.jupyterapp.shell.currentWidget"
        f".sessionContext.session?.kernel; {what} }}"
    )


def test_a_busy_kernel_answers(lab: Lab, tab: Tab) -> None:
    show(lab, tab, "busy.ipynb", [LOAD, "import time; time.sleep(120)", WRONG], kind="")
    edit(tab, 2, " ")
    assert underlined(tab) == [["nowhere", "error"]]
    cell(tab, 1).click()
    tab.command("notebook:run-cell")
    tab.page.wait_for_selector(".jp-CodeCell .jp-InputPrompt:has-text('[*]')")
    begun = time.monotonic()
    edit(tab, 2)
    tab.page.keyboard.press("Backspace")
    tab.page.keyboard.type("2")
    tab.page.wait_for_selector(f"{MARKS}:has-text('nowhere2')")
    tab.page.wait_for_selector(".jp-CodeCell .jp-InputPrompt:has-text('[*]')")
    # A page that is opened now has never seen this kernel free.
    tab.page.goto(lab.url("busy.ipynb"), wait_until="domcontentloaded")
    edit(tab, 2, "3")
    tab.page.wait_for_selector(f"{MARKS}:has-text('nowhere3')")
    assert time.monotonic() - begun < 110
    kernel(tab, "await kernel.interrupt()")
    assert tab.errors == []


def test_after_the_extension_is_loaded_again_the_next_question_is_answered(
    lab: Lab, tab: Tab
) -> None:
    show(lab, tab, "again.ipynb", [LOAD, WRONG])
    edit(tab, 1, "1")
    underlined(tab)
    ask(tab, f"%unload_ext arroyo_nb\n{LOAD}")
    edit(tab, 1, "2")
    tab.page.wait_for_selector(f"{MARKS}:has-text('nowhere12')", timeout=5000)
    ask(tab, "%unload_ext arroyo_nb")
    edit(tab, 1, "3")
    underlined(tab, 0, within_s=5)
    assert tab.errors == []


def test_a_restarted_kernel_is_silent_until_the_extension_is_loaded(
    lab: Lab, tab: Tab
) -> None:
    show(lab, tab, "restarted.ipynb", [LOAD, WRONG], kind="")
    edit(tab, 1, " ")
    underlined(tab)
    kernel(tab, "await kernel.restart(); await kernel.info")
    edit(tab, 1, " ")
    underlined(tab, 0)
    ask(tab, LOAD)
    edit(tab, 1, " ")
    assert underlined(tab) == [["nowhere", "error"]]
    assert tab.errors == []


@pytest.mark.parametrize("end", ["shutdown", "none"])
def test_without_a_kernel_cells_are_highlighted_and_silent(
    lab: Lab, tab: Tab, end: str
) -> None:
    show(lab, tab, f"{end}.ipynb", [LOAD, WRONG], kind="")
    edit(tab, 1, " ")
    underlined(tab)
    if end == "shutdown":
        kernel(tab, "await kernel.shutdown()")
    else:
        tab.page.evaluate(
            "async () => { await window.jupyterapp.shell.currentWidget"
            ".sessionContext.shutdown() }"
        )
    edit(tab, 1, " ")
    underlined(tab, 0)
    assert tab.page.locator(".arroyo-cell").count() == 1
    cell(tab, 1).hover()
    tab.page.wait_for_timeout(1000)
    assert tab.page.locator(TOOLTIP).count() == 0
    assert tab.errors == []


def test_no_kernel_chosen_in_the_dialog(lab: Lab, tab: Tab) -> None:
    path = lab.folder / "unchosen.ipynb"
    write_notebook(path, [LOAD, WRONG])
    made = json.loads(path.read_text())
    made["metadata"] = {}
    path.write_text(json.dumps(made))
    tab.begin_to_open(lab, path.name)
    dialog = tab.page.locator(".jp-Dialog")
    dialog.get_by_role("button", name="No Kernel").click()
    dialog.wait_for(state="detached")
    tab.page.evaluate(
        "() => window.jupyterapp.shell.activateById('arroyo-nb-side-panel')"
    )
    tab.page.wait_for_selector("#arroyo-nb-side-panel:has-text('has no kernel')")
    edit(tab, 1, "2")
    # Each would ask the kernel.
    for key in ("F8", "Control+.", "Tab"):
        tab.page.keyboard.press(key)
    tab.command("arroyo-nb:format")
    assert tab.page.locator(".arroyo-cell").count() == 1
    assert tab.page.locator(MARKS).count() == 0
    tab.page.evaluate(
        "async () => { await window.jupyterapp.shell.currentWidget.sessionContext"
        ".changeKernel({ name: 'python3' }) }"
    )
    ask(tab, LOAD)
    edit(tab, 1, "3")
    assert underlined(tab) == [["nowhere23", "error"]]
    tab.page.wait_for_selector("#arroyo-nb-side-panel:has-text('Tables and views')")
    assert tab.errors == []


@pytest.mark.filterwarnings("ignore")
def test_a_killed_kernel_is_asked_again_once_it_is_back(lab: Lab, tab: Tab) -> None:
    show(lab, tab, "killed.ipynb", [LOAD, WRONG], kind="")
    edit(tab, 1, " ")
    underlined(tab)
    kernel(tab, "kernel.requestExecute({ code: 'import os; os._exit(1)' })")
    # Not by keys: JupyterLab's dialog may come up at any moment, and takes them.
    tab.page.evaluate(
        "() => { const { sharedModel } = window.jupyterapp.shell.currentWidget.content"
        ".activeCell.model; sharedModel.setSource(sharedModel.getSource() + ' ') }"
    )
    underlined(tab, 0)
    died = tab.page.locator(".jp-Dialog", has_text="appears to have died")
    died.wait_for(timeout=60_000)
    died.locator("button").last.click()
    died.wait_for(state="detached")
    tab.page.wait_for_function(
        "() => window.jupyterapp.shell.currentWidget.sessionContext.session?.kernel"
        "?.status === 'idle'",
        timeout=60_000,
    )
    edit(tab, 1, " ")
    underlined(tab, 0)
    ask(tab, LOAD)
    edit(tab, 1, " ")
    assert underlined(tab) == [["nowhere", "error"]]


def test_a_read_only_notebook_is_highlighted_and_stays(lab: Lab, tab: Tab) -> None:
    text = "%%arroyo\nSELECT prise FROM orders"
    show(lab, tab, "read.ipynb", [LOAD, TABLE, text], run=2)
    tab.page.evaluate(
        "() => { for (const cell of window.jupyterapp.shell.currentWidget.content"
        ".widgets) cell.readOnly = true; }"
    )
    cell(tab, 2).click()
    wait_underlined(tab, [["prise", "error"]])
    tab.page.locator(MARKS).hover()
    tab.page.wait_for_selector(f"{TOOLTIP} .arroyo-message")
    assert tab.page.locator(".arroyo-fix").count() == 0
    assert not tab.page.evaluate(
        "() => window.jupyterapp.commands.isEnabled('arroyo-nb:format')"
    )
    tab.command("arroyo-nb:quick-fix")
    tab.command("arroyo-nb:format")
    tab.page.wait_for_timeout(500)
    assert cell(tab, 2).inner_text().split() == text.split()


def test_the_setting_switches_it_off_and_on(lab: Lab, tab: Tab) -> None:
    show(lab, tab, "setting.ipynb", [LOAD, WRONG])
    edit(tab, 1, " ")
    underlined(tab)
    try:
        switch(tab, False)
        tab.page.wait_for_selector(".arroyo-cell", state="detached")
        assert cell(tab, 1).get_attribute("data-language") == "python"
        assert tab.page.locator(MARKS).count() == 0
        edit(tab, 1, " ")
        tab.page.wait_for_timeout(800)
        assert tab.page.locator(MARKS).count() == 0
    finally:
        switch(tab, True)
    tab.page.wait_for_selector(".arroyo-cell")
    assert underlined(tab) == [["nowhere", "error"]]
    assert tab.errors == []


def switch(tab: Tab, on: bool) -> None:
    """Change the setting as its page does."""
    tab.page.evaluate(
        """async ([plugin, on]) => {
          const server = window.jupyterapp.serviceManager.settings;
          await window.jupyterapp.commands.execute('settingeditor:open', {
            query: 'Arroyo SQL' });
          const box = () => document
            .querySelector(".jp-SettingsPanel input[type=checkbox]");
          for (let i = 0; i < 200 && !box(); i++)
            await new Promise((go) => setTimeout(go, 50));
          if (box().checked !== on) box().click();
          for (let i = 0; i < 200; i++) {
            const { raw } = await server.fetch(plugin);
            if (on ? !raw.includes('false') : raw.includes('false')) break;
            await new Promise((go) => setTimeout(go, 50));
          }
          window.jupyterapp.shell.currentWidget.close();
        }""",
        [PLUGIN, on],
    )


HOSTILE = "<img src=x onerror=window.harmed=1>"


def test_hostile_names_are_text(lab: Lab, tab: Tab) -> None:
    table = TABLE.replace("price DOUBLE", f'"{HOSTILE}" DOUBLE')
    query = f'%%arroyo\nSELECT "{HOSTILE}", "{HOSTILE}2"\nFROM orders'
    show(lab, tab, "hostile-editor.ipynb", [LOAD, table, query], run=2)
    edit(tab, 2, " ")
    tab.page.locator(MARKS, has_text="onerror").first.hover()
    tab.page.wait_for_selector(f"{TOOLTIP}:has-text('onerror')")
    tab.command("arroyo-nb:list-problems")
    tab.page.wait_for_selector(".arroyo-list:has-text('onerror')")
    tab.command("arroyo-nb:format")
    tab.page.mouse.move(5, 5)
    place = cell(tab, 2).locator(".cm-line").nth(1)
    place.hover(position={"x": 80, "y": 5})
    tab.page.wait_for_timeout(1500)
    assert tab.page.evaluate("() => window.harmed") is None
    assert tab.page.locator("img[src=x]").count() == 0


def test_markdown_and_raw_cells_are_left_alone(lab: Lab, tab: Tab) -> None:
    write_notebook(lab.folder / "kinds.ipynb", [LOAD, "%%arroyo\nSELECT 1"])
    path = lab.folder / "kinds.ipynb"
    made = json.loads(path.read_text())
    made["cells"][1]["cell_type"] = "raw"
    for key in ("execution_count", "outputs"):
        del made["cells"][1][key]
    path.write_text(json.dumps(made))
    tab.open(lab, "kinds.ipynb")
    tab.page.wait_for_timeout(500)
    assert tab.page.locator(".arroyo-cell").count() == 0
    assert tab.errors == []
