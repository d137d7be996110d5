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

/** What this browser is, for the list of sessions. */
function device() {
  const system = /Android|iPhone|iPad|Mac|Windows|Linux/.exec(navigator.userAgent)?.[0] ?? '';
  const browser = /Firefox|Edg|Chrome|Safari/.exec(navigator.userAgent)?.[0].replace('Edg', 'Edge') ?? 'browser';
  return `${browser} ${system}`.trim();
}

/** @param {RequestInit} how @returns {Promise<{ok: boolean, key?: string, role?: string, error?: string}>} */
async function session(how) {
  try {
    const answer = await fetch('/api/v1/session', {cache: 'no-store', ...how});
    return {...await answer.json(), ok: answer.ok};
  } catch {
    return {ok: false, error: ''};
  }
}

/**
 * Exchange the one-time code of the address, if there is one, for a session key.
 * @returns {Promise<boolean>} there is a key now
 */
export async function enter() {
  const once = /^#once=([\w-]+)$/.exec(location.hash)?.[1];
  if (once) {
    history.replaceState(null, '', '/#/now');
    dispatchEvent(new HashChangeEvent('hashchange'));
    const headers = {'content-type': 'application/json'};
    const found = await session({method: 'POST', headers, body: JSON.stringify({once, device: device()})});
    if (found.key) localStorage.setItem(KEY, found.key);
    else if (!key()) lockedOut.value = found.error || 'fleet web does not answer';
  }
  if (!key()) {
    lockedOut.value ||= 'this browser has no session';
    return false;
  }
  void session({headers: {authorization: `Bearer ${key()}`}}).then((found) => { role.value = found.role ?? ''; });
  return true;
}
