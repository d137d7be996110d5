// What a search over the whole transcript found. fleet searches; the page shows.

import {html, useEffect, useState} from '../../vendor/preact.js';
import {plural} from '../../core/format.js';
import {useLoaded} from '../../core/loaded.js';
import {route, setQuery} from '../../core/router.js';
import {visible} from '../../core/text.js';

/** @typedef {import('../../core/shapes').TranscriptHits} TranscriptHits */

/** @param {{id: string, wanted: string}} props */
export function Hits({id, wanted}) {
  const [settled, setSettled] = useState(wanted);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(wanted), 150);
    return () => clearTimeout(timer);
  }, [wanted]);
  const {value, problem} = useLoaded(settled ? `tasks/${encodeURIComponent(id)}/transcript/search` : null,
    {q: settled});
  const found = /** @type {TranscriptHits | null} */ (value);
  const here = route.value.query.get('at');
  if (problem) return html`<p class="bad">${problem.message}</p>`;
  if (!found) return null;
  return html`<div class="hits" role="region" aria-label="Found">
    <p class="soft small" role="status">${found.hits.length
      ? `${plural(found.hits.length, 'line')}${found.next_at !== null ? ' and more' : ''}`
      : `Nothing has “${settled}” in it.`}</p>
    <ol>${found.hits.map((hit) => html`<li key=${hit.at}><button class=${String(hit.at) === here ? 'here'
      : ''} onClick=${() => setQuery({at: String(hit.at)})}><span class="faint">${hit.kind}
      </span> <${Found} text=${hit.line} wanted=${settled}/></button></li>`)}</ol>
  </div>`;
}

/** @param {{text: string, wanted: string}} props */
function Found({text, wanted}) {
  const at = text.toLowerCase().indexOf(wanted.toLowerCase());
  if (at < 0) return html`<span class="cut" dir="auto">${visible(text)}</span>`;
  const from = Math.max(0, at - 60);
  return html`<span class="cut" dir="auto">${from ? '…' : ''}${visible(text.slice(from, at))}
    <mark>${visible(text.slice(at, at + wanted.length))}</mark>${visible(text.slice(at + wanted.length))}</span>`;
}
