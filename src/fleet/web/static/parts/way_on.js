// The act that would change how a task stands: a button where the page can do it, else the command.

import {html} from '../vendor/preact.js';
import {ACTS} from '../core/act_table.js';
import {begin} from '../core/acts.js';
import {shortId} from '../core/format.js';
import {go, link} from '../core/router.js';
import {copy} from './copy.js';

/** @param {{row: import('../core/shapes').TaskRow}} props */
export function WayOn({row}) {
  const way = row.way_on;
  if (!way) return null;
  if (way.verb in ACTS) {
    const act = ACTS[way.verb];
    return html`<button class="button" title=${way.line} onClick=${() => begin(way.verb, [row.id])}>${act.label}
      </button>`;
  }
  if (way.task) {
    return html`<button class="button" title=${way.line} onClick=${() => go(link('task', way.task))}>Open
      ${' '}${shortId(way.task)}</button>`;
  }
  return html`<button class="button line mono" title=${`copy: ${way.line}`} onClick=${() => copy(way.line)}>${way.line}
    </button>`;
}
