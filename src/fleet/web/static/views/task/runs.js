// Every run of a task: how it ended, why, and what it cost.

import {html} from '../../vendor/preact.js';
import {link} from '../../core/router.js';
import {visible} from '../../core/text.js';
import {Cost, Tokens} from '../../parts/figures.js';
import {Mark, outcomeMark, outcomeWords, wordOf} from '../../parts/status.js';
import {Clock, Elapsed} from '../../parts/time.js';

/** @param {{whole: import('../../core/shapes').WholeTask}} props */
export function RunsTab({whole}) {
  const {runs, row} = whole;
  if (!runs.length) return html`<div class="empty"><h2>No run yet</h2><p>${row.reason
    ? html`It waits: ${visible(row.reason)}.` : 'It waits for its turn.'}</p></div>`;
  return html`<div class="scroll-x"><table class="runs">
    <thead><tr><th>Run</th><th>Ended</th><th>Why</th><th>Coder</th><th class="figure">Began</th>
    <th class="figure">Time</th><th class="figure">Tokens</th><th class="figure">Cost</th><th></th></tr></thead>
    <tbody>${runs.slice().reverse().map((run) => html`<tr key=${run.number}>
      <td><b>${run.number}</b></td>
      <td><span class="badge ${run.outcome ? ''
        : 'accent'}"><${Mark} name=${outcomeMark(run.outcome, run.verdict)} silent/>${run.verdict ? wordOf(run.verdict)
        : run.outcome ? outcomeWords(run.outcome) : 'running'}</span>${run.outcome && !run.counts
        ? html` <span class="faint small" title="it cost no attempt">not counted</span>` : ''}</td>
      <td class="why" dir="auto">${visible(run.why)}</td>
      <td class="soft">${run.coder} <span class="faint">${run.model}</span>${run.account
        ? html`<br/><span class="faint small">${run.account}</span>` : ''}</td>
      <td class="figure"><${Clock} at=${run.begun}/></td>
      <td class="figure"><${Elapsed} since=${run.begun} until=${run.ended}/></td>
      <td class="figure"><${Tokens} n=${run.spent.tokens}/></td>
      <td class="figure"><${Cost} spent=${run.spent}/></td>
      <td class="figure">${run.has_receipt ? html`<a class="link"
        href="${link('task', row.id, 'receipt')}?run=${run.number}">receipt</a> ` : ''}${run.has_diff
        ? html`<a class="link" href="${link('task', row.id, 'diff')}?run=${run.number}">diff</a>` : ''}</td>
    </tr>`)}</tbody></table></div>`;
}
