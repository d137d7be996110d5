// The agent's own papers: its plan, and what it learnt.

import {html} from '../../vendor/preact.js';
import {Markdown} from '../../parts/markdown.js';

/** @param {{whole: import('../../core/shapes').WholeTask}} props */
export function PlanTab({whole}) {
  const {plan, knowledge, cut} = whole.texts;
  if (!plan && !knowledge) {
    return html`<div class="empty"><h2>No plan yet</h2>
      <p>Agents keep their plan in <code>artifacts/PLAN_AND_STATUS.md</code>
        ${' and what they learn in '}<code>artifacts/KNOWLEDGE.md</code>; the next run reads both.</p>
      <p>This one has written neither.</p></div>`;
  }
  return html`<div class="papers">
    ${plan ? html`<section><h3>Plan</h3><${Markdown} text=${plan}/></section>` : ''}
    ${knowledge ? html`<section><h3>Knowledge</h3><${Markdown} text=${knowledge}/></section>` : ''}
    ${cut.length ? html`<p class="faint">${cut.join(', ')}: the end is left out, it is long.</p>` : ''}</div>`;
}
