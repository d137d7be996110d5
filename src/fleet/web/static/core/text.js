// Text that agents wrote is data: what would move, hide or colour text is shown as a mark.

import {html} from '../vendor/preact.js';

// Controls, line separators, bidi controls and isolates, zero-width and tag characters.
const HIDDEN = new RegExp(
  '\\u001b\\[[0-9;:]*m' +
  '|[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb]' +
  '|[\\u{e0000}-\\u{e007f}]', 'gu');

/** What plain text and code are made of besides. */
const UNUSUAL = /[^\n\t -~]/;

/** @param {string} mark */
function shown(mark) {
  if (mark.length > 1 && mark[0] === '\u001b') {
    return html`<span class="control-mark faintly"
      title=${`a colour code, not obeyed: ESC${mark.slice(1)}`}>esc</span>`;
  }
  const code = mark.codePointAt(0) ?? 0;
  if (code === 13) return html`<span class="control-mark faintly" title="a carriage return">cr</span>`;
  const name = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
  return html`<span class="control-mark" title="a control character: shown, not obeyed">${name}</span>`;
}

/**
 * The text with every control character as a visible mark.
 * @param {string} text
 * @returns {unknown}
 */
export function visible(text) {
  if (!UNUSUAL.test(text)) return text; // nearly every line of code: thousands are shown at once
  HIDDEN.lastIndex = 0;
  if (!HIDDEN.test(text)) return text;
  /** @type {unknown[]} */
  const parts = [];
  let from = 0;
  HIDDEN.lastIndex = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match[0] === '\r' && text[match.index + 1] === '\n') continue;
    parts.push(text.slice(from, match.index), shown(match[0]));
    from = match.index + match[0].length;
  }
  parts.push(text.slice(from));
  return parts;
}

/** What stands on one line, a title or the name of a file: a break or a tab in it is a mark too. @param {string} text */
export function visibleLine(text) {
  return /[\n\t]/.test(text) ? text.split(/([\n\t])/).map((part) => (part === '\n' || part === '\t' ? shown(part)
    : visible(part))) : visible(text);
}

/** The same for attributes and titles, which can hold no marks. @param {string} text */
export function plain(text) {
  return text.replace(HIDDEN, (mark) => (mark.length > 1 && mark[0] === '\u001b' ? '␛' : '\u{fffd}'));
}

/** Why a task was closed, without the pointers to its receipt and its landing. @param {string} reason */
export const withoutPointers = (reason) => reason.replace(/ \[(run \d+|landed on )[^\]]*\]/g, '');

/** The directory of a task's clone: files are named from there on. */
const CLONE = /\/\S*\/worktrees\/[^/\s]+\//g;

/** A step of an agent, without the directory that it works in. @param {string} step */
export const withoutClone = (step) => step.replace(CLONE, '');

/** The first line that says something. @param {string} text */
export function firstLine(text) {
  return text.split('\n').map((line) => line.trim()).find(Boolean) ?? '';
}
