// A person's review of a diff: files that were viewed, by the content they had, and comments that are
// not sent yet. Both live in this browser until they are sent.

import {signal} from '../../vendor/preact.js';

/** @typedef {{path: string, line: number, code: string, text: string}} LineComment */

const VIEWED = 'fleet.viewed';
const MOST_VIEWED = 2000;

/** @param {string} name @param {unknown} fallback */
function stored(name, fallback) {
  try {
    return JSON.parse(localStorage.getItem(name) ?? '') ?? fallback;
  } catch {
    return fallback;
  }
}

/** `task path digest` of each file that was viewed: another digest is another content. */
export const viewed = signal(new Set(/** @type {string[]} */ (stored(VIEWED, []))));

/** @param {string} id @param {{path: string, digest: string}} file */
export const viewedName = (id, file) => `${id} ${file.digest} ${file.path}`;

/** @param {string} name */
export function toggleViewed(name) {
  const next = new Set(viewed.peek());
  if (!next.delete(name)) next.add(name);
  viewed.value = next;
  localStorage.setItem(VIEWED, JSON.stringify([...next].slice(-MOST_VIEWED)));
}

/** Comments that are not sent, by task. */
export const comments = signal(/** @type {Record<string, LineComment[]>} */ (stored('fleet.comments', {})));

/** @param {string} id @param {LineComment[]} list */
export function setComments(id, list) {
  const {[id]: _, ...rest} = comments.peek();
  comments.value = list.length ? {...rest, [id]: list} : rest;
  localStorage.setItem('fleet.comments', JSON.stringify(comments.peek()));
}

/** The line that a comment is being written on. */
export const writing = signal(/** @type {{id: string, path: string, line: number, code: string} | null} */ (null));
