// What the page knows: one signal a row, so that a change repaints one row and nothing else.

import {batch, computed, signal} from '../vendor/preact.js';

/** @typedef {import('./shapes').Now} Now */
/** @typedef {import('./shapes').TaskRow} TaskRow */
/** @typedef {import('../vendor/preact.js').Signal<TaskRow>} RowSignal */

/** All but the rows; null: nothing has come yet. */
export const home = signal(/** @type {Omit<Now, 'rows'> | null} */ (null));
/** Ids in the order in which the server lists them. */
export const order = signal(/** @type {string[]} */ ([]));
/** @type {Map<string, RowSignal>} */
const rows = new Map();
/** What was asked for and is not confirmed yet. @type {Map<string, Partial<TaskRow>>} */
const hoped = new Map();

/** How the page hears of changes, and when it last did. */
export const link = signal(/** @type {{state: 'waiting' | 'live' | 'lost', heardAt: number, why: string}} */ (
  {state: 'waiting', heardAt: 0, why: ''}));

/** @param {string} id @returns {TaskRow | null} */
export const rowOf = (id) => rows.get(id)?.value ?? null;

/** @param {TaskRow} row */
function put(row) {
  const shown = hoped.has(row.id) ? {...row, ...hoped.get(row.id)} : row;
  const known = rows.get(row.id);
  if (known) known.value = shown;
  else rows.set(row.id, signal(shown));
}

/** @param {readonly string[]} a @param {readonly string[]} b */
const same = (a, b) => a.length === b.length && a.every((each, i) => each === b[i]);

/** Everything anew. @param {Now} whole */
export function replaceAll(whole) {
  batch(() => {
    const {rows: all, ...rest} = whole;
    const ids = all.map((row) => row.id);
    const kept = new Set(ids);
    for (const id of rows.keys()) if (!kept.has(id)) rows.delete(id);
    for (const row of all) put(row);
    home.value = rest;
    if (!same(order.peek(), ids)) order.value = ids;
  });
}

/**
 * What changed since a moment.
 * @typedef {{rows: TaskRow[], gone: string[], order: string[] | null, rest: Partial<Omit<Now, 'rows'>>}} Change
 */

/** Some rows anew, and the order if it changed. @param {Change} change */
export function patch({rows: changed, gone, order: next, rest}) {
  batch(() => {
    for (const row of changed) put(row);
    const before = home.peek();
    if (before) home.value = {...before, ...rest};
    const left = new Set(gone);
    const ids = (next ?? order.peek()).filter((id) => !left.has(id));
    const known = new Set(ids);
    const fresh = changed.filter((row) => !known.has(row.id) && !left.has(row.id)).map((row) => row.id);
    for (const id of gone) rows.delete(id);
    const all = fresh.length ? [...fresh, ...ids] : ids;
    if (!same(order.peek(), all)) order.value = all;
  });
}

/** Everything that is known, for another tab. @returns {Now | null} */
export function whole() {
  const rest = home.peek();
  return rest && {...rest, rows: order.peek().flatMap((id) => rows.get(id)?.peek() ?? [])};
}

/**
 * Show a change before it is confirmed. The server's next word about the row takes its place.
 * @param {string} id
 * @param {Partial<TaskRow>} change
 * @returns {() => void} take it back
 */
export function hope(id, change) {
  const row = rows.get(id);
  if (!row) return () => {};
  const before = row.peek();
  hoped.set(id, change);
  row.value = {...before, ...change};
  const settle = () => {
    if (hoped.get(id) === change) hoped.delete(id);
  };
  setTimeout(settle, 5000);
  return () => {
    settle();
    const now = rows.get(id);
    if (now) now.value = {...now.peek(), ...pick(before, change)};
  };
}

/** @param {TaskRow} row @param {Partial<TaskRow>} names */
function pick(row, names) {
  return Object.fromEntries(Object.keys(names).map((name) => [name, row[/** @type {keyof TaskRow} */ (name)]]));
}

/** The group of each task, which changes seldom: lists are made from this. */
export const groups = computed(() => {
  /** @type {Record<string, string[]>} */
  const found = {needs_you: [], running: [], waiting: [], done: []};
  for (const id of order.value) {
    const group = groupOf(id).value;
    if (group) found[group].push(id);
  }
  return found;
});

/** @type {Map<string, {row: RowSignal, group: import('../vendor/preact.js').ReadonlySignal<string>}>} */
const groupSignals = new Map();

/** @param {string} id */
function groupOf(id) {
  const row = rows.get(id);
  const known = groupSignals.get(id);
  if (known && known.row === row) return known.group;
  const group = computed(() => row?.value.group ?? '');
  if (row) groupSignals.set(id, {row, group});
  return group;
}

/** Tasks that are picked for an act on all of them. */
export const picked = signal(/** @type {ReadonlySet<string>} */ (new Set()));
/** The task that keys act on. */
export const cursor = signal('');
