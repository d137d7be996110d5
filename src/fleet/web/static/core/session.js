// The session key. It lives in this origin's storage, never in a cookie: cookies of one localhost
// port are sent to every other port, and agents start servers there all day.

import {signal} from '../vendor/preact.js';

const KEY = 'fleet.key';

/** What this session may do: `view`, `answer`, `operate`; empty: it is not known yet. */
export const role = signal('');
/** Why there is no session; empty: there is one. */
export const lockedOut = signal('');

export const key = () => localStorage.getItem(KEY) ?? '';

/** @param {string} why */
export function forget(why) {
  localStorage.removeItem(KEY);
  lockedOut.value = why;
}

/**
 * Exchange the one-time code of the address, if there is one, for a session key.
 * @returns {Promise<boolean>} there is a key now
 */
export async function enter() {
  const once = /^#once=([\w-]+)$/.exec(location.hash)?.[1];
  if (once) {
    history.replaceState(null, '', `${location.pathname}#/now`);
    dispatchEvent(new HashChangeEvent('hashchange'));
    const answer = await fetch('api/v1/session', {
      method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify({once}),
    });
    if (answer.ok) {
      const found = await answer.json();
      localStorage.setItem(KEY, found.key);
    } else if (!key()) {
      lockedOut.value = (await answer.json().catch(() => ({}))).error ?? 'the code was used already, or is too old';
    }
  }
  if (!key() && !lockedOut.value) lockedOut.value = 'this browser has no session';
  return Boolean(key());
}
