// What a person at this desk is told: the count of what needs one, in the title and the icon of the tab; questions as
// notifications, once the person asked for that. And fleet is told that the page is before a person, so that a phone
// does not ring for what is on the screen.

import {effect, signal} from '../vendor/preact.js';
import {fileAt, write} from './api.js';
import {route} from './router.js';
import {role} from './session.js';
import {groups, home, rowOf} from './store.js';
import {plain} from './text.js';

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

/** Milliseconds between two notes that a person looks. */
const EVERY = 20_000;

/** @returns {'unknown' | 'granted' | 'denied' | 'default'} */
const now = () => ('Notification' in window ? Notification.permission : 'unknown');

/** Whether the browser would show notifications of this page: `default` until the person was asked. */
export const leave = signal(now());

/** Ask the person whether this page may tell of questions while another window is before it. */
export async function askLeave() {
  await Notification.requestPermission();
  leave.value = now();
}

function noteLook() {
  // The stream says already when the server is gone.
  if (document.hasFocus() && role.value && role.value !== 'view') write('looking', {}).catch(() => {});
}

/** @param {string} id */
function tell(id) {
  const row = rowOf(id);
  if (!row) return;
  const shown = new Notification('An agent asks', {body: plain(row.title), tag: `fleet-question-${id}`});
  shown.onclick = () => {
    window.focus();
    location.hash = '#/questions';
    shown.close();
  };
}

export function watchDesktop() {
  /** @type {Set<string> | null} */
  let known = null;
  effect(() => {
    if (!home.value) return;
    const asked = groups.value.needs_you.filter((id) => rowOf(id)?.question);
    const fresh = known ? asked.filter((id) => !known?.has(id)) : [];
    known = new Set(asked);
    if (leave.peek() === 'granted' && !document.hasFocus()) fresh.forEach(tell);
  });
  setInterval(noteLook, EVERY);
  addEventListener('focus', noteLook);
  effect(noteLook); // and once it is known what this session may do
}
