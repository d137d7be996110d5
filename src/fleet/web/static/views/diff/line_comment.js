// Comments on a line: written here, sent together, with path, line and code.

import {html, useLayoutEffect, useRef, useState} from '../../vendor/preact.js';
import {comments, setComments, writing} from './review.js';
import {useKeys} from '../../core/keys.js';
import {visible} from '../../core/text.js';
import {valueOf} from '../../parts/act_dialog.js';

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

/** @param {{id: string, comment: import('./review.js').LineComment}} props */
export function CommentShown({id, comment}) {
  const remove = () => setComments(id, (comments.peek()[id] ?? []).filter((each) => each !== comment));
  return html`<div class="line-comment"><p dir="auto">${visible(comment.text)}</p>
    <span class="faint small">not sent yet</span>
    <button class="button plain" aria-label="Remove this comment" onClick=${remove}>Remove</button></div>`;
}
