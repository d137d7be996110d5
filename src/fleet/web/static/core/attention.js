// The count of what needs a person, in the title and the icon of the tab.

import {effect} from '../vendor/preact.js';
import {fileAt} from './files.js';
import {route} from './router.js';
import {home, rowOf} from './store.js';

const WORDS = /** @type {Record<string, string>} */ ({now: 'Now', questions: 'Questions', timeline: 'Timeline',
  usage: 'Usage', accounts: 'Accounts', log: 'Log', new: 'New task', graph: 'Graph'});

/** @param {number} needs */
function icon(needs) {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 64;
  const draw = canvas.getContext('2d');
  if (!draw) return fileAt('icon.svg');
  draw.fillStyle = '#4b53c9';
  draw.beginPath();
  draw.roundRect(0, 0, 64, 64, 14);
  draw.fill();
  draw.fillStyle = '#f2b33d';
  draw.beginPath();
  draw.arc(32, 32, 25, 0, 7);
  draw.fill();
  draw.fillStyle = '#1c1d22';
  draw.font = `bold ${needs > 9 ? 30 : 38}px system-ui, sans-serif`;
  draw.textAlign = 'center';
  draw.textBaseline = 'middle';
  draw.fillText(needs > 99 ? '99' : String(needs), 32, 35);
  return canvas.toDataURL('image/png');
}

export function watchAttention() {
  let shown = -1;
  effect(() => {
    const needs = home.value?.counts.needs_you ?? 0;
    const {view, id} = route.value;
    const where = view === 'task' ? rowOf(id)?.title ?? id : WORDS[view] ?? 'fleet';
    document.title = `${needs ? `(${needs}) ` : ''}${where} · fleet`;
    if (needs === shown) return;
    shown = needs;
    document.querySelector('link[rel="icon"]')?.setAttribute('href', needs ? icon(needs) : fileAt('icon.svg'));
  });
}
