// Ctrl-K: every act with the command line that it stands for, every view, every task.

import {html, signal, useEffect, useRef, useState} from '../vendor/preact.js';
import {ACTS} from '../core/act_table.js';
import {begin, possible, targets} from '../core/acts.js';
import {shortId} from '../core/format.js';
import {go, link, route} from '../core/router.js';
import {cursor, order, rowOf} from '../core/store.js';
import {visibleLine} from '../core/text.js';
import {valueOf} from './act_dialog.js';
import {copy} from './copy.js';
import {Dialog} from './dialog.js';
import {PLACES} from './frame.js';
import {Mark, markOf} from './status.js';

export const palette = signal(false);

/** @typedef {{name: string, title: string, line: string, key?: string, mark?: string, state?: string,
 *   run: () => void}} Choice */

/** The task that is looked at or that the cursor is on. */
export const current = () => (route.value.view === 'task' ? route.value.id : cursor.value);

/** @returns {Choice[]} */
function choices() {
  const id = current();
  const row = id ? rowOf(id) : null;
  const ids = targets(id);
  /** @type {Choice[]} */
  const found = [];
  for (const [verb, act] of Object.entries(ACTS)) {
    if (!possible(verb, ids)) continue;
    const whom = act.global ? '' : ids.length === 1 ? ` ${shortId(ids[0])}` : ` ${ids.length} tasks`;
    found.push({name: verb, title: act.label + whom, key: act.key, run: () => begin(verb, ids),
      line: act.line(ids[0] ?? '', '…', {})});
  }
  found.push({name: 'new', title: 'New task', key: 'n', line: 'fleet bd create "…"', run: () => go('#/new')});
  if (row) {
    for (const [tab, key, line] of /** @type {const} */ ([['receipt', 'e', 'receipt'], ['transcript', 'l', 'events'],
      ['diff', 'd', 'diff'], ['plan', 'p', 'plan'], ['runs', '', 'receipt --run 1']])) {
      found.push({name: tab, title: `${tab[0].toUpperCase()}${tab.slice(1)} of ${shortId(id)}`, key,
        line: `fleet task ${shortId(id)} ${line}`, run: () => go(link('task', id, tab))});
    }
  }
  const lines = {now: 'fleet tasks --all', questions: 'fleet questions', timeline: 'fleet log --follow',
    usage: 'fleet usage --by day', accounts: 'fleet accounts', log: 'fleet log 50'};
  for (const {view, word, key} of PLACES) found.push({name: view, title: `Go to ${word}`, key,
    line: lines[/** @type {keyof typeof lines} */ (view)] ?? '', run: () => go(`#/${view}`)});
  for (const each of order.value) {
    const task = rowOf(each);
    if (task) found.push({name: each, title: task.title, mark: markOf(task), state: task.state,
      line: `fleet show ${shortId(each)}`,
      run: () => go(link('task', each))});
  }
  return found;
}

/** All words must be in it; the earlier, the better. @param {Choice} choice @param {string[]} words */
function score(choice, words) {
  const text = `${choice.title} ${choice.name} ${choice.line}`.toLowerCase();
  let sum = 0;
  for (const word of words) {
    const at = text.indexOf(word);
    if (at < 0) return -1;
    sum += at + (at === 0 || text[at - 1] === ' ' ? 0 : 20);
  }
  return sum;
}

export function Palette() {
  return palette.value ? html`<${Open}/>` : null;
}

function Open() {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = choices()
    .map((choice, i) => ({choice, i, score: score(choice, words)}))
    .filter((each) => each.score >= 0)
    .sort((a, b) => (words.length ? a.score - b.score : 0) || a.i - b.i)
    .slice(0, 60).map((each) => each.choice);
  const chosen = found[Math.min(at, found.length - 1)];
  const close = () => { palette.value = false; };
  const run = (/** @type {Choice | undefined} */ choice) => { close(); setTimeout(() => choice?.run(), 0); };
  useEffect(() => { list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({block: 'nearest'}); });
  /** @param {KeyboardEvent} event */
  const move = (event) => {
    const step = {ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8}[event.key];
    if (step) setAt(Math.max(0, Math.min(found.length - 1, at + step)));
    else if (event.key === 'Enter') run(chosen);
    else return;
    event.preventDefault();
  };
  return html`<${Dialog} name="palette" title="Commands and tasks" onClose=${close} kind="palette"
      bindings=${[{keys: 'Ctrl-K', label: 'close', run: close}]}>
    <input class="palette-input" data-first role="combobox" aria-expanded="true" aria-controls="choices"
      aria-activedescendant=${chosen ? `choice-${found.indexOf(chosen)}` : undefined}
      placeholder="An act, a view, a task" value=${text} autocomplete="off" spellcheck=${false} onKeyDown=${move}
      onInput=${(/** @type {InputEvent} */ event) => { setText(valueOf(event)); setAt(0); }}/>
    <ul id="choices" role="listbox" class="choices" ref=${list} aria-label="Choices">
      ${found.map((choice, i) => html`<li id="choice-${i}" role="option" key=${choice.name}
        aria-selected=${choice === chosen ? 'true' : 'false'}
          class=${choice === chosen ? 'here' : ''} onMouseMove=${() => i !== at && setAt(i)}
            onClick=${() => run(choice)}>
        ${choice.mark ? html`<${Mark} name=${choice.mark} word=${choice.state}/>` : html`<span class="no-mark"></span>`}
        <span class="cut" dir="auto">${visibleLine(choice.title)}</span><span class="grow"></span>
        <code class="faint cut" onClick=${(/** @type {Event} */ event) =>
          { event.stopPropagation(); void copy(choice.line); }} title="copy">${choice.line}</code>
        <span class="key-cell">${choice.key ? html`<kbd>${choice.key}</kbd>` : ''}</span></li>`)}
    </ul>
    ${found.length ? '' : html`<p class="empty small">Nothing is called so.</p>`}
  </${Dialog}>`;
}
