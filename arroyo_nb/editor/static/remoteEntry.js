// The entry of the extension: a container as webpack's module federation wants it, written by
// hand. Modules of JupyterLab come from the shared scope that it passes to init(); our own
// are beside this file.
(() => {
  const here = /** @type {HTMLScriptElement} */ (document.currentScript).src;
  /** @type {Record<string, Record<string, {get: () => Promise<() => any>}>>} */
  let shared = {};

  /**
   * A module of JupyterLab.
   * @param {string} name
   * @returns {Promise<any>}
   */
  const use = async (name) => {
    const versions = Object.values(shared[name] ?? {});
    if (!versions.length) throw new Error(`JupyterLab does not share ${name}`);
    return (await versions[0].get())();
  };

  const load = async () => {
    /** @param {string} file */
    const ours = (file) => import(new URL(file, here).href);
    const [{ createClient }, { editor }, { sidePanel }] = await Promise.all([
      ours('client.js'),
      ours('editor.js'),
      ours('side_panel.js')
    ]);
    const client = await createClient(use);
    const plugins = [editor({ use, client }), sidePanel({ use, client })];
    return { __esModule: true, default: await Promise.all(plugins) };
  };

  /** @type {any} */
  const page = window;
  page._JUPYTERLAB = page._JUPYTERLAB ?? {};
  page._JUPYTERLAB['arroyo-nb'] = {
    /** @param {typeof shared} scope */
    init: (scope) => {
      shared = scope;
    },
    get: async () => {
      const extension = await load();
      return () => extension;
    }
  };
})();
