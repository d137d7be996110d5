// Requests to /api/v1, with the session key and errors that say what to do; and where the page's own files are.

import {forget, key} from './session.js';

export class Refusal extends Error {
  /** @param {string} message @param {string} hint @param {number} status */
  constructor(message, hint, status) {
    super(message);
    this.hint = hint;
    this.status = status;
  }
}

/** @param {Response} answer */
async function refusalOf(answer) {
  const found = await answer.json().catch(() => ({}));
  if (answer.status === 401) forget(found.error ?? 'this session has ended');
  return new Refusal(found.error ?? `the server answered ${answer.status}`, found.hint ?? '', answer.status);
}

/**
 * @param {string} path below /api/v1
 * @param {RequestInit} [how]
 * @returns {Promise<Response>}
 */
export async function ask(path, how = {}) {
  let answer;
  try {
    answer = await fetch(`/api/v1/${path}`, {
      cache: 'no-store', ...how, headers: {authorization: `Bearer ${key()}`, ...how.headers},
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new Refusal('fleet web does not answer', 'Start it again: fleet web', 0);
  }
  if (!answer.ok) throw await refusalOf(answer);
  return answer;
}

/**
 * @template T
 * @param {string} path
 * @param {Record<string, string | number | null | undefined>} [query]
 * @param {AbortSignal} [signal]
 * @returns {Promise<T>}
 */
export async function read(path, query = {}, signal) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== null && value !== undefined
    && value !== '') words.set(name, String(value));
  const answer = await ask(words.size ? `${path}?${words}` : path, {signal});
  return answer.json();
}

/**
 * @template T
 * @param {string} path
 * @param {object} body
 * @returns {Promise<T>}
 */
export async function write(path, body) {
  const answer = await ask(path, {
    method: 'POST', body: JSON.stringify(body),
    headers: {'content-type': 'application/json', 'idempotency-key': crypto.randomUUID()},
  });
  return answer.json();
}

const ROOT = new URL('../', import.meta.url);

/** The address of a file of the page, whatever the server has above it. @param {string} name */
export const fileAt = (name) => new URL(name, ROOT).href;
