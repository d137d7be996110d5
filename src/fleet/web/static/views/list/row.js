// One task on one line.

import {html} from '../../vendor/preact.js';
import {basename, shortId} from '../../core/format.js';
import {link} from '../../core/router.js';
import {cursor, picked, rowOf} from '../../core/store.js';
import {firstLine, plain, visible, visibleLine, withoutClone, withoutPointers} from '../../core/text.js';
import {ContextGauge, Cost} from '../../parts/figures.js';
import {Mark, markOf, wordOf} from '../../parts/status.js';
import {Ago, Elapsed} from '../../parts/time.js';
import {WayOn} from '../../parts/way_on.js';

/** @typedef {import('../../core/shapes').TaskRow} TaskRow */

/** What stands behind the title: what is asked, why it waits, what was done last. @param {TaskRow} row */
export function aside(row) {
  if (row.question) return firstLine(row.question);
  if (row.reason) return withoutPointers(row.reason);
  if (row.group === 'running') return withoutClone(row.run?.last_step ?? '') || row.landing_words;
  return row.landing_words;
}

/** @param {{id: string}} props */
export function Row({id}) {
  const row = rowOf(id);
  if (!row) return null;
  const mark = markOf(row);
  const chosen = picked.value.has(id);
  const words = aside(row);
  return html`<li class="row ${row.group} ${chosen ? 'picked' : ''}" data-row=${id}>
    <label class="pick"><input type="checkbox" checked=${chosen} tabindex="-1" aria-label=${`pick ${id}`}
      onChange=${() => togglePick(id)}/></label>
    <${Mark} name=${mark} word=${row.state}/>
    <span class="id mono" title=${id}>${shortId(id)}</span>
    <a class="what" href=${link('task', id)} data-open=${id} onFocus=${() => { cursor.value = id; }}>
      <span class="title cut" dir="auto" title=${plain(row.title)}>${visibleLine(row.title)}</span>
      ${words && html`<span class="aside cut" dir="auto" title=${plain(words)}>${visible(words)}</span>`}
    </a>
    <span class="tail"><span class="state">${stateWords(row, mark)}</span><span class="way"><${WayOn} row=${row}/>
      </span></span>
    <span class="project cut" title=${row.project}>${basename(row.project)}</span>
    <span class="coder cut" title=${coderWords(row)}>${row.coder}${row.model ? html`<i> ${row.model}</i>` : ''}</span>
    <span class="account cut" title=${row.account ? `account ${row.account}` : ''}>
      ${row.account === row.coder ? '' : row.account}</span>
    <span class="context">${row.run ? html`<${ContextGauge} run=${row.run}/>` : ''}</span>
    <span class="cost-cell"><${Cost} spent=${row.spent}/></span>
    <span class="age">${row.group === 'done'
      ? html`<${Ago} at=${row.since}/>`
      : html`<${Elapsed} since=${row.since} title=${row.state}/>`}</span>
  </li>`;
}

/** @param {TaskRow} row */
function coderWords(row) {
  return [row.coder, row.model || 'the model that the CLI chooses', row.account
    && `account ${row.account}`].filter(Boolean).join(', ');
}

/** A word where the group does not say it all. @param {TaskRow} row @param {string} mark */
function stateWords(row, mark) {
  if (row.group === 'running' && mark !== 'running') return html`<span class="word ${mark === 'unsupervised' ? 'warn'
    : ''}">${row.state}</span>`;
  if (row.group === 'running' && row.run?.near.length) return html`<span class="word warn">${row.run.near.join(', ')}
    </span>`;
  if (row.group === 'running' && row.attempt > 1) return html`<span class="word">run ${row.attempt}${row.attempts
    ? ` of ${row.attempts}` : ''}</span>`;
  if (row.state === 'done' && row.verdict) return html`<span class="word">${wordOf(row.verdict)}</span>`;
  return row.group === 'running' || row.state === 'waiting' ? '' : html`<span class="word">${row.state}</span>`;
}

/** @param {string} id */
export function togglePick(id) {
  const next = new Set(picked.peek());
  if (!next.delete(id)) next.add(id);
  picked.value = next;
}
