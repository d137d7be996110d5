// The little Markdown that plans and answers use, as elements: headings, lists, boxes, code, bold.
// Links, images and HTML stay the text that they are.

import {html} from '../vendor/preact.js';
import {visible} from '../core/text.js';

/** Code and bold within a line. @param {string} text @returns {unknown[]} */
function inline(text) {
  return text.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/).map((part) => {
    if (part.length > 2 && part[0] === '`' && part.at(-1) === '`') return html`<code>${visible(part.slice(1, -1))}
      </code>`;
    if (part.startsWith('**') && part.endsWith('**')
      && part.length > 4) return html`<strong>${visible(part.slice(2, -2))}</strong>`;
    return visible(part);
  });
}

/** @param {string} line */
function listItem(line) {
  const found = /^(\s*)(?:[-*+]|\d+[.)])\s+(?:\[([ xX])\]\s+)?(.*)$/.exec(line);
  if (!found) return null;
  const [, indent, box, text] = found;
  return {depth: Math.min(4, Math.floor(indent.replaceAll('\t', '  ').length / 2)), box, text,
    number: /^\s*(\d+)/.exec(line)?.[1]};
}

/** @param {{text: string}} props */
export function Markdown({text}) {
  /** @type {unknown[]} */
  const out = [];
  const lines = text.split('\n');
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i];
    const fence = /^\s*(```+|~~~+)/.exec(line)?.[1];
    if (fence) {
      const from = ++i;
      while (i < lines.length && !lines[i].trim().startsWith(fence)) i++;
      out.push(html`<pre class="block">${visible(lines.slice(from, i).join('\n'))}</pre>`);
      continue;
    }
    const heading = /^(#{1,6})\s+(.*)$/.exec(line);
    const item = listItem(line);
    if (heading) {
      out.push(html`<p class="heading level-${Math.min(3, heading[1].length)}" role="heading"
        aria-level=${heading[1].length + 1}>${inline(heading[2])}</p>`);
    } else if (item) {
      const done = item.box && item.box !== ' ';
      const bullet = item.box === undefined ? (item.number ? `${item.number}.` : '•') : done ? '☑' : '☐';
      out.push(html`<p class="item depth-${item.depth} ${done ? 'done' : ''}">
        <span class="bullet" aria-label=${item.box === undefined ? undefined : done ? 'done' : 'open'}>${bullet}</span>
        <span>${inline(item.text)}</span></p>`);
    } else if (/^\s*(-{3,}|\*{3,})\s*$/.test(line)) {
      out.push(html`<hr/>`);
    } else if (line.trim()) {
      const from = i;
      while (i + 1 < lines.length && lines[i + 1].trim()
        && !/^\s*(#|[-*+]\s|\d+[.)]\s|```|~~~)/.test(lines[i + 1])) i++;
      out.push(html`<p>${inline(lines.slice(from, i + 1).join('\n'))}</p>`);
    }
  }
  return html`<div class="prose">${out}</div>`;
}
