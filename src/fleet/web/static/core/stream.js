// One stream for all tabs of a browser: browsers allow six connections to a host, and the seventh tab
// would hang without a word. The tab that holds the lock listens and tells the others.

import {ask, Refusal} from './api.js';
import {lockedOut} from './session.js';
import {home, link, patch, replaceAll, whole} from './store.js';

/** @typedef {import('./shapes').Now} Now */
/** @typedef {import('./store.js').Change} Change */
/**
 * What goes over the wire and between tabs.
 * @typedef {{kind: 'whole', now: Now} | {kind: 'change', seq: number, change: Change} | {kind: 'beat'}} Told
 */

/** Nothing for so long means that the stream is lost: fleet tells at least that it is there. */
const SILENCE = 40_000;
const LOCK = 'fleet.stream';
const tabs = 'BroadcastChannel' in globalThis ? new BroadcastChannel(LOCK) : null;

let seq = 0;

/** @param {Told} told @returns {boolean} nothing is missing between this and what came before */
function hear(told) {
  if (told.kind === 'whole') {
    seq = told.now.seq;
    replaceAll(told.now);
  } else if (told.kind === 'change') {
    if (!home.peek() || told.seq !== seq + 1) return false;
    seq = told.seq;
    patch(told.change);
  }
  link.value = {state: 'live', heardAt: Date.now(), why: ''};
  return true;
}

/** Lines of the answer as they come. @param {Response} answer */
async function* lines(answer) {
  const reader = /** @type {ReadableStream<Uint8Array>} */ (answer.body).getReader();
  const decoder = new TextDecoder();
  let rest = '';
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    const parts = (rest + decoder.decode(value, {stream: true})).split('\n');
    rest = parts.pop() ?? '';
    yield* parts;
  }
}

/** Listen until the stream ends, and tell the other tabs. @param {AbortSignal} stopped */
async function follow(stopped) {
  const answer = await ask(home.peek() ? `stream?since=${seq}` : 'stream', {signal: stopped});
  for await (const line of lines(answer)) {
    const text = line.startsWith('data:') ? line.slice(5) : line;
    if (!text.trim() || /^(event|id|retry|:)/.test(text)) { link.value = {...link.peek(), state: 'live',
      heardAt: Date.now()}; tabs?.postMessage({kind: 'beat'}); continue; }
    const told = /** @type {Told} */ (JSON.parse(text));
    if (!hear(told)) { home.value = null; return; }
    tabs?.postMessage(told);
  }
}

/** The tab that holds the lock comes here, and stays while it lives. */
async function lead() {
  let pause = 500;
  while (!lockedOut.value) {
    const stop = new AbortController();
    const watch = setInterval(() => { if (Date.now() - Math.max(link.peek().heardAt, begun) > SILENCE) stop.abort(); },
      5000);
    const begun = Date.now();
    try {
      await follow(stop.signal);
      pause = 500;
    } catch (error) {
      link.value = {...link.peek(), state: 'lost', why: error instanceof Refusal ? error.message : ''};
    } finally {
      clearInterval(watch);
      stop.abort();
    }
    if (link.peek().state === 'live') link.value = {...link.peek(), state: 'lost'};
    await new Promise((done) => setTimeout(done, pause));
    pause = Math.min(10_000, pause * 2);
  }
}

export function listen() {
  tabs?.addEventListener('message', ({data}) => {
    if (data.kind === 'hello') { if (leads) { const now = whole(); if (now) tabs.postMessage({kind: 'whole',
      now: {...now, seq}}); } return; }
    if (!leads && !hear(data)) tabs.postMessage({kind: 'hello'});
  });
  let leads = false;
  const take = () => { leads = true; return lead(); };
  if (tabs && navigator.locks) {
    tabs.postMessage({kind: 'hello'});
    void navigator.locks.request(LOCK, take);
  } else {
    void take();
  }
  setInterval(() => {
    const {state, heardAt} = link.peek();
    if (!leads && state === 'live' && Date.now() - heardAt > SILENCE) link.value = {...link.peek(), state: 'lost'};
  }, 5000);
}
