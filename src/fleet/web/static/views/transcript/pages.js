// The stretch of a transcript that is loaded: it grows both ways, a page at a time.

import {signal} from '../../vendor/preact.js';
import {Refusal, read} from '../../core/api.js';

/** @typedef {import('../../core/shapes').Transcript} Transcript */
/** @typedef {import('../../core/shapes').TranscriptEntry} Entry */
/** @typedef {{key: string, entries: Entry[]}} EntryChunk */
/** @typedef {{chunks: EntryChunk[], start: number, end: number, size: number, fresh: number, problem: Refusal | null}} Pages */

/** Entries of one request, and of one chunk: chunks out of sight are not in the document. */
const PAGE = 400;
const CHUNK = 50;
/** Chunks at the end in which a call may still wait for its result. */
const NEAR = 10;

export class TranscriptPages {
  /** @param {string} id */
  constructor(id) {
    this.path = `tasks/${encodeURIComponent(id)}/transcript`;
    this.state = signal(/** @type {Pages} */ ({chunks: [], start: 0, end: 0, size: 0, fresh: 0, problem: null}));
    this.asked = false;
    this.ending = new AbortController();
    /** @type {Set<string>} */
    this.busy = new Set();
  }

  get atLiveEnd() {
    const {end, size} = this.state.peek();
    return end >= size;
  }

  stop() { this.ending.abort(); this.ending = new AbortController(); this.busy.clear(); }

  /** New entries are seen. */
  seen() { if (this.state.peek().fresh) this.state.value = {...this.state.peek(), fresh: 0}; }

  fromEnd() { return this.#replace({back: 1, limit: PAGE}); }
  fromStart() { return this.#replace({at: 0, limit: PAGE}); }

  /** A stretch with an entry in its middle. @param {number} at */
  async around(at) {
    const {chunks} = this.state.peek();
    if (chunks.some((chunk) => chunk.entries.some((entry) => entry.at === at))) return;
    await this.#replace({at, limit: PAGE});
    await this.backward();
  }

  /** @param {Record<string, number>} query */
  async #replace(query) {
    const found = await this.#ask('replace', query);
    if (found) this.state.value = {...this.state.peek(), chunks: cut(found.entries), start: found.start,
      end: found.end, size: found.size, fresh: 0, problem: null};
  }

  /** What comes behind. */
  async forward() {
    const {end, size, chunks} = this.state.peek();
    if (!this.asked || (!chunks.length && end < size)) return;
    const found = await this.#ask('forward', {at: end, limit: PAGE});
    const now = this.state.peek();
    if (!found || now.end !== end) return;
    if (found.size < end) { await this.fromEnd(); return; }
    if (!found.entries.length && found.end === end && found.size === size) return;
    const wasAtEnd = end >= size;
    const {chunks: known, rest} = answered(now.chunks, found.entries);
    this.state.value = {...now, chunks: appended(known, rest), end: found.end, size: found.size,
      fresh: now.fresh + (wasAtEnd ? found.entries.length : 0), problem: null};
  }

  /** What comes before. @returns {Promise<boolean>} there was some */
  async backward() {
    const {start} = this.state.peek();
    if (start <= 0) return false;
    const found = await this.#ask('backward', {at: start, back: 1, limit: PAGE});
    const now = this.state.peek();
    if (!found || now.start !== start || found.start >= start) return false;
    this.state.value = {...now, chunks: [...cut(found.entries), ...now.chunks], start: found.start, size: found.size,
      problem: null};
    return true;
  }

  /**
   * One request of a kind at a time.
   * @param {string} kind
   * @param {Record<string, number>} query
   * @returns {Promise<Transcript | null>}
   */
  async #ask(kind, query) {
    if (this.busy.has(kind)) return null;
    this.busy.add(kind);
    const {signal: stopped} = this.ending;
    try {
      return /** @type {Transcript} */ (await read(this.path, query, stopped));
    } catch (problem) {
      if (problem instanceof Refusal && !stopped.aborted) this.state.value = {...this.state.peek(), problem};
      return null;
    } finally {
      this.asked = true;
      if (!stopped.aborted) this.busy.delete(kind);
    }
  }
}

/** @param {Entry[]} entries @returns {EntryChunk[]} */
function cut(entries) {
  const found = [];
  for (let i = 0; i < entries.length; i += CHUNK) found.push(chunkOf(entries.slice(i, i + CHUNK)));
  return found;
}

/** @param {Entry[]} entries */
const chunkOf = (entries) => ({key: `${entries[0].at}.${entries[0].part ?? 0}`, entries});

/**
 * Results put into the calls that they belong to, which came with an earlier page.
 * @param {EntryChunk[]} chunks
 * @param {Entry[]} entries
 */
function answered(chunks, entries) {
  const results = new Map(entries.filter((entry) => entry.call && !entry.tool).map((entry) => [entry.call, entry]));
  if (!results.size) return {chunks, rest: entries};
  const taken = new Set();
  const known = chunks.map((chunk, i) => {
    if (i < chunks.length - NEAR || !chunk.entries.some((entry) => waits(entry, results))) return chunk;
    return {key: chunk.key, entries: chunk.entries.map((entry) => {
      const result = waits(entry, results);
      if (!result) return entry;
      taken.add(result);
      return {...entry, result: result.result, failed: result.failed, denied: result.denied};
    })};
  });
  return {chunks: known, rest: entries.filter((entry) => !taken.has(entry))};
}

/** The result of a call that has none yet. @param {Entry} entry @param {Map<string | undefined, Entry>} results */
const waits = (entry, results) => (entry.tool && entry.result === undefined ? results.get(entry.call) : undefined);

/** Only the last chunk changes. @param {EntryChunk[]} chunks @param {Entry[]} entries */
function appended(chunks, entries) {
  if (!entries.length) return chunks;
  const last = chunks.at(-1);
  if (!last || last.entries.length >= CHUNK) return [...chunks, ...cut(entries)];
  const room = CHUNK - last.entries.length;
  return [...chunks.slice(0, -1), {key: last.key, entries: [...last.entries, ...entries.slice(0, room)]},
    ...cut(entries.slice(room))];
}
