// What a person can do: each act with its key, the command line that it stands for, and what is shown
// of it before fleet has confirmed it.

import {shortId} from './format.js';
import {link} from './router.js';

/** @typedef {import('./shapes').TaskRow} TaskRow */
/** What else an act takes. @typedef {Record<string, string | boolean>} More */
/**
 * @typedef {object} Act
 * @property {string} label on its button
 * @property {string} [title] of its dialog, where that is not the label
 * @property {'answer' | 'operate'} role
 * @property {(row: TaskRow) => boolean} fits it is possible with a task that stands so
 * @property {(id: string, text: string, more: More) => string} line
 * @property {string} [verb] the verb of fleet that it is, where that has another name
 * @property {More} [fields] what that verb always takes for it
 * @property {boolean} [global] it concerns no task
 * @property {string} [key]
 * @property {string} [asks] what to write: a text belongs to it
 * @property {boolean} [optional] the text may be empty
 * @property {string} [typed] the word that a person types to mean it
 * @property {string} [why] what happens then
 * @property {[name: string, label: string, kind: 'yes' | 'text'][]} [options]
 * @property {(row: TaskRow) => Partial<TaskRow>} [hopes] what is shown at once
 * @property {string} [undo] the act that takes it back
 * @property {(id: string) => string} [back] how it is taken back where no act undoes it at once
 * @property {boolean} [seldom] only in the palette
 * @property {(id: string) => string} [at] where what it takes is chosen; the act begins there
 */

/** The first line of a text, as one word of a shell. @param {string} text */
function quoted(text) {
  const line = text.split('\n', 1)[0].slice(0, 60);
  return `"${line.replaceAll('"', '\\"')}${line === text ? '' : '…'}"`;
}

/** Flags that were chosen. @param {More} more */
const flags = (more) => Object.entries(more)
  .filter(([, value]) => value)
  .map(([name, value]) => (value === true ? ` --${name}` : ` --${name} ${value}`)).join('');

const always = () => true;
/** @param {TaskRow} row */
const runs = (row) => row.group === 'running' && row.landing === null;
/** @param {TaskRow} row */
const stands = (row) => row.group === 'needs_you' || row.group === 'waiting';

/** Several coders try it. @param {TaskRow} row */
const isCompared = (row) => row.way_on?.verb === 'pick';

/** Back in the queue. @param {TaskRow} row @returns {Partial<TaskRow>} */
const reopened = (row) => ({
  state: 'ready', group: 'waiting', status: 'open', reason: '', question: '', way_on: null, run: row.run,
  since: new Date().toISOString(),
});

/** @type {Record<string, Act>} */
export const ACTS = {
  answer: {
    label: 'Answer', key: 'a', role: 'answer',
    asks: 'Your answer. The next run reads it in the same session.',
    fits: (row) => Boolean(row.question),
    line: (id, text) => `fleet answer ${shortId(id)} ${quoted(text)}`,
    hopes: (row) => ({...reopened(row), reason: 'answered'}),
  },
  tell: {
    label: 'Tell', key: 't', role: 'answer',
    asks: 'What the agent should know. It reads this with its next step.',
    options: [['now', 'stop the agent for it, and carry its session on', 'yes']],
    fits: (row) => row.group !== 'done',
    line: (id, text, more) => `fleet tell${flags(more)} ${shortId(id)} ${quoted(text)}`,
  },
  stop: {
    label: 'Stop', key: 's', role: 'operate', undo: 'retry',
    fits: runs,
    line: (id) => `fleet stop ${shortId(id)}`,
    hopes: (row) => ({reason: 'as asked', run: row.run && {...row.run, doing: 'stopping'}}),
  },
  retry: {
    label: 'Retry', key: 'r', role: 'operate',
    fits: stands,
    line: (id, _, more) => `fleet retry ${shortId(id)}${flags(more)}`,
    hopes: reopened,
  },
  land: {
    label: 'Land', key: 'L', role: 'operate',
    back: (id) => `Once it has landed, this takes it back: fleet land --revert ${shortId(id)}`,
    fits: (row) => row.landing === 'asks',
    line: (id) => `fleet land ${shortId(id)}`,
    hopes: () => ({group: 'running', reason: '', landing: 'waiting', way_on: null}),
  },
  hold: {
    label: 'Hold', role: 'operate', undo: 'release',
    fits: (row) => row.landing === 'waiting' || row.landing === 'asks',
    line: (id) => `fleet land --hold ${shortId(id)}`,
  },
  release: {
    label: 'Release', role: 'operate', undo: 'hold',
    fits: (row) => row.landing === 'held',
    line: (id) => `fleet land --release ${shortId(id)}`,
    hopes: () => ({landing: 'waiting', way_on: null}),
  },
  reject: {
    label: 'Send back', role: 'operate',
    asks: 'What is wrong with the work. The session that did it goes on with this.',
    fits: (row) => row.landing !== null || row.verdict !== null,
    line: (id, text) => `fleet review ${shortId(id)} --reject ${quoted(text)}`,
    hopes: reopened,
  },
  revert: {
    label: 'Take back', role: 'operate', typed: 'revert', seldom: true,
    why: 'The work is taken off its branch again, as one commit that is verified.',
    fits: (row) => row.landing === 'landed',
    line: (id) => `fleet land --revert ${shortId(id)}`,
  },
  pick: {
    label: 'Compare', title: 'Pick', role: 'operate', seldom: true, typed: 'pick',
    why: 'It lands, and the others are put away.',
    at: (id) => link('compare', id),
    fits: isCompared,
    line: (id, _, more) => `fleet compare ${shortId(id)} --pick ${shortId(String(more.entry))}`,
    hopes: () => ({reason: 'the picked one lands', way_on: null}),
  },
  pick_anyway: {
    label: 'Pick all the same', role: 'operate', seldom: true, typed: 'pick', verb: 'pick', fields: {force: true},
    why: 'fleet did not accept its claim. It lands all the same, and the others'
      + ' are put away.',
    at: (id) => link('compare', id),
    fits: isCompared,
    line: (id, _, more) => `fleet compare ${shortId(id)} --pick ${shortId(String(more.entry))} --force`,
    hopes: () => ({reason: 'the picked one lands', way_on: null}),
  },
  retry_with: {
    label: 'Retry with …', role: 'operate', seldom: true, verb: 'retry',
    options: [['budget', 'Budget from now on, like $10', 'text'], ['fresh', 'a new clone and a new session', 'yes']],
    fits: stands,
    line: (id, _, more) => `fleet retry ${shortId(id)}${flags(more)}`,
    hopes: reopened,
  },
  stop_now: {
    label: 'Stop at once', role: 'operate', typed: 'stop', seldom: true, verb: 'stop', fields: {now: true},
    why: 'The agent is killed, without the time to end by itself.',
    fits: runs,
    line: (id) => `fleet stop --now ${shortId(id)}`,
  },
  pause: {
    label: 'Pause fleet', key: 'P', role: 'operate', undo: 'resume', global: true,
    fits: always,
    line: () => 'fleet pause',
  },
  resume: {
    label: 'Resume fleet', key: 'P', role: 'operate', undo: 'pause', global: true,
    fits: always,
    line: () => 'fleet resume',
  },
  stop_all: {
    label: 'Stop all', key: 'S', role: 'operate', typed: 'stop', global: true, fields: {confirm: 'stop', now: true},
    why: 'Every agent is ended at once, with all that it started, and no new run begins.',
    fits: always,
    line: () => 'fleet stop --all --now',
  },
};
