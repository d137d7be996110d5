// Short news at the edge of the page: what was done, as which command, and how to take it back.

import {signal} from '../vendor/preact.js';

/**
 * @typedef {object} News
 * @property {number} id
 * @property {string} text
 * @property {'done' | 'refused' | 'note'} kind
 * @property {string} [line] the command that it stands for
 * @property {string} [hint]
 * @property {() => void} [undo]
 */

export const news = signal(/** @type {News[]} */ ([]));
/** Every command that this tab did, newest first. */
export const commandLog = signal(/** @type {{at: number, line: string, text: string}[]} */ ([]));

let last = 0;

/** @param {Omit<News, 'id'>} item */
export function tell(item) {
  const id = ++last;
  news.value = [...news.peek().slice(-2), {...item, id}];
  const told = document.getElementById('told');
  if (told) told.textContent = item.hint ? `${item.text} ${item.hint}` : item.text;
  if (item.line && item.kind === 'done') {
    commandLog.value = [{at: Date.now(), line: item.line, text: item.text}, ...commandLog.peek()].slice(0, 50);
  }
  setTimeout(() => dismiss(id), item.kind === 'refused' ? 15_000 : item.undo ? 8000 : 4000);
}

/** @param {number} id */
export const dismiss = (id) => { news.value = news.peek().filter((each) => each.id !== id); };
