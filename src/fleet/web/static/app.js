// The page: a session, one stream, a view by its address.

import {html, render} from './vendor/preact.js';
import {begin, isPaused} from './core/acts.js';
import {fileAt} from './core/api.js';
import {watchAttention, watchDesktop} from './core/attention.js';
import {useKeys} from './core/keys.js';
import {go, route} from './core/router.js';
import {enter, lockedOut} from './core/session.js';
import {listen} from './core/stream.js';
import {undoLast} from './core/tell.js';
import {ActDialog} from './parts/act_dialog.js';
import {CommandLine} from './parts/copy.js';
import {Frame, PLACES} from './parts/frame.js';
import {Help, help} from './parts/help.js';
import {News} from './parts/news.js';
import {Palette, palette} from './parts/palette.js';
import {Compare} from './views/compare/compare.js';
import {Accounts} from './views/figures/accounts.js';
import {Graph} from './views/figures/graph.js';
import {Log} from './views/log.js';
import {NewTask} from './views/new_task.js';
import {Now} from './views/list/now.js';
import {Questions} from './views/list/questions.js';
import {Task} from './views/task/task.js';
import {TimelineView} from './views/figures/timeline.js';
import {Usage} from './views/figures/usage.js';

const VIEWS = /** @type {Record<string, () => unknown>} */ ({
  now: Now, questions: Questions, timeline: TimelineView, usage: Usage, accounts: Accounts, new: NewTask, task: Task,
    graph: Graph, compare: Compare, log: Log,
});

function Page() {
  useKeys('Everywhere', [
    ...PLACES.map(({view, word, key}) => ({keys: key, label: word, run: () => go(`#/${view}`)})),
    {keys: 'Ctrl-K :', label: 'commands and tasks', run: () => { palette.value = true; }},
    {keys: 'n', label: 'new task', run: () => go('#/new')},
    {keys: 'P', label: isPaused() ? 'resume fleet' : 'pause fleet',
      run: () => begin(isPaused() ? 'resume' : 'pause', [])},
    {keys: 'S', label: 'stop all, with a typed word', run: () => begin('stop_all', [])},
    {keys: 'Ctrl-Z', label: 'undo the last act', run: undoLast},
    {keys: '?', label: 'these keys', run: () => { help.value = true; }},
  ]);
  if (lockedOut.value) return html`<${Locked}/>`;
  const View = VIEWS[route.value.view] ?? Now;
  return html`<${Frame}><${View} key=${['task', 'compare'].includes(route.value.view) ? route.value.id : route.value.view}/></${Frame}>
    <${Palette}/><${Help}/><${ActDialog}/><${News}/>`;
}

function Locked() {
  return html`<main class="locked"><img src=${fileAt('icon.svg')} alt="" width="32" height="32"/>
    <h1>This page is locked</h1>
    <p class="soft">${lockedOut.value}. The page opens with a code that is used once; fleet makes one:</p>
    <${CommandLine} line="fleet web"/>
      <p class="soft">For a phone: <code>fleet web pair</code>. Sessions: <code>fleet web sessions</code>.</p></main>`;
}

watchAttention();
const root = /** @type {HTMLElement} */ (document.getElementById('app'));
if (await enter()) {
  listen();
  watchDesktop();
}
root.replaceChildren();
render(html`<${Page}/>`, root);
