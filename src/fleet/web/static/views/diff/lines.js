// Lines of a diff, one element each: numbers and sign are drawn by the style sheet, so that a copy
// holds the code alone.

import {h, html} from '../../vendor/preact.js';
import {writing} from './review.js';
import {visible} from '../../core/text.js';

/** @typedef {import('../../core/shapes').DiffHunk} DiffHunk */
/** @typedef {import('../../core/shapes').DiffRow} DiffRow */
/** @typedef {((line: number | null | undefined) => unknown) | null} After */

const SIGN = {'+': 'add', '-': 'del', ' ': 'same', '\\': 'remark'};

/** The text with the words that changed marked. @param {DiffRow} row @returns {unknown} */
function words(row) {
  if (!row.marks?.length) return row.cut ? [visible(row.text), html`<i class="faint"> … cut</i>`] : visible(row.text);
  // Marks count characters; a JavaScript string counts halves of some of them.
  const text = /[\ud800-\udfff]/.test(row.text) ? Array.from(row.text) : null;
  const part = (/** @type {number} */ from, /** @type {number} */ to) => visible(text ? text.slice(from, to).join('')
    : row.text.slice(from, to));
  /** @type {unknown[]} */
  const parts = [];
  let at = 0;
  for (const [from, to] of row.marks) {
    parts.push(part(at, from), h('b', null, part(from, to)));
    at = to;
  }
  parts.push(part(at, Infinity));
  return parts;
}

/** Both numbers in one text of fixed width. @param {number | null | undefined} n */
const number = (n) => String(n ?? '').padStart(5);

/** Rows that the browser lays out only where they are seen. */
const BLOCK = 60;

/** @template T @param {readonly T[]} rows @returns {T[][]} */
function blocks(rows) {
  return Array.from({length: Math.ceil(rows.length / BLOCK)}, (_, i) => rows.slice(i * BLOCK, (i + 1) * BLOCK));
}

/** @param {{rows: number, children?: unknown}} props */
function Block({rows, children}) {
  return html`<div class="block-of-lines" style=${{'contain-intrinsic-size': `auto ${rows * 20}px`}}>${children}</div>`;
}

/** @param {{hunk: DiffHunk, after: After}} props */
export function UnifiedHunk({hunk, after}) {
  return html`<div class="hunk">
    <div class="where">${visible(hunk.heading || `line ${hunk.new}`)}</div>
    ${blocks(hunk.rows).map((block) => html`<${Block} rows=${block.length}>${block.map((row) => {
      const line = h('div', {class: `l ${SIGN[row.sign]}`, 'data-n': `${number(row.old)} ${number(row.new)} `,
        'data-line': row.new ?? undefined, tabindex: -1}, words(row));
      const said = after?.(row.new);
      return said ? [line, said] : line;
    })}</${Block}>`)}
  </div>`;
}

/** What was taken away beside what came instead. @param {DiffRow[]} rows */
function pairs(rows) {
  /** @type {[DiffRow | null, DiffRow | null][]} */
  const found = [];
  for (let i = 0; i < rows.length;) {
    if (rows[i].sign === ' ' || rows[i].sign === '\\') { found.push([rows[i], rows[i]]); i++; continue; }
    const gone = [];
    const come = [];
    while (i < rows.length && rows[i].sign === '-') gone.push(rows[i++]);
    while (i < rows.length && rows[i].sign === '+') come.push(rows[i++]);
    if (!gone.length && !come.length) i++;
    for (let j = 0; j < Math.max(gone.length, come.length); j++) found.push([gone[j] ?? null, come[j] ?? null]);
  }
  return found;
}

/** @param {{hunk: DiffHunk, after: After}} props */
export function SplitHunk({hunk, after}) {
  const found = pairs(hunk.rows);
  return html`<div class="hunk">
    <div class="where">${visible(hunk.heading || `line ${hunk.new}`)}</div>
    ${blocks(found).map((block) => html`<${Block} rows=${block.length}>${block.map(([left, right]) => {
      const said = after?.(right?.new);
      const both = h('div', {class: 'both'},
        left ? h('div', {class: `l ${SIGN[left.sign]}`, 'data-n': `${number(left.old)} `}, words(left))
          : h('div', {class: 'l none'}),
        right ? h('div', {class: `l ${SIGN[right.sign]}`, 'data-n': `${number(right.new)} `, 'data-line': right.new
          ?? undefined, tabindex: -1}, words(right)) : h('div', {class: 'l none'}));
      return said ? [both, said] : both;
    })}</${Block}>`)}
  </div>`;
}

/** A click on the numbers begins a comment. @param {MouseEvent} event @param {string} id @param {string} path */
export function clickedLine(event, id, path) {
  const row = event.target instanceof Element ? event.target.closest('[data-line]') : null;
  if (!(row instanceof HTMLElement) || String(getSelection() ?? '')) return;
  if (event.clientX - row.getBoundingClientRect().left > 92) { row.focus({preventScroll: true}); return; }
  writing.value = {id, path, line: Number(row.dataset.line), code: row.textContent ?? ''};
}

/** @returns {HTMLElement[]} */
const lines = () => [...document.querySelectorAll('.lines [data-line]')].filter((each) => each instanceof HTMLElement);

/** @param {number} step */
function move(step) {
  const all = lines();
  const at = all.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  const seen = at >= 0 ? at + step : all.findIndex((each) => each.getBoundingClientRect().top > 170);
  const next = all[Math.max(0, Math.min(all.length - 1, seen))];
  next?.focus({preventScroll: true});
  next?.scrollIntoView({block: 'nearest'});
}

/** @param {number} step */
function moveFile(step) {
  const all = [...document.querySelectorAll('[data-file]')];
  const at = all.findIndex((each) => each.getBoundingClientRect().bottom > 160);
  all[Math.max(0, Math.min(all.length - 1, at + step))]?.scrollIntoView({block: 'start'});
}

/**
 * Keys of the lines of a diff.
 * @param {string} id
 * @param {boolean} whole all runs together: only there lines are what the agent has now
 * @returns {import('../../core/keys.js').Binding[]}
 */
export function lineKeys(id, whole) {
  return [
    {keys: 'j ArrowDown', label: 'next line', run: () => move(1)},
    {keys: 'k ArrowUp', label: 'previous line', run: () => move(-1)},
    {keys: 'J', label: 'next file', run: () => moveFile(1)},
    {keys: 'K', label: 'previous file', run: () => moveFile(-1)},
    {keys: 'c', label: 'comment on the line', run: () => {
      const row = document.activeElement;
      if (!whole || !(row instanceof HTMLElement) || !row.dataset.line) return false;
      const path = row.closest('[data-file]')?.getAttribute('data-file') ?? '';
      writing.value = {id, path, line: Number(row.dataset.line), code: row.textContent ?? ''};
      return true;
    }},
  ];
}
