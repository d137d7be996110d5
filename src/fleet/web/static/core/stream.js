// One stream for all tabs of a browser: browsers allow six connections to a host, and the seventh tab
// would hang without a word. The tab that holds the lock listens and tells the others.

import {ask, Refusal} from './api.js';
import {lockedOut} from './session.js';
import {home, link, patch, replaceAll, whole} from './store.js';

/** @typedef {import('./shapes').Now} Now */
/** @typedef {import('./shapes').NowChange} NowChange */
/** @typedef {{type: 'beat', trouble?: string}} Beat */
/**
 * A line of the stream, and what one tab tells another.
 * @typedef {{type: 'snapshot', now: Now} | ({type: 'delta'} & NowChange) | Beat | {type: 'resync'}
 *   | {type: 'over', why: string}} Told
 */

/** Nothing for this long means that the stream is lost: fleet sends at least a sign of life. */
const SILENCE = 40_000;
const LOCK = 'fleet.stream';
const tabs = 'BroadcastChannel' in globalThis ? new BroadcastChannel(LOCK) : null;

/** The last change that was heard. */
let seq = 0;
/** This tab holds the lock. */
let leads = false;

/** @param {Told} told @returns {boolean} nothing is missing between this and what came before */
function hear(told) {
  if (told.type === 'resync' || told.type === 'over') return false;
  if (told.type === 'snapshot') {
    seq = told.now.seq;
    replaceAll(told.now);
  } else if (told.type === 'delta') {
    if (!home.peek() || told.after !== seq) return false;
    seq = told.seq;
    patch(told);
  }
  link.value = {state: 'live', heardAt: Date.now(), why: (told.type === 'beat' && told.trouble) || ''};
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
  const answer = await ask(seq ? `stream?since=${seq}` : 'stream', {signal: stopped});
  for await (const line of lines(answer)) {
    if (!line.trim()) continue;
    const told = /** @type {Told} */ (JSON.parse(line));
    if (!hear(told)) {
      if (told.type !== 'over') seq = 0; // something is missing: everything anew
      return;
    }
    tabs?.postMessage(told);
  }
}

/** The stream is gone, for this tab and those that it tells. @param {string} why */
function lose(why) {
  link.value = {...link.peek(), state: 'lost', why};
  if (leads) tabs?.postMessage({type: 'lost', why});
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
      lose(error instanceof Refusal ? error.message : '');
    } finally {
      clearInterval(watch);
      stop.abort();
    }
    if (link.peek().state === 'live') lose('');
    await new Promise((done) => setTimeout(done, pause));
    pause = Math.min(10_000, pause * 2);
  }
}

/**
 * A tab that is new, or missed something, asks the one that leads for everything.
 * @param {Told | {type: 'hello'} | {type: 'lost', why: string}} said
 */
function hearTab(said) {
  if (said.type === 'hello') {
    const now = leads && whole();
    if (now) tabs?.postMessage({type: 'snapshot', now: {...now, seq}});
  } else if (leads) {
    return;
  } else if (said.type === 'lost') {
    lose(said.why);
  } else if (!hear(said)) {
    tabs?.postMessage({type: 'hello'});
  }
}

export function listen() {
  const take = () => { leads = true; return lead(); };
  if (tabs && navigator.locks) {
    tabs.addEventListener('message', ({data}) => hearTab(data));
    tabs.postMessage({type: 'hello'});
    void navigator.locks.request(LOCK, take);
  } else {
    void take();
  }
  setInterval(() => {
    const {state, heardAt} = link.peek();
    if (!leads && state === 'live' && Date.now() - heardAt > SILENCE) link.value = {...link.peek(), state: 'lost'};
  }, 5000);
}
