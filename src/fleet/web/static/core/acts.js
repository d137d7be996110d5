// What a person can do. Each act shows its effect at once, stands for one command line, and is taken
// back if fleet refuses it.

import {signal} from '../vendor/preact.js';
import {Refusal, write} from './api.js';
import {plural, shortId} from './format.js';
import {role} from './session.js';
import {home, hope, picked, rowOf} from './store.js';
import {tell} from './tell.js';

/** @typedef {import('./shapes').TaskRow} TaskRow */
/**
 * @typedef {object} Act
 * @property {string} label on its button
 * @property {string} [key]
 * @property {string} [asks] what to write: a text belongs to it
 * @property {boolean} [optional] the text may be empty
 * @property {string} [typed] the word that a person types to mean it
 * @property {string} [why] what the typed word will do
 * @property {'answer' | 'operate'} role
 * @property {boolean} global it concerns no task
 * @property {(row: TaskRow) => boolean} fits
 * @property {(id: string, text: string) => string} line
 * @property {string} done what is said of it: `Stopped`
 * @property {(row: TaskRow) => Partial<TaskRow>} [hopes]
 * @property {string} [undo] the act that takes it back
 */

/** @param {string} text */
const quoted = (text) => `"${text.split('\n', 1)[0].slice(0, 60).replaceAll('"', '\\"')}${text.length > 60
  || text.includes('\n') ? '…' : ''}"`;
const always = () => true;
/** @param {TaskRow} row */
const runs = (row) => row.group === 'running' && row.landing === null;
/** @param {TaskRow} row */
const back = (row) => ({group: /** @type {const} */ ('waiting'), status: /** @type {const} */ ('open'),
  reason: 'its turn comes', question: '', way_on: null, since: new Date().toISOString(), run: row.run});

/** @type {Record<string, Act>} */
export const ACTS = {
  answer: {
    label: 'Answer', key: 'a', asks: 'Your answer. The next run reads it in the same session.', role: 'answer',
      global: false,
    fits: (row) => Boolean(row.question), line: (id, text) => `fleet answer ${shortId(id)} ${quoted(text)}`,
      done: 'Answered',
    hopes: (row) => ({...back(row), reason: 'answered; its turn comes'}),
  },
  tell: {
    label: 'Tell', key: 't', asks: 'What the agent should know. It reads this with its next step.', role: 'answer',
      global: false,
    fits: (row) => row.group === 'running' || row.group === 'waiting',
      line: (id, text) => `fleet tell ${shortId(id)} ${quoted(text)}`, done: 'Told',
  },
  stop: {
    label: 'Stop', key: 's', role: 'operate', global: false, fits: runs, line: (id) => `fleet stop ${shortId(id)}`,
      done: 'Stopped',
    hopes: (row) => ({reason: 'as asked', run: row.run && {...row.run, doing: 'stopping'}}), undo: 'retry',
  },
  retry: {
    label: 'Retry', key: 'r', role: 'operate', global: false,
    fits: (row) => (row.group === 'needs_you' || row.group === 'waiting') && row.status !== 'closed',
    line: (id) => `fleet retry ${shortId(id)}`, done: 'Back in the queue', hopes: back,
  },
  land: {
    label: 'Land', key: 'L', role: 'operate', global: false, fits: (row) => row.landing === 'asks',
    line: (id) => `fleet land ${shortId(id)}`, done: 'Lands',
    hopes: (row) => ({group: 'running', reason: '', landing: 'waiting', way_on: null, run: row.run}),
  },
  hold: {
    label: 'Hold', role: 'operate', global: false, fits: (row) => row.landing === 'waiting' || row.landing === 'asks',
    line: (id) => `fleet land --hold ${shortId(id)}`, done: 'Held', undo: 'release',
  },
  revert: {
    label: 'Take back', typed: 'revert', why: 'The work is taken off its branch again, as one commit that is verified.',
    role: 'operate', global: false, fits: (row) => row.landing === 'landed',
      line: (id) => `fleet land --revert ${shortId(id)}`, done: 'Taken back',
  },
  release: {
    label: 'Release', role: 'operate', global: false, fits: (row) => row.landing === 'held',
    line: (id) => `fleet land --release ${shortId(id)}`, done: 'Released',
      hopes: () => ({landing: 'waiting', way_on: null}),
  },
  reject: {
    label: 'Send back', asks: 'What is wrong with the work. The agent goes on from here.', role: 'operate',
      global: false,
    fits: (row) => row.landing === 'asks' || row.landing === 'back',
      line: (id, text) => `fleet review ${shortId(id)} --reject ${quoted(text)}`,
    done: 'Sent back', hopes: back,
  },
  pause: {
    label: 'Pause fleet', key: 'P', role: 'operate', global: true, fits: always, line: () => 'fleet pause',
    done: 'Paused: no new runs begin', undo: 'resume',
  },
  resume: {
    label: 'Resume fleet', key: 'P', role: 'operate', global: true, fits: always, line: () => 'fleet resume',
    done: 'Resumed', undo: 'pause',
  },
  stop_all: {
    label: 'Stop all', key: 'S', role: 'operate', global: true, typed: 'stop', fits: always,
    why: 'Every agent is ended at once, with all that it started, and no new run begins.',
      line: () => 'fleet stop --all --now',
    done: 'Stopped all',
  },
};

/** The act that is being written: its dialog is open. */
export const open = signal(/** @type {{verb: string, ids: string[], text: string} | null} */ (null));

const RANK = ['view', 'answer', 'operate'];
/** @param {string} verb */
export const allowed = (verb) => !role.value || RANK.indexOf(role.value) >= RANK.indexOf(ACTS[verb].role);

/** The tasks an act is for: all that are picked, or the one. @param {string} id */
export const targets = (id) => (picked.value.size ? [...picked.value] : id ? [id] : []);

/**
 * Begin an act: at once, or with a dialog if it takes a text or a typed word.
 * @param {string} verb
 * @param {string[]} ids
 * @param {string} [text]
 */
export function begin(verb, ids, text = '') {
  const act = ACTS[verb];
  if (!act || (!act.global && !ids.length)) return;
  if (!allowed(verb)) {
    tell({kind: 'refused', text: `This session may only ${role.value}.`,
      hint: 'A session that may do more: fleet web pair --role operate'});
    return;
  }
  const fit = act.global ? [] : ids.filter((id) => { const row = rowOf(id); return !row || act.fits(row); });
  if (!act.global && !fit.length) {
    tell({kind: 'note', text: `${act.label}: not possible with ${ids.map(shortId).join(', ')} as it stands now.`});
    return;
  }
  if (act.asks || act.typed) open.value = {verb, ids: fit, text};
  else void perform(verb, fit, '');
}

/**
 * @param {string} verb
 * @param {string[]} ids
 * @param {string} text
 * @returns {Promise<boolean>} fleet did it
 */
export async function perform(verb, ids, text) {
  const act = ACTS[verb];
  const undo = act.undo;
  const before = home.peek();
  if (verb === 'pause' && before) home.value = {...before,
    supervisor: {...before.supervisor, paused_since: new Date().toISOString()}};
  if (verb === 'resume' && before) home.value = {...before, supervisor: {...before.supervisor, paused_since: null}};
  const takeBack = ids.map((id) => { const row = rowOf(id); return row && act.hopes ? hope(id, act.hopes(row))
    : () => {}; });
  const all = act.global ? [''] : ids;
  const results = await Promise.allSettled(all.map((id) => send(verb, id, text)));
  const refused = results.flatMap((result, i) => (result.status === 'rejected'
    ? [{id: all[i], i, error: result.reason}] : []));
  for (const {i} of refused) takeBack[i]?.();
  if (refused.length && act.global && home.peek()) home.value = before;
  const did = all.filter((_, i) => results[i].status === 'fulfilled');
  if (did.length) {
    tell({
      kind: 'done', text: act.global ? act.done
        : `${act.done}: ${did.length === 1 ? shortId(did[0]) : plural(did.length, 'task')}`,
      line: did.map((id) => act.line(id, text)).join('; '),
      undo: undo ? () => void perform(undo, act.global ? [] : did, '') : undefined,
    });
    picked.value = new Set();
  }
  for (const {error} of refused.slice(0, 3)) tellRefusal(error);
  return !refused.length;
}

/** @param {unknown} error */
export function tellRefusal(error) {
  tell({kind: 'refused', text: error instanceof Error ? error.message : String(error), hint: error instanceof Refusal
    ? error.hint : ''});
}

/** @param {string} verb @param {string} id @param {string} text */
function send(verb, id, text) {
  const more = verb === 'stop_all' ? {confirm: 'stop', now: true} : {};
  return write(`acts/${verb}`, {...(id ? {id} : {}), ...(text ? {text} : {}), ...more});
}
