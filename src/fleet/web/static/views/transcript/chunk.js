// A stretch of entries. Out of sight it is an empty box of its height, so that a transcript of
// 100,000 lines costs what is on the screen.

import {html, useEffect, useLayoutEffect, useMemo, useRef, useState} from '../../vendor/preact.js';
import {Entry} from './entry.js';

/** An entry that was never drawn is taken to be this high. */
const GUESS = 27;

/** @type {WeakMap<Element, (near: boolean) => void>} */
const watched = new WeakMap();
const watcher = new IntersectionObserver((seen) => {
  for (const each of seen) watched.get(each.target)?.(each.isIntersecting);
}, {rootMargin: '900px 0px'});

/** @param {{chunk: import('./pages.js').EntryChunk, here: number}} props */
export function Chunk({chunk, here}) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const height = useRef(0);
  const holds = chunk.entries.some((entry) => entry.at === here);
  const [near, setNear] = useState(true);
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    watched.set(element, setNear);
    watcher.observe(element);
    return () => { watcher.unobserve(element); watched.delete(element); };
  }, []);
  useLayoutEffect(() => { if (near && box.current) height.current = box.current.offsetHeight; });
  const shown = near || holds;
  // The same nodes for the same entries: a chunk that did not change is not looked at again.
  const entries = useMemo(() => chunk.entries.map((entry) =>
    html`<${Entry} key=${`${entry.at}.${entry.part ?? 0}`} entry=${entry} here=${entry.at === here}/>`), [chunk, here]);
  return html`<div class="chunk" ref=${box} style=${{height: shown ? 'auto'
    : `${height.current || chunk.entries.length * GUESS}px`}}>
    ${shown ? entries : ''}
  </div>`;
}
