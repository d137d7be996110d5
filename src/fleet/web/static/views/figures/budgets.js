// Budgets as gauges.

import {html} from '../../vendor/preact.js';
import {basename, count, dollars, plural} from '../../core/format.js';
import {Gauge} from '../../parts/figures.js';

/** @param {{budgets: import('../../core/shapes').BudgetStatus[]}} props */
export function Budgets({budgets}) {
  if (!budgets.length) return null;
  return html`<ul class="budgets" aria-label="Budgets">${budgets.map(({scope, name, budget, spent}) => {
    const used = budget.usd ? (spent.usd ?? 0) / budget.usd : (spent.tokens ?? 0) / (budget.tokens ?? 1);
    const percent = Math.round(100 * used);
    const level = percent >= 100 ? 'bad' : percent >= 80 ? 'warn' : 'calm';
    const words = {day: 'Today', project: basename(name), account: `Account ${name}`, task: name}[scope];
    return html`<li><span title=${name}>${words}</span>
      <${Gauge} percent=${percent} level=${level} wide label=${`budget of ${words}`}/>
      <span class="figure">${budget.usd ? `${dollars(spent.usd ?? 0)} of ${dollars(budget.usd)}`
        : `${count(spent.tokens ?? 0)} of ${count(budget.tokens ?? 0)}`} <b class=${level === 'calm' ? 'faint'
        : level}>${percent} %</b>${budget.usd && spent.unpriced
        ? html` <span class="warn">and ${plural(spent.unpriced, 'run')} of unknown cost</span>` : ''}</span></li>`;
  })}</ul>`;
}
