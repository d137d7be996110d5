// One task: the receipt first, then transcript, diff, plan, runs; each tab is an address.

import {html, useMemo} from '../../vendor/preact.js';
import {ACTS} from '../../core/act_table.js';
import {begin, possible} from '../../core/acts.js';
import {basename, plural, shortId} from '../../core/format.js';
import {useKeys} from '../../core/keys.js';
import {useLoaded} from '../../core/loaded.js';
import {back, go, link, route} from '../../core/router.js';
import {cursor, rowOf, standing} from '../../core/store.js';
import {plain, visible, visibleLine, withoutPointers} from '../../core/text.js';
import {AnswerBox} from '../../parts/answer_box.js';
import {ContextGauge, Cost} from '../../parts/figures.js';
import {Problem} from '../../parts/problem.js';
import {Badge, markOf} from '../../parts/status.js';
import {actKeys} from '../list/task_keys.js';
import {Ago, Elapsed} from '../../parts/time.js';
import {DiffTab} from '../diff/diff.js';
import {PlanTab} from './plan.js';
import {ReceiptTab} from './receipt.js';
import {RunsTab} from './runs.js';
import {TranscriptTab} from '../transcript/transcript.js';

/** @typedef {import('../../core/shapes').WholeTask} WholeTask */
/** @typedef {import('../../core/shapes').TaskRow} TaskRow */

const TABS = /** @type {const} */ ([['receipt', 'Receipt', 'e'], ['transcript', 'Transcript', 'l'],
  ['diff', 'Diff', 'd'], ['plan', 'Plan', 'p'], ['runs', 'Runs', '']]);

export function Task() {
  const {id, tab: named} = route.value;
  const row = rowOf(id);
  // When the stream says that it stands otherwise, the rest is asked for anew.
  const stands = row ? standing(row) : '';
  const {value: whole, problem, again} = useLoaded(/** @type {string} */ (`tasks/${encodeURIComponent(id)}`), {},
    [stands]);
  const found = /** @type {WholeTask | null} */ (whole);
  const fallback = row?.group === 'running' ? 'transcript' : 'receipt';
  const tab = TABS.some(([name]) => name === named) ? named : fallback;
  const at = TABS.findIndex(([name]) => name === tab);
  const step = (/** @type {number} */ by) => go(link('task', id, TABS[(at + by + TABS.length) % TABS.length][0]),
    {replace: true});
  useMemo(() => { cursor.value = id; }, [id]);
  useKeys('Task', [
    {keys: 'Escape q', label: 'back to the list', run: back},
    {keys: ']', label: 'next tab', run: () => step(1)},
    {keys: '[', label: 'previous tab', run: () => step(-1)},
    ...actKeys(() => id),
  ]);
  const shown = row ?? found?.row;
  if (!shown) return html`<div class="view">${problem ? html`<${Problem} problem=${problem}/>` : ''}</div>`;
  return html`<div class="view task tab-${tab}">
    <${Head} row=${shown} whole=${found}/>
    <nav class="tabs" aria-label="Parts of the task">
      ${TABS.map(([name, word, key]) => html`<a key=${name} href=${link('task', id, name)} aria-current=${name === tab
      ? 'page' : undefined}
      title=${key ? `${word} (${key})` : word}>${word}${name === 'runs' && found?.runs.length
        ? html` <span class="count">${found.runs.length}</span>` : ''}</a>`)}</nav>
    ${problem && !found ? html`<${Problem} problem=${problem}/>` : ''}
    ${tab === 'transcript' ? html`<${TranscriptTab} key=${id} id=${id} live=${shown.group === 'running'}/>`
      : tab === 'diff' ? html`<${DiffTab} key=${id} id=${id} row=${shown} runs=${found?.runs ?? []} stands=${stands}/>`
      : found === null ? '' : tab === 'plan' ? html`<${PlanTab} whole=${found}/>` : tab === 'runs'
        ? html`<${RunsTab} whole=${found}/>` : html`<${ReceiptTab} whole=${found} again=${again}/>`}
  </div>`;
}

/** @param {{row: TaskRow, whole: WholeTask | null}} props */
function Head({row, whole}) {
  const mark = markOf(row);
  const acts = Object.entries(ACTS)
    .filter(([verb, act]) => !act.global && !act.seldom && verb !== 'answer' && possible(verb, [row.id]));
  return html`<header class="task-head">
    <p class="crumbs"><a href="#/now">Now</a> <span class="faint">›</span> <a
      href="#/now?q=project:${encodeURIComponent(basename(row.project))}" title=${row.project}>${basename(row.project)}
      </a>
      <span class="faint">›</span> <span class="mono">${row.id}</span></p>
    <div class="title-line"><h1 dir="auto" title=${plain(row.title)}>${visibleLine(row.title)}</h1>
      <span class="grow"></span>
      <span class="acts">${acts.map(([verb, act]) =>
        html`<button key=${verb} class="button ${verb === 'land' ? 'main' : ''}" title=${act.line(row.id, '…', {})}
        onClick=${() => begin(verb, [row.id])}>${act.label}${act.key ? html` <span class="key">${act.key}</span>` : ''}
        </button>`)}</span></div>
    <ul class="facts">
      <li><${Badge} name=${mark} words=${row.state}/></li>
      ${row.group === 'running' || row.since === null ? ''
        : html`<li>${row.group === 'done' ? html`<${Ago} at=${row.since}/>` : html`<${Elapsed} since=${row.since}/>`}
        </li>`}
      ${row.run ? html`<li>run ${row.run.number}, <${Elapsed} since=${row.run.started_at}/></li>` : ''}
      <li>${row.coder}${row.model ? html` <span class="faint">${row.model}</span>` : ''}</li>
      ${row.account && row.account !== row.coder ? html`<li>account ${row.account}</li>` : ''}
      ${whole?.landing?.into || whole?.branch
        ? html`<li>to <span class="mono">${whole.landing?.into || whole.branch}</span></li>` : ''}
      ${row.run?.context_size ? html`<li class="with-gauge">context <${ContextGauge} run=${row.run}/></li>` : ''}
      <li><${Cost} spent=${row.spent} words/>${whole?.budget?.budget.usd
        ? html`<span class="faint"> of $${whole.budget.budget.usd}</span>` : ''}</li>
      ${row.parent ? html`<li>part of <a class="link mono" href=${link('task', row.parent)}>${shortId(row.parent)}</a>
        </li>` : ''}
      ${row.labels.map((label) => html`<li class="label">${visible(label)}</li>`)}
      <li><a class="link" href=${link('graph', row.id)}>${around(whole)}</a></li>
      ${whole?.comparison ? html`<li><a class="link" href=${link('compare', whole.comparison)}>
        ${whole.comparison === row.id ? 'compare its entries' : 'an entry of a comparison'}</a></li>` : ''}
    </ul>
    ${row.group !== 'running' && row.reason && !row.question
      ? html`<p class="reason" dir="auto">${visible(withoutPointers(row.reason))}${row.landing_words
        && row.landing_words !== row.reason ? html` · ${row.landing_words}` : ''}${row.way_on?.task
        ? html` <a class="link" href=${link('task', row.way_on.task)}>Open ${shortId(row.way_on.task)}</a>`
        : ''}</p>` : ''}
    ${row.question ? html`<${AnswerBox} row=${row}/>` : ''}
  </header>`;
}

/** @param {WholeTask | null} whole */
function around(whole) {
  const before = whole?.waits_for.length ?? 0;
  const after = whole?.unblocks.length ?? 0;
  if (!before && !after) return 'graph';
  return [before && `waits for ${plural(before, 'task')}`, after && `unblocks ${after}`].filter(Boolean).join(', ');
}
