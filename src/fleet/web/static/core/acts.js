// Doing: an act shows its effect at once, and is taken back if fleet refuses it.

import {signal} from '../vendor/preact.js';
import {ACTS} from './act_table.js';
import {Refusal, write} from './api.js';
import {shortId} from './format.js';
import {go} from './router.js';
import {role} from './session.js';
import {home, hope, picked, rowOf} from './store.js';
import {tell} from './tell.js';

/** @typedef {import('./act_table.js').More} More */
/** @typedef {import('./shapes').ActEnd} ActEnd */

/** The act that is being written: its dialog is open. */
export const open = signal(/** @type {{verb: string, ids: string[], more: More} | null} */ (null));

const RANK = ['view', 'answer', 'operate'];
/** @param {string} verb */
export const allowed = (verb) => !role.value || RANK.indexOf(role.value) >= RANK.indexOf(ACTS[verb].role);

/** An act is possible with one of these tasks as they stand. @param {string} verb @param {string[]} ids */
export function possible(verb, ids) {
  const act = ACTS[verb];
  if (!allowed(verb)) return false;
  if (act.global) return (verb !== 'pause' && verb !== 'resume') || (verb === 'resume') === isPaused();
  return ids.some((id) => { const row = rowOf(id); return row !== null && act.fits(row); });
}

/** No new runs begin. */
export const isPaused = () => Boolean(home.value?.supervisor.paused_since);

/** The tasks an act is for: all that are picked, or the one. @param {string} id */
export const targets = (id) => (picked.value.size ? [...picked.value] : id ? [id] : []);

/**
 * Begin an act: at once, or with a dialog if it takes something.
 * @param {string} verb
 * @param {string[]} ids
 * @param {More} [more] what was chosen for it already
 */
export function begin(verb, ids, more) {
  const act = ACTS[verb];
  if (!act || (!act.global && !ids.length)) return;
  if (act.at && !more) {
    go(act.at(ids[0]));
    return;
  }
  if (!allowed(verb)) {
    tell({
      kind: 'refused', text: `This session may only ${role.value}.`,
      hint: 'A session that may do more: fleet web pair --role operate',
    });
    return;
  }
  const fit = act.global ? [] : ids.filter((id) => { const row = rowOf(id); return !row || act.fits(row); });
  if (!act.global && !fit.length) {
    tell({kind: 'note', text: `${act.label}: not possible with ${ids.map(shortId).join(', ')} as it stands now.`});
  } else if (act.asks || act.typed || act.options) {
    open.value = {verb, ids: fit, more: more ?? {}};
  } else {
    void perform(verb, fit, '', more);
  }
}

/** Show the whole as it will be. @param {string} verb @returns {() => void} take it back */
function hopeForAll(verb) {
  const before = home.peek();
  if (!before || (verb !== 'pause' && verb !== 'resume')) return () => {};
  const since = verb === 'pause' ? new Date().toISOString() : null;
  home.value = {...before, supervisor: {...before.supervisor, paused_since: since}};
  return () => { home.value = before; };
}

/**
 * @param {string} verb
 * @param {string[]} ids none: the act is for all of fleet
 * @param {string} text
 * @param {More} [more]
 * @returns {Promise<boolean>} fleet did it
 */
export async function perform(verb, ids, text, more = {}) {
  const act = ACTS[verb];
  const all = act.global ? [''] : ids;
  const takeBack = all.map((id) => {
    const row = rowOf(id);
    if (act.global) return hopeForAll(verb);
    return row && act.hopes ? hope(id, act.hopes(row)) : () => {};
  });
  const results = await Promise.allSettled(all.map((id) => send(verb, id, text, more)));
  const did = all.filter((_, i) => results[i].status === 'fulfilled');
  results.forEach((result, i) => {
    if (result.status !== 'rejected') return;
    takeBack[i]();
    tellRefusal(result.reason);
  });
  if (did.length) tellDone(verb, did, results.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : [])));
  return did.length === all.length;
}

/** In fleet's own words: an agent that was told to stop may not have ended yet. */
function tellDone(/** @type {string} */ verb, /** @type {string[]} */ ids, /** @type {ActEnd[]} */ ends) {
  const {label, undo, back, global} = ACTS[verb];
  const [first, ...more] = ends.map(({words}) => (ends.length > 1 ? words.replace(/[^.]$/u, '$&.') : words));
  tell({
    kind: 'done', act: label, text: more.length > 2 ? `${first} And ${more.length} more.` : [first, ...more].join(' '),
    hint: back?.(ids[0]), line: ends.map((end) => end.line).join('; '),
    undo: undo ? () => void perform(undo, global ? [] : ids, '') : undefined,
  });
  picked.value = new Set();
}

/** @param {unknown} error */
export function tellRefusal(error) {
  const hint = error instanceof Refusal ? error.hint : '';
  tell({kind: 'refused', text: error instanceof Error ? error.message : String(error), hint});
}

/** @param {string} name @param {string} id @param {string} text @param {More} more @returns {Promise<ActEnd>} */
function send(name, id, text, more) {
  const {verb = name, fields} = ACTS[name];
  const chosen = Object.fromEntries(Object.entries(more).filter(([, value]) => value !== '' && value !== false));
  return write(`acts/${verb}`, {...(id ? {id} : {}), ...(text ? {text} : {}), ...chosen, ...fields});
}
