// One clock for every relative time on the page: it ticks while the page is looked at.

import {signal} from '../vendor/preact.js';

/** Milliseconds, once a second. */
export const now = signal(Date.now());

let timer = 0;
function tick() {
  clearInterval(timer);
  if (document.hidden) return;
  now.value = Date.now();
  timer = setInterval(() => { now.value = Date.now(); }, 1000);
}
document.addEventListener('visibilitychange', tick);
tick();
