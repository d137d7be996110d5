// News at the edge: what was done, as which command, and how to take it back.

import {html} from '../vendor/preact.js';
import {dismiss, news, takeBack} from '../core/tell.js';
import {visible} from '../core/text.js';
import {copy} from './copy.js';

export function News() {
  return html`<ul class="news" aria-label="News">
    ${news.value.map((item) => html`<li key=${item.id} class="news-item ${item.kind}">
    <p><span dir="auto">${visible(item.text)}</span>${item.hint ? html` <span class="soft">${item.hint}</span>` : ''}
      ${item.line ? html`<button class="mono line cut" title="copy" onClick=${() => copy(item.line ?? '')}>${item.line}
        </button>` : ''}</p>
    ${item.undo ? html`<button class="button" onClick=${() => takeBack(item)}>Undo <span
      class="key">Ctrl Z</span></button>` : ''}
    <button class="button plain close" aria-label="Dismiss" onClick=${() => dismiss(item.id)}>×</button>
  </li>`)}</ul>`;
}
