// The problems of a cell: underlined, explained under the pointer with buttons that fix them,
// listed under the cell on request.

/**
 * @typedef {{from: number, to: number, insert: string}} Edit
 * @typedef {{title: string, edits: Edit[]}} Fix
 * @typedef {{from: number, to: number, severity: 'error' | 'warning' | 'hint',
 *   message: string, hint: string | null, fixes: Fix[]}} Mark
 */

/**
 * An element; its text is never read as HTML.
 * @param {string} tag
 * @param {string} name of its class
 * @param {string | null} [text]
 * @param {Node[]} [children]
 */
export const element = (tag, name, text = null, children = []) => {
  const made = document.createElement(tag);
  made.className = name;
  if (text !== null) made.textContent = text;
  made.append(...children);
  return made;
};

/** @param {{view: any, state: any}} modules of CodeMirror */
export const problems = ({ view: codemirror, state: { StateEffect, StateField } }) => {
  const { Decoration, EditorView, hoverTooltip, showPanel, showTooltip, keymap } = codemirror;
  const setMarks = StateEffect.define();
  const setListed = StateEffect.define();
  const setTold = StateEffect.define();

  /**
   * The marks where they are now, and the changes since the kernel saw the text.
   * @typedef {{deco: any, since: any}} Shown
   */
  const shown = StateField.define({
    create: () => ({ deco: Decoration.none, since: null }),
    /** @param {Shown} value @param {any} transaction */
    update(value, transaction) {
      for (const effect of transaction.effects) {
        if (effect.is(setMarks)) return { deco: decorate(effect.value, transaction.newDoc), since: null };
      }
      if (!transaction.docChanged || value.deco === Decoration.none) return value;
      const changes = transaction.changes.desc;
      const since = value.since ? value.since.composeDesc(changes) : changes;
      return { deco: value.deco.map(changes), since };
    },
    provide: (/** @type {any} */ field) =>
      EditorView.decorations.from(field, (/** @type {Shown} */ value) => value.deco)
  });

  /** @param {Mark[]} marks @param {any} doc */
  const decorate = (marks, doc) =>
    Decoration.set(
      marks.map((mark) => {
        const [from, to] = visible(mark, doc);
        return Decoration.mark({ class: `arroyo-mark arroyo-${mark.severity}`, mark }).range(from, to);
      }),
      true
    );

  /** Every mark has a character to stand under. @param {Mark} mark @param {any} doc */
  const visible = ({ from, to }, doc) => {
    from = Math.max(0, Math.min(from, doc.length));
    to = Math.max(from, Math.min(to, doc.length));
    if (doc.sliceString(from, to).trim()) return [from, to];
    if (doc.sliceString(from, from + 1).trim()) return [from, from + 1];
    const before = doc.sliceString(0, from).trimEnd().length;
    return before ? [before - 1, before] : [0, Math.min(1, doc.length)];
  };

  /**
   * @param {any} state
   * @returns {{from: number, to: number, mark: Mark}[]}
   */
  const list = (state) => {
    /** @type {{from: number, to: number, mark: Mark}[]} */
    const found = [];
    state.field(shown, false)?.deco.between(
      0,
      state.doc.length,
      (/** @type {number} */ from, /** @type {number} */ to, /** @type {any} */ deco) => {
        found.push({ from, to, mark: deco.spec.mark });
      }
    );
    return found;
  };

  /** @param {any} view @param {Fix} chosen */
  const apply = (view, chosen) => {
    // A tooltip may be older than the marks: its places would be those of an older text.
    const wanted = JSON.stringify(chosen);
    const fixes = list(view.state).flatMap(({ mark }) => mark.fixes);
    const fix = fixes.find((one) => JSON.stringify(one) === wanted);
    if (view.state.readOnly || !fix) return;
    const { since } = view.state.field(shown);
    const place = (/** @type {number} */ at) => (since ? since.mapPos(at) : at);
    view.dispatch({
      changes: fix.edits.map(({ from, to, insert }) => ({ from: place(from), to: place(to), insert })),
      userEvent: 'input.fix',
      scrollIntoView: true
    });
    view.focus();
  };

  /** @param {any} view @param {Mark} mark */
  const explain = (view, mark) => {
    const buttons = view.state.readOnly ? [] : mark.fixes.map((fix) => {
      const button = element('button', 'arroyo-fix', fix.title);
      button.addEventListener('click', () => apply(view, fix));
      return button;
    });
    return element('div', `arroyo-problem arroyo-is-${mark.severity}`, null, [
      element('span', 'arroyo-severity', mark.severity),
      element('span', 'arroyo-message', mark.message),
      ...(mark.hint ? [element('div', 'arroyo-hint', mark.hint)] : []),
      ...(buttons.length ? [element('div', 'arroyo-fixes', null, buttons)] : [])
    ]);
  };

  const underPointer = hoverTooltip((/** @type {any} */ view, /** @type {number} */ at) => {
    const found = list(view.state).filter(({ from, to }) => from <= at && at <= to);
    if (!found.length) return null;
    return {
      pos: Math.min(...found.map(({ from }) => from)),
      end: Math.max(...found.map(({ to }) => to)),
      above: true,
      create: () => ({
        dom: element('div', 'arroyo-tooltip', null, found.map(({ mark }) => explain(view, mark)))
      })
    };
  });

  /** @param {any} view */
  const panel = (view) => {
    const dom = element('div', 'arroyo-list');
    dom.setAttribute('role', 'region');
    dom.setAttribute('aria-label', 'Problems of this cell');
    dom.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      event.stopPropagation();
      toggle(view);
    });
    const fill = () => {
      const rows = list(view.state).map(({ from, mark }) => {
        const line = view.state.doc.lineAt(from);
        const place = element('button', 'arroyo-place', `${line.number}:${from - line.from + 1}`);
        place.addEventListener('click', () => select(view, from));
        return element('div', 'arroyo-row', null, [place, explain(view, mark)]);
      });
      dom.replaceChildren(...(rows.length ? rows : [element('div', 'arroyo-row', 'No problems')]));
    };
    fill();
    return {
      dom,
      /** @param {any} update */
      update(update) {
        if (update.startState.field(shown) !== update.state.field(shown)) fill();
      }
    };
  };
  const listed = StateField.define({
    create: () => false,
    /** @param {boolean} value @param {any} transaction */
    update: (value, transaction) =>
      transaction.effects.reduce(
        (/** @type {boolean} */ last, /** @type {any} */ effect) => (effect.is(setListed) ? effect.value : last),
        value
      ),
    provide: (/** @type {any} */ field) =>
      showPanel.from(field, (/** @type {boolean} */ is) => (is ? panel : null))
  });

  /** Shows the list under the cell, or hides it. @param {any} view */
  const toggle = (view) => {
    const is = view.state.field(listed);
    view.dispatch({ effects: setListed.of(!is) });
    // Behind the menu or the palette that was chosen from, which gives the focus back.
    setTimeout(() => view.focus());
  };

  /** The problem that was gone to by a key, explained until the cursor or the text moves. */
  const told = StateField.define({
    create: () => null,
    /** @param {any} value @param {any} transaction */
    update(value, transaction) {
      for (const effect of transaction.effects) if (effect.is(setTold)) return effect.value;
      return transaction.docChanged || transaction.selection ? null : value;
    },
    provide: (/** @type {any} */ field) => showTooltip.from(field)
  });
  /** @param {any} view */
  const hideTold = (view) => {
    if (!view.state.field(told)) return false;
    view.dispatch({ effects: setTold.of(null) });
    return true;
  };
  const left = EditorView.domEventHandlers({
    /** @param {FocusEvent} event @param {any} view */
    blur(event, view) {
      const to = event.relatedTarget;
      if (!(to instanceof Element && to.closest('.arroyo-tooltip'))) hideTold(view);
    }
  });

  /** @param {any} view @param {number} at @param {any[]} [effects] */
  const select = (view, at, effects = []) => {
    view.dispatch({ selection: { anchor: at }, scrollIntoView: true, effects });
    view.focus();
  };

  /** The cursor to the next problem, or the one before. @param {any} view @param {1 | -1} step */
  const move = (view, step) => {
    const found = list(view.state);
    const at = view.state.selection.main.head;
    const ahead = found.filter(({ from }) => (step > 0 ? from > at : from < at));
    const next = (ahead.length ? ahead : found).at(step > 0 ? 0 : -1);
    if (!next) return;
    const { severity, message, hint } = next.mark;
    const create = () => ({ dom: element('div', 'arroyo-tooltip', null, [explain(view, next.mark)]) });
    select(view, next.from, [
      setTold.of({ pos: next.from, above: true, create }),
      EditorView.announce.of([severity, message, hint].filter(Boolean).join(': '))
    ]);
  };

  /** Applies the only fix of the problem at the cursor, or shows several. @param {any} view */
  const fixHere = (view) => {
    const at = view.state.selection.main.head;
    const line = view.state.doc.lineAt(at);
    const able = list(view.state).filter(({ mark }) => mark.fixes.length);
    const found =
      able.find(({ from, to }) => from <= at && at <= to) ??
      able.find(({ from }) => line.from <= from && from <= line.to);
    if (!found) return;
    if (found.mark.fixes.length === 1) return apply(view, found.mark.fixes[0]);
    if (!view.state.field(listed)) toggle(view);
    const row = list(view.state).findIndex(({ mark }) => mark === found.mark);
    view.dom.querySelectorAll('.arroyo-row')[row]?.querySelector('.arroyo-fix')?.focus();
  };

  /** @param {any} view @param {Mark[]} marks */
  const show = (view, marks) => {
    const before = list(view.state).length;
    if (!before && !marks.length) return;
    const count = marks.length === 1 ? '1 problem' : `${marks.length || 'no'} problems`;
    const effects = [setMarks.of(marks)];
    if (before !== marks.length) effects.push(EditorView.announce.of(count));
    view.dispatch({ effects });
  };

  const keys = keymap.of([
    { key: 'Escape', run: hideTold },
    { key: 'Escape', run: (/** @type {any} */ view) => view.state.field(listed) && (toggle(view), true) }
  ]);
  return { extension: [shown, listed, told, left, underPointer, keys], show, toggle, move, fixHere };
};
