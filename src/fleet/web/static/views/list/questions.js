// What agents want to know, answered in place.

import {html} from '../../vendor/preact.js';
import {askLeave, leave} from '../../core/attention.js';
import {basename, shortId} from '../../core/format.js';
import {useKeys} from '../../core/keys.js';
import {link} from '../../core/router.js';
import {cursor, groups, home, rowOf} from '../../core/store.js';
import {visible, visibleLine} from '../../core/text.js';
import {AnswerBox} from '../../parts/answer_box.js';
import {CommandLine} from '../../parts/copy.js';
import {Mark, markOf} from '../../parts/status.js';
import {taskKeys, useCursor} from './task_keys.js';
import {Elapsed} from '../../parts/time.js';
import {WayOn} from '../../parts/way_on.js';

export function Questions() {
  const rows = groups.value.needs_you.flatMap((id) => rowOf(id) ?? []);
  const asked = rows.filter((row) => row.question);
  const others = rows.length - asked.length;
  useCursor();
  useKeys('Questions', [
    {keys: 'a', label: 'answer', run: () => focusAnswer()},
    {keys: 'Escape', label: 'leave the answer',
      run: leaveAnswer},
    ...taskKeys().filter((each) => each.keys !== 'a'),
  ]);
  if (!home.value) return html`<div class="view"><header class="head"><h1>Questions</h1></header></div>`;
  return html`<div class="view questions"><header class="head"><h1>Questions</h1><span class="count ${asked.length
    ? 'needs' : ''}">${asked.length}</span><span class="grow"></span>${leave.value === 'default'
    ? html`<button class="button" onClick=${askLeave}>Notify me here</button>` : ''}</header>
    ${asked.length ? html`<ul class="question-list">
      ${asked.map((row) => html`<li key=${row.id} class="question" data-row=${row.id}>
      <header><${Mark} name=${markOf(row)} word=${row.state}/><a data-open=${row.id} href=${link('task', row.id)} onFocus=${() =>
        { cursor.value = row.id; }}><b dir="auto">${visibleLine(row.title)}</b></a>
        <span class="faint mono">${shortId(row.id)}</span><span class="faint">${basename(row.project)} · ${row.coder}
          </span><span class="grow"></span><span class="faint">asks for <${Elapsed} since=${row.since}/></span></header>
      ${row.way_on && row.way_on.verb !== 'answer'
        ? html`<p class="asked">${visible(row.question)}</p><${WayOn} row=${row}/>` : html`<${AnswerBox} row=${row}/>`}
    </li>`)}</ul>` : html`<div class="empty"><h2>No agent asks anything</h2>
      <p>An agent that cannot decide something asks, and its slot goes to another task until you answer.
        From a terminal:</p>
      <${CommandLine} line="fleet questions"/></div>`}
    ${others ? html`<p class="soft others">${others === 1 ? 'One more task needs you'
      : `${others} more tasks need you`} for another reason: <a class="link" href="#/now">Now</a></p>` : ''}
  </div>`;
}

function leaveAnswer() {
  if (!(document.activeElement instanceof HTMLTextAreaElement)) return false;
  document.activeElement.blur();
  return true;
}

/** The answer of the cursor's question, or of the first one. */
function focusAnswer() {
  const field = document.querySelector(`[data-answer="${CSS.escape(cursor.peek())}"]`)
    ?? document.querySelector('[data-answer]');
  if (!(field instanceof HTMLElement)) return false;
  field.focus();
  return true;
}
