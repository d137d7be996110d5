// Where tokens and money went: known, estimated and unknown apart, and what was lost.

import {html} from '../../vendor/preact.js';
import {basename, count, dollars, plural} from '../../core/format.js';
import {useLoaded} from '../../core/loaded.js';
import {link, route, setQuery} from '../../core/router.js';
import {home} from '../../core/store.js';
import {visible} from '../../core/text.js';
import {Budgets} from './budgets.js';
import {CommandLine} from '../../parts/copy.js';
import {DayChart} from './day_chart.js';
import {Problem} from '../../parts/problem.js';

/** @typedef {import('../../core/shapes').UsageView} UsageValue */
/** @typedef {import('../../core/shapes').Spent} Spent */

const BYS = /** @type {const} */ (['model', 'coder', 'project', 'account', 'day', 'task']);
const DAYS = /** @type {const} */ ([['1', '24 h'], ['7', '7 days'], ['30', '30 days'], ['3650', 'All']]);

/** @param {Spent} spent */
const tokens = ({usage}) => usage.input + usage.output + usage.cache_read + usage.cache_write;

export function Usage() {
  const {query} = route.value;
  const by = query.get('by') ?? 'model';
  const days = query.get('days') ?? '7';
  const done = home.value?.counts.done ?? 0;
  const {value, problem} = useLoaded('usage', {by, days}, [done, home.value?.counts.running]);
  const usage = /** @type {UsageValue | null} */ (value);
  return html`<div class="view usage"><header class="head"><h1>Usage</h1><span class="grow"></span>
      <div class="switch" role="group" aria-label="How far back">${DAYS.map(([name, word]) =>
        html`<button aria-pressed=${days === name} onClick=${() => setQuery({days: name})}>${word}
        </button>`)}</div></header>
    ${problem && !usage ? html`<${Problem} problem=${problem}/>` : ''}
    ${usage ? usage.total.runs ? html`<${Shown} usage=${usage} by=${by}/>`
      : html`<${Budgets} budgets=${usage.budgets}/>
      <div class="empty"><h2>No run is over in this time</h2><p>What each run used is counted when it is over.</p>
      <${CommandLine} line="fleet usage --by day"/></div>` : ''}
  </div>`;
}

/** @param {{usage: UsageValue, by: string}} props */
function Shown({usage, by}) {
  const {total} = usage;
  const all = tokens(total);
  const most = Math.max(1, ...usage.rows.map(tokens));
  return html`
    <dl class="tiles">
      <div><dt>Known cost</dt><dd>${total.cost_usd || !total.unpriced ? dollars(total.cost_usd)
        : '–'}</dd><dd class="faint">told by the CLIs</dd></div>
      <div><dt>Estimated</dt><dd>${total.estimated ? `~${dollars(total.estimated_usd)}`
        : '–'}</dd><dd class="faint">${total.estimated ? `${plural(total.estimated, 'run')}, from tokens and prices`
        : 'nothing had to be'}</dd></div>
      <div><dt>Unknown</dt><dd class=${total.unpriced ? 'warn' : ''}>${total.unpriced ? plural(total.unpriced, 'run')
        : 'none'}</dd><dd class="faint">${total.unpriced ? 'no figure and no price' : 'every run has a cost'}</dd></div>
      <div><dt>Tokens</dt><dd>${count(all)}</dd><dd class="faint">${count(total.usage.output)} out, ${all
        ? Math.round((100 * total.usage.cache_read) / all) : 0} % from cache</dd></div>
      <div><dt>Lost</dt><dd class=${total.wasted_runs ? 'bad' : ''}>${total.wasted_tokens ? `${count(total.wasted_tokens)} tokens`
        : total.wasted_runs ? 'not known' : 'nothing'}</dd><dd class="faint">${total.wasted_usd
        ? `${dollars(total.wasted_usd)}, ` : ''}${plural(total.wasted_runs, 'run')} without accepted work</dd></div>
      <div><dt>Accepted</dt><dd>${total.checked + total.unchecked}</dd>
        <dd class="faint">${total.checked} checked, ${total.unchecked} unchecked</dd></div>
    </dl>
    <${Budgets} budgets=${usage.budgets}/>
    ${usage.days.length > 1 ? html`<${DayChart} days=${usage.days}/>` : ''}
    <section class="usage-by"><div class="tab-bar"><h2>By</h2>
      <div class="switch" role="group" aria-label="Group by">${BYS.map((name) =>
      html`<button aria-pressed=${by === name} onClick=${() => setQuery({by: name})}>${name}</button>`)}</div></div>
      <div class="scroll-x"><table><thead><tr><th>${by}</th><th class="figure">Runs</th><th class="figure">Tokens</th>
        <th class="bar-head"></th><th class="figure">Known</th><th class="figure">Estimated</th>
        <th class="figure">Unknown</th><th class="figure">Lost</th><th class="figure">Accepted</th></tr></thead>
      <tbody>${usage.rows.map((row) => html`<tr key=${row.name}>
        <td class="name" title=${row.name} dir="auto">${by === 'task'
        ? html`<a class="link mono" href=${link('task', row.name)}>${row.name}</a>` : by === 'project'
        ? basename(row.name) : visible(row.name)}</td>
        <td class="figure">${row.runs}</td><td class="figure">${count(tokens(row))}</td>
        <td class="bar-cell" aria-hidden="true">
          <span class="share"><span style=${{width: `${(100 * tokens(row)) / most}%`}}></span>
          <span class="lost" style=${{width: `${(100 * Math.min(row.wasted_tokens, tokens(row))) / most}%`}}></span>
          </span></td>
        <td class="figure">${row.cost_usd ? dollars(row.cost_usd) : html`<span class="faint">–</span>`}</td>
        <td class="figure">${row.estimated ? `~${dollars(row.estimated_usd)}` : html`<span class="faint">–</span>`}</td>
        <td class="figure">${row.unpriced ? html`<span class="warn">${plural(row.unpriced, 'run')}</span>`
          : html`<span class="faint">–</span>`}</td>
        <td class="figure">${row.wasted_runs ? html`<span class="bad">${count(row.wasted_tokens)}${row.wasted_usd
          ? ` ${dollars(row.wasted_usd)}` : ''}</span>` : html`<span class="faint">–</span>`}</td>
        <td class="figure">${row.checked ? html`<span class="good">${row.checked} checked</span>` : ''} ${row.unchecked
          ? `${row.unchecked} unchecked` : ''}${row.checked || row.unchecked ? '' : html`<span class="faint">–</span>`}
          </td></tr>`)}</tbody></table></div></section>`;
}
