// Arroyo's SQL as a language of CodeMirror. In a cell of ours it takes the place of Python:
// highlighting, comments (Ctrl-/) and brackets follow it, in JupyterLab's own colours. Only
// what is seen is painted, as for every language of CodeMirror.

/** What the cells of each magic hold; `%%arroyo_udf` holds Python and is left alone. */
export const MAGICS = { arroyo: 'sql', arroyo_test: 'test', arroyo_rows: 'rows' };
export const KEYWORDS = new Set(`
  ALL ALWAYS AND ANTI ANY AS ASC BETWEEN BY CASE CAST CREATE CROSS CUBE CURRENT_DATE
  CURRENT_TIME CURRENT_TIMESTAMP DEFAULT DESC DESCRIBE DISTINCT DROP ELSE END ESCAPE EXCEPT
  EXISTS EXPLAIN FALSE FETCH FILTER FOR FROM FULL FUNCTION GENERATED GROUP HAVING ILIKE IN
  INNER INSERT INTERSECT INTO IS JOIN KEY LATERAL LEFT LIKE LIMIT NATURAL NOT NULL NULLS
  OFFSET ON OR ORDER OUTER OVER PARTITION PRIMARY QUALIFY RANGE RECURSIVE REFERENCES REPLACE
  RIGHT ROLLUP ROWS SELECT SEMI SET SHOW STORED TABLE TABLES TABLESAMPLE TEMP TEMPORARY THEN
  TRUE UNION UNIQUE USING VALUES VIEW WATERMARK WHEN WHERE WITH WITHIN
`.trim().split(/\s+/));
export const TYPES = new Set(`
  ARRAY BIGINT BOOL BOOLEAN BYTEA CHAR CHARACTER DATE DATETIME DECIMAL DOUBLE FLOAT FLOAT4
  FLOAT8 INT INT2 INT4 INT8 INTEGER INTERVAL JSON NUMERIC REAL SMALLINT STRING STRUCT TEXT
  TIME TIMESTAMP TIMESTAMPTZ TINYINT VARCHAR
`.trim().split(/\s+/));
export const WINDOWS = new Set(['TUMBLE', 'HOP', 'SESSION']);
const TEST_WORDS = /(GIVEN|WHEN|EXPECT)(?![\w.])(?!\s*[|,])/;
const HEAD_WORDS = /(?:TABLE|CHANGELOG|LATE|WATERMARK|ERROR|FROM|ORDERED|EMPTY|WITHIN|OF|RUN)\b/;
const FLAG = /--?[A-Za-z][\w-]*/;
const MAGIC = /^%%(\w+)(?=\s|$)/;

/**
 * What a cell holds, by its first line; undefined where it is not ours.
 * @param {string} line
 * @returns {'sql' | 'test' | 'rows' | undefined}
 */
export const contentOf = (line) => {
  const name = MAGIC.exec(line)?.[1] ?? '';
  return Object.hasOwn(MAGICS, name) ? /** @type {any} */ (MAGICS)[name] : undefined;
};

/**
 * @typedef {{content: string | undefined, line: number, close: string, depth: number,
 *   section: string, isHead: boolean}} State What the text before it leaves open: `close` ends
 *   a string, `depth` counts comments, `section` is the word of a test's section that the line
 *   is of, and `isHead` is set in the line that begins with it.
 */

/** @param {any} stream @param {State} state */
const inString = (stream, state) => {
  while (!stream.eol()) {
    if (stream.match(/\{\{[^{}]*\}\}/, false) && stream.pos > stream.start) return 'string';
    if (stream.match(/\{\{[^{}]*\}\}/)) return 'reference';
    if (state.close === "E'" && stream.match(/\\./)) continue;
    const end = state.close === "E'" ? "'" : state.close;
    if (end.length === 1 && stream.match(end + end)) continue;
    if (stream.match(end)) {
      state.close = '';
      return end === '"' ? null : 'string';
    }
    stream.next();
  }
  return state.close === '"' ? null : 'string';
};

/** @param {any} stream @param {State} state */
const inComment = (stream, state) => {
  while (state.depth && !stream.eol()) {
    if (stream.match('/*')) state.depth++;
    else if (stream.match('*/')) state.depth--;
    else stream.next();
  }
  return 'comment';
};

/** The magic, its options and its arguments. @param {any} stream @param {State} state */
const inFirstLine = (stream, state) => {
  if (stream.sol()) {
    state.content = contentOf(stream.string);
    stream.match(MAGIC);
    return 'magic';
  }
  if (stream.eatSpace()) return null;
  if (stream.match(FLAG)) return 'flag';
  if (stream.match(/"[^"]*"?|'[^']*'?/)) return 'string';
  stream.match(/\S[^\s"']*/) || stream.next();
  return null;
};

/** Rows of a table that is written by hand. @param {any} stream */
const inRows = (stream) => {
  if (stream.match(/"(?:[^"]|"")*"?|'(?:[^']|'')*'?/)) return 'string';
  if (stream.match(/-?\d[\d:.,T-]*(?![\w])/)) return 'number';
  if (stream.match(/--(?:\s.*)?$/)) return 'comment';
  if (stream.match(/[|,]/)) return 'operator';
  if (stream.match(/(?:NULL|TRUE|FALSE)\b/i)) return 'keyword';
  stream.match(/[^\s|,"']+/) || stream.next();
  return null;
};

/** @param {any} stream @param {State} state */
const inSql = (stream, state) => {
  if (stream.match(/--.*/)) return 'comment';
  if (stream.match('/*')) {
    state.depth = 1;
    return inComment(stream, state);
  }
  if (stream.match(/\{\{[^{}]*\}\}/)) return 'reference';
  const open = stream.match(/[eE]'|'|"|\$\w*\$/);
  if (open) {
    state.close = open[0].toUpperCase() === "E'" ? "E'" : open[0];
    return inString(stream, state);
  }
  if (stream.match(/\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/)) return 'number';
  if (stream.match('::')) return 'operator';
  // Not a path such as value:field.
  if (!/[\w\])"']/.test(stream.string[stream.pos - 1] ?? '') && stream.match(/:[A-Za-z_]\w*/)) {
    return 'parameter';
  }
  const found = stream.match(/[\p{L}_][\p{L}\p{N}_$]*/u);
  if (!found) {
    if (stream.match(/[-+*\/%<>=!|&^~:]+/)) return 'operator';
    stream.next();
    return 'gap';
  }
  const word = found[0].toUpperCase();
  // A column of that name, as in t.date.
  if (stream.string[stream.start - 1] === '.') return 'name';
  const isCall = stream.match(/\s*\(/, false);
  if (isCall && WINDOWS.has(word)) return 'sqlWindow';
  if (KEYWORDS.has(word)) return 'keyword';
  if (TYPES.has(word)) return 'sqlType';
  // A token of its own: JupyterLab's completer asks for the one at the cursor.
  return isCall ? 'sqlCall' : 'name';
};

/**
 * @param {{language: any, highlight: any}} modules CodeMirror's language, Lezer's highlight
 */
export const sqlLanguage = ({ language, highlight: { tags, Tag } }) =>
  language.StreamLanguage.define({
    name: 'arroyo-sql',
    /** @returns {State} */
    startState: () => ({ content: undefined, line: 0, close: '', depth: 0, section: '', isHead: false }),
    copyState: (/** @type {State} */ state) => ({ ...state }),
    blankLine: (/** @type {State} */ state) => void state.line++,
    /** @param {any} stream @param {State} state */
    token(stream, state) {
      if (stream.sol()) state.line++;
      if (state.line === 1) return inFirstLine(stream, state);
      if (state.close) return inString(stream, state);
      if (state.depth) return inComment(stream, state);
      if (state.content === 'test' && stream.sol()) {
        const head = stream.match(TEST_WORDS, false);
        // A line of the query may begin with WHEN.
        state.isHead = !!head && (state.section !== 'WHEN' || head[1] === 'EXPECT');
        if (state.isHead) {
          stream.match(TEST_WORDS);
          state.section = head[1];
          return 'keyword';
        }
      }
      // A blank and a bracket are tokens of their own, or JupyterLab's completer would offer
      // all words of the cell behind them; of blanks the last, so that none begins another.
      if (stream.match(/\s+(?=\s)/)) return null;
      if (stream.match(/\s/)) return 'gap';
      if (state.isHead && stream.match(HEAD_WORDS)) return 'keyword';
      if (state.isHead && stream.match(FLAG)) return 'flag';
      const isRows = state.content === 'rows' || ['GIVEN', 'EXPECT'].includes(state.section);
      return isRows ? inRows(stream) : inSql(stream, state);
    },
    tokenTable: {
      magic: tags.meta,
      name: tags.name,
      flag: tags.attributeName,
      keyword: tags.keyword,
      sqlType: tags.standard(tags.variableName),
      sqlCall: tags.function(tags.definition(tags.variableName)),
      sqlWindow: tags.tagName,
      parameter: tags.special(tags.variableName),
      reference: tags.special(tags.string),
      string: tags.string,
      number: tags.number,
      comment: tags.comment,
      operator: tags.operator,
      gap: Tag.define()
    },
    languageData: { commentTokens: { line: '--', block: { open: '/*', close: '*/' } } }
  });
