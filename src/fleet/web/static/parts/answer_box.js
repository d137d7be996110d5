// A question of an agent's, answered in place: its options as buttons, or free text.

import {html, useState} from '../vendor/preact.js';
import {allowed, perform} from '../core/acts.js';
import {shortId} from '../core/format.js';
import {visible} from '../core/text.js';
import {valueOf} from './act_dialog.js';

/** What was typed and not sent yet, kept over a change of views. @type {Map<string, string>} */
const drafts = new Map();

/**
 * The options that a question offers: lines like `A) …`, `1. …` or `- [ ] …`.
 * @param {string} question
 */
function optionsOf(question) {
  const found = [];
  for (const line of question.split('\n')) {
    const option = /^\s*(?:[-*]\s+)?(?:\(?([A-Ha-h1-9])[).:]\s+|\[ \]\s+)(.+)$/.exec(line);
    if (option) found.push({name: option[1] ?? '', text: option[2].trim()});
  }
  return found.length >= 2 && found.length <= 8 ? found : [];
}

/** @param {{row: import('../core/shapes').TaskRow, first?: boolean}} props */
export function AnswerBox({row, first = false}) {
  const [text, setText] = useState(drafts.get(row.id) ?? '');
  const options = optionsOf(row.question);
  const change = (/** @type {string} */ next) => { drafts.set(row.id, next); setText(next); };
  const send = async (/** @type {string} */ answer) => {
    if (!answer.trim()) return;
    change('');
    if (!await perform('answer', [row.id], answer.trim())) change(answer);
  };
  return html`<section class="answer-box" aria-label="Question">
    <div class="asked" dir="auto">${visible(row.question)}</div>
    ${!allowed('answer') ? html`<p class="faint">This session may only look.</p>` : html`
      ${options.length ? html`<div class="choice-list">
        ${options.map(({name, text: option}) =>
        html`<button class="button" onClick=${() => send(name ? `${name}) ${option}` : option)}>${name
        ? html`<b>${name}</b>` : ''} ${visible(option)}</button>`)}</div>` : ''}
      <div class="answer-line"><textarea rows="2" data-first=${first
        || undefined} data-answer=${row.id} dir="auto" aria-label=${`Answer ${row.id}`} placeholder="Your answer"
        value=${text}
        onInput=${(/** @type {InputEvent} */ event) => change(valueOf(event))}
        onKeyDown=${(/** @type {KeyboardEvent} */ event) =>
          { if (event.key === 'Enter' && (event.ctrlKey
          || event.metaKey)) { event.preventDefault(); event.stopPropagation(); void send(text); } }}></textarea>
        <button class="button main" disabled=${!text.trim()} onClick=${() =>
          send(text)}>Answer <span class="key">Ctrl ↵</span></button></div>
      <p class="faint small">The task goes back into the queue and reads the answer in the same session.
        ${' '}<code>fleet answer ${shortId(row.id)} "…"</code></p>`}
  </section>`;
}
