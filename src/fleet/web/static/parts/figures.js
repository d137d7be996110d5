// Money, tokens and gauges. A cost that is not known is said to be unknown, never 0.

import {html} from '../vendor/preact.js';
import {count, dollars, plural} from '../core/format.js';

/** @typedef {import('../core/shapes').Spend} Spend */

/** What a spend comes to, in words for a title. @param {Spend} spent */
function spendWords(spent) {
  const parts = [];
  if (spent.usd) parts.push(dollars(spent.usd));
  if (spent.estimated_usd) parts.push(`${dollars(spent.estimated_usd)} of it estimated from tokens and prices`);
  if (spent.unpriced) parts.push(`${plural(spent.unpriced, 'run')} of unknown cost`);
  if (spent.tokens) parts.push(`${count(spent.tokens)} tokens`);
  return parts.join(', ') || 'nothing spent';
}

/** @param {{spent: Spend | undefined, words?: boolean}} props */
export function Cost({spent, words = false}) {
  if (!spent || (!spent.runs && !spent.tokens && !spent.usd)) return html`<span class="faint">–</span>`;
  const title = spendWords(spent);
  if (!spent.usd && spent.unpriced) {
    return html`<span class="cost faint" title=${title}>${words ? 'cost unknown' : 'unknown'}</span>`;
  }
  return html`<span class="cost" title=${title}>${spent.estimated_usd ? html`<i class="faint" aria-label="about">~</i>`
    : ''}${dollars(spent.usd ?? 0)}${
    spent.unpriced ? html`<i class="warn" title=${title}>+?</i>` : ''}</span>`;
}

/** @param {{n: number | undefined}} props */
export function Tokens({n}) {
  return n ? html`<span title=${`${n.toLocaleString('en')} tokens`}>${count(n)}</span>`
    : html`<span class="faint">–</span>`;
}

/** Lines that came and went. @param {{added: number, removed: number}} props */
export function PlusMinus({added, removed}) {
  return html`<span class="plus">${added ? `+${added}` : ''}</span><span class="minus">${removed ? `−${removed}` : ''}
    </span>`;
}

/**
 * How full something is; null: not known. The figure stands beside the bar: colour alone says nothing.
 * @param {{percent: number | null, level: string, label: string, title?: string, wide?: boolean, mark?: unknown,
 *   children?: unknown}} props
 */
export function Gauge({percent, level, label, title, wide = false, mark = '', children = ''}) {
  return html`<span class="gauge ${level} ${wide ? 'wide' : ''}" role="meter" aria-valuemin="0" aria-valuemax="100"
      aria-valuenow=${percent ?? undefined} aria-label=${label} title=${title}>
    <span class="bar"><span style=${{width: `${Math.min(100, percent ?? 0)}%`}}></span>${mark}</span>${children}
  </span>`;
}

/** How full the context of a run's agent is. @param {{run: import('../core/shapes').RunNow}} props */
export function ContextGauge({run}) {
  const used = run.context_used || run.context_peak, of = run.context_size;
  if (!of) return html`<span class="faint" title="context: not known">–</span>`;
  const percent = Math.round((100 * used) / of);
  const level = percent >= 90 ? 'bad' : percent >= 75 ? 'warn' : 'calm';
  return html`<${Gauge} percent=${percent} level=${level} label="context"
    title=${`context: ${percent} % of ${count(of)}`}><span class="percent">${percent}%</span></${Gauge}>`;
}
