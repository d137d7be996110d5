// Times on the page: relative, kept right by one clock, the exact moment on hover.

import {html, signal, useComputed, useRef} from '../vendor/preact.js';
import {clock, exact, relative, span} from '../core/format.js';

/** One clock for every relative time: milliseconds, once a second while the page is looked at. */
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

/**
 * `4 min ago`, `in 2 h 05`.
 * @param {{at: string | null | undefined, none?: string}} props
 */
export function Ago({at, none = ''}) {
  const latest = useLatest(at);
  const words = useComputed(() => (latest.current ? relative(latest.current, now.value) : none));
  return at ? html`<time datetime=${at} title=${exact(at)} key=${at}>${words}</time>` : html`<span>${none}</span>`;
}

/**
 * How long something lasts or lasted: `12 min`.
 * @param {{since: string | null | undefined, until?: string | null, title?: string}} props
 */
export function Elapsed({since, until = null, title = ''}) {
  const latest = useLatest(since);
  const end = useLatest(until);
  const words = useComputed(() => {
    if (!latest.current) return '';
    const to = end.current ? Date.parse(end.current) : now.value;
    return span((to - Date.parse(latest.current)) / 1000);
  });
  if (!since) return null;
  const told = until ? `${exact(since)} to ${exact(until)}` : `since ${exact(since)}`;
  return html`<time datetime=${since} title=${title ? `${title} ${told}` : told} key=${since + until}>${words}</time>`;
}

/** Hour and minute, with the day if it is another. @param {{at: string | null | undefined}} props */
export function Clock({at}) {
  return at ? html`<time datetime=${at} title=${`${exact(at)}, ${relative(at, now.peek())}`}>${clock(at, now.peek())}
    </time>` : null;
}

/** @template T @param {T} value */
function useLatest(value) {
  const ref = useRef(value);
  ref.current = value;
  return ref;
}
