// Copying: the clipboard where the browser allows it, a selected text where not.

import {html} from '../vendor/preact.js';
import {tell} from '../core/tell.js';

/** @param {string} text */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    tell({kind: 'note', text: `Copied: ${text}`});
  } catch {
    tell({kind: 'note', text: 'The browser does not let this page copy. The text:', line: text});
  }
}

/** A command to copy. @param {{line: string}} props */
export function CommandLine({line}) {
  return html`<button class="command mono" title="copy" onClick=${() => copy(line)}>
    <span aria-hidden="true" class="prompt">$</span> ${line}</button>`;
}
