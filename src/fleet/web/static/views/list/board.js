// The same groups as columns.

import {html} from '../../vendor/preact.js';
import {basename, shortId} from '../../core/format.js';
import {link} from '../../core/router.js';
import {cursor, picked, rowOf} from '../../core/store.js';
import {plain, visible, visibleLine} from '../../core/text.js';
import {ContextGauge, Cost} from '../../parts/figures.js';
import {aside, togglePick} from './row.js';
import {Mark, markOf} from '../../parts/status.js';
import {Ago, Elapsed} from '../../parts/time.js';
import {WayOn} from '../../parts/way_on.js';

/** @param {{shown: {group: string, title: string, ids: string[], all: number}[]}} props */
export function Board({shown}) {
  return html`<div class="board">${shown.map(({group, title, ids, all}) =>
    html`<section key=${group} class="column ${group}" aria-labelledby="column-${group}">
    <h2 id="column-${group}">${title} <span class="count">${ids.length < all ? `${ids.length} of ${all}` : all}</span>
      </h2>
    <ul>${ids.map((id) => html`<${Card} key=${id} id=${id}/>`)}</ul>
  </section>`)}</div>`;
}

/** @param {{id: string}} props */
function Card({id}) {
  const row = rowOf(id);
  if (!row) return null;
  const words = aside(row);
  return html`<li class="card ${picked.value.has(id) ? 'picked' : ''}" data-row=${id}
    onClick=${(/** @type {MouseEvent} */ event) => { if (event.shiftKey) togglePick(id); }}>
    <a href=${link('task', id)} data-open=${id} onFocus=${() => { cursor.value = id; }}>
      <span class="card-top"><${Mark} name=${markOf(row)} word=${row.state}/><span class="mono faint">${shortId(id)}</span>
        <span class="faint cut" title=${row.project}>${basename(row.project)}</span>
        <span class="grow"></span><span class="faint age">${row.group === 'done' ? html`<${Ago} at=${row.since}/>`
          : html`<${Elapsed} since=${row.since}/>`}</span></span>
      <span class="title" dir="auto">${visibleLine(row.title)}</span>
      ${words ? html`<span class="aside" dir="auto" title=${plain(words)}>${visible(words)}</span>` : ''}
    </a>
    <span class="card-foot"><span class="faint cut">${row.coder} ${row.model}</span><span class="grow"></span>
      ${row.run ? html`<${ContextGauge} run=${row.run}/>` : ''}<${Cost} spent=${row.spent}/></span>
    ${row.way_on && row.group !== 'waiting' ? html`<${WayOn} row=${row}/>` : ''}
  </li>`;
}
