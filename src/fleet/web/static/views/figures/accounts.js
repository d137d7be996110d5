// Accounts: how full each window is, until when, and why an account gets no work.

import {html, useEffect, useState} from '../../vendor/preact.js';
import {exact, plural, shortId} from '../../core/format.js';
import {useLoaded} from '../../core/loaded.js';
import {link} from '../../core/router.js';
import {home} from '../../core/store.js';
import {visible} from '../../core/text.js';
import {Budgets} from './budgets.js';
import {CommandLine} from '../../parts/copy.js';
import {Problem} from '../../parts/problem.js';
import {Gauge} from '../../parts/figures.js';
import {Mark} from '../../parts/status.js';
import {Ago} from '../../parts/time.js';

/** @typedef {import('../../core/shapes').AccountsView} AccountsValue */
/** @typedef {import('../../core/shapes').AccountNow} AccountNow */

const KINDS = /** @type {Record<string, string>} */ ({five_hour: '5 hours', weekly: 'week', weekly_opus: 'week, Opus',
  weekly_sonnet: 'week, Sonnet', overage: 'beyond the plan', throttle: 'requests a minute',
  overload: 'vendor is short', outage: 'vendor fails', credit: 'credit', usage: 'window'});

export function Accounts() {
  const running = home.value?.counts.running;
  const [tick, setTick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => { if (!document.hidden) setTick((n) => n + 1); }, 10_000);
    return () => clearInterval(timer);
  }, []);
  const {value, problem} = useLoaded('accounts', {}, [running, tick]);
  const found = /** @type {AccountsValue | null} */ (value);
  return html`<div class="view accounts"><header class="head"><h1>Accounts</h1></header>
    ${problem && !found ? html`<${Problem} problem=${problem}/>` : ''}
    ${found?.held.map((held) => html`<p class="held"><${Mark} name="failed" silent/><b>${held.name}
      </b> gets no work until <${Ago} at=${held.until}/>: <span dir="auto">${visible(held.why)}
      </span> <code>fleet account resume ${held.account}</code></p>`)}
    ${found ? html`<${Budgets} budgets=${found.budgets}/>` : ''}
    ${found ? found.accounts.length ? html`<ul class="account-list">
      ${found.accounts.map((each) => html`<${One} key=${each.account.name} each=${each}/>`)}</ul>`
      : html`<p class="soft">No account was used yet.</p>` : ''}
    ${found && found.accounts.every((each) => each.own)
      ? html`<div class="teach">
      <p class="soft">Tokens run out before agents do. With several accounts fleet spreads the work, and moves a session
        where one is full:</p>
      <${CommandLine} line="fleet account add work --coder claude --stop-at 90"/></div>` : ''}
  </div>`;
}

/** @param {{each: AccountNow}} props */
function One({each}) {
  const {account} = each;
  const open = !each.shut && account.enabled;
  return html`<li class="account-card ${open ? '' : 'shut'}">
    <header><${Mark} name=${open ? (each.tasks.length ? 'running' : 'unchecked')
      : 'put_off'} silent/><b>${account.name}</b><span class="faint">${account.coder}${each.own ? ', your own login'
      : ''}</span><span class="grow"></span>
      <span class="soft">${open ? (each.tasks.length
        ? `${each.tasks.length} of ${each.pace ?? account.max_concurrent} agents` : 'free') : 'gets no work'}</span>
        </header>
    ${each.shut ? html`<p class="why"><span dir="auto">${visible(each.shut)}</span>${each.until
      ? html` · <${Ago} at=${each.until}/>` : ''}</p>` : ''}
    ${each.unproven ? html`<p class="why">One task tries whether it works again; the others follow.</p>` : ''}
    ${each.windows.length ? html`<ul class="windows">${each.windows.map((window) => {
      const percent = window.used_percent === null ? null : Math.round(window.used_percent);
      const level = window.status === 'rejected' || (percent ?? 0) >= 95 ? 'bad' : window.status === 'warning'
        || (percent ?? 0) >= account.stop_at ? 'warn' : 'calm';
      return html`<li><span class="window-name">${KINDS[window.kind] ?? window.kind}${window.model
        ? html` <span class="faint">${window.model}</span>` : ''}</span>
        <${Gauge} percent=${percent ?? (window.status === 'rejected' ? 100 : null)} level=${level} wide
          label=${`${account.name}, ${KINDS[window.kind] ?? window.kind}`}
          mark=${account.stop_at < 100 ? html`<i class="stop" style=${{left: `${account.stop_at}%`}}
          title=${`no new work from ${account.stop_at} % on`}></i>` : ''}/>
        <span class="figure ${level === 'calm' ? '' : level}">${window.status === 'rejected' ? 'full'
          : percent === null ? 'not told' : `${percent} %`}</span>
        <span class="figure faint" title=${window.resets_at ? exact(window.resets_at) : ''}>${window.resets_at
          ? html`resets <${Ago} at=${window.resets_at}/>` : ''}</span></li>`;
    })}</ul>` : html`<p class="faint small">No limit was reported yet.</p>`}
    ${each.tasks.length ? html`<p class="small">
      ${plural(each.tasks.length, 'run')}: ${each.tasks.map((id) =>
      html`<a class="link mono" href=${link('task', id)}>${shortId(id)}</a> `)}</p>` : ''}
  </li>`;
}
