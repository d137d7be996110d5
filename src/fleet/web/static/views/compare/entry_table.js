// The entries of a comparison, a column each; what differs stands on one line.

import {html} from '../../vendor/preact.js';
import {count, dollars, plural, shortId, span} from '../../core/format.js';
import {link} from '../../core/router.js';
import {visible} from '../../core/text.js';
import {PlusMinus} from '../../parts/figures.js';
import {Badge} from '../../parts/status.js';
import {Check} from '../task/receipt.js';

/** @typedef {import('../../core/shapes').ComparedEntry} ComparedEntry */
/** @typedef {import('../../core/shapes').ComparisonView} ComparisonView */

/** @type {[string, (entry: ComparedEntry) => unknown][]} */
const LINES = [
  ['Verdict', ({result, findings}) => html`<${Badge} name=${MARK[result.standing] ?? result.standing}
    words=${result.standing}/>
    ${findings.length ? html`<ul class="broken">${findings.map((each) => html`<li><code>${each.rule}</code>
      <span dir="auto">${visible(each.what)}</span></li>`)}</ul>`
      : result.why ? html`<p class="soft small" dir="auto">${visible(result.why)}</p>` : ''}`],
  ['Checks', ({checks, over}) => (checks.length ? html`<ul class="checks">${checks.map((check) => html`<li>
    <${Check} check=${check}/></li>`)}</ul>` : html`<span class="faint">${over ? 'none ran' : '–'}</span>`)],
  ['Cost', ({result}) => costWords(result)],
  ['Tokens', ({result}) => partly(result.attempts, result.uncounted, tokens(result))],
  ['Time', ({result}) => partly(result.attempts, result.untimed, span(result.seconds))],
  ['Runs', ({result}) => result.attempts || html`<span class="faint">–</span>`],
  ['Changes', ({result: {size}}) => (size ? html`${plural(size.files, 'file')} ${' '}<${PlusMinus} ...${size}/>`
    : html`<span class="faint">–</span>`)],
  ['Claim', ({claim}) => (claim ? html`<p class="claim" dir="auto">${visible(claim)}</p>`
    : html`<span class="faint">–</span>`)],
];

/** The mark of a standing, where it is another word. @type {Record<string, string>} */
const MARK = {again: 'put_off', gone: 'failed'};

/** @param {import('../../core/shapes').Result} result */
const tokens = (result) => {
  const {input, output, cache_read: read, cache_write: written} = result.usage;
  return count(input + output + read + written + result.tokens_so_far);
};

/** A figure that is not known of every run says so. @param {number} runs @param {number} unknown @param {string} known */
function partly(runs, unknown, known) {
  if (!runs) return html`<span class="faint">–</span>`;
  if (unknown >= runs) return html`<span class="faint">unknown</span>`;
  return unknown ? html`${known}<i class="warn" title="not known of every run">+?</i>` : known;
}

/** @param {import('../../core/shapes').Result} result */
function costWords(result) {
  const known = dollars(result.cost_usd);
  return partly(result.attempts, result.unpriced, result.estimated_usd ? `~${known}` : known);
}

/** @param {{found: ComparisonView, pick: ((entry: ComparedEntry) => void) | null}} props */
export function EntryTable({found, pick}) {
  return html`<div class="scroll-x"><table class="compared">
    <thead><tr><td></td>${found.entries.map((entry) => html`<th scope="col" key=${entry.number}
      class=${entry.id === found.picked ? 'chosen' : ''} data-entry=${entry.id}><div class="entry-head">
      <span class="entry-name" dir="auto">${visible(entry.label)}</span>
      ${entry.id ? html`<a class="link mono" href=${link('task', entry.id)}>${shortId(entry.id)}</a>` : ''}
      <span class="grow"></span>
      ${entry.id === found.picked ? html`<span class="badge good">picked</span>` : pick && entry.over && entry.id
        ? html`<button class="button ${entry.done ? 'main' : 'plain'}"
          title=${`fleet compare ${found.id} --pick ${entry.id}${entry.done ? '' : ' --force'}`}
          onClick=${() => pick(entry)}>Pick …</button>` : ''}</div></th>`)}</tr></thead>
    <tbody>${LINES.map(([name, shown]) => html`<tr key=${name}><th scope="row">${name}</th>
      ${found.entries.map((entry) => html`<td key=${entry.number} class=${entry.id === found.picked ? 'chosen' : ''}>
        ${shown(entry)}</td>`)}</tr>`)}</tbody></table></div>`;
}
