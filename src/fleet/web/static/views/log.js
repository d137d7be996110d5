// The supervisor's log: what fleet did, newest first.

import {html, useEffect, useState} from '../vendor/preact.js';
import {clock, exact} from '../core/format.js';
import {useKeys} from '../core/keys.js';
import {useLoaded} from '../core/loaded.js';
import {link, route, setQuery} from '../core/router.js';
import {visible} from '../core/text.js';
import {valueOf} from '../parts/act_dialog.js';
import {CommandLine} from '../parts/copy.js';
import {Problem} from '../parts/problem.js';

/** @typedef {{ts: string, action: string, text?: string, task?: string, level?: string}} LogLine */

const MOST = 1000;

export function Log() {
  const [tick, setTick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => { if (!document.hidden) setTick((n) => n + 1); }, 3000);
    return () => clearInterval(timer);
  }, []);
  const {value, problem} = useLoaded('log', {lines: MOST}, [tick]);
  const wanted = route.value.query.get('q') ?? '';
  const lines = /** @type {{lines: LogLine[]} | null} */ (value)?.lines ?? [];
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = lines.filter((line) => words.every((word) => JSON.stringify(line).toLowerCase().includes(word)));
  useKeys('Log', [{keys: '/', label: 'filter', run: () => document.getElementById('log-filter')?.focus()}]);
  return html`<div class="view log"><header class="head"><h1>Log</h1>
      <label class="filter"><span class="unseen">Filter the log</span>
        <input id="log-filter" type="search" placeholder="Filter: words, a task" value=${wanted} spellcheck=${false}
          onInput=${(/** @type {Event} */ event) => setQuery({q: valueOf(event)})}/><kbd>/</kbd></label></header>
    ${problem && !value ? html`<${Problem} problem=${problem}/>` : ''}
    ${value && !lines.length ? html`<div class="empty"><h2>Nothing was logged yet</h2>
      <p>A supervisor writes down what it does:</p><${CommandLine} line="fleet run"/></div>` : ''}
    <ol class="log-lines">${shown.slice().reverse().map((line, i) =>
      html`<${Line} key=${shown.length - i} line=${line}/>`)}
    </ol></div>`;
}

/** @param {{line: LogLine}} props */
function Line({line}) {
  return html`<li class=${line.level ?? ''}>
    <time datetime=${line.ts} title=${exact(line.ts)}>${clock(line.ts, Date.now())}</time>
    <code class="cut">${visible(line.action)}</code>
    <span dir="auto">${visible(withoutId(line))}</span>
    ${line.task ? html`<a class="link mono" href=${link('task', line.task)}>${line.task}</a>` : ''}</li>`;
}

/** The sentence; the task stands behind it. @param {LogLine} line */
function withoutId({text = '', task = ''}) {
  return task && text.startsWith(`${task}: `) ? text.slice(task.length + 2) : text;
}
