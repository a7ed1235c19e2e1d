// The looks of the side panel, in JupyterLab's own colours: light, dark and high contrast.

export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <g class="jp-icon3" fill="none" stroke="#616161" stroke-width="2.2" stroke-linecap="round">
    <path class="jp-icon3-stroke" d="M3 7c3-3 6-3 9 0s6 3 9 0"/>
    <path class="jp-icon3-stroke" d="M3 13c3-3 6-3 9 0s6 3 9 0"/>
    <path class="jp-icon3-stroke" d="M3 19c3-3 6-3 9 0"/>
    <circle cx="18" cy="19" r="1.2"/>
  </g>
</svg>`;

// Each rule is of the panel alone: the cells' editor has classes of the same names.
export const STYLE = `
.arroyo-panel { display: flex; flex-direction: column; min-width: 200px; overflow: hidden;
  background: var(--jp-layout-color1); color: var(--jp-ui-font-color1);
  font-family: var(--jp-ui-font-family); font-size: var(--jp-ui-font-size1); }
.arroyo-panel h2 { margin: 0; padding: 8px 12px 4px; font-size: var(--jp-ui-font-size1);
  font-weight: 600; }
.arroyo-panel .arroyo-of { padding: 0 12px 6px; color: var(--jp-ui-font-color2); overflow: hidden;
  text-overflow: ellipsis; white-space: nowrap; }
.arroyo-panel .arroyo-message { padding: 8px 12px; color: var(--jp-ui-font-color1); line-height: 1.4;
  overflow-wrap: anywhere; }
.arroyo-panel .arroyo-message .arroyo-action { margin-top: 8px; }
.arroyo-panel .arroyo-said { padding: 6px 12px; min-height: 1.4em; line-height: 1.4;
  border-top: 1px solid var(--jp-border-color2); color: var(--jp-ui-font-color1);
  overflow-wrap: anywhere; }
.arroyo-panel .arroyo-said:empty { display: none; }
.arroyo-panel .arroyo-tree { flex: 1; overflow: auto; padding-bottom: 8px; }
.arroyo-panel .arroyo-item { outline: none; }
.arroyo-panel .arroyo-line { display: flex; align-items: flex-start; gap: 4px; padding: 3px 8px 3px 4px;
  border: 1px solid transparent; cursor: default; }
.arroyo-panel .arroyo-item[aria-expanded] > .arroyo-line { cursor: pointer; }
.arroyo-panel .arroyo-line:hover { background: var(--jp-layout-color2); }
.arroyo-panel .arroyo-item:focus-visible > .arroyo-line { border-color: var(--jp-brand-color1); }
.arroyo-panel .arroyo-item[aria-level='1'] > .arroyo-line { position: sticky; top: 0; z-index: 1;
  background: var(--jp-layout-color1); border-bottom-color: var(--jp-border-color2);
  font-weight: 600; text-transform: uppercase; font-size: var(--jp-ui-font-size0); }
.arroyo-panel .arroyo-item[aria-level='1']:focus-visible > .arroyo-line { border-color: var(--jp-brand-color1); }
.arroyo-panel .arroyo-item[aria-level='2'] > .arroyo-line { padding-left: 12px; }
.arroyo-panel .arroyo-item[aria-level='3'] > .arroyo-line { padding-left: 26px; }
.arroyo-panel .arroyo-twisty { flex: none; width: 12px; text-align: center; color: var(--jp-ui-font-color2); }
.arroyo-panel .arroyo-words { flex: 1; min-width: 0; }
.arroyo-panel .arroyo-name,
.arroyo-panel .arroyo-note { overflow-wrap: anywhere; }
.arroyo-panel .arroyo-item:not([aria-level='1']) > .arroyo-line .arroyo-name {
  font-family: var(--jp-code-font-family); font-size: var(--jp-code-font-size); }
.arroyo-panel .arroyo-item[data-enters] > .arroyo-line .arroyo-name { cursor: pointer; }
.arroyo-panel .arroyo-item[data-enters] > .arroyo-line .arroyo-name:hover { text-decoration: underline; }
.arroyo-panel .arroyo-note { color: var(--jp-ui-font-color2); font-size: var(--jp-ui-font-size0); }
.arroyo-panel .arroyo-item[aria-level='1'] > .arroyo-line .arroyo-note { margin-left: 6px; font-weight: 400; }
.arroyo-panel .arroyo-item[aria-level='2'] > .arroyo-line .arroyo-note { display: block; line-height: 1.35; }
.arroyo-panel .arroyo-item[aria-level='3'] > .arroyo-line .arroyo-note { margin-left: 8px; }
.arroyo-panel .arroyo-mark:not(:empty) { margin-right: 4px; }
.arroyo-panel .arroyo-item[data-state='running'] > .arroyo-line .arroyo-mark { color: var(--jp-success-color1); }
.arroyo-panel .arroyo-item[data-state='failed'] > .arroyo-line .arroyo-mark { color: var(--jp-error-color1); }
.arroyo-panel .arroyo-item[data-state='paused'] > .arroyo-line .arroyo-mark { color: var(--jp-warn-color1); }
.arroyo-panel .arroyo-actions { flex: none; display: flex; gap: 4px; }
.arroyo-panel .arroyo-action { padding: 1px 7px; border: 1px solid var(--jp-border-color1); border-radius: 3px;
  background: transparent; color: var(--jp-ui-font-color1); cursor: pointer;
  font: inherit; font-size: var(--jp-ui-font-size0); }
.arroyo-panel .arroyo-action:hover { background: var(--jp-layout-color3); }
.arroyo-panel .arroyo-action:focus-visible { outline: 2px solid var(--jp-brand-color1); outline-offset: 1px; }
`;
