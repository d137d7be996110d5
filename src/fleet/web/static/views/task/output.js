// The end of what a command printed, as it is: control characters as marks.

import {html, useState} from '../../vendor/preact.js';
import {visible} from '../../core/text.js';

const MOST = 4000;

/** @param {{text: string}} props */
export function Output({text}) {
  const [all, setAll] = useState(false);
  const long = text.length > MOST;
  return html`<div class="output-box"><pre class="output" tabindex="0" aria-label="Output">${visible(all || !long
    ? text : text.slice(-MOST))}</pre>
    ${long && !all ? html`<button class="button plain"
      onClick=${() => setAll(true)}>All ${text.length.toLocaleString('en')} characters</button>` : ''}</div>`;
}
