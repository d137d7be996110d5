// Short news at the edge of the page: what was done, as which command, and how to take it back.

import {signal} from '../vendor/preact.js';

/**
 * @typedef {object} News
 * @property {number} id
 * @property {string} text
 * @property {'done' | 'refused' | 'note'} kind
 * @property {string} [line] the command that it stands for
 * @property {string} [hint]
 * @property {string} [act] the label of the act that was done
 * @property {() => void} [undo]
 */

/** The last act of this tab, also when its news is gone. @type {News | null} */
let lastAct = null;

export const news = signal(/** @type {News[]} */ ([]));
/** Every command that this tab did, newest first. */
export const commandLog = signal(/** @type {{at: number, line: string, text: string}[]} */ ([]));

let last = 0;

/** @param {Omit<News, 'id'>} item */
export function tell(item) {
  const id = ++last;
  const fresh = {...item, id};
  if (item.act) lastAct = fresh;
  news.value = [...news.peek().slice(-2), fresh];
  const told = document.getElementById('told');
  if (told) told.textContent = item.hint ? `${item.text} ${item.hint}` : item.text;
  if (item.line && item.kind === 'done') {
    commandLog.value = [{at: Date.now(), line: item.line, text: item.text}, ...commandLog.peek()].slice(0, 50);
  }
  setTimeout(() => dismiss(id), item.kind === 'refused' ? 15_000 : item.undo ? 8000 : 4000);
}

/** @param {number} id */
export const dismiss = (id) => { news.value = news.peek().filter((each) => each.id !== id); };

/** Take back what an item of news tells of. @param {News} item */
export function takeBack(item) {
  if (item === lastAct) lastAct = null; // what takes it back is an act itself, and the last one then
  dismiss(item.id);
  item.undo?.();
}

/** Take back the last act, or say that it cannot be; never one before it. @returns {boolean} there was an act */
export function undoLast() {
  if (!lastAct) return false;
  if (lastAct.undo) takeBack(lastAct);
  else tell({kind: 'note', text: `${lastAct.act} cannot be undone.`, hint: lastAct.hint});
  return true;
}
