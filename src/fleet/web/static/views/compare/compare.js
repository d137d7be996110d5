// One task tried by several coders: verdict, checks, cost and changes side by side, and the one to keep.

import {html, useMemo} from '../../vendor/preact.js';
import {begin, possible} from '../../core/acts.js';
import {basename, plural, shortId} from '../../core/format.js';
import {useKeys} from '../../core/keys.js';
import {useLoaded} from '../../core/loaded.js';
import {back, link, route} from '../../core/router.js';
import {cursor, rowOf, standing} from '../../core/store.js';
import {visibleLine} from '../../core/text.js';
import {CommandLine} from '../../parts/copy.js';
import {Problem} from '../../parts/problem.js';
import {Ago} from '../../parts/time.js';
import {ComparedFiles} from './compared_files.js';
import {EntryTable} from './entry_table.js';

/** @typedef {import('../../core/shapes').ComparisonView} ComparisonView */
/** @typedef {import('../../core/shapes').ComparedEntry} ComparedEntry */

/** @type {Map<string, string[]>} The tasks of each comparison that was looked at. */
const entriesOf = new Map();

export function Compare() {
  const {id} = route.value;
  // How the subject and its entries stand: when that changes, the whole is asked for anew.
  const stands = [id, ...entriesOf.get(id) ?? []].map((each) => {
    const row = rowOf(each);
    return row ? standing(row) : '';
  }).join(';');
  const {value, problem, again} = useLoaded(`tasks/${encodeURIComponent(id)}/comparison`, {}, [stands]);
  const found = /** @type {ComparisonView | null} */ (value);
  useMemo(() => { cursor.value = id; }, [id]);
  if (found) entriesOf.set(id, found.entries.map((each) => each.id));
  useKeys('Compare', [{keys: 'Escape q', label: 'back', run: back}, {keys: 'r', label: 'look again', run: again}]);
  if (!found) {
    return html`<div class="view"><header class="head"><h1>Compare</h1></header>
      ${problem ? html`<${Problem} problem=${problem}/>` : ''}</div>`;
  }
  const open = found.state !== 'picked' && found.state !== 'discarded';
  const over = found.entries.filter((each) => each.over).length;
  return html`<div class="view compare">
    <header class="head"><h1 dir="auto">${visibleLine(found.title)}</h1></header>
    <ul class="facts">
      <li><a class="link mono" href=${link('task', found.id)}>${shortId(found.id)}</a></li>
      <li>${plural(found.entries.length, 'entry', 'entries')} from
        <span class="mono" title=${found.commit}>${found.commit.slice(0, 12)}</span> in
        <span title=${found.repository}>${basename(found.repository)}</span></li>
      <li>begun <${Ago} at=${found.at}/>${found.by ? ` by ${found.by}` : ''}</li>
      <li role="status">${standsWords(found, over)}</li>
    </ul>
    <${EntryTable} found=${found} pick=${open && possible('pick', [found.id])
      ? (/** @type {ComparedEntry} */ entry) => pick(found, entry) : null}/>
    <${ComparedFiles} entries=${found.entries} />
    ${open ? html`<p class="soft small">None of them is good enough? All of them go, and the task is as before:</p>
      <${CommandLine} line=${`fleet compare ${found.id} --discard`}/>` : ''}
  </div>`;
}

/** @param {ComparisonView} found @param {number} over */
function standsWords(found, over) {
  if (found.state === 'discarded') return 'discarded: the task went on without them';
  if (found.state === 'picked' || found.state === 'landing') {
    const who = found.entries.find((each) => each.id === found.picked);
    return `${who?.label ?? found.picked} was picked${found.landed
      ? `, on ${found.branch} as ${found.landed.slice(0, 12)}` : ''}`;
  }
  if (over < found.entries.length) return `${over} of ${found.entries.length} are over`;
  return 'all are over: pick one';
}

/** @param {ComparisonView} found @param {ComparedEntry} entry */
function pick(found, entry) {
  begin(entry.done ? 'pick' : 'pick_anyway', [found.id], {entry: entry.id});
}
