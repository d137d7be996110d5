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
/** What was asked for and is not seen yet, and how the row stood. @type {Map<string, {change: Partial<TaskRow>, stood: string}>} */
const hoped = new Map();

/** How the page hears of changes, and when it last did. */
export const link = signal(/** @type {{state: 'waiting' | 'live' | 'lost', heardAt: number, why: string}} */ (
  {state: 'waiting', heardAt: 0, why: ''}));

/** @param {string} id @returns {TaskRow | null} */
export const rowOf = (id) => rows.get(id)?.value ?? null;

/** How a task stands, without what ticks all the time. @param {TaskRow} row */
export const standing = (row) => [row.group, row.status, row.run?.number, row.run?.doing, row.landing, row.question,
  row.verdict].join();

/** @param {TaskRow} row */
function put(row) {
  const hope = hoped.get(row.id);
  const still = hope !== undefined && hope.stood === standing(row);
  if (hope && !still) hoped.delete(row.id); // fleet has done something: that is shown
  const shown = still ? {...row, ...hope.change} : row;
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

/** What changed since a moment: `rows` are new or changed. @typedef {import('./shapes').NowChange} NowChange */

/** @param {NowChange} change */
export function patch({rows: changed, gone, seq, as_of, supervisor, counts}) {
  batch(() => {
    const moved = gone.length > 0 || changed.some((row) => placeChanged(rows.get(row.id)?.peek(), row));
    for (const row of changed) put(row);
    for (const id of gone) rows.delete(id);
    const before = home.peek();
    if (before) home.value = {...before, seq, as_of, supervisor, counts};
    if (!moved) return;
    const ids = [...rows.keys()].sort((a, b) => compare(placed(a), placed(b)));
    if (!same(order.peek(), ids)) order.value = ids;
  });
}

/** @param {string} id */
const placed = (id) => /** @type {RowSignal} */ (rows.get(id)).peek();

/** @param {TaskRow | undefined} before @param {TaskRow} row */
function placeChanged(before, row) {
  return !before || before.group !== row.group || before.since !== row.since || before.priority !== row.priority
    || Boolean(before.question) !== Boolean(row.question);
}

const RANK = {needs_you: 0, running: 1, waiting: 2, done: 3};

/** As fleet lists them: by group, questions and priority first, then oldest; what is done latest first. */
function compare(/** @type {TaskRow} */ a, /** @type {TaskRow} */ b) {
  const group = RANK[a.group] - RANK[b.group];
  if (group) return group;
  const at = Date.parse(a.since ?? '') - Date.parse(b.since ?? '') || 0;
  const name = a.id < b.id ? -1 : 1;
  if (a.group === 'done') return -at || name;
  return Number(!a.question) - Number(!b.question) || a.priority - b.priority || at || name;
}

/** Everything that is known, for another tab. @returns {Now | null} */
export function whole() {
  const rest = home.peek();
  return rest && {...rest, rows: order.peek().flatMap((id) => rows.get(id)?.peek() ?? [])};
}

/**
 * Show a change before it is confirmed, until the server says that the task stands otherwise than it did.
 * @param {string} id
 * @param {Partial<TaskRow>} change
 * @returns {() => void} take it back
 */
export function hope(id, change) {
  const row = rows.get(id);
  if (!row) return () => {};
  const before = row.peek();
  hoped.set(id, {change, stood: standing(before)});
  row.value = {...before, ...change};
  const settle = () => {
    if (hoped.get(id)?.change === change) hoped.delete(id);
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
