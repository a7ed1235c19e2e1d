// Asks the kernel. One comm a kernel; at most one question of a kind is on its way, the newest
// one of each cell waits, and its older ones are dropped (undefined). Whatever goes wrong, who asks is told null:
// an editor without a kernel is silent.

const TARGET = 'arroyo_nb.editor';
const TIMEOUT_MS = 10_000;
const SUBSHELL_MS = 2_000;
const INFO_MS = 500;

/**
 * @typedef {{status: string, connectionStatus: string, isDisposed: boolean, clientId: string,
 *   username: string, info: Promise<any>, supportsSubshells: boolean, subshellId: string | null,
 *   sendControlMessage: Function, requestKernelInfo: Function, createComm: Function,
 *   statusChanged: any, disposed: any}} Kernel
 * @typedef {{ask: string, text: string, at: number | null, of: any,
 *   done: (answer: any) => void}} Question
 * @typedef {{ask: (kernel: Kernel | null | undefined, ask: string, text?: string,
 *   at?: number | null, of?: any) => Promise<any>}} Client
 */

/** Questions of one kernel. */
class Line {
  /**
   * @param {Kernel} kernel
   * @param {any} messages KernelMessage of JupyterLab's services
   */
  constructor(kernel, messages) {
    this.kernel = kernel;
    this.messages = messages;
    /** @type {Question[]} */
    this.waiting = [];
    /** By kind. @type {Map<string, Question & {id: number, timer: any}>} */
    this.asked = new Map();
    /** @type {any} */
    this.comm = null;
    /** @type {Promise<any> | null} */
    this.opening = null;
    // Two pages of one kernel hear each other's answers.
    this.last = Math.floor(Math.random() * 2 ** 40);
    kernel.statusChanged.connect((/** @type {any} */ _, /** @type {string} */ status) => {
      if (['restarting', 'autorestarting', 'terminating', 'dead'].includes(status)) this.reset();
    });
    kernel.disposed.connect(() => this.reset());
  }

  /** Forgets the comm: the kernel that it led to has ended. */
  reset() {
    const open = [...this.waiting, ...this.asked.values()];
    for (const { timer } of this.asked.values()) clearTimeout(timer);
    this.waiting = [];
    this.asked.clear();
    this.opening = null;
    for (const question of open) question.done(null);
  }

  /** Whether the kernel can be asked. */
  get isUp() {
    const { status, connectionStatus, isDisposed } = this.kernel;
    // Unknown: the page was opened while a cell runs.
    const isRunning = ['idle', 'busy', 'unknown'].includes(status);
    return !isDisposed && connectionStatus === 'connected' && isRunning;
  }

  /** @param {Question} question */
  add(question) {
    if (!this.isUp) return question.done(null);
    const older = this.waiting.find(({ ask, of }) => ask === question.ask && of === question.of);
    this.waiting = [...this.waiting.filter((one) => one !== older), question];
    older?.done(undefined);
    void this.sendNext(question.ask);
  }

  /** @param {string} kind */
  async sendNext(kind) {
    try {
      this.opening ??= this.open();
      const opening = this.opening;
      const comm = await opening;
      // The kernel was restarted in between: reset() has answered.
      if (opening !== this.opening) return;
      if (!comm) return this.reset();
      // The newest one first: it is of the cell that somebody types in.
      const question = this.waiting.filter(({ ask }) => ask === kind).at(-1);
      if (!question || this.asked.has(kind)) return;
      this.waiting = this.waiting.filter((one) => one !== question);
      const id = ++this.last;
      const timer = setTimeout(() => {
        // The comm may be another one since: the extension was loaded again.
        this.opening = null;
        this.answer({ id });
      }, TIMEOUT_MS);
      this.asked.set(kind, { ...question, id, timer });
      const { ask, text, at } = question;
      comm.send({ id, ask, text, at });
    } catch {
      // The connection was lost in between: the same as no kernel.
      this.reset();
    }
  }

  /**
   * The comm that `%load_ext arroyo_nb` made in the kernel; null where nobody ran that. It
   * is asked for over the control channel, which a kernel reads while it runs a cell.
   * @returns {Promise<any>}
   */
  async open() {
    const { kernel } = this;
    // Without it JupyterLab does not know whether the kernel has subshells.
    if (!(await before(INFO_MS, kernel.info))) await this.askInfo();
    const found = await this.control('comm_info_request', { target_name: TARGET });
    const id = Object.keys(found?.comms ?? {})[0];
    if (!id) return null;
    // After a reconnection JupyterLab may still have it.
    if (this.comm && this.comm.commId !== id) this.comm.dispose();
    if (!this.comm || this.comm.isDisposed) this.comm = kernel.createComm(TARGET, id);
    this.comm.onMsg = (/** @type {any} */ message) => this.answer(message.content.data);
    // On the subshell it is answered while a cell runs.
    if (kernel.supportsSubshells) await before(SUBSHELL_MS, this.comm.subshellStarted);
    return this.comm;
  }

  /**
   * What JupyterLab asks a kernel first waits for the cell that runs: a page that is opened
   * beside it would not know the kernel until then. On a subshell it is answered at once.
   */
  async askInfo() {
    const { kernel } = this;
    const info = await this.control('kernel_info_request', {});
    if (!info?.supported_features?.includes('kernel subshells')) return kernel.info;
    const { subshell_id: subshell } = (await this.control('create_subshell_request', {})) ?? {};
    if (!subshell) return;
    const own = kernel.subshellId;
    kernel.subshellId = subshell;
    const asked = kernel.requestKernelInfo();
    kernel.subshellId = own;
    await before(SUBSHELL_MS, asked);
    void this.control('delete_subshell_request', { subshell_id: subshell });
  }

  /**
   * The content of the reply on the control channel; null where none comes.
   * @param {string} msgType
   * @param {object} content
   * @returns {Promise<any>}
   */
  async control(msgType, content) {
    const { kernel } = this;
    const { clientId: session, username } = kernel;
    const request = this.messages.createMessage({
      msgType, channel: 'control', session, username, content
    });
    const reply = await before(TIMEOUT_MS, kernel.sendControlMessage(request, true, true).done);
    return reply && reply.content;
  }

  /** @param {{id: number, answer?: any, error?: string, closed?: boolean}} data */
  answer(data) {
    // The extension was unloaded: whoever asks next looks for the comm again.
    if (data.closed) return this.reset();
    for (const [kind, question] of this.asked) {
      if (question.id !== data.id) continue;
      clearTimeout(question.timer);
      this.asked.delete(kind);
      question.done(data.error === undefined ? data.answer ?? null : { error: data.error });
      if (this.waiting.some(({ ask }) => ask === kind)) void this.sendNext(kind);
    }
  }
}

/**
 * What a promise gives; null where it has not within a time.
 * @param {number} ms
 * @param {Promise<any>} promise
 */
const before = (ms, promise) =>
  Promise.race([promise, new Promise((done) => setTimeout(done, ms, null))]);

/**
 * @param {(name: string) => Promise<any>} use
 * @returns {Promise<Client>}
 */
export async function createClient(use) {
  const { KernelMessage } = await use('@jupyterlab/services');
  /** @type {WeakMap<Kernel, Line>} */
  const lines = new WeakMap();
  return {
    /**
     * The kernel's answer; `{error}` where it refuses, null where there is none, undefined
     * where a newer question of the kind, and of the same cell, has taken this one's place.
     */
    ask: (kernel, ask, text = '', at = null, of = null) =>
      new Promise((done) => {
        if (!kernel || kernel.isDisposed) return done(null);
        let line = lines.get(kernel);
        if (!line) lines.set(kernel, (line = new Line(kernel, KernelMessage)));
        line.add({ ask, text, at, of, done });
      })
  };
}
