// What the kernel told of a session, as the rows of a tree.

const MARKS = {
  starting: '◌',
  running: '●',
  paused: '‖',
  finished: '✓',
  stopped: '■',
  failed: '✕'
};

/**
 * @typedef {{insert: (text: string) => void, runBelow: (line: string) => void,
 *   openFolder: (folder: string) => void, stop: (name: string) => void}} Actions
 * @typedef {import('./tree_view.js').Row} Row
 */

/**
 * @param {any} overview
 * @param {Actions} actions
 * @returns {Row[]}
 */
export function overviewRows(overview, actions) {
  const { tables, topics, brokers, runs, jobs } = overview;
  return [
    section('Tables and views', tables.map((/** @type {any} */ t) => tableRow(t, actions)),
      'none yet: CREATE TABLE in a %%arroyo cell declares one'),
    section('Topics', topicRows(topics, brokers, actions),
      'no broker is known: %arroyo kafka start, or a table of a topic'),
    section('Runs', runs.map((/** @type {any} */ r) => runRow(r, actions)),
      'none yet: SELECT or INSERT in a %%arroyo cell starts one'),
    section('Jobs', jobs.map((/** @type {any} */ j) => jobRow(j, actions)),
      'none yet: %arroyo promote makes one of a run')
  ];
}

/**
 * @param {string} name
 * @param {Row[]} rows
 * @param {string} nothing
 * @returns {Row}
 */
function section(name, rows, nothing) {
  const note = rows.length ? String(rows.length) : '';
  const children = rows.length ? rows : [{ key: '', name: '', note: nothing }];
  return { key: name, name, note, children, isOpen: true };
}

/** @param {any} table @param {Actions} actions @returns {Row} */
function tableRow({ name, kind, connector, watermark, columns, sql, head }, actions) {
  const note = [connector ?? kind, watermark && `watermark ${watermark}`];
  return {
    key: name,
    name,
    note: joined(note),
    title: 'Click the name to insert it, the arrow to see the columns',
    enter: () => actions.insert(sql),
    actions: head ? [{ label: 'rows', title: `Show the first rows: ${head}`,
      run: () => actions.runBelow(head) }] : [],
    children: columns.map((/** @type {any} */ column) => ({
      key: column.name,
      name: column.name,
      note: joined([column.type, column.event_time && 'event time']),
      title: 'Click the name to insert it',
      enter: () => actions.insert(column.sql)
    }))
  };
}

/**
 * @param {any[]} topics
 * @param {any[]} brokers
 * @param {Actions} actions
 * @returns {Row[]}
 */
function topicRows(topics, brokers, actions) {
  const rows = topics.map(({ name, broker, records, newest, peek }) => ({
    key: `${broker} ${name}`,
    name,
    note: joined([
      records !== null && counted(records, 'record'),
      newest && `newest ${age(newest)}`,
      brokers.length > 1 && broker
    ]),
    title: newest ? `Newest record: ${newest}; broker: ${broker}` : `Broker: ${broker}`,
    enter: () => actions.insert(name),
    actions: peek ? [{ label: 'look', title: `Show its newest records: ${peek}`,
      run: () => actions.runBelow(peek) }] : []
  }));
  const told = brokers.filter(({ note }) => note);
  const silent = brokers.filter(({ name, note }) => !note && topics.every((t) => t.broker !== name));
  return [
    ...rows,
    ...told.map(({ name, note }) => ({ key: ` ${name}`, name, note })),
    ...silent.map(({ name }) => ({ key: ` ${name}`, name, note: 'no topic yet' }))
  ];
}

/** @param {any} run @param {Actions} actions @returns {Row} */
function runRow({ name, state, rows_s, lag, live, show }, actions) {
  const shows = show ? [{ label: 'show', title: `Show its panel: ${show}`,
    run: () => actions.runBelow(show) }] : [];
  // The last one: it goes when the run has ended, and no other takes its place.
  const stops = live ? [{ label: 'stop', title: 'Stop the run', run: () => actions.stop(name) }] : [];
  return {
    key: name,
    name,
    state,
    mark: MARKS[/** @type {keyof typeof MARKS} */ (state)],
    note: joined([state, rows_s && `${rows_s} rows/s`, lag && `watermark ${lag} behind`]),
    title: 'Click the name to insert it',
    enter: () => actions.insert(name),
    actions: [...shows, ...stops]
  };
}

/** @param {any} job @param {Actions} actions @returns {Row} */
function jobRow({ name, state, folder }, actions) {
  const open = () => actions.openFolder(folder);
  return {
    key: folder,
    name,
    note: joined([state, folder]),
    title: 'Show its folder in the file browser',
    enter: open,
    actions: [{ label: 'folder', title: `Show ${folder} in the file browser`, run: open }]
  };
}

/** @param {(string | false | null | undefined)[]} parts */
const joined = (parts) => parts.filter(Boolean).join(' · ');

/** @param {number} number @param {string} noun */
const counted = (number, noun) => `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`;

/**
 * How long ago it was.
 * @param {string} instant ISO 8601
 */
function age(instant) {
  const seconds = Math.round((Date.now() - Date.parse(instant)) / 1000);
  if (seconds < 1) return 'now';
  for (const [size, unit] of /** @type {[number, string][]} */ ([[86400, 'd'], [3600, 'h'], [60, 'min']])) {
    if (seconds >= size) return `${Math.floor(seconds / size)} ${unit} ago`;
  }
  return `${seconds} s ago`;
}
