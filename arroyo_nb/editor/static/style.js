// How problems and explanations look: colours are JupyterLab's, so each theme has its own.

const underline = (/** @type {string} */ colour) => ({
  textDecoration: `underline wavy ${colour} 1px`,
  textDecorationSkipInk: 'none',
  textUnderlineOffset: '3px'
});
const button = {
  font: 'inherit',
  color: 'var(--jp-ui-font-color1)',
  background: 'var(--jp-layout-color2)',
  border: '1px solid var(--jp-border-color1)',
  borderRadius: '2px',
  padding: '1px 8px',
  cursor: 'pointer'
};

/** A theme of CodeMirror. */
export const STYLE = {
  '.arroyo-error': underline('var(--jp-error-color1)'),
  '.arroyo-warning': underline('var(--jp-warn-color1)'),
  '.arroyo-mark.arroyo-hint': underline('var(--jp-info-color1)'),
  '.cm-tooltip:has(.arroyo-tooltip)': {
    background: 'var(--jp-layout-color1)',
    border: '1px solid var(--jp-border-color1)',
    boxShadow: 'var(--jp-elevation-z4)',
    zIndex: '10000'
  },
  '.arroyo-tooltip': {
    maxWidth: '44em',
    maxHeight: '20em',
    overflow: 'auto',
    padding: '6px 10px',
    color: 'var(--jp-ui-font-color1)',
    fontFamily: 'var(--jp-ui-font-family)',
    fontSize: 'var(--jp-ui-font-size1)',
    lineHeight: '1.5',
    whiteSpace: 'pre-wrap',
    overflowWrap: 'anywhere'
  },
  '.arroyo-severity': { fontWeight: '600', marginRight: '8px' },
  '.arroyo-is-error .arroyo-severity': { color: 'var(--jp-error-color1)' },
  '.arroyo-is-warning .arroyo-severity': { color: 'var(--jp-warn-color0)' },
  '.arroyo-is-hint .arroyo-severity': { color: 'var(--jp-info-color0)' },
  '.arroyo-problem .arroyo-hint, .arroyo-line': { color: 'var(--jp-ui-font-color1)' },
  '.arroyo-problem + .arroyo-problem': {
    marginTop: '6px',
    paddingTop: '6px',
    borderTop: '1px solid var(--jp-border-color2)'
  },
  '.arroyo-fixes': { display: 'flex', flexWrap: 'wrap', gap: '6px', marginTop: '4px' },
  '.arroyo-fix, .arroyo-place': button,
  '.arroyo-place': { flex: 'none', minWidth: '5em' },
  '.arroyo-fix:hover, .arroyo-fix:focus-visible, .arroyo-place:focus-visible': {
    outline: '2px solid var(--jp-brand-color1)'
  },
  '.arroyo-title code': { fontFamily: 'var(--jp-code-font-family)', fontWeight: '600' },
  '.arroyo-badge': {
    marginLeft: '10px',
    padding: '0 6px',
    border: '1px solid currentColor',
    borderRadius: '8px',
    fontSize: 'var(--jp-ui-font-size0)'
  },
  '.arroyo-badge-exact': { color: 'var(--jp-success-color0)' },
  '.arroyo-badge-micro-batch': { color: 'var(--jp-info-color0)' },
  '.arroyo-badge-differs': { color: 'var(--jp-warn-color0)' },
  '.arroyo-example': {
    margin: '6px 0 0',
    padding: '4px 8px',
    background: 'var(--jp-layout-color2)',
    fontFamily: 'var(--jp-code-font-family)',
    fontSize: 'var(--jp-code-font-size)',
    whiteSpace: 'pre-wrap'
  },
  '.cm-panels:has(.arroyo-list)': {
    background: 'var(--jp-layout-color1)',
    borderTop: '1px solid var(--jp-border-color1)'
  },
  '.arroyo-list': {
    maxHeight: '12em',
    overflow: 'auto',
    color: 'var(--jp-ui-font-color1)',
    fontFamily: 'var(--jp-ui-font-family)',
    fontSize: 'var(--jp-ui-font-size1)'
  },
  '.arroyo-row': { display: 'flex', gap: '10px', alignItems: 'baseline', padding: '3px 8px' }
};
