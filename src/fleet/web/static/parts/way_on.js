// The act that would change how a task stands: a button where the page can do it, else the command.

import {html} from '../vendor/preact.js';
import {ACTS} from '../core/act_table.js';
import {begin} from '../core/acts.js';
import {shortId} from '../core/format.js';
import {go, link} from '../core/router.js';
import {copy} from './copy.js';

/** @typedef {import('../core/shapes').TaskRow} TaskRow */

/** Do it, open the task that is to be looked at, or copy the command. @param {TaskRow | null} row */
export function takeWayOn(row) {
  const way = row?.way_on;
  if (!row || !way) return false;
  if (way.verb in ACTS) begin(way.verb, [row.id]);
  else if (way.task) go(link('task', way.task));
  else void copy(way.line);
  return true;
}

/** @param {{row: TaskRow}} props */
export function WayOn({row}) {
  const way = row.way_on;
  if (!way) return null;
  const label = way.verb in ACTS ? ACTS[way.verb].label : way.task ? `Open ${shortId(way.task)}` : '';
  return label
    ? html`<button class="button" title=${way.line} onClick=${() => takeWayOn(row)}>${label}</button>`
    : html`<button class="button line mono" title=${`copy: ${way.line}`} onClick=${() => takeWayOn(row)}>${way.line}
      </button>`;
}
