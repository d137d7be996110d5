// `?`: the keys that do something here and now.

import {html, signal} from '../vendor/preact.js';
import {scopes} from '../core/keys.js';
import {commandLog} from '../core/tell.js';
import {Dialog} from './dialog.js';
import {Ago} from './time.js';

export const help = signal(false);

/** @param {string} name */
const shown = (name) => ({ArrowDown: '↓', ArrowUp: '↑', ArrowLeft: '←', ArrowRight: '→', Enter: '↵',
  Escape: 'Esc'})[name] ?? name;

export function Help() {
  if (!help.value) return null;
  const close = () => { help.value = false; };
  const all = scopes.value.filter((scope) => scope.name !== 'help');
  return html`<${Dialog} name="help" title="Keys" onClose=${close} kind="help"
    bindings=${[{keys: '? q', label: 'close', run: close}]}>
    <header class="dialog-head"><h2>Keys</h2><span class="grow"></span>
      <button class="button plain" data-first onClick=${close}>Close</button></header>
    <div class="key-columns">${all.slice().reverse().map((scope) => html`<section key=${scope.name}>
      <h3>${scope.name}</h3>
      <dl>${scope.bindings.map(({keys, label}) =>
        html`<div key=${keys}><dt>${keys.split(' ').map((key) => html`<kbd>${shown(key)}</kbd>`)}</dt><dd>${label}</dd>
        </div>`)}</dl>
    </section>`)}</div>
    ${commandLog.value.length ? html`<section class="command-log"><h3>What you did here, as commands</h3>
      <ul>${commandLog.value.slice(0, 12).map((each) =>
        html`<li><code>${each.line}</code> <span class="faint"><${Ago} at=${new Date(each.at).toISOString()}/></span>
        </li>`)}</ul></section>` : ''}
  </${Dialog}>`;
}
