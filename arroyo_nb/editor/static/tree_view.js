// A tree of two-line rows that is told anew again and again: what has not changed keeps its
// element, and so its focus, its scroll position and whether it is open. Every text reaches
// the page as text.

/**
 * @typedef {{label: string, title?: string, run: () => void}} Action
 * @typedef {{key: string, name: string, note?: string, title?: string, state?: string,
 *   mark?: string, enter?: () => void, actions?: Action[], children?: Row[],
 *   isOpen?: boolean}} Row
 * @typedef {{row: Row, item: HTMLElement, line: HTMLElement, twisty: HTMLElement,
 *   mark: HTMLElement, name: HTMLElement, note: HTMLElement, actions: HTMLElement,
 *   group: HTMLElement, parent: Shown | null, children: Map<string, Shown>}} Shown
 */

export class TreeView {
  /** @param {string} label what a screen reader calls the tree */
  constructor(label) {
    this.node = element('div', 'arroyo-tree');
    this.node.setAttribute('role', 'tree');
    this.node.setAttribute('aria-label', label);
    /** @type {Map<string, Shown>} */
    this.top = new Map();
    /** What a person has opened or closed, by path. @type {Map<string, boolean>} */
    this.opened = new Map();
    /** The one that Tab leads to. @type {Shown | null} */
    this.current = null;
    /** @type {WeakMap<Element, Shown>} */
    this.byItem = new WeakMap();
    this.node.addEventListener('click', (event) => this.clicked(event));
    this.node.addEventListener('keydown', (event) => this.pressed(event));
    this.node.addEventListener('focusin', (event) => {
      const shown = this.shownOf(event.target);
      if (shown) this.setCurrent(shown);
    });
  }

  /** @param {Row[]} rows */
  update(rows) {
    const focused = document.activeElement;
    this.fill(this.node, this.top, rows, null);
    if (!this.current || !this.node.contains(this.current.item)) {
      const first = this.visible()[0];
      if (first) this.setCurrent(first);
    }
    // An element that was moved among its neighbours has lost the focus.
    const isHere = focused instanceof HTMLElement && this.node.contains(focused);
    if (isHere && focused !== document.activeElement) focused.focus({ preventScroll: true });
  }

  /**
   * @param {HTMLElement} box
   * @param {Map<string, Shown>} known
   * @param {Row[]} rows
   * @param {Shown | null} parent
   */
  fill(box, known, rows, parent) {
    const wanted = new Set(rows.map((row) => row.key));
    for (const [key, shown] of known) {
      if (wanted.has(key)) continue;
      this.leave(shown);
      shown.item.remove();
      known.delete(key);
    }
    let place = box.firstElementChild;
    for (const row of rows) {
      let shown = known.get(row.key);
      if (!shown) known.set(row.key, (shown = this.make(row, parent)));
      this.draw(shown, row);
      if (shown.item === place) place = place.nextElementSibling;
      else box.insertBefore(shown.item, place);
    }
  }

  /**
   * Moves the current place away from a row that goes.
   * @param {Shown} shown
   */
  leave(shown) {
    if (!this.current || !shown.item.contains(this.current.item)) return;
    const beside = shown.item.nextElementSibling ?? shown.item.previousElementSibling;
    const next = (beside && this.byItem.get(beside)) ?? shown.parent;
    const hadFocus = shown.item.contains(document.activeElement);
    if (!next) return void (this.current = null);
    this.setCurrent(next);
    if (hadFocus) next.item.focus();
  }

  /**
   * @param {Row} row
   * @param {Shown | null} parent
   * @returns {Shown}
   */
  make(row, parent) {
    const item = element('div', 'arroyo-item');
    item.setAttribute('role', 'treeitem');
    item.setAttribute('aria-level', String(levelOf(parent) + 1));
    item.tabIndex = -1;
    const line = element('div', 'arroyo-line');
    const twisty = element('span', 'arroyo-twisty');
    twisty.setAttribute('aria-hidden', 'true');
    const words = element('span', 'arroyo-words');
    const mark = element('span', 'arroyo-mark');
    mark.setAttribute('aria-hidden', 'true');
    const [name, note] = [element('span', 'arroyo-name'), element('span', 'arroyo-note')];
    words.append(mark, name, note);
    const actions = element('span', 'arroyo-actions');
    line.append(twisty, words, actions);
    const group = element('div', 'arroyo-group');
    group.setAttribute('role', 'group');
    item.append(line);
    const shown = { row, item, line, twisty, mark, name, note, actions, group, parent,
      children: new Map() };
    this.byItem.set(item, shown);
    return shown;
  }

  /**
   * @param {Shown} shown
   * @param {Row} row
   */
  draw(shown, row) {
    shown.row = row;
    const { item } = shown;
    setText(shown.name, row.name);
    setText(shown.note, row.note ?? '');
    setText(shown.mark, row.mark ?? '');
    setAttribute(shown.line, 'title', row.title ?? null);
    setAttribute(item, 'aria-label', [row.name, row.note].filter(Boolean).join(', '));
    setAttribute(item, 'data-state', row.state ?? null);
    setAttribute(item, 'data-enters', row.enter ? 'yes' : null);
    this.drawActions(shown, row.actions ?? []);
    const isOpen = row.children ? this.isOpen(shown) : null;
    setAttribute(item, 'aria-expanded', isOpen === null ? null : String(isOpen));
    setText(shown.twisty, isOpen === null ? '' : isOpen ? '▾' : '▸');
    // Columns of closed tables have no elements: there may be thousands.
    this.fill(shown.group, shown.children, isOpen ? row.children ?? [] : [], shown);
    if (isOpen && !shown.group.parentElement) item.append(shown.group);
    else if (!isOpen) shown.group.remove();
  }

  /**
   * @param {Shown} shown
   * @param {Action[]} actions
   */
  drawActions(shown, actions) {
    const box = shown.actions;
    while (box.childElementCount > actions.length) {
      const hadFocus = box.lastElementChild === document.activeElement;
      box.lastElementChild?.remove();
      if (hadFocus) shown.item.focus();
    }
    actions.forEach((action, number) => {
      let button = /** @type {HTMLButtonElement} */ (box.children[number]);
      if (!button) {
        button = /** @type {HTMLButtonElement} */ (element('button', 'arroyo-action'));
        button.type = 'button';
        button.tabIndex = shown === this.current ? 0 : -1;
        box.append(button);
      }
      setText(button, action.label);
      setAttribute(button, 'title', action.title ?? null);
      setAttribute(button, 'aria-label', `${action.label} ${shown.row.name}`);
    });
  }

  /** @param {Shown} shown */
  isOpen(shown) {
    return this.opened.get(pathOf(shown)) ?? shown.row.isOpen ?? false;
  }

  /**
   * @param {Shown} shown
   * @param {boolean} isOpen
   */
  open(shown, isOpen) {
    if (!shown.row.children || this.isOpen(shown) === isOpen) return;
    this.opened.set(pathOf(shown), isOpen);
    this.draw(shown, shown.row);
  }

  /** @param {Shown} shown */
  setCurrent(shown) {
    if (this.current && this.current !== shown) setTabs(this.current, -1);
    this.current = shown;
    setTabs(shown, 0);
  }

  /** @param {EventTarget | null} target */
  shownOf(target) {
    const item = target instanceof Element ? target.closest('.arroyo-item') : null;
    return item ? this.byItem.get(item) : undefined;
  }

  /** The rows as a person sees them, from top to bottom. @returns {Shown[]} */
  visible() {
    const items = [...this.node.querySelectorAll('.arroyo-item')];
    return items.flatMap((item) => this.byItem.get(item) ?? []);
  }

  /** @param {MouseEvent} event */
  clicked(event) {
    const shown = this.shownOf(event.target);
    if (!shown || !(event.target instanceof Element)) return;
    const button = event.target.closest('.arroyo-action');
    if (button) {
      const number = [...shown.actions.children].indexOf(button);
      return shown.row.actions?.[number]?.run();
    }
    shown.item.focus();
    const isName = event.target.closest('.arroyo-name') && shown.row.enter;
    if (isName) shown.row.enter?.();
    else this.open(shown, !this.isOpen(shown));
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    const shown = this.shownOf(event.target);
    // Enter and Space on a button are the button's.
    const isButton = event.target instanceof HTMLButtonElement;
    if (!shown || event.altKey || event.ctrlKey || event.metaKey) return;
    const rows = this.visible();
    const at = rows.indexOf(shown);
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowDown: () => rows[at + 1]?.item.focus(),
      ArrowUp: () => rows[at - 1]?.item.focus(),
      Home: () => rows[0]?.item.focus(),
      End: () => rows[rows.length - 1]?.item.focus(),
      ArrowRight: () => {
        if (!shown.row.children) return;
        if (!this.isOpen(shown)) this.open(shown, true);
        else rows[at + 1]?.parent === shown && rows[at + 1]?.item.focus();
      },
      ArrowLeft: () => {
        if (shown.row.children && this.isOpen(shown)) this.open(shown, false);
        else shown.parent?.item.focus();
      }
    };
    if (!isButton) {
      const enter = () => (shown.row.enter ? shown.row.enter() : this.open(shown, !this.isOpen(shown)));
      Object.assign(keys, { Enter: enter, ' ': () => this.open(shown, !this.isOpen(shown)) });
    }
    if (!(event.key in keys)) return;
    event.preventDefault();
    // JupyterLab has shortcuts of its own for these keys.
    event.stopPropagation();
    keys[event.key]();
  }
}

/**
 * @param {string} tag
 * @param {string} name of its class
 * @returns {HTMLElement}
 */
export function element(tag, name) {
  const made = document.createElement(tag);
  made.className = name;
  return made;
}

/**
 * @param {HTMLElement} node
 * @param {string} text
 */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/**
 * @param {HTMLElement} node
 * @param {string} name
 * @param {string | null} value null removes it
 */
function setAttribute(node, name, value) {
  if (node.getAttribute(name) === value) return;
  if (value === null) node.removeAttribute(name);
  else node.setAttribute(name, value);
}

/**
 * @param {Shown} shown
 * @param {number} tabIndex
 */
function setTabs(shown, tabIndex) {
  shown.item.tabIndex = tabIndex;
  for (const button of shown.actions.children) {
    /** @type {HTMLElement} */ (button).tabIndex = tabIndex;
  }
}

/** @param {Shown | null} shown @returns {number} */
const levelOf = (shown) => (shown ? levelOf(shown.parent) + 1 : 0);

/** @param {Shown} shown @returns {string} */
const pathOf = (shown) =>
  JSON.stringify([shown.parent ? pathOf(shown.parent) : '', shown.row.key]);
