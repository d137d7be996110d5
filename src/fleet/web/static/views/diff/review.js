// A person's review of a diff: files that were viewed, by the content they had, and comments that are
// not sent yet. Both live in this browser until they are sent.

import {html, signal, useLayoutEffect, useRef, useState} from '../../vendor/preact.js';
import {useKeys} from '../../core/keys.js';
import {visible} from '../../core/text.js';
import {valueOf} from '../../parts/act_dialog.js';

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

export function CommentForm() {
  const [text, setText] = useState('');
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  useLayoutEffect(() =>
    { field.current?.focus({preventScroll: true}); field.current?.scrollIntoView({block: 'nearest'}); },
    []);
  const close = () => { writing.value = null; };
  const keep = () => {
    const at = writing.peek();
    if (!at || !text.trim()) return;
    const {id, ...place} = at;
    setComments(id, [...comments.peek()[id] ?? [], {...place, text: text.trim()}]);
    close();
  };
  useKeys('Comment', [{keys: 'Ctrl-Enter', label: 'keep the comment', run: keep},
    {keys: 'Escape', label: 'no comment', run: close}]);
  return html`<div class="line-comment writing">
    <textarea ref=${field} rows="3" dir="auto" aria-label="Comment on this line"
      placeholder="What should be different here" value=${text} onInput=${(/** @type {InputEvent} */ event) =>
      setText(valueOf(event))}></textarea>
    <div class="comment-acts"><button class="button main" disabled=${!text.trim()}
      onClick=${keep}>Keep <span class="key">Ctrl ↵</span></button>
      <button class="button plain" onClick=${close}>Cancel</button>
      <span class="faint small">Comments are sent together, to the agent that runs or into its next run.</span></div>
        </div>`;
}

/** @param {{id: string, comment: LineComment}} props */
export function CommentShown({id, comment}) {
  const remove = () => setComments(id, (comments.peek()[id] ?? []).filter((each) => each !== comment));
  return html`<div class="line-comment"><p dir="auto">${visible(comment.text)}</p>
    <span class="faint small">not sent yet</span>
    <button class="button plain" aria-label="Remove this comment" onClick=${remove}>Remove</button></div>`;
}
