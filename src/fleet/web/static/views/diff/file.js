// One file of a diff. Its rows are asked for when it comes into sight, or when it is unfolded.

import {html, useEffect, useRef, useState} from '../../vendor/preact.js';
import {read} from '../../core/api.js';
import {toggleViewed, viewed, viewedName, writing} from './review.js';
import {plain, visible} from '../../core/text.js';
import {CommentForm, CommentShown} from './line_comment.js';
import {PlusMinus} from '../../parts/figures.js';
import {clickedLine, SplitHunk, UnifiedHunk} from './lines.js';

/** @typedef {import('../../core/shapes').DiffHunk} DiffHunk */
/** @typedef {import('../../core/shapes').FileOfDiff} FileOfDiff */

/**
 * @param {{id: string, run: string | null, file: FileOfDiff, split: boolean, first: boolean,
 *   mine: import('./review.js').LineComment[]}} props
 */
export function DiffFile({id, run, file, split, mine, first}) {
  const name = viewedName(id, file);
  const seen = viewed.value.has(name);
  const [wanted, setWanted] = useState(/** @type {boolean | null} */ (null));
  const open = wanted ?? !(seen || file.folded || file.kind === 'binary');
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const [near, setNear] = useState(first);
  const [hunks, setHunks] = useState(/** @type {DiffHunk[]} */ ([]));
  const [next, setNext] = useState(/** @type {number | null} */ (0));
  const [problem, setProblem] = useState('');
  useEffect(() => {
    if (near || !box.current) return undefined;
    const watcher = new IntersectionObserver((all) => { if (all.some((each) => each.isIntersecting)) setNear(true); },
      {rootMargin: '1500px 0px'});
    watcher.observe(box.current);
    return () => watcher.disconnect();
  }, [near]);
  const more = () => {
    if (next === null) return;
    read(`tasks/${encodeURIComponent(id)}/diff/${file.number}`, {run, row: next, words: 1}).then((value) => {
      const part = /** @type {import('../../core/shapes').DiffPart} */ (value);
      setHunks((before) => (next === 0 ? part.hunks : [...before, ...part.hunks]));
      setNext(part.next_row);
      setProblem('');
    }, (error) => setProblem(error.message));
  };
  useEffect(() => { if (open && near && !hunks.length && next === 0) more(); }, [open, near]);
  const at = writing.value?.id === id && writing.value.path === file.path ? writing.value.line : null;
  const Hunk = split ? SplitHunk : UnifiedHunk;
  const after = (/** @type {number | null | undefined} */ line) => {
    if (!line) return null;
    const said = mine.filter((each) => each.line === line);
    if (!said.length && at !== line) return null;
    return html`<div class="said-here">${said.map((each) =>
      html`<${CommentShown} id=${id} comment=${each}/>`)}${at === line ? html`<${CommentForm}/>` : ''}</div>`;
  };
  return html`<article class="file ${seen ? 'viewed' : ''}" data-file=${file.path} ref=${box}
    aria-label=${plain(file.path)}>
    <header>
      <button class="fold" aria-expanded=${open} onClick=${() =>
        setWanted(!open)}><span class="arrow" aria-hidden="true">${open ? '▾' : '▸'}</span>
        <span class="path mono cut" dir="auto">${file.was ? html`<span class="faint">${visible(file.was)} → </span>`
          : ''}${visible(file.path)}</span></button>
      ${file.kind !== 'changed' ? html`<span class="word ${file.kind}">${file.kind}</span>` : ''}
      <${PlusMinus} ...${file}/>
      <label class="viewed-box"><input type="checkbox" checked=${seen} onChange=${() =>
        { toggleViewed(name); setWanted(null); }}/> Viewed</label>
    </header>
    ${!open ? (seen ? '' : html`<p class="folded faint">${file.kind === 'binary' ? 'A binary file.'
      : `${file.lines.toLocaleString('en')} lines are folded. `}${file.kind === 'binary' ? ''
      : html`<button class="link" onClick=${() => setWanted(true)}>Show them</button>`}</p>`) : html`
      <div class="lines" onClick=${(/** @type {MouseEvent} */ event) => clickedLine(event, id, file.path)}>
        ${problem ? html`<p class="bad">${problem}</p>` : ''}
        ${hunks.map((hunk) => html`<${Hunk} key=${`${hunk.old}.${hunk.new}`} hunk=${hunk} after=${mine.length
          || at !== null ? after : null}/>`)}
        ${hunks.length && next !== null ? html`<button class="button plain more"
          onClick=${more}>More of this file</button>` : ''}
        ${!hunks.length && !problem ? html`<div style=${{height: `${Math.min(file.lines, 2000) * 20}px`}}></div>` : ''}
      </div>`}
  </article>`;
}
