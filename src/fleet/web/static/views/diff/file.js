// One file of a diff. Its rows are asked for when it comes into sight, or when it is unfolded.

import {html, useState} from '../../vendor/preact.js';
import {CommentForm, CommentShown, toggleViewed, viewed, viewedName, writing} from './review.js';
import {plain, visible, visibleLine} from '../../core/text.js';
import {useHunks, useNear} from './hunks.js';
import {PlusMinus} from '../../parts/figures.js';
import {clickedLine, SplitHunk, UnifiedHunk} from './lines.js';

/** @typedef {import('../../core/shapes').FileOfDiff} FileOfDiff */

/**
 * @param {{id: string, run: string | null, of: string, file: FileOfDiff, split: boolean, first: boolean,
 *   mine: import('./review.js').LineComment[]}} props
 */
export function DiffFile({id, run, of, file, split, mine, first}) {
  const name = viewedName(id, file);
  const seen = viewed.value.has(name);
  const [wanted, setWanted] = useState(/** @type {boolean | null} */ (null));
  const open = wanted ?? !(seen || file.folded || file.kind === 'binary');
  const {box, near} = useNear(first);
  const {hunks, more, problem} = useHunks(id, run, of, file.number, open && near);
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
          : ''}${visibleLine(file.path)}</span></button>
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
        ${more ? html`<button class="button plain more"
          onClick=${more}>More of this file</button>` : ''}
        ${!hunks.length && !problem ? html`<div style=${{height: `${Math.min(file.lines, 2000) * 20}px`}}></div>` : ''}
      </div>`}
  </article>`;
}
