// Values that a view asks for: kept while a newer one is on its way, so that nothing flickers.

import {signal, useEffect, useMemo} from '../vendor/preact.js';
import {Refusal, read} from './api.js';

/** @template T @typedef {{value: T | null, problem: Refusal | null}} Loaded */

/** @type {Map<string, {value: unknown, problem: Refusal | null}>} */
const kept = new Map();

/**
 * What an address gives, asked again whenever `when` changes.
 * @template T
 * @param {string | null} path null: nothing is asked
 * @param {Record<string, string | number | null | undefined>} [query]
 * @param {readonly unknown[]} [when]
 * @returns {Loaded<T> & {again: () => void}}
 */
export function useLoaded(path, query = {}, when = []) {
  const name = `${path}?${JSON.stringify(query)}`;
  const found = useMemo(() => signal(/** @type {Loaded<T>} */ (kept.get(name) ?? {value: null, problem: null})),
    [name]);
  const asked = useMemo(() => ({stop: new AbortController(), busy: false, due: false}), [name]);
  const again = () => {
    if (path === null) return;
    if (asked.busy) { asked.due = true; return; }
    asked.busy = true;
    read(path, query, asked.stop.signal).then(
      (value) => { found.value = {value: /** @type {T} */ (value), problem: null}; keep(name, found.value); },
      (problem) => { if (problem instanceof Refusal) found.value = {value: problem.status === 404 ? null
        : found.peek().value, problem}; },
    ).finally(() => {
      asked.busy = false;
      if (asked.due && !asked.stop.signal.aborted) { asked.due = false; again(); }
    });
  };
  useEffect(() => again(), [name, ...when]);
  useEffect(() => () => asked.stop.abort(), [name]);
  return {...found.value, again};
}

/** @param {string} name @param {{value: unknown, problem: Refusal | null}} value */
function keep(name, value) {
  kept.delete(name);
  kept.set(name, value);
  if (kept.size > 40) kept.delete(/** @type {string} */ (kept.keys().next().value));
}
