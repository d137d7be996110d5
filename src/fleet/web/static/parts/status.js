// How a task stands: a shape beside the state's word, so that colour never stands alone.

import {html} from '../vendor/preact.js';

/** @typedef {import('../core/shapes').TaskRow} TaskRow */

/** Shapes on a grid of 16. @type {Record<string, {tone: string, draw: () => unknown}>} */
const MARKS = {
  asks: {tone: 'warn', draw: () =>
    html`<rect x="2" y="2" width="12" height="12" rx="3.5" fill="currentColor"/>
    <path d="M6.3 6.4a1.8 1.8 0 1 1 2.6 1.6c-.6.3-.9.6-.9 1.2" class="cutout"/>
    <circle cx="8" cy="11.3" r=".55" class="cutout"/>`},
  needs: {tone: 'warn', draw: () => html`<path d="M8 1.2 14.8 8 8 14.8 1.2 8Z" fill="currentColor"/>
    <path d="M8 5v3.6" class="cutout"/><circle cx="8" cy="10.9" r=".55" class="cutout"/>`},
  running: {tone: 'accent', draw: () => html`<circle cx="8" cy="8" r="5.6"/>
    <path d="M8 4.6a3.4 3.4 0 0 1 0 6.8Z" fill="currentColor" stroke="none"/>`},
  starting: {tone: 'accent',
    draw: () => html`<circle cx="8" cy="8" r="5.6"/><circle cx="8" cy="8" r="1.1" fill="currentColor" stroke="none"/>`},
  verifying: {tone: 'accent',
    draw: () => html`<circle cx="8" cy="8" r="5.6"/><path d="m5.6 8.2 1.7 1.7 3.2-3.5"/>`},
  settling: {tone: 'accent',
    draw: () => html`<circle cx="8" cy="8" r="5.6"/><path d="M8 8V4.8M8 8l2.2 1.3"/>`},
  stopping: {tone: 'calm', draw: () => html`<circle cx="8" cy="8" r="5.6"/>
    <rect x="5.9" y="5.9" width="4.2" height="4.2" fill="currentColor" stroke="none"/>`},
  landing: {tone: 'accent', draw: () => html`<circle cx="8" cy="8" r="5.6"/>
    <path d="M8 4.9v5.4M5.9 8.4 8 10.5l2.1-2.1"/>`},
  unsupervised: {tone: 'warn',
    draw: () => html`<circle cx="8" cy="8" r="5.6" stroke-dasharray="3 1.7"/>
    <path d="M8 4.6a3.4 3.4 0 0 1 0 6.8Z" fill="currentColor" stroke="none"/>`},
  waiting: {tone: 'calm', draw: () =>
    html`<circle cx="8" cy="8" r="5.6" stroke-dasharray="2.2 2.2"/>`},
  depends: {tone: 'calm',
    draw: () => html`<circle cx="8" cy="8" r="5.6"/><path d="M5.4 8h5.2"/>`},
  put_off: {tone: 'calm', draw: () => html`<circle cx="8" cy="8" r="5.6" stroke-dasharray="2.2 2.2"/>
    <path d="M8 8V5.2M8 8l1.9 1.1"/>`},
  checked: {tone: 'good', draw: () =>
    html`<circle cx="8" cy="8" r="6.3" fill="currentColor" stroke="none"/>
    <path d="m5.3 8.2 1.9 1.9 3.6-3.9" class="cutout"/>`},
  unchecked: {tone: 'good',
    draw: () => html`<circle cx="8" cy="8" r="5.6"/><path d="m5.6 8.2 1.7 1.7 3.2-3.5"/>`},
  rejected: {tone: 'bad',
    draw: () => html`<path d="M8 2 14.4 13.4H1.6Z" stroke-linejoin="round"/><path d="M8 6.4v3.2"/>
    <circle cx="8" cy="11.5" r=".5" fill="currentColor"/>`},
  'out of scope': {tone: 'bad',
    draw: () => html`<path d="M5.4 1.8h5.2l3.6 3.6v5.2l-3.6 3.6H5.4l-3.6-3.6V5.4Z"/><path d="M5.2 8h5.6"/>`},
  closed: {tone: 'calm', draw: () => html`<circle cx="8" cy="8" r="5.6"/>
    <path d="m5.6 8.2 1.7 1.7 3.2-3.5"/>`},
  finished: {tone: 'calm', draw: () => html`<circle cx="8" cy="8" r="5.6"/>
    <circle cx="8" cy="8" r="1.6" fill="currentColor" stroke="none"/>`},
  failed: {tone: 'bad', draw: () => html`<circle cx="8" cy="8" r="5.6"/>
    <path d="m6 6 4 4M10 6l-4 4"/>`},
  invalid: {tone: 'bad', draw: () => html`<circle cx="8" cy="8" r="5.6"/>
    <path d="m6 6 4 4M10 6l-4 4"/>`},
  stopped: {tone: 'calm', draw: () => html`<circle cx="8" cy="8" r="5.6"/>
    <rect x="5.9" y="5.9" width="4.2" height="4.2" fill="currentColor" stroke="none"/>`},
};

/** Which shape a row has; its word is `row.state`. @param {TaskRow} row */
export function markOf(row) {
  if (row.group === 'needs_you') return row.state in MARKS && row.state !== 'waiting' ? row.state : 'needs';
  if (row.group === 'running') {
    const doing = row.run?.doing ?? (row.landing ? 'landing' : 'running');
    return doing in MARKS ? doing : 'running';
  }
  if (row.group === 'waiting') {
    if (row.until) return 'put_off';
    return row.way_on?.task ? 'depends' : 'waiting';
  }
  return row.verdict === 'checked' || row.verdict === 'unchecked' ? row.verdict : 'closed';
}

/** A verdict or an ending in words. @param {string} name */
export const wordOf = (name) => name.replaceAll('_', ' ');
/** @param {string} name */
export const toneOf = (name) => MARKS[name]?.tone ?? 'calm';

/** @param {{name: string, word?: string, silent?: boolean}} props `word`: the state, of a task; `silent`: the word
 * stands beside it */
export function Mark({name, word = wordOf(name), silent = false}) {
  const mark = MARKS[name] ?? MARKS.waiting;
  return html`<svg class="mark ${mark.tone}" viewBox="0 0 16 16" width="16" height="16" aria-hidden=${silent ? 'true'
    : 'false'}
      role=${silent ? 'presentation' : 'img'} aria-label=${silent ? undefined : word}>
    ${silent ? '' : html`<title>${word}</title>`}${mark.draw()}</svg>`;
}

/** A mark with its word. @param {{name: string, words?: string}} props */
export function Badge({name, words = ''}) {
  return html`<span class="badge ${toneOf(name)}"><${Mark} name=${name} silent/>${words || wordOf(name)}</span>`;
}

/** The mark of a run's outcome. @param {string} outcome @param {string | null | undefined} verdict */
export function outcomeMark(outcome, verdict) {
  if (!outcome) return 'running';
  if (verdict && verdict in MARKS) return verdict;
  const name = outcome.split(' ', 1)[0]; // `RateLimited (five_hour)` says why, too
  if (name === 'Finished') return 'finished'; // no claim that holds: no tick
  if (name === 'NeedsHuman') return 'asks';
  if (name === 'RateLimited' || name === 'ContextFull') return 'put_off';
  return name === 'Stopped' || name === 'Interrupted' ? 'stopped' : 'failed';
}

/** `RateLimited` → `rate limited`. @param {string} outcome */
export const outcomeWords = (outcome) => outcome.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
