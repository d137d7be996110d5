// The keys that act on a task, and the cursor that says on which.

import {useLayoutEffect} from '../../vendor/preact.js';
import {ACTS} from '../../core/act_table.js';
import {begin, targets} from '../../core/acts.js';
import {go, link} from '../../core/router.js';
import {cursor, order, rowOf} from '../../core/store.js';
import {copy} from '../../parts/copy.js';
import {takeWayOn} from '../../parts/way_on.js';
import {togglePick} from './row.js';

/** @returns {HTMLElement[]} */
const opens = () => [...document.querySelectorAll('[data-open]')].filter((each) => each instanceof HTMLElement);

/** Move the cursor by `step` rows. @param {number} step */
function move(step) {
  const all = opens();
  if (!all.length) return false;
  const at = all.findIndex((each) => each.dataset.open === cursor.peek());
  const next = at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.max(0, Math.min(all.length - 1, at + step));
  focus(all[next]);
  return true;
}

/** @param {HTMLElement | undefined} element */
function focus(element) {
  if (!element) return;
  element.focus({preventScroll: true});
  element.closest('[data-row]')?.scrollIntoView({block: 'nearest'});
}

/** Keep focus on the cursor's row when rows move. */
export function useCursor() {
  useLayoutEffect(() => {
    if (document.activeElement === document.body && cursor.peek()) {
      const row = opens().find((each) => each.dataset.open === cursor.peek());
      row?.focus({preventScroll: true});
    }
  });
  void order.value;
}

/** Keys of one task, wherever it is shown. @param {() => string} [of] @returns {import('../../core/keys.js').Binding[]} */
export function actKeys(of = () => cursor.peek()) {
  const acts = Object.entries(ACTS).filter(([, act]) => act.key && !act.global);
  return [
    ...acts.map(([verb, act]) => ({keys: act.key ?? '', label: act.label.toLowerCase(),
      run: () => begin(verb, targets(of()))})),
    {keys: 'e', label: 'receipt', run: () => open(of(), 'receipt')},
    {keys: 'l', label: 'transcript', run: () => open(of(), 'transcript')},
    {keys: 'd', label: 'diff', run: () => open(of(), 'diff')},
    {keys: 'p', label: 'plan', run: () => open(of(), 'plan')},
    {keys: 'u', label: 'the way on that its row shows', run: () => takeWayOn(rowOf(of()))},
    {keys: 'y', label: 'copy the id', run: () => (of() ? void copy(of()) : false)},
    {keys: 'o', label: 'copy its directory', run: () => (of() ? void copy(rowOf(of())?.directory ?? '') : false)},
  ];
}

/** @param {string} id @param {string} tab */
function open(id, tab) {
  if (!id) return false;
  go(link('task', id, tab));
  return true;
}

/** Keys of a list of tasks. @returns {import('../../core/keys.js').Binding[]} */
export function taskKeys() {
  return [
    {keys: 'j ArrowDown', label: 'next', run: () => move(1)},
    {keys: 'k ArrowUp', label: 'previous', run: () => move(-1)},
    {keys: 'g', label: 'first', run: () => focus(opens()[0])},
    {keys: 'G', label: 'last', run: () => focus(opens().at(-1))},
    {keys: 'Enter', label: 'open', run: () => enter()},
    {keys: 'x', label: 'pick, for an act on all that are picked',
      run: () => (cursor.peek() ? togglePick(cursor.peek()) : false)},
    ...actKeys(),
  ];
}

/** A focused button or link does what it is for. */
function enter() {
  if (document.activeElement?.matches('button, a, input')) return false;
  return open(cursor.peek(), 'receipt');
}
