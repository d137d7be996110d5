// What a person at this desk is told: questions as notifications, once the person asked for that; and fleet is told
// that the page is before a person, so that a phone does not ring for what is on the screen.

import {effect, signal} from '../vendor/preact.js';
import {write} from './api.js';
import {role} from './session.js';
import {groups, home, rowOf} from './store.js';
import {plain} from './text.js';

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
