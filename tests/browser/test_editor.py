"""The editor of the cells in a browser: type, mistype, look, fix, run."""

from __future__ import annotations

import json

from editor_page import (
    LOAD,
    MARKS,
    TABLE,
    TOOLTIP,
    ask,
    cell,
    edit,
    run_cell,
    show,
    text,
    underlined,
)
from lab import SPARK, Lab, Tab, write_notebook

COLOURED = """%%arroyo --wait
-- a comment
SELECT tumble(INTERVAL '1 minute') AS w, count(*) AS n, CAST(7 AS BIGINT) AS seven
FROM orders WHERE id > :least AND 'x' <> '{{ NAME }}' GROUP BY w"""
COLOURED_TEST = """%%arroyo_test late
GIVEN orders --watermark "9 seconds"
id | ORDERED
WHEN
SELECT 1 -
EXPECT LATE"""
COLOURS = {
    "%%arroyo": "meta",
    "--watermark": "attribute",
    '"9 seconds"': "string",
    "GIVEN": "keyword",
    "LATE": "keyword",
    "|": "operator",
    "--wait": "attribute",
    "-- a comment": "comment",
    "SELECT": "keyword",
    "tumble": "tag",
    "'1 minute'": "string",
    "count": "def",
    "7": "number",
    "BIGINT": "builtin",
    ":least": "variable-2",
    "{{ NAME }}": "string-2",
}
THEMES = ("JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast")
# The colour that each word has, and the colour of each of the theme's variables.
PAINTED = """(wanted) => {
  const probe = document.body.appendChild(document.createElement('span'));
  const colours = {};
  for (const [word, variable] of Object.entries(wanted)) {
    const span = [...document.querySelectorAll('.arroyo-cell .cm-content span')]
      .find((one) => one.textContent === word && !one.querySelector('span'));
    probe.style.color = `var(--jp-mirror-editor-${variable}-color)`;
    colours[word] = [span ? getComputedStyle(span).color : null,
      getComputedStyle(probe).color];
  }
  probe.remove();
  return colours;
}"""


def test_type_mistype_look_fix_run(lab: Lab, tab: Tab) -> None:
    (lab.folder / "orders.json").write_text(
        json.dumps({"id": 1, "price": 2.5, "ts": "2024-01-01T00:00:00Z"}) + "\n"
    )
    show(lab, tab, "type.ipynb", [LOAD, TABLE, "%%arroyo"], run=2, kind=SPARK)
    edit(tab, 2, "\nSELECT id, prise FROM orders")
    assert underlined(tab) == [["prise", "error"]]
    tab.page.locator(MARKS).hover()
    tab.page.wait_for_selector(f"{TOOLTIP} .arroyo-message:has-text('prise')")
    tab.shot("editor-hover-light")
    tab.page.locator(".cm-tooltip .arroyo-fix", has_text="price").click()
    underlined(tab, 0)
    assert text(tab) == "%%arroyo\nSELECT id, price FROM orders"
    # Undone in one step, and done again.
    tab.page.keyboard.press("Control+z")
    assert text(tab) == "%%arroyo\nSELECT id, prise FROM orders"
    assert underlined(tab) == [["prise", "error"]]
    tab.page.keyboard.press("F8")
    tab.page.wait_for_selector(".arroyo-tooltip .arroyo-message:has-text('prise')")
    tab.page.keyboard.press("Control+.")
    underlined(tab, 0)
    run_cell(tab)
    tab.page.wait_for_selector(".jp-OutputArea-output:has-text('2.5')", timeout=60_000)
    assert tab.errors == []


def test_words_have_the_colours_of_each_theme(lab: Lab, tab: Tab) -> None:
    cells = [LOAD, COLOURED, "import os\nsum([1])", COLOURED_TEST]
    show(lab, tab, "colours.ipynb", cells)
    edit(tab, 1, ", nothing")
    underlined(tab, 2)
    for theme in THEMES:
        tab.page.evaluate(
            "(theme) => window.jupyterapp.commands.execute('apputils:change-theme',"
            " { theme })",
            theme,
        )
        tab.page.wait_for_function(
            "(theme) => document.body.dataset.jpThemeName === theme", arg=theme
        )
        tab.page.wait_for_timeout(500)
        tab.page.locator(MARKS).first.hover()
        tab.page.wait_for_selector(TOOLTIP)
        tab.command("arroyo-nb:list-problems")
        tab.page.wait_for_selector(".arroyo-list .arroyo-row")
        tab.shot(f"editor-{theme.split()[-1].lower()}")
        painted = tab.page.evaluate(PAINTED, COLOURS)
        wrong = {word: pair for word, pair in painted.items() if pair[0] != pair[1]}
        assert wrong == {}, theme
        plain = painted["SELECT"][1]
        assert plain != painted["'1 minute'"][1], theme
        tab.page.keyboard.press("Escape")
        tab.page.wait_for_selector(".arroyo-list", state="detached")
        tab.page.mouse.move(5, 5)
        tab.page.wait_for_selector(TOOLTIP, state="detached")
    # Python's own highlighting is in the cell of Python, and only there.
    languages = tab.page.evaluate(
        "() => [...document.querySelectorAll('.jp-CodeCell .cm-content')]"
        ".map((one) => one.dataset.language)"
    )
    assert languages == ["python", "arroyo-sql", "python", "arroyo-sql"]
    assert tab.errors == []


def test_a_cell_becomes_ours_with_its_first_line(lab: Lab, tab: Tab) -> None:
    show(lab, tab, "becomes.ipynb", [LOAD, "SELECT nothing FROM nowhere"])
    language = "() => document.querySelectorAll('.cm-content')[1].dataset.language"
    assert tab.page.evaluate(language) == "python"
    cell(tab, 1).click()
    tab.page.keyboard.press("Control+Home")
    tab.page.keyboard.type("%%arroyo\n")
    assert tab.page.evaluate(language) == "arroyo-sql"
    assert underlined(tab) == [["nowhere", "error"]]
    tab.page.keyboard.press("Control+Home")
    tab.page.keyboard.press("Delete")
    assert tab.page.evaluate(language) == "python"
    underlined(tab, 0)
    assert tab.errors == []


def test_the_underline_is_at_the_right_characters(lab: Lab, tab: Tab) -> None:
    show(lab, tab, "places.ipynb", [LOAD, TABLE, "%%arroyo"], run=2)
    edit(tab, 2)
    tab.page.keyboard.insert_text(
        "\n\t-- 🛫 é 👩‍👩‍👧\n\tSELECT '🛬\t' AS a, prise,\t'𝒳' AS b FROM orders"
    )
    assert underlined(tab) == [["prise", "error"]]
    tab.page.keyboard.press("F8")
    tab.page.keyboard.press("Control+.")
    underlined(tab, 0)
    assert "'🛬\t' AS a, price,\t'𝒳' AS b" in text(tab)


def test_keys_lead_through_the_problems_and_list_them(lab: Lab, tab: Tab) -> None:
    show(lab, tab, "keys.ipynb", [LOAD, TABLE, "%%arroyo"], run=2)
    edit(tab, 2)
    tab.page.keyboard.insert_text("\nSELECT prise, idd\nFROM orders")
    assert [what for what, _ in underlined(tab, 2)] == ["prise", "idd"]
    at = (
        "() => window.jupyterapp.shell.currentWidget.content.activeCell.editor.editor"
        ".state.selection.main.head"
    )
    places = []
    for key in ("F8", "F8", "F8", "Shift+F8"):
        tab.page.keyboard.press(key)
        places.append(tab.page.evaluate(at))
    source = text(tab)
    first, second = source.index("prise"), source.index("idd")
    assert places == [first, second, first, second]
    # A screen reader says which.
    assert "idd" in (tab.page.locator(".cm-announced").last.text_content() or "")
    tab.command("arroyo-nb:list-problems")
    rows = tab.page.locator(".arroyo-list .arroyo-row")
    rows.nth(1).wait_for()
    assert rows.count() == 2
    rows.nth(0).locator(".arroyo-fix", has_text="price").click()
    underlined(tab, 1)
    assert rows.count() == 1
    rows.first.locator(".arroyo-place").click()
    tab.page.keyboard.press("Escape")
    tab.page.wait_for_selector(".arroyo-list", state="detached")
    assert tab.errors == []


def test_a_word_under_the_pointer_is_explained(lab: Lab, tab: Tab) -> None:
    cells = [LOAD, TABLE, "%%arroyo\nSELECT price, upper('a') FROM orders"]
    show(lab, tab, "explained.ipynb", cells, run=2)
    edit(tab, 2)
    for word, told in (("price", "DOUBLE"), ("upper", "upper"), ("orders", "ts")):
        place(tab, word)
        tab.page.wait_for_selector(f".arroyo-explanation:has-text('{told}')")
        tab.page.mouse.move(5, 5)
        tab.page.wait_for_selector(".arroyo-explanation", state="detached")
    assert tab.errors == []


def place(tab: Tab, word: str) -> None:
    """Move the pointer onto a word of the active cell."""
    x, y = tab.page.evaluate(
        """(word) => {
          const view = window.jupyterapp.shell.currentWidget.content.activeCell.editor
            .editor;
          const at = view.state.doc.toString().indexOf(word) + 1;
          const { left, top, bottom } = view.coordsAtPos(at);
          return [left + 2, (top + bottom) / 2];
        }""",
        word,
    )
    tab.page.mouse.move(x - 3, y)
    tab.page.mouse.move(x, y)


def test_comments_are_those_of_sql(lab: Lab, tab: Tab) -> None:
    show(lab, tab, "comments.ipynb", [LOAD, "%%arroyo\nSELECT 1 AS one"])
    edit(tab, 1)
    tab.page.keyboard.press("Control+/")
    assert text(tab) == "%%arroyo\n-- SELECT 1 AS one"
    tab.page.keyboard.press("Control+/")
    assert text(tab) == "%%arroyo\nSELECT 1 AS one"


def test_a_cell_that_runs_has_others_checked(lab: Lab, tab: Tab) -> None:
    cells = [LOAD, TABLE, "%%arroyo\nSELECT price FROM orders"]
    show(lab, tab, "later.ipynb", cells)
    edit(tab, 2)
    assert underlined(tab) == [["orders", "error"]]
    tab.page.keyboard.press("Escape")
    tab.page.keyboard.press("ArrowUp")
    run_cell(tab)
    underlined(tab, 0)


def test_two_notebooks_have_two_kernels(lab: Lab, tab: Tab) -> None:
    query = "%%arroyo\nSELECT price FROM orders"
    show(lab, tab, "one.ipynb", [LOAD, TABLE, query], run=2, kind="")
    edit(tab, 2, " ")
    tab.page.wait_for_timeout(1500)
    underlined(tab, 0)
    write_notebook(lab.folder / "two.ipynb", [LOAD, query])
    tab.page.evaluate(
        "() => window.jupyterapp.commands.execute('docmanager:open',"
        " { path: 'two.ipynb' })"
    )
    tab.page.evaluate(
        """async () => {
          for (let i = 0; i < 600; i++) {
            const w = window.jupyterapp.shell.currentWidget;
            const k = w?.context?.path === 'two.ipynb' && w.sessionContext.isReady
              && w.sessionContext.session?.kernel;
            if (k && k.status === 'idle') return;
            await new Promise((go) => setTimeout(go, 50));
          }
          throw new Error('not open');
        }"""
    )
    ask(tab, LOAD)
    tab.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .cm-content").nth(1).click()
    tab.page.keyboard.press("Control+End")
    tab.page.keyboard.type(" ")
    assert underlined(tab) == [["orders", "error"]]
    assert tab.errors == []


def test_the_call_around_the_cursor_is_explained(lab: Lab, tab: Tab) -> None:
    show(lab, tab, "call.ipynb", [LOAD, TABLE, "%%arroyo\nSELECT 1"], run=2)
    edit(tab, 2, ", upper('a'")
    tab.page.wait_for_selector(".arroyo-explanation:has-text('upper')")
    tab.shot("editor-call")
    tab.page.keyboard.press("End")
    tab.page.keyboard.type("), 2")
    tab.page.wait_for_selector(".arroyo-explanation", state="detached")
    assert tab.errors == []


def test_behind_a_blank_and_a_bracket_only_what_fits_is_offered(
    lab: Lab, tab: Tab
) -> None:
    show(lab, tab, "offered.ipynb", [LOAD, TABLE, "%%arroyo\n"], run=2)
    for typed, fits in (("SELECT id  FROM ", "orders"), ("AND t (id INT) WITH (", "")):
        edit(tab, 2, typed)
        tab.command("completer:invoke-notebook")
        offered = tab.page.locator(".jp-Completer .jp-Completer-match")
        offered.first.wait_for()
        texts = offered.all_text_contents()
        assert [fits or "connector"] == texts
        tab.page.keyboard.press("Escape")
    assert tab.errors == []


def test_a_cell_is_formatted_in_one_step(lab: Lab, tab: Tab) -> None:
    before = "%%arroyo\nselect price ,id from orders -- all of them"
    show(lab, tab, "format.ipynb", [LOAD, TABLE, before, "%%arroyo\nSELECT ("], run=2)
    edit(tab, 2)
    # As one does who has chosen it from a menu.
    tab.page.keyboard.press("Escape")
    tab.command("arroyo-nb:format")
    tab.page.wait_for_function(
        "() => window.jupyterapp.shell.currentWidget.content.activeCell.model"
        ".sharedModel.getSource().includes('SELECT')"
    )
    after = text(tab)
    assert cell(tab, 2).evaluate("(one) => one === document.activeElement")
    assert "-- all of them" in after
    tab.page.keyboard.press("Control+z")
    assert text(tab) == before
    tab.page.keyboard.press("Control+Shift+z")
    assert text(tab) == after
    # What has no end cannot be formatted: it stays, and a notification says why.
    edit(tab, 3)
    tab.command("arroyo-nb:format")
    tab.page.wait_for_function(
        "() => document.querySelector('.Toastify__toast, .jp-Notification-Toast')"
        " || /[1-9]/.test(document.querySelector('.jp-Notification-Status')?.innerText)"
    )
    assert text(tab) == "%%arroyo\nSELECT ("
    assert tab.errors == []
