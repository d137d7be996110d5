// What went wrong, and what to do about it.

import {html} from '../vendor/preact.js';

/** @param {{problem: import('../core/api.js').Refusal | null}} props */
export function Problem({problem}) {
  return problem ? html`<div class="problem" role="alert"><p><b>${problem.message}</b></p>${problem.hint
    ? html`<p class="soft">${problem.hint}</p>` : ''}</div>` : null;
}
