// The dialog of an act that takes a text, or a typed word where nothing can be undone.

import {html, useState} from '../vendor/preact.js';
import {ACTS, open, perform} from '../core/acts.js';
import {plural} from '../core/format.js';
import {rowOf} from '../core/store.js';
import {visible} from '../core/text.js';
import {Dialog} from './dialog.js';

export function ActDialog() {
  const what = open.value;
  return what ? html`<${Form} key=${what.verb + what.ids.join()} ...${what}/>` : null;
}

/** @param {{verb: string, ids: string[], text: string}} props */
function Form({verb, ids, text: begun}) {
  const act = ACTS[verb];
  const [text, setText] = useState(begun);
  const close = () => { open.value = null; };
  const ready = act.typed ? text.trim() === act.typed : act.optional || text.trim() !== '';
  const send = () => {
    if (!ready) return;
    close();
    void perform(verb, ids, act.typed ? '' : text.trim());
  };
  const row = ids.length === 1 ? rowOf(ids[0]) : null;
  const title = act.global ? act.label : `${act.label}: ${row ? row.title : plural(ids.length, 'task')}`;
  return html`<${Dialog} name="act" title=${title} onClose=${close}
    bindings=${[{keys: 'Ctrl-Enter Ctrl-S', label: 'do it', run: send}]}>
    <header class="dialog-head"><h2 dir="auto">${act.label}${act.global ? ''
      : html`<span class="soft"> · ${row ? visible(row.title) : plural(ids.length, 'task')}</span>`}</h2></header>
    ${row?.question && verb === 'answer' ? html`<blockquote class="asked" dir="auto">${visible(row.question)}
      </blockquote>` : ''}
    ${act.typed
      ? html`<label class="field">${act.why} To do it, type <code>${act.typed}</code>
          <input data-first value=${text} autocomplete="off" onInput=${(/** @type {InputEvent} */ e) =>
            setText(valueOf(e))}
            onKeyDown=${(/** @type {KeyboardEvent} */ e) => { if (e.key === 'Enter') send(); }}/></label>`
      : html`<label class="field">${act.asks}
          <textarea data-first rows="5" value=${text} dir="auto" onInput=${(/** @type {InputEvent} */ e) =>
            setText(valueOf(e))}></textarea></label>`}
    <footer class="dialog-foot">
      <code class="faint cut">${act.global ? act.line('', '') : ids.length === 1 ? act.line(ids[0], text || '…')
        : `${act.line(ids[0], text || '…')}; …`}</code>
      <span class="grow"></span>
      <button class="button plain" onClick=${close}>Cancel</button>
      <button class="button main ${act.typed ? 'grave-main'
        : ''}" disabled=${!ready} onClick=${send}>${act.label} <span class="key">Ctrl ↵</span></button>
    </footer>
  </${Dialog}>`;
}

/** What was typed. @param {Event} event */
export function valueOf(event) {
  return /** @type {HTMLInputElement} */ (event.target).value;
}
