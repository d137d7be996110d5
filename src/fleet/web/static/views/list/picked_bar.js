// Acts on all tasks that are picked.

import {html} from '../../vendor/preact.js';
import {ACTS} from '../../core/act_table.js';
import {begin, possible} from '../../core/acts.js';
import {plural} from '../../core/format.js';
import {picked} from '../../core/store.js';

export function PickedBar() {
  const ids = [...picked.value];  const acts = Object.entries(ACTS).filter(([verb, act]) => !act.global && !act.seldom
    && possible(verb, ids));
  return html`<div class="picked-bar" role="toolbar" aria-label="Acts on picked tasks">
    <b>${plural(ids.length, 'task')} picked</b>
    ${acts.map(([verb, act]) => html`<button class="button" onClick=${() => begin(verb, ids)}>
      ${act.label} ${act.key ? html`<span class="key">${act.key}</span>` : ''}</button>`)}
    <span class="grow"></span>
    <button class="button plain" onClick=${() => { picked.value = new Set(); }}>None <span class="key">Esc</span>
      </button>
  </div>`;
}
