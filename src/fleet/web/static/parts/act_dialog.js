// The dialog of an act that takes something: a text, choices, or a typed word where nothing can be
// undone.

import {html, useState} from '../vendor/preact.js';
import {ACTS} from '../core/act_table.js';
import {open, perform} from '../core/acts.js';
import {plural} from '../core/format.js';
import {rowOf} from '../core/store.js';
import {visible} from '../core/text.js';
import {Dialog} from './dialog.js';

/** @typedef {import('../core/act_table.js').More} More */

export function ActDialog() {
  const what = open.value;
  return what ? html`<${Form} key=${what.verb + what.ids.join()} ...${what}/>` : null;
}

/** @param {{verb: string, ids: string[], more: More}} props */
function Form({verb, ids, more: chosen}) {
  const act = ACTS[verb];
  const title = act.title ?? act.label;
  const [text, setText] = useState('');
  const [more, setMore] = useState(chosen);
  const close = () => { open.value = null; };
  const ready = act.typed ? text.trim() === act.typed : !act.asks || text.trim() !== '';
  const send = () => {
    if (!ready) return;
    close();
    void perform(verb, ids, act.typed ? '' : text.trim(), more);
  };
  const row = ids.length === 1 ? rowOf(ids[0]) : null;
  const whom = act.global ? '' : row ? row.title : plural(ids.length, 'task');
  const line = act.line(ids[0] ?? '', text || '…', more);
  const set = (/** @type {Event} */ event) => setText(valueOf(event));
  return html`<${Dialog} name="act" title=${whom ? `${title}: ${whom}` : title} onClose=${close}
      bindings=${[{keys: 'Ctrl-Enter Ctrl-S', label: 'do it', run: send}]}>
    <header class="dialog-head"><h2 dir="auto">${title}
      ${whom ? html`<span class="soft"> · ${visible(whom)}</span>` : ''}</h2></header>
    ${row?.question && verb === 'answer'
      ? html`<blockquote class="asked" dir="auto">${visible(row.question)}</blockquote>` : ''}
    ${act.typed ? html`<label class="field">${act.why} To do it, type <code>${act.typed}</code>
      <input data-first value=${text} autocomplete="off" onInput=${set}
        onKeyDown=${(/** @type {KeyboardEvent} */ event) => { if (event.key === 'Enter') send(); }}/></label>` : ''}
    ${act.asks ? html`<label class="field">${act.asks}
      <textarea data-first rows="5" value=${text} dir="auto" onInput=${set}></textarea></label>` : ''}
    ${(act.options ?? []).map(([name, label, kind]) => html`<${Option} key=${name} label=${label} kind=${kind}
      value=${more[name]} onChange=${(/** @type {string | boolean} */ value) => setMore({...more, [name]: value})}/>`)}
    <footer class="dialog-foot">
      <code class="faint cut">${ids.length > 1 ? `${line}; …` : line}</code>
      <span class="grow"></span>
      <button class="button plain" onClick=${close}>Cancel</button>
      <button class="button main ${act.typed ? 'grave-main' : ''}" disabled=${!ready} onClick=${send}>
        ${title} <span class="key">Ctrl ↵</span></button>
    </footer>
  </${Dialog}>`;
}

/**
 * @param {{label: string, kind: 'yes' | 'text', value: string | boolean | undefined,
 *   onChange: (value: string | boolean) => void}} props
 */
function Option({label, kind, value, onChange}) {
  if (kind === 'text') {
    return html`<label class="field">${label}
      <input value=${value ?? ''} onInput=${(/** @type {Event} */ event) => onChange(valueOf(event))}/></label>`;
  }
  return html`<label class="field check"><input type="checkbox" checked=${Boolean(value)}
    onChange=${(/** @type {Event} */ event) => onChange(/** @type {HTMLInputElement} */ (event.target).checked)}/>
    ${label}</label>`;
}

/** What was typed. @param {Event} event */
export function valueOf(event) {
  return /** @type {HTMLInputElement} */ (event.target).value;
}
