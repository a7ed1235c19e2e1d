// The side panel: the tables, topics, runs and jobs of the notebook that is worked on. It
// asks its kernel only while somebody sees it.

import { overviewRows } from './overview_rows.js';
import { ICON, STYLE } from './side_panel_style.js';
import { TreeView, element, setText } from './tree_view.js';

const ID = 'arroyo-nb-side-panel';
const EVERY_MS = 2000;
const SAID_MS = 6000;
const LOAD = '%load_ext arroyo_nb';

/** @param {{use: (name: string) => Promise<any>, client: import('./client.js').Client}} _ */
export async function sidePanel({ use, client }) {
  const names = ['@lumino/widgets', '@jupyterlab/notebook', '@jupyterlab/application',
    '@jupyterlab/apputils', '@jupyterlab/settingregistry', '@jupyterlab/ui-components',
    '@jupyterlab/coreutils'];
  const [{ Widget }, { INotebookTracker, NotebookActions }, { ILayoutRestorer },
    { ICommandPalette }, { ISettingRegistry }, { LabIcon }, { PathExt }] =
    await Promise.all(names.map(use));

  /** The panel as JupyterLab's shell holds it: it says when it is seen. */
  class PanelWidget extends Widget {
    /** @param {SidePanel} panel */
    constructor(panel) {
      super({ node: panel.node });
      this.panel = panel;
      this.id = ID;
      this.title.icon = new LabIcon({ name: 'arroyo-nb:panel', svgstr: ICON });
      this.title.caption = 'Arroyo: tables, topics, runs and jobs';
      this.addClass('arroyo-panel');
    }
    onAfterShow() {
      void this.panel.refresh();
    }
    onAfterAttach() {
      void this.panel.refresh();
    }
    onActivateRequest() {
      this.panel.focus();
    }
  }

  return {
    id: 'arroyo-nb:side-panel',
    description: 'Tables, topics, runs and jobs of %%arroyo cells.',
    autoStart: true,
    // Optional all: some pages of Notebook 7 have no notebooks.
    optional: [INotebookTracker, ILayoutRestorer, ICommandPalette, ISettingRegistry],
    /** @type {(...services: any[]) => void} */
    activate(app, tracker, restorer, palette, settings) {
      if (!tracker) return;
      const notebook = new CurrentNotebook(app, tracker, NotebookActions, PathExt);
      const panel = new SidePanel(client, notebook);
      const widget = new PanelWidget(panel);
      panel.isShown = () => widget.isVisible;
      const style = document.createElement('style');
      style.textContent = STYLE;
      document.head.append(style);

      tracker.currentChanged.connect(() => panel.refresh());
      // What a cell has declared or started is there at once.
      NotebookActions.executed.connect(() => panel.refresh());
      document.addEventListener('visibilitychange', () => panel.refresh());

      const show = (/** @type {boolean} */ isOn) => {
        if (isOn && !widget.isAttached) app.shell.add(widget, 'left', { rank: 650 });
        else if (!isOn) widget.parent = null;
      };
      app.commands.addCommand('arroyo-nb:show-panel', {
        label: 'Show the Arroyo Panel',
        caption: 'Tables, topics, runs and jobs of %%arroyo cells',
        isEnabled: () => widget.isAttached,
        execute: () => app.shell.activateById(ID)
      });
      palette?.addItem({ command: 'arroyo-nb:show-panel', category: 'Arroyo' });
      show(true);
      restorer?.add(widget, ID);
      void followSetting(settings, show);
    }
  };
}

/**
 * One setting switches off the editor of the cells, and this panel.
 * @param {any} registry
 * @param {(isOn: boolean) => void} show
 */
async function followSetting(registry, show) {
  const found = await registry?.load('arroyo-nb:editor').catch(() => null);
  if (!found) return;
  const follow = () => show(found.get('enabled').composite !== false);
  found.changed.connect(follow);
  follow();
}

/** The notebook that is worked on, and what is done to its cells. */
class CurrentNotebook {
  /** @param {any} app @param {any} tracker @param {any} actions @param {any} paths */
  constructor(app, tracker, actions, paths) {
    this.app = app;
    this.tracker = tracker;
    this.actions = actions;
    this.paths = paths;
  }

  /** The notebook's panel in JupyterLab; null: none is open. */
  get panel() {
    return this.tracker.currentWidget;
  }

  get kernel() {
    return this.panel?.sessionContext.session?.kernel ?? null;
  }

  get name() {
    return this.panel ? this.paths.basename(this.panel.context.localPath) : '';
  }

  /**
   * Puts a text at the cursor of the active cell.
   * @param {string} text
   * @returns {string} why it cannot; else empty
   */
  insert(text) {
    const cell = this.tracker.activeCell;
    if (!cell?.editor) return 'Click into a cell first: names are inserted at its cursor.';
    if (this.isReadOnly || cell.model.getMetadata('editable') === false) {
      return 'This cell is read-only.';
    }
    this.app.shell.activateById(this.panel.id);
    cell.editor.replaceSelection(text);
    this.panel.content.mode = 'edit';
    cell.editor.focus();
    return '';
  }

  /**
   * Inserts a cell below the active one and runs it.
   * @param {string} line
   * @returns {string} why it cannot; else empty
   */
  runBelow(line) {
    if (!this.panel) return 'Open a notebook first.';
    if (this.isReadOnly) return 'This notebook is read-only.';
    const { content, sessionContext } = this.panel;
    this.app.shell.activateById(this.panel.id);
    this.actions.insertBelow(content);
    // A person may have chosen that new cells are Markdown.
    this.actions.changeCellType(content, 'code');
    content.activeCell.model.sharedModel.setSource(line);
    void this.actions.run(content, sessionContext);
    return '';
  }

  get isReadOnly() {
    return Boolean(this.panel?.content.model?.readOnly);
  }

  /**
   * Shows a folder in the file browser.
   * @param {string} folder relative to the notebook's
   * @returns {string} why it cannot; else empty
   */
  openFolder(folder) {
    const { dirname, join } = this.paths;
    const path = join(dirname(this.panel?.context.localPath ?? ''), folder);
    if (path.startsWith('..')) return `${folder} is outside of the folder that Jupyter serves.`;
    if (!this.app.commands.hasCommand('filebrowser:go-to-path')) {
      return `There is no file browser on this page: the folder is ${path}.`;
    }
    void this.app.commands.execute('filebrowser:go-to-path', { path });
    return '';
  }
}

class SidePanel {
  /**
   * @param {import('./client.js').Client} client
   * @param {CurrentNotebook} notebook
   */
  constructor(client, notebook) {
    this.client = client;
    this.notebook = notebook;
    this.isShown = () => false;
    this.turn = 0;
    /** @type {any} */
    this.timer = null;
    /** @type {any} */
    this.saying = null;
    /** @type {Promise<any>} */
    this.stopping = Promise.resolve();
    /** Whose answer the tree shows. @type {any} */
    this.shownKernel = null;
    this.node = element('div', 'arroyo-body');
    const title = element('h2', 'arroyo-title');
    title.textContent = 'Arroyo';
    this.of = element('div', 'arroyo-of');
    this.message = element('div', 'arroyo-message');
    this.messageText = element('div', 'arroyo-message-text');
    this.load = /** @type {HTMLButtonElement} */ (element('button', 'arroyo-action'));
    this.load.type = 'button';
    this.load.textContent = `run ${LOAD}`;
    this.load.addEventListener('click', () => this.say(this.notebook.runBelow(LOAD)));
    this.message.append(this.messageText, this.load);
    this.tree = new TreeView('Arroyo');
    this.said = element('div', 'arroyo-said');
    this.said.setAttribute('role', 'status');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', 'Arroyo');
    this.node.append(title, this.of, this.message, this.tree.node, this.said);
    this.actions = {
      insert: (/** @type {string} */ text) => this.say(notebook.insert(text)),
      runBelow: (/** @type {string} */ line) => this.say(notebook.runBelow(line)),
      openFolder: (/** @type {string} */ folder) => this.say(notebook.openFolder(folder)),
      stop: (/** @type {string} */ name) => void this.stop(name)
    };
    this.tell('');
  }

  get isSeen() {
    return this.isShown() && document.visibilityState === 'visible';
  }

  /** Asks now, and then again and again while the panel is seen. */
  async refresh() {
    clearTimeout(this.timer);
    if (!this.isSeen) return;
    const turn = ++this.turn;
    await this.ask(turn);
    if (turn !== this.turn || !this.isSeen) return;
    this.timer = setTimeout(() => this.refresh(), EVERY_MS);
  }

  /** @param {number} turn */
  async ask(turn) {
    const { kernel, name, panel } = this.notebook;
    setText(this.of, name);
    // Rows of another kernel go at once; a message stays until there is another one.
    if (this.shownKernel && kernel !== this.shownKernel) this.tell('');
    const hindrance = whyNotAsked(panel, kernel);
    if (hindrance) return this.tell(hindrance);
    const found = await this.client.ask(kernel, 'overview');
    // Another question was asked meanwhile, perhaps of another kernel.
    if (turn !== this.turn || kernel !== this.notebook.kernel) return;
    if (!found) {
      // A kernel that is busy may only be slow.
      if (kernel.status === 'idle') this.tell(`To see tables and runs, run ${LOAD}`, true);
      else if (!this.shownKernel) this.tell('The kernel is busy.');
    } else if (found.error) {
      this.tell(`The kernel could not answer: ${found.error}`);
    } else {
      this.message.hidden = true;
      this.tree.node.hidden = false;
      this.shownKernel = kernel;
      this.tree.update(overviewRows(found, this.actions));
    }
  }

  /**
   * Says why there is nothing to see.
   * @param {string} text
   * @param {boolean} canLoad
   */
  tell(text, canLoad = false) {
    setText(this.messageText, text);
    this.load.hidden = !canLoad;
    this.message.hidden = !text;
    if (!this.tree.node.hidden) this.tree.node.hidden = true;
    this.shownKernel = null;
  }

  /**
   * Says what became of a click.
   * @param {string} text
   */
  say(text) {
    setText(this.said, text);
    clearTimeout(this.saying);
    if (text) this.saying = setTimeout(() => setText(this.said, ''), SAID_MS);
  }

  /** @param {string} name */
  async stop(name) {
    const kernel = this.notebook.kernel;
    // One at a time: of two questions of a kind only the newer one is answered.
    this.stopping = this.stopping.then(() => this.client.ask(kernel, 'stop', name));
    const found = await this.stopping;
    this.say(found?.note ?? found?.error ?? `The kernel did not answer: is ${name} stopped?`);
    await this.refresh();
  }

  focus() {
    const current = this.tree.node.hidden ? this.load : this.tree.current?.item;
    current?.focus();
  }
}

/**
 * Why a kernel cannot be asked; empty: it can.
 * @param {any} panel
 * @param {any} kernel
 */
function whyNotAsked(panel, kernel) {
  if (!panel) return 'Open a notebook to see its tables, topics, runs and jobs.';
  if (!kernel) {
    return panel.sessionContext.hasNoKernel
      ? 'This notebook has no kernel: choose one to see its tables and runs.'
      : 'The kernel is starting.';
  }
  if (kernel.status === 'dead') return 'The kernel has died: restart it.';
  if (kernel.connectionStatus !== 'connected') return 'There is no connection to the kernel yet.';
  // Unknown: the page was opened while a cell runs.
  const isRunning = ['idle', 'busy', 'unknown'].includes(kernel.status);
  return isRunning ? '' : 'The kernel is starting.';
}
