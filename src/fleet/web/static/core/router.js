// Every view, tab and filter is an address: `#/task/fleet-x4f/diff?file=src/a.py`.

import {signal} from '../vendor/preact.js';

/** @typedef {{view: string, id: string, tab: string, query: URLSearchParams, address: string}} Route */

/** @param {string} hash @returns {Route} */
function parse(hash) {
  const [path, query] = hash.replace(/^#\/?/, '').split('?', 2);
  const [view, id, tab] = (path ?? '').split('/').map(decoded);
  return {
    view: view || 'now', id: id ?? '', tab: tab ?? '',
    query: new URLSearchParams(query ?? ''), address: hash || '#/now',
  };
}

/** A broken escape in an address is text. @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Where the page is. */
export const route = signal(parse(location.hash));

/** Where the page was before, for Escape. @type {string[]} */
const trail = [];
/** How far each address was scrolled. @type {Map<string, number>} */
const scrolled = new Map();

const scroller = () => document.getElementById('main');

addEventListener('hashchange', () => {
  const next = parse(location.hash);
  const before = route.peek();
  if (next.address === before.address) return;
  scrolled.set(before.address, scroller()?.scrollTop ?? 0);
  if (trail.at(-1) === next.address) trail.pop();
  else if (before.view !== next.view || before.id !== next.id) trail.push(before.address);
  trail.splice(0, trail.length - 50);
  route.value = next;
  if (pathOf(before) !== pathOf(next)) {
    requestAnimationFrame(() => scroller()?.scrollTo(0, scrolled.get(next.address) ?? 0));
  }
});

/** @param {Route} at */
const pathOf = (at) => at.address.split('?', 1)[0];

/**
 * The address of a view.
 * @param {string} view
 * @param {string[]} parts
 */
export const link = (view, ...parts) => `#/${[view, ...parts].map(encodeURIComponent).join('/')}`;

/** @param {string} address @param {{replace?: boolean}} [how] */
export function go(address, how = {}) {
  if (how.replace) {
    history.replaceState(null, '', address);
    dispatchEvent(new HashChangeEvent('hashchange'));
  } else {
    location.hash = address;
  }
}

/** Back to where the page came from; to the list if it came from nowhere. */
export const back = () => go(trail.at(-1) ?? '#/now');

/**
 * The same view with other filters; an empty value takes a filter away.
 * @param {Record<string, string | null>} changes
 */
export function setQuery(changes) {
  const {address, query} = route.peek();
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value) next.set(name, value);
    else next.delete(name);
  }
  const words = next.toString();
  go(address.split('?', 1)[0] + (words ? `?${words}` : ''), {replace: true});
}
