// Entries of a transcript: a call is one line until it is opened, an error is open. A stretch of them that is out of
// sight is an empty box of its height, so that a transcript of 100,000 lines costs what is on the screen.

import {html, signal, useEffect, useLayoutEffect, useMemo, useRef, useState} from '../../vendor/preact.js';
import {clock, exact} from '../../core/format.js';
import {visible, withoutClone} from '../../core/text.js';

/** @typedef {import('../../core/shapes').TranscriptEntry} TranscriptEntry */

/** Entries that stand otherwise than they would by themselves. */
const turned = signal(/** @type {ReadonlySet<string>} */ (new Set()));
/** Everything is open. */
const unfolded = signal(false);

export function foldAll() {
  turned.value = new Set();
  unfolded.value = !unfolded.value;
}

/** @param {string} name */
function turn(name) {
  const next = new Set(turned.peek());
  if (!next.delete(name)) next.add(name);
  turned.value = next;
}

/** @param {{entry: TranscriptEntry, here: boolean}} props */
export function Entry({entry, here}) {
  const name = `${entry.at}.${entry.part ?? 0}`;
  const wrong = Boolean(entry.failed || entry.denied) || entry.kind === 'error';
  const open = (unfolded.value || wrong || entry.kind === 'text' || entry.kind === 'person') !== turned.value.has(name);
  const when = entry.ts ? html`<time datetime=${entry.ts} title=${exact(entry.ts)}>${clock(entry.ts, Date.now())}
    </time>` : '';
  const kind = `entry ${entry.kind} ${wrong ? 'wrong' : ''} ${here ? 'here' : ''}`;
  if (entry.kind === 'sign' || entry.kind === 'note') {
    return html`<div class=${kind} data-at=${entry.at}>
      <span class="said" dir="auto">${visible(entry.line.replace(/^fleet: /, ''))}</span>
      ${when}</div>`;
  }
  if (entry.kind === 'text' || entry.kind === 'person') {
    return html`<div class=${kind} data-at=${entry.at}>${entry.kind === 'person' ? html`<b class="by">You</b>` : ''}
      <div class="said" dir="auto">${visible(entry.text || entry.line)}${entry.cut
      ? html`<span class="faint"> … cut</span>` : ''}</div>${when}</div>`;
  }
  return html`<div class=${kind} data-at=${entry.at}>
    <button class="fold" aria-expanded=${open} onClick=${() => turn(name)}>
      <span class="arrow" aria-hidden="true">${open ? '▾' : '▸'}</span>
      ${entry.tool ? html`<span class="tool">${visible(entry.tool)}</span>`
        : html`<span class="tool soft">${entry.kind === 'thinking' ? 'thought' : entry.kind}</span>`}
      <span class="line cut" dir="auto">${visible(withoutTool(entry))}</span>
      ${entry.denied ? html`<span class="word bad">denied</span>` : entry.failed
        ? html`<span class="word bad">failed</span>` : ''}
    </button>${when}
    ${open ? html`<${Inside} entry=${entry}/>` : ''}
  </div>`;
}

/** @param {{entry: TranscriptEntry}} props */
function Inside({entry}) {
  return html`<div class="inside">
    ${entry.text && entry.text !== entry.line ? html`<pre class="output asked-for">${visible(pretty(entry.text))}
      </pre>` : ''}
    ${entry.result ? html`<pre class="output">${visible(entry.result)}</pre>` : entry.kind === 'call'
      ? html`<p class="faint small">no result yet</p>` : ''}
    ${entry.cut ? html`<p class="faint small">More is in the file: <code>fleet task … events</code></p>` : ''}
  </div>`;
}

/** What a call is about: its tool stands before it. @param {TranscriptEntry} entry */
function withoutTool({line, tool = ''}) {
  const about = tool && line.startsWith(`${tool}: `) ? line.slice(tool.length + 2) : line === tool ? '' : line;
  return withoutClone(about);
}

/** The input of a call, one field a line. @param {string} text */
function pretty(text) {
  if (text[0] !== '{') return text;
  try {
    const found = JSON.parse(text);
    return Object.entries(found).map(([name, value]) =>
      `${name}: ${typeof value === 'string' ? value : JSON.stringify(value, null, 2)}`).join('\n');
  } catch {
    return text;
  }
}

/** An entry that was never drawn is taken to be this high. */
const GUESS = 27;

/** @type {WeakMap<Element, (near: boolean) => void>} */
const watched = new WeakMap();
const watcher = new IntersectionObserver((seen) => {
  for (const each of seen) watched.get(each.target)?.(each.isIntersecting);
}, {rootMargin: '900px 0px'});

/** A stretch of entries. @param {{chunk: import('./pages.js').EntryChunk, here: number}} props */
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
