// The frame of the page: where one can go, and whether what is shown is true now.

import {html, useComputed} from '../vendor/preact.js';
import {begin} from '../core/acts.js';
import {fileAt} from '../core/api.js';
import {basename, dollars, span} from '../core/format.js';
import {route} from '../core/router.js';
import {home, link as stream} from '../core/store.js';
import {palette} from './palette.js';
import {Ago, now} from './time.js';

/** @type {{view: string, word: string, key: string, icon: () => unknown}[]} */
export const PLACES = [
  {view: 'now', word: 'Now', key: '1', icon: () => html`<path d="M2.5 4h11M2.5 8h7.5M2.5 12h4.5"/>`},
  {view: 'questions', word: 'Questions', key: '2', icon: () => html`<path d="M2.5 3.5h11v7.5H8l-3 2.5V11H2.5Z"/>`},
  {view: 'timeline', word: 'Timeline', key: '3', icon: () => html`<path d="M2 4.5h6M5 8h7M8 11.5h6"/>`},
  {view: 'usage', word: 'Usage', key: '4', icon: () => html`<path d="M3 13V8M6.5 13V3.5M10 13V6.5M13.2 13v-3"/>`},
  {view: 'accounts', word: 'Accounts', key: '5',
    icon: () => html`<circle cx="8" cy="5.6" r="2.6"/><path d="M2.8 13.4c.6-2.6 2.6-4 5.2-4s4.6 1.4 5.2 4"/>`},
  {view: 'log', word: 'Log', key: '6', icon: () => html`<path d="M3.5 2.5h9v11h-9zM6 5.5h4M6 8h4M6 10.5h2.5"/>`},
];

/** @param {{children?: unknown}} props */
export function Frame({children}) {
  const at = route.value.view;
  const counts = home.value?.counts;
  return html`<div class="frame">
    <a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <nav class="side" aria-label="Views">
      <div class="brand"><img src=${fileAt('icon.svg')} alt="" width="18" height="18"/><b>fleet</b>
        <button class="search" onClick=${() =>
          { palette.value = true; }} aria-label="Commands and tasks" title="Ctrl-K"><span>Search</span>
          <kbd>Ctrl K</kbd></button></div>
      <a class="button new" href="#/new" title="n"><span aria-hidden="true">+</span> New task</a>
      <ul class="places">
        ${PLACES.map(({view, word, key, icon}) =>
          html`<li><a href="#/${view}" class=${at === view || (view === 'now' && ['task', 'compare', 'graph'].includes(at))
          ? 'here' : ''}
            aria-current=${at === view ? 'page' : undefined} title=${`${word} (${key})`}>
          <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">${icon()}</svg><span>${word}</span>${
          view === 'now' && counts?.needs_you ? html`<b class="count needs" title="need you">${counts.needs_you}</b>`
            : ''}</a></li>`)}
      </ul>
      <span class="grow"></span>
      <${Standing}/>
    </nav>
    <main id="main" tabindex="-1"><${Warnings}/>${children}</main>
  </div>`;
}

/** @param {Event} event */
function skip(event) {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

/** Does a supervisor run, and how old is what one sees? */
function Standing() {
  const at = home.value;
  if (!at) return null;
  const {supervisor: boss} = at;
  const kind = !boss.alive ? 'dead' : boss.paused_since ? 'paused' : 'alive';
  const words = {alive: 'Supervisor runs', paused: 'Paused', dead: 'No supervisor'}[kind];
  const day = boss.budgets.find((each) => each.scope === 'day');
  return html`<div class="standing">
    <p class="who ${kind}" title=${boss.alive ? `process ${boss.pid}, fleet ${boss.version}` : 'fleet run starts one'}>
      <i class="dot" aria-hidden="true"></i>${words}${boss.alive
        ? html`<span class="faint"> · ${boss.runs} of ${boss.slots}</span>` : ''}</p>
    ${day?.budget.usd ? html`<p class="faint" title="the day's budget">
      ${dollars(day.spent.usd ?? 0)} of ${dollars(day.budget.usd)} today</p>` : ''}
    <p class="faint cut" title=${at.home}>${basename(at.home)} · ${at.queue}</p>
    <${AsOf}/>
    <div class="standing-acts">${boss.paused_since
      ? html`<button class="button" onClick=${() => begin('resume', [])}>Resume</button>`
      : html`<button class="button plain" onClick=${() => begin('pause', [])} disabled=${!boss.alive}>Pause</button>`}
      <button class="button plain grave" onClick=${() => begin('stop_all', [])}>Stop all</button></div>
  </div>`;
}

/** How old what one sees is. */
function AsOf() {
  const words = useComputed(() => {
    const {state, heardAt, why} = stream.value;
    if (why && state === 'live') return 'the queue is slow';
    if (!heardAt) return state === 'lost' ? 'not connected' : 'connecting';
    return state === 'live' ? 'live' : `as of ${span((now.value - heardAt) / 1000)} ago`;
  });
  return html`<p class="as-of ${stream.value.state}" role="status">${words}</p>`;
}

/** What keeps fleet from working, or this page from knowing. */
function Warnings() {
  const at = home.value;
  const {why} = stream.value;
  // A short break is none: nothing moves for it.
  const silent = useComputed(() => stream.value.state === 'lost' && now.value - stream.value.heardAt > 4000).value;
  if (!at) return html`<div class="warnings">${why ? html`<p class="warning grave">
    <b>Nothing is known yet:</b> ${why}.</p>` : ''}</div>`;
  const {supervisor: boss} = at;
  return html`<div class="warnings">
    ${why && stream.value.state === 'live' ? html`<p class="warning grave"><b>What you see is as it was:</b> ${why}.
      It is asked again and again.</p>` : ''}
    ${silent ? html`<p class="warning"><b>The page hears nothing from fleet.</b> ${why || 'It tries again.'}
      What you see is as it was. ${boss.alive ? 'A supervisor ran then; agents run on without this page.'
        : ''} <code>fleet web</code></p>` : ''}
    ${boss.queue_problem ? html`<p class="warning grave">
      <b>The queue does not answer:</b> ${boss.queue_problem} ${boss.queue_hint}</p>` : ''}
    ${!boss.alive ? html`<p class="warning">
      <b>No supervisor runs.</b> Nothing new begins before <code>fleet run</code>. Everything here can still be
        read, answered and changed.</p>` : ''}
    ${boss.paused_since ? html`<p class="warning">
      <b>Paused</b> <${Ago} at=${boss.paused_since}/>: agents at work go on, no new run begins. <button class="link"
      onClick=${() => begin('resume', [])}>Resume</button></p>` : ''}
    ${boss.shortage ? html`<p class="warning"><b>The machine is short:</b> ${boss.shortage}</p>` : ''}
    ${boss.hindrances.map((each) => html`<p class="warning">${each}</p>`)}
  </div>`;
}
