// What a task changed: files, folded where they are large; viewed by content; comments on lines that
// go to the agent.

import {html, useEffect, useState} from '../../vendor/preact.js';
import {tellRefusal} from '../../core/acts.js';
import {write} from '../../core/api.js';
import {plural, shortId} from '../../core/format.js';
import {useKeys} from '../../core/keys.js';
import {useLoaded} from '../../core/loaded.js';
import {comments, setComments, toggleViewed, viewed, viewedName, writing} from './review.js';
import {route, setQuery} from '../../core/router.js';
import {tell} from '../../core/tell.js';
import {plain, visible, visibleLine} from '../../core/text.js';
import {lineKeys} from './lines.js';
import {DiffFile} from './file.js';
import {PlusMinus} from '../../parts/figures.js';
import {Problem} from '../../parts/problem.js';

/** @typedef {import('../../core/shapes').Diff} Diff */

/** Split only where both sides have room. */
const WIDE = matchMedia('(min-width: 1100px)');

/** @param {{id: string, row: import('../../core/shapes').TaskRow, runs: import('../../core/shapes').RunSummary[], stands: string}} props */
export function DiffTab({id, row, runs, stands}) {
  const {query} = route.value;
  const run = query.get('run');
  const {value, problem} = useLoaded(`tasks/${encodeURIComponent(id)}/diff`, {run}, [stands]);
  const diff = /** @type {Diff | null} */ (value);
  const [wide, setWide] = useState(WIDE.matches);
  useEffect(() => {
    const change = () => setWide(WIDE.matches);
    WIDE.addEventListener('change', change);
    return () => WIDE.removeEventListener('change', change);
  }, []);
  const split = wide && query.get('view') === 'split';
  const named = query.get('file');
  const loaded = diff !== null;
  useEffect(() => {
    if (named && loaded) document.querySelector(`[data-file="${CSS.escape(named)}"]`)?.scrollIntoView({block: 'start'});
  }, [named, loaded]);
  const mine = comments.value[id] ?? [];
  useKeys('Diff', [
    ...lineKeys(id, run === null),
    {keys: 'v', label: 'mark the file viewed', run: () => markViewed(id, diff)},
    {keys: 'w', label: split ? 'unified' : 'split (from 1,100 px)',
      run: () => setQuery({view: split ? null : 'split'})},
    {keys: 'Ctrl-Enter', label: 'send the comments',
      run: () => (mine.length && !writing.value ? void send(id) : false)},
  ]);
  if (problem && !diff) return html`<${Problem} problem=${problem}/>`;
  if (!diff) return null;
  const seen = diff.files.filter((file) => viewed.value.has(viewedName(id, file))).length;
  const withDiff = runs.filter((each) => each.has_diff);
  return html`<section class="diff ${split ? 'split' : 'unified'}" aria-label="Diff">
    <div class="tab-bar">
      <span>${plural(diff.files.length, 'file')} <span class="plus">+${diff.added}
        </span> <span class="minus">−${diff.removed}</span></span>
      ${withDiff.length ? html`<label class="run-choice"><span class="unseen">Which run</span><select value=${run
        ?? ''} onChange=${(/** @type {Event} */ event) =>
        setQuery({run: /** @type {HTMLSelectElement} */ (event.target).value})}>
        <option value="">All runs together</option>
          ${withDiff.map((each) => html`<option value=${each.number}>Run ${each.number} alone</option>`)}</select>
          </label>` : ''}
      <span class="grow"></span>
      ${diff.files.length ? html`<span class="soft small" role="status">${seen} of ${diff.files.length} viewed</span>`
        : ''}
      ${wide ? html`<div class="switch" role="group" aria-label="Layout">
        <button aria-pressed=${!split} onClick=${() => setQuery({view: null})}>Unified</button>
        <button aria-pressed=${split} onClick=${() => setQuery({view: 'split'})}>Split</button></div>` : ''}
      ${mine.length ? html`<button class="button main"
        onClick=${() => send(id)}>Send ${plural(mine.length, 'comment')} <span class="key">Ctrl ↵</span></button>` : ''}
    </div>
    ${diff.files.length ? '' : html`<div class="empty"><h2>No changes</h2>
      <p>${visible(diff.no_diff || 'No file differs from what the run found.')}</p>${row.group === 'running'
      ? html`<p>The agent is still at work: what it changes is here once its run is over, or as its clone stands.</p>`
      : ''}</div>`}
    <div class="diff-columns">
      ${diff.files.length > 1 ? html`<nav class="file-list" aria-label="Files">
        <ol>${diff.files.map((file) => html`<li key=${file.path} class=${viewed.value.has(viewedName(id, file))
        ? 'viewed' : ''}><button title=${plain(file.path)} onClick=${() =>
        document.querySelector(`[data-file="${CSS.escape(file.path)}"]`)?.scrollIntoView({block: 'start'})}>
        <span class="kind ${file.kind}" title=${file.kind}>${KIND[file.kind]
          ?? 'M'}</span><span class="path cut"><bdi>${visibleLine(file.path)}</bdi></span><${PlusMinus} ...${file}/>
          </button></li>`)}</ol></nav>` : ''}
      <div class="files">${diff.files.map((file) =>
        html`<${DiffFile} key=${file.path + file.digest} id=${id} run=${run} of=${diff.digest} file=${file} split=${split}
        mine=${mine.filter((each) => each.path === file.path)} first=${file.number === diff.files[0].number}/>`)}</div>
    </div>
  </section>`;
}

export const KIND = /** @type {Record<string, string>} */ ({added: 'A', changed: 'M', deleted: 'D', renamed: 'R',
  binary: 'B', mode: 'X'});

/** The file that is looked at: the topmost one on the screen. @param {string} id @param {Diff | null} diff */
function markViewed(id, diff) {
  if (!diff) return false;
  const focused = document.activeElement?.closest('[data-file]');
  const on = focused ?? [...document.querySelectorAll('[data-file]')].find((each) =>
    each.getBoundingClientRect().bottom > 160);
  const file = diff.files.find((each) => each.path === on?.getAttribute('data-file'));
  if (!file) return false;
  toggleViewed(viewedName(id, file));
  return true;
}

/** @param {string} id */
async function send(id) {
  const mine = comments.peek()[id] ?? [];
  setComments(id, []);
  try {
    const end = /** @type {import('../../core/shapes').ActEnd} */ (await write('acts/reject',
      {id, comments: mine.map(({path, line, text}) => ({path, line, text}))}));
    tell({kind: 'done', text: end.words || `Sent: ${shortId(id)}`, line: end.line});
  } catch (error) {
    setComments(id, mine);
    tellRefusal(error);
  }
}
