// Now, the home: what needs you, what runs, what waits and why, what is done. A list or a board.

import {html, useMemo, useRef} from '../../vendor/preact.js';
import {ACTS} from '../../core/act_table.js';
import {begin, possible} from '../../core/acts.js';
import {plural} from '../../core/format.js';
import {useKeys} from '../../core/keys.js';
import {route, setQuery} from '../../core/router.js';
import {groups, home, picked, rowOf} from '../../core/store.js';
import {valueOf} from '../../parts/act_dialog.js';
import {Board} from './board.js';
import {CommandLine} from '../../parts/copy.js';
import {palette} from '../../parts/palette.js';
import {Row} from './row.js';
import {taskKeys, useCursor} from './task_keys.js';
import {Ago} from '../../parts/time.js';

/** @typedef {import('../../core/shapes').TaskRow} TaskRow */

/** @type {{group: keyof import('../../core/shapes').GroupCounts, title: string}[]} */
const GROUPS = [
  {group: 'needs_you', title: 'Needs you'},
  {group: 'running', title: 'Running'},
  {group: 'waiting', title: 'Waiting'},
  {group: 'done', title: 'Done'},
];

/**
 * A filter by words: each must be found; `project:x`, `coder:x`, `label:x` look in one place.
 * @param {string} text
 * @returns {(row: TaskRow) => boolean}
 */
function matcher(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return (row) => words.every((word) => {
    const [name, value] = word.includes(':') ? word.split(/:(.*)/s, 2) : ['', word];
    if (name === 'project') return row.project.toLowerCase().includes(value);
    if (name === 'coder') return `${row.coder}:${row.model}`.toLowerCase().includes(value);
    if (name === 'account') return row.account.toLowerCase().includes(value);
    if (name === 'label') return row.labels.some((label) => label.toLowerCase().includes(value));
    return [row.id, row.title, row.project, row.coder, row.model, row.account, row.reason,
      ...row.labels].some((part) => part.toLowerCase().includes(word));
  });
}

export function Now() {
  const {query} = route.value;
  const wanted = query.get('q') ?? '';
  const board = query.get('as') === 'board';
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const fits = useMemo(() => matcher(wanted), [wanted]);
  useCursor();
  useKeys('List', [
    {keys: 'b', label: board ? 'as a list' : 'as a board', run: () => setQuery({as: board ? null : 'board'})},
    {keys: '/', label: 'filter', run: () => input.current?.focus()},
    {keys: 'Escape', label: 'clear', run: () => clear(input.current)},
    ...taskKeys(),
  ]);
  const at = home.value;
  if (!at) return html`<div class="view"><header class="head"><h1>Now</h1></header></div>`;
  const shown = GROUPS.map(({group, title}) => {
    const all = groups.value[group];
    return {group, title, ids: wanted ? all.filter((id) => { const row = rowOf(id); return row !== null
      && fits(row); }) : all, all: at.counts[group]};
  });
  return html`<div class="view now ${board ? 'as-board' : ''}">
    <header class="head">
      <h1>Now</h1>
      <label class="filter"><span class="unseen">Filter tasks</span>
        <input ref=${input} type="search" placeholder="Filter: words, project:shop, coder:codex" value=${wanted}
          spellcheck=${false}
          onInput=${(/** @type {InputEvent} */ event) => setQuery({q: valueOf(event)})}/><kbd>/</kbd></label>
      <span class="grow"></span>
      <div class="switch" role="group" aria-label="Layout">
        <button aria-pressed=${!board} onClick=${() => setQuery({as: null})}>List</button>
        <button aria-pressed=${board} onClick=${() => setQuery({as: 'board'})}>Board</button>
      </div>
      <button class="button only-narrow" aria-label="Commands" onClick=${() => { palette.value = true; }}>⋯</button>
    </header>
    ${picked.value.size ? html`<${PickedBar}/>` : ''}
    ${!shown.some((each) => each.ids.length) ? html`<${Nothing} wanted=${wanted}/>` : board
      ? html`<${Board} shown=${shown}/>` : shown.map((each) => html`<${Group} key=${each.group} ...${each}/>`)}
  </div>`;
}

/** Acts on all tasks that are picked. */
function PickedBar() {
  const ids = [...picked.value];
  const acts = Object.entries(ACTS).filter(([verb, act]) => !act.global && !act.seldom
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

/** @param {HTMLInputElement | null} input */
function clear(input) {
  if (document.activeElement === input) input?.blur();
  else if (picked.value.size) picked.value = new Set();
  else if (route.value.query.get('q')) setQuery({q: null});
  else return false;
  return true;
}

/** @param {{group: string, title: string, ids: string[], all: number}} props */
function Group({group, title, ids, all}) {
  if (!ids.length && group !== 'needs_you') return null;
  return html`<section class="group ${group}" aria-labelledby="group-${group}">
    <h2 id="group-${group}">${title} <span class="count">${ids.length < all ? `${ids.length} of ${all}` : all}</span>
      ${group === 'done' ? html`<span class="faint since">since <${Ago} at=${home.value?.done_since}/></span>` : ''}
        </h2>
    ${ids.length ? html`<ul class="rows">${ids.map((id) => html`<${Row} key=${id} id=${id}/>`)}</ul>`
      : html`<p class="quiet">Nothing needs you.</p>`}
  </section>`;
}

/** @param {{wanted: string}} props */
function Nothing({wanted}) {
  if (wanted) return html`<div class="empty"><p>No task fits <b>${wanted}</b>.</p>
    <button class="button" onClick=${() => setQuery({q: null})}>Show all</button></div>`;
  return html`<div class="empty">
    <h2>The queue is empty</h2>
    <p>Put a task into it, from the directory that it is about:</p>
    <${CommandLine} line='fleet bd create "Fix the login page" --verify "make test"'/>
    <p>or write it here: <a class="link" href="#/new">New task</a> <kbd>n</kbd>. A spec becomes many tasks:</p>
    <${CommandLine} line="fleet plan apply SPEC.md"/>
  </div>`;
}
