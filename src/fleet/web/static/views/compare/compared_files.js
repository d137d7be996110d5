// What each entry changed, file by file: one column an entry, so that the same file stands on one line.

import {html, useEffect, useState} from '../../vendor/preact.js';
import {read} from '../../core/api.js';
import {plural} from '../../core/format.js';
import {plain, visible, visibleLine} from '../../core/text.js';
import {PlusMinus} from '../../parts/figures.js';
import {useHunks, useNear} from '../diff/hunks.js';
import {UnifiedHunk} from '../diff/lines.js';

/** @typedef {import('../../core/shapes').ComparedEntry} ComparedEntry */
/** @typedef {import('../../core/shapes').Diff} Diff */
/** @typedef {import('../../core/shapes').FileOfDiff} FileOfDiff */

/** @param {{entries: ComparedEntry[]}} props */
export function ComparedFiles({entries}) {
  const over = entries.filter((each) => each.over && each.id);
  const [diffs, setDiffs] = useState(/** @type {Record<string, Diff>} */ ({}));
  useEffect(() => {
    const stop = new AbortController();
    for (const {id} of over) {
      read(`tasks/${encodeURIComponent(id)}/diff`, {}, stop.signal).then(
        (diff) => setDiffs((before) => ({...before, [id]: /** @type {Diff} */ (diff)})),
        () => {}); // no diff: the column says so
    }
    return () => stop.abort();
  }, [over.map((each) => each.id).join()]);
  const paths = [...new Set(over.flatMap(({id}) => diffs[id]?.files.map((file) => file.path) ?? []))].sort();
  if (!paths.length) return null;
  return html`<section class="compared-files" aria-label="Changes side by side">
    <h2>Changes <span class="faint">${plural(paths.length, 'file')}</span></h2>
    ${paths.map((path, i) => html`<${ComparedFile} key=${path} path=${path} first=${i < 2} columns=${over.map((entry) =>
      ({entry, of: diffs[entry.id]?.digest ?? '',
        file: diffs[entry.id]?.files.find((each) => each.path === path) ?? null}))}/>`)}</section>`;
}

/** @param {{path: string, first: boolean, columns: {entry: ComparedEntry, of: string, file: FileOfDiff | null}[]}} props */
function ComparedFile({path, first, columns}) {
  const folded = columns.some(({file}) => file?.folded || file?.kind === 'binary');
  const [open, setOpen] = useState(!folded);
  const {box, near} = useNear(first);
  return html`<article class="file" ref=${box} aria-label=${plain(path)}>
    <header><button class="fold" aria-expanded=${open} onClick=${() => setOpen(!open)}>
      <span class="arrow" aria-hidden="true">${open ? '▾' : '▸'}</span>
      <span class="path mono cut" dir="auto">${visibleLine(path)}</span></button></header>
    <div class="scroll-x"><div class="beside" style=${{'--entries': columns.length}}>
      ${columns.map(({entry, of, file}) => html`<div key=${entry.number} class="beside-one">
        <p class="beside-head small"><span class="soft cut" dir="auto">${visible(entry.label)}</span>
          ${file ? html`<${PlusMinus} ...${file}/>` : html`<span class="faint">not changed</span>`}</p>
        ${open && file ? html`<${Lines} key=${file.digest} id=${entry.id} of=${of} file=${file} near=${near}/>` : ''}</div>`)}
    </div></div></article>`;
}

/** @param {{id: string, of: string, file: FileOfDiff, near: boolean}} props */
function Lines({id, of, file, near}) {
  const {hunks, more, problem} = useHunks(id, null, of, file.number, near && file.kind !== 'binary');
  return html`<div class="lines">
    ${problem ? html`<p class="bad">${problem}</p>` : ''}
    ${file.kind === 'binary' ? html`<p class="folded faint">A binary file.</p>` : ''}
    ${hunks.map((hunk) => html`<${UnifiedHunk} key=${`${hunk.old}.${hunk.new}`} hunk=${hunk} after=${null}/>`)}
    ${more ? html`<button class="button plain more" onClick=${more}>More of this file</button>` : ''}</div>`;
}
