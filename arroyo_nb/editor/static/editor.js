// The editor of %%arroyo cells: an extension of CodeMirror that is inert in every other cell,
// and its commands.

import { contentOf, sqlLanguage } from './sql_language.js';
import { element, problems } from './problems.js';
import { STYLE } from './style.js';

const PAUSE_MS = 300;

/**
 * @typedef {{from: number, to: number, title: string, lines: string[], example: string | null,
 *   badge: string | null}} Explanation
 */

/**
 * The plugin of JupyterLab.
 * @param {{use: (name: string) => Promise<any>, client: import('./client.js').Client}} given
 */
export const editor = async ({ use, client }) => {
  const [view, state, language, highlight, codemirror, notebook, registry, apputils, commands] =
    await Promise.all([
      use('@codemirror/view'),
      use('@codemirror/state'),
      use('@codemirror/language'),
      use('@lezer/highlight'),
      use('@jupyterlab/codemirror'),
      use('@jupyterlab/notebook'),
      use('@jupyterlab/settingregistry'),
      use('@jupyterlab/apputils'),
      use('@codemirror/commands')
    ]);
  const { EditorView, ViewPlugin, hoverTooltip, keymap, showTooltip } = view;
  const { Compartment, EditorState, Prec, StateEffect, StateField } = state;
  const marks = problems({ view, state });
  const sql = sqlLanguage({ language, highlight });
  /** The editors of code cells, ours or not. @type {Set<any>} */
  const views = new Set();
  let isEnabled = true;
  /** @type {any} */
  let tracker = null;

  /** The kernel of the notebook that an editor is in. @param {any} of */
  const kernelOf = (of) =>
    tracker?.find((/** @type {any} */ panel) => panel.node.contains(of.dom))?.sessionContext.session?.kernel;

  /** @param {any} of */
  const check = async (of) => {
    const { doc } = of.state;
    const answer = await client.ask(kernelOf(of), 'check', doc.toString(), null, of);
    // Of a text that has been typed over, or dropped for a newer one: another comes.
    if (answer === undefined || of.state.doc !== doc || !isOurs(of.state)) return;
    marks.show(of, answer?.marks ?? []);
  };

  const setCall = StateEffect.define();
  /** The tooltip of the function whose brackets the cursor is in, while one types. */
  const call = StateField.define({
    create: () => null,
    /** @param {any} value @param {any} transaction */
    update(value, transaction) {
      for (const effect of transaction.effects) if (effect.is(setCall)) return effect.value;
      return value && { ...value, pos: transaction.changes.mapPos(value.pos) };
    },
    provide: (/** @type {any} */ field) => showTooltip.from(field)
  });

  /** @param {any} of */
  const explainCall = async (of) => {
    const { doc, selection } = of.state;
    const at = selection.main.head;
    const isTyped = of.hasFocus && doc.sliceString(0, at).includes('(');
    /** @type {Explanation | null | undefined} */
    const found = isTyped ? await client.ask(kernelOf(of), 'signature', doc.toString(), at) : null;
    if (found === undefined || !isOurs(of.state) || of.state.doc !== doc) return;
    const isInside = found?.title && of.hasFocus;
    if (!isInside && !of.state.field(call)) return;
    const create = () => ({ dom: explanation(/** @type {Explanation} */ (found)) });
    of.dispatch({ effects: setCall.of(isInside ? { pos: found.from, above: true, create } : null) });
  };
  /** @param {any} of */
  const hideCall = (of) => {
    if (!of.state.field(call)) return false;
    of.dispatch({ effects: setCall.of(null) });
    return true;
  };

  const checking = ViewPlugin.fromClass(
    class {
      /** @param {any} of */
      constructor(of) {
        this.view = of;
        this.timer = 0;
        this.isTyped = false;
        this.later();
      }
      /** @param {any} update */
      update(update) {
        this.isTyped ||= update.transactions.some((/** @type {any} */ one) => one.isUserEvent('input'));
        const isMoved = update.selectionSet && update.state.field(call);
        const isEntered = update.focusChanged && this.view.hasFocus;
        if (update.docChanged || isEntered || isMoved || (update.focusChanged && update.state.field(call))) {
          this.later();
        }
      }
      later() {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.ask(), PAUSE_MS);
      }
      ask() {
        void check(this.view);
        if (this.isTyped || this.view.state.field(call)) void explainCall(this.view);
        this.isTyped = false;
      }
      destroy() {
        clearTimeout(this.timer);
      }
    }
  );

  const explaining = hoverTooltip(async (/** @type {any} */ of, /** @type {number} */ at) => {
    const { doc } = of.state;
    /** @type {Explanation | null | undefined} */
    const found = await client.ask(kernelOf(of), 'hover', doc.toString(), at);
    if (!found?.title || of.state.doc !== doc) return null;
    return { pos: found.from, end: found.to, above: true, create: () => ({ dom: explanation(found) }) };
  });

  const ours = [
    // The cell's own language is Python.
    Prec.highest(sql),
    EditorView.editorAttributes.of({ class: 'arroyo-cell' }),
    EditorView.baseTheme(STYLE),
    marks.extension,
    call,
    keymap.of([{ key: 'Escape', run: hideCall }]),
    checking,
    explaining
  ];
  /** Empty in a cell that is not ours. */
  const slot = new Compartment();
  /** @param {string} line */
  const fitting = (line) => (isEnabled && contentOf(line) ? ours : []);
  /** @param {any} of */
  const isOurs = (of) => slot.get(of) === ours;
  const following = EditorState.transactionExtender.of((/** @type {any} */ transaction) => {
    if (!transaction.docChanged) return null;
    const wanted = fitting(transaction.newDoc.line(1).text);
    const is = isOurs(transaction.startState);
    return is === (wanted === ours) ? null : { effects: slot.reconfigure(wanted) };
  });
  const registered = ViewPlugin.fromClass(
    class {
      /** @param {any} of */
      constructor(of) {
        views.add((this.view = of));
      }
      destroy() {
        views.delete(this.view);
      }
    }
  );

  /** The editor of the cell that is worked in, where it is ours. */
  const active = () => {
    const found = tracker?.activeCell?.editor?.editor;
    return found && isOurs(found.state) ? found : null;
  };

  /** @param {any} of */
  const format = async (of) => {
    const before = of.state.doc;
    const answer = await client.ask(kernelOf(of), 'format', before.toString());
    of.focus();
    if (answer?.error) apputils.Notification.error(answer.error, { autoClose: 8000 });
    if (typeof answer?.text !== 'string' || of.state.doc !== before || of.state.readOnly) return;
    const change = difference(before.toString(), answer.text);
    if (!change) return;
    // The history of a cell is the one of its shared model: a step of its own there.
    tracker.activeCell?.model.sharedModel.undoManager?.stopCapturing();
    of.dispatch({
      changes: change,
      annotations: commands.isolateHistory.of('full'),
      userEvent: 'input.format'
    });
  };

  /** @param {any} app @param {any} palette */
  const addCommands = (app, palette) => {
    /** @type {[string, string, (view: any) => void, boolean][]} */
    const all = [
      ['next-problem', 'Next Problem', (of) => marks.move(of, 1), false],
      ['previous-problem', 'Previous Problem', (of) => marks.move(of, -1), false],
      ['quick-fix', 'Fix the Problem', marks.fixHere, true],
      ['list-problems', 'List Problems', marks.toggle, false],
      ['format', 'Format SQL', format, true]
    ];
    for (const [name, label, run, changes] of all) {
      const command = `arroyo-nb:${name}`;
      app.commands.addCommand(command, {
        label,
        caption: `${label} of the %%arroyo cell`,
        isEnabled: () => {
          const found = active();
          return !!found && !(changes && found.state.readOnly);
        },
        execute: () => {
          const found = active();
          if (found) run(found);
        }
      });
      palette?.addItem({ command, category: 'Arroyo SQL' });
    }
  };

  return {
    id: 'arroyo-nb:editor',
    description: 'Makes %%arroyo cells editors of streaming SQL.',
    autoStart: true,
    requires: [codemirror.IEditorExtensionRegistry, notebook.INotebookTracker],
    optional: [registry.ISettingRegistry, apputils.ICommandPalette],
    /** @param {any} app @param {any} extensions @param {any} notebooks @param {any} settings @param {any} palette */
    async activate(app, extensions, notebooks, settings, palette) {
      tracker = notebooks;
      extensions.addExtension({
        name: 'arroyo-nb',
        /** @param {any} options */
        factory: ({ model }) =>
          model?.type === 'code'
            ? {
                instance: () => [
                  slot.of(fitting(model.sharedModel.getSource().split('\n', 1)[0])),
                  following,
                  registered
                ],
                reconfigure: () => null
              }
            : null
      });
      addCommands(app, palette);
      // A cell that has run may have declared what this one, or the next, reads.
      notebook.NotebookActions.executed.connect(async (/** @type {any} */ _, /** @type {any} */ { cell }) => {
        for (const ran of new Set([cell, tracker.activeCell])) {
          const found = ran?.editor?.editor;
          if (found && isOurs(found.state)) await check(found);
        }
      });
      const loaded = await settings?.load('arroyo-nb:editor').catch(() => null);
      const follow = () => {
        isEnabled = loaded?.get('enabled').composite !== false;
        for (const each of views) {
          each.dispatch({ effects: slot.reconfigure(fitting(each.state.doc.line(1).text)) });
        }
      };
      loaded?.changed.connect(follow);
      if (loaded) follow();
    }
  };
};

/** @param {Explanation} found */
const explanation = ({ title, lines, example, badge }) =>
  element('div', 'arroyo-tooltip arroyo-explanation', null, [
    element('div', 'arroyo-title', null, [
      element('code', '', title),
      ...(badge ? [element('span', `arroyo-badge arroyo-badge-${badge}`, badge)] : [])
    ]),
    ...lines.map((line) => element('div', 'arroyo-line', line)),
    ...(example ? [element('pre', 'arroyo-example', example)] : [])
  ]);

/**
 * The one change that makes a text of another; the cursor outside of it stays.
 * @param {string} before
 * @param {string} after
 */
const difference = (before, after) => {
  if (before === after) return null;
  const most = Math.min(before.length, after.length);
  let from = 0;
  while (from < most && before[from] === after[from]) from++;
  let tail = 0;
  while (tail < most - from && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  return { from, to: before.length - tail, insert: after.slice(from, after.length - tail) };
};
