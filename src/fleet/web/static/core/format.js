// Figures and times for people. Pure: the time is passed in.

const MINUTE = 60, HOUR = 3600, DAY = 86400;

/**
 * A span of time in at most two units: `12 s`, `4 min`, `2 h 05`, `3 d 4 h`.
 * @param {number} seconds
 */
export function span(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < MINUTE) return `${s} s`;
  if (s < HOUR) return `${Math.floor(s / MINUTE)} min`;
  if (s < DAY) return `${Math.floor(s / HOUR)} h ${String(Math.floor((s % HOUR) / MINUTE)).padStart(2, '0')}`;
  const hours = Math.floor((s % DAY) / HOUR);
  return hours && s < 10 * DAY ? `${Math.floor(s / DAY)} d ${hours} h` : `${Math.floor(s / DAY)} d`;
}

/** A short time, with a tenth where that matters. @param {number} s */
export const seconds = (s) => (s < 10 ? `${s.toFixed(1)} s` : span(s));

/**
 * How long ago, or in how long: `4 min ago`, `in 2 h 05`, `now`.
 * @param {string} at
 * @param {number} now milliseconds
 */
export function relative(at, now) {
  const seconds = (now - Date.parse(at)) / 1000;
  if (Math.abs(seconds) < 2) return 'now';
  return seconds < 0 ? `in ${span(-seconds)}` : `${span(seconds)} ago`;
}

const exactly = new Intl.DateTimeFormat(undefined, {
  weekday: 'short', day: 'numeric', month: 'short', year: 'numeric',
  hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false,
});
const clockly = new Intl.DateTimeFormat(undefined, {hour: '2-digit', minute: '2-digit', hour12: false});
const dayly = new Intl.DateTimeFormat(undefined, {day: 'numeric', month: 'short'});

/** The whole date and time. @param {string | number} at */
export const exact = (at) => exactly.format(new Date(at));

/** Hour and minute; the day too if it is another one. @param {string | number} at @param {number} now */
export function clock(at, now) {
  const then = new Date(at);
  const time = clockly.format(then);
  return then.toDateString() === new Date(now).toDateString() ? time : `${dayly.format(then)}, ${time}`;
}

/** Day and month. @param {string | number} at */
export const day = (at) => dayly.format(new Date(at));

/** A count in three digits: `940`, `12.4k`, `3.1M`. @param {number} n */
export function count(n) {
  if (n < 1000) return String(n);
  if (n < 99_950) return `${(n / 1000).toFixed(1)}k`;
  if (n < 999_500) return `${Math.round(n / 1000)}k`;
  return n < 99_950_000 ? `${(n / 1e6).toFixed(1)}M` : `${Math.round(n / 1e6)}M`;
}

/** Bytes for people. @param {number} n */
export function bytes(n) {
  if (n < 1000) return `${n} B`;
  if (n < 1e6) return `${(n / 1000).toFixed(0)} kB`;
  return n < 1e9 ? `${(n / 1e6).toFixed(1)} MB` : `${(n / 1e9).toFixed(1)} GB`;
}

/** @param {number} usd */
export function dollars(usd) {
  if (usd > 0 && usd < 0.01) return '<$0.01';
  return `$${usd.toFixed(usd < 100 ? 2 : 0)}`;
}

/** @param {number} n @param {string} one @param {string} [many] */
export const plural = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

/** The last part of a directory. @param {string} path */
export const basename = (path) => path.replace(/\/+$/, '').split('/').pop() || path;

/** The id as people type it: without the queue's prefix. @param {string} id */
export const shortId = (id) => id.replace(/^[a-z]+-/, '');
