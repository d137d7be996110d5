// What was asked for: the description, the settings, the talk; beside the receipt.

import {html} from '../../vendor/preact.js';
import {link} from '../../core/router.js';
import {shortId} from '../../core/format.js';
import {visible, visibleLine} from '../../core/text.js';
import {Markdown} from '../../parts/markdown.js';
import {Mark, markOf} from '../../parts/status.js';
import {Ago} from '../../parts/time.js';

const TELLING = ['coder', 'model', 'verify', 'sandbox'];

/** @param {{whole: import('../../core/shapes').WholeTask}} props */
export function Asked({whole}) {
  const {task, settings, landing} = whole;
  // What is like everywhere tells little of this task.
  const telling = settings.filter(({name, source}) => source !== 'default' || TELLING.includes(name));
  const texts = /** @type {[string, string][]} */ ([['Description', task.description],
    ['Acceptance', task.acceptance_criteria], ['Design', task.design], ['Notes', task.notes]]).filter(([, text]) =>
    text);
  return html`
    ${whole.invalid ? html`<section class="problem"><p><b>${visible(whole.invalid)}</b></p><p>${whole.hint}</p>
      </section>` : ''}
    ${texts.map(([name, text]) => html`<section key=${name}><h3>${name}</h3><${Markdown} text=${text}/></section>`)}
    ${landing ? html`<section><h3>Landing</h3><p>${whole.row.landing_words || landing.state}</p>${landing.landed
      ? html`<p class="soft small">commit <span class="mono">${landing.landed.commit.slice(0, 12)}</span>
      ${landing.landed.at ? html`, <${Ago} at=${landing.landed.at}/>` : ''}</p>` : ''}
      ${landing.output ? html`<pre class="output">${visible(landing.output)}</pre>` : ''}</section>` : ''}
    <${Neighbours} title="Waits for" rows=${whole.waits_for}/>
    <${Neighbours} title="Unblocks" rows=${whole.unblocks}/>
    ${settings.length ? html`<section><h3>Runs with</h3><${SettingList} settings=${telling}/>
      <details class="more-settings">
        <summary class="soft small">and ${settings.length - telling.length} as everywhere</summary>
        <${SettingList} settings=${settings.filter((each) => !telling.includes(each))}/></details>
      </section>` : ''}
    ${whole.messages.length ? html`<section><h3>Told</h3>
      <ul class="talk">${whole.messages.map(({message, run, number}) =>
      html`<li key=${number}><p dir="auto">${visible(message.text)}</p><p class="faint small">${message.by
      ? `${message.by}, ` : ''}<${Ago} at=${message.at}/>${run ? `, read by run ${run}` : ', not read yet'}</p></li>`)}
      </ul></section>` : ''}
    ${whole.questions.length ? html`<section><h3>Questions and answers</h3>
      <ul class="talk">${whole.questions.map((each) =>
      html`<li class=${each.kind}><p class="small soft">${visible(each.head)}</p><p dir="auto">${visible(each.text)}
      </p></li>`)}</ul></section>` : ''}
    ${whole.comments.length ? html`<section><h3>Comments</h3>
      <ul class="talk">${whole.comments.map((each) =>
      html`<li key=${each.id}><p dir="auto">${visible(each.text)}</p>
      <p class="faint small">${each.author}, <${Ago} at=${each.created_at}/></p></li>`)}</ul></section>` : ''}`;
}

/** @param {{title: string, rows: import('../../core/shapes').TaskRow[]}} props */
function Neighbours({title, rows}) {
  if (!rows.length) return null;
  return html`<section><h3>${title}</h3><ul class="neighbours">
    ${rows.map((row) => html`<li key=${row.id}>
    <a href=${link('task', row.id)}><${Mark} name=${markOf(row)} word=${row.state}/><span class="mono faint">${shortId(row.id)}</span>
    <span class="cut" dir="auto">${visibleLine(row.title)}</span></a></li>`)}</ul></section>`;
}

/** @param {{settings: import('../../core/shapes').SettingOf[]}} props */
function SettingList({settings}) {
  return html`<dl class="settings">${settings.map(({name, value, source}) => html`<div><dt>${name}</dt>
    <dd title=${`from: ${source}`} dir="auto">${visible(value)}
      ${source === 'task' ? html` <span class="own">its own</span>` : ''}</dd></div>`)}</dl>`;
}
