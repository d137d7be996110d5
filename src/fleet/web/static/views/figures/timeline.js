// A night at a glance: a lane a slot, colours by outcome, bands where something kept fleet from working.

import {html, useEffect, useRef, useState} from '../../vendor/preact.js';
import {clock, exact, plural, span} from '../../core/format.js';
import {useKeys} from '../../core/keys.js';
import {useLoaded} from '../../core/loaded.js';
import {go, link, route, setQuery} from '../../core/router.js';
import {home} from '../../core/store.js';
import {plain, visible, visibleLine} from '../../core/text.js';
import {CommandLine} from '../../parts/copy.js';
import {Problem} from '../../parts/problem.js';
import {Mark, outcomeMark, outcomeWords, toneOf, wordOf} from '../../parts/status.js';

/** @typedef {import('../../core/shapes').Timeline} TimelineValue */
/** @typedef {import('../../core/shapes').Segment} Segment */

const SPANS = /** @type {const} */ ([['0.25', '15 min'], ['1', '1 h'], ['6', '6 h'], ['12', '12 h'], ['24', '24 h'],
  ['168', '7 d']]);
const LANE = 30, TOP = 26, LEFT = 64;
const BANDS = {account: 'account limit', vendor: 'vendor fails', budget: 'budget spent', supervisor: 'no supervisor', paused: 'paused'};

export function TimelineView() {
  const hours = Number(route.value.query.get('hours')) || 12;
  const stands = home.value ? `${home.value.counts.running} ${home.value.counts.done} ${home.value.supervisor.alive}`
    : '';
  const [minute, setMinute] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => { if (!document.hidden) setMinute((n) => n + 1); }, 15_000);
    return () => clearInterval(timer);
  }, []);
  const {value, problem} = useLoaded('timeline', {from: since(hours, minute)}, [stands]);
  const line = /** @type {TimelineValue | null} */ (value);
  const step = (/** @type {number} */ by) => {
    const at = SPANS.findIndex(([name]) => Number(name) === hours);
    setQuery({hours: SPANS[Math.max(0, Math.min(SPANS.length - 1, at + by))][0]});
  };
  useKeys('Timeline', [{keys: '+ =', label: 'a shorter time', run: () => step(-1)},
    {keys: '-', label: 'a longer time', run: () => step(1)}]);
  return html`<div class="view timeline"><header class="head"><h1>Timeline</h1><span class="grow"></span>
      <div class="switch" role="group" aria-label="How far back">${SPANS.map(([name, word]) =>
        html`<button aria-pressed=${Number(name) === hours} onClick=${() => setQuery({hours: name})}>${word}
        </button>`)}</div></header>
    ${problem && !line ? html`<${Problem} problem=${problem}/>` : ''}
    ${line ? line.lanes.length || line.waits.length ? html`<${Chart} line=${line}/><${Told} line=${line}/>`
      : html`<div class="empty"><h2>Nothing ran in this time</h2>
      <p>Runs appear here as they begin. A longer time is above; to start one:</p><${CommandLine} line="fleet run"/>
      </div>` : ''}
  </div>`;
}

/**
 * The moment this many hours ago; it changes only each quarter of a minute.
 * @param {number} hours
 * @param {number} _ counts quarters of a minute
 */
function since(hours, _) {
  const quarter = Math.floor(Date.now() / 15_000) * 15_000;
  return new Date(quarter - hours * 3_600_000).toISOString();
}

/** @param {{line: TimelineValue}} props */
function Chart({line}) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const [width, setWidth] = useState(900);
  const [shown, setShown] = useState(/** @type {Segment | null} */ (null));
  useEffect(() => {
    if (!box.current) return undefined;
    const watcher = new ResizeObserver(([entry]) => setWidth(Math.max(300, entry.contentRect.width)));
    watcher.observe(box.current);
    return () => watcher.disconnect();
  }, []);
  const from = Date.parse(line.start), to = Date.parse(line.end);
  const left = width < 600 ? 34 : LEFT;
  const x = (/** @type {number} */ at) => left + ((Math.max(from, Math.min(to, at)) - from) / (to - from
    || 1)) * (width - left);
  const waits = packed(line.waits, to).slice(0, 6);
  const gap = waits.length ? 22 : 0;
  const bottom = TOP + line.lanes.length * LANE + gap + waits.length * 14;
  const end = (/** @type {string | null | undefined} */ at) => (at ? Date.parse(at) : to);
  return html`<figure class="chart" ref=${box}>
    <svg width=${width} height=${bottom + 8} role="group"
      aria-label=${`${plural(line.lanes.reduce((n, lane) => n + lane.segments.length, 0),
      'run')} in ${plural(line.lanes.length, 'slot')}`}>
      <defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <path d="M0 0v6" class="hatch"/></pattern></defs>
      ${ticks(from, to, width).map((at) => html`<g class="tick"><path d="M${x(at)} ${TOP - 6}V${bottom}"/>
        <text x=${x(at)} y="14">${clock(at, to)}</text></g>`)}
      ${line.bands.map((band) => { const a = x(Date.parse(band.start)),
        b = x(end(band.end)); return html`<g class="band ${band.kind}">
        <rect x=${a} y=${TOP - 4} width=${Math.max(2, b - a)} height=${bottom - TOP + 4}/>
        ${band.kind === 'supervisor' ? html`<rect x=${a} y=${TOP - 4} width=${Math.max(2, b - a)}
          height=${bottom - TOP + 4} fill="url(#hatch)"/>` : ''}
          <title>${`${bandName(band)}: ${plain(band.why)} ${exact(band.start)}${band.end ? ` to ${exact(band.end)}`
            : ', still'}`}</title>
          </g>`; })}
      ${line.lanes.map((lane, i) => html`<g><text class="lane-name" x="0" y=${TOP + i * LANE + 18}>${width < 600
        ? lane.number : `slot ${lane.number}`}</text>
        <path class="lane" d="M${left} ${TOP + i * LANE + LANE - 0.5}H${width}"/>
        ${lane.segments.map((each) => html`<${Bar} each=${each} a=${x(Date.parse(each.start))} b=${x(end(each.end))}
          y=${TOP + i * LANE + 4} height=${LANE - 9} onShow=${setShown}/>`)}</g>`)}
      ${waits.length ? html`<text class="lane-name" x="0" y=${TOP + line.lanes.length * LANE + gap}>${width < 600 ? 'w'
        : 'waiting'}</text>` : ''}
      ${waits.map((row, i) => row.map((each) =>
        html`<${Bar} each=${each} a=${x(Date.parse(each.start))} b=${x(end(each.end))}
        y=${TOP + line.lanes.length * LANE + gap - 9 + i * 14} height=${9} onShow=${setShown}/>`))}
    </svg>
    <figcaption aria-live="polite">${shown ? html`<${Caption} each=${shown} now=${to}/>`
      : html`<span class="faint">Point at a run, or tab to it, to read it here. Enter opens its task.</span>`}
      </figcaption>
  </figure>`;
}

/** @param {{each: Segment, a: number, b: number, y: number, height: number, onShow: (each: Segment) => void}} props */
function Bar({each, a, b, y, height, onShow}) {
  const tone = each.kind === 'wait' ? 'wait' : toneOf(outcomeMark(each.outcome ?? '', each.verdict));
  const wide = Math.max(3, b - a - 1);
  const words = each.kind === 'wait' ? `${each.title} waited: ${each.why ?? ''}`
    : `${each.title}, run ${each.run}: ${each.outcome ? outcomeWords(each.outcome) : 'runs'}`;
  return html`<a href=${link('task', each.task_id)} class="bar ${tone} ${each.kind === 'run'
    ? outcomeMark(each.outcome ?? '', each.verdict) : ''}" aria-label=${plain(words)}
    onMouseEnter=${() => onShow(each)} onFocus=${() => onShow(each)}
      onClick=${(/** @type {MouseEvent} */ event) =>
        { event.preventDefault(); go(each.run && each.outcome
        ? `${link('task', each.task_id, 'receipt')}?run=${each.run}` : link('task', each.task_id)); }}>
    <rect x=${a} y=${y} width=${wide} height=${height} rx="3"/>
    ${wide > 46 && each.kind === 'run' ? html`<svg x=${a + 6} y=${y} width=${wide - 10} height=${height}
      overflow="hidden"><text y=${height / 2 + 4}>${plain(each.title ?? '')}</text></svg>` : ''}
  </a>`;
}

/** @param {{each: Segment, now: number}} props */
function Caption({each, now}) {
  const to = each.end ? Date.parse(each.end) : now;
  const mark = outcomeMark(each.outcome ?? '', each.verdict);
  return html`${each.kind === 'wait' ? html`<b>waited</b>`
    : html`<span class="badge ${toneOf(mark)}"><${Mark} name=${mark} silent/>${each.verdict ? wordOf(each.verdict)
    : each.outcome ? outcomeWords(each.outcome) : 'running'}</span>`}
    <b dir="auto">${visibleLine(each.title ?? '')}</b><span class="faint mono">${each.task_id}</span>
      ${each.run ? html`<span>run ${each.run}</span>` : ''}
    <span class="faint">${clock(each.start, now)}–${each.end ? clock(each.end, now)
      : 'now'}, ${span((to - Date.parse(each.start)) / 1000)}</span>
    <span class="faint">${[each.coder, each.model, each.account].filter(Boolean).join(' · ')}</span>
      <span dir="auto">${visible(each.why ?? '')}</span>`;
}

/** What the bands mean, in words. @param {{line: TimelineValue}} props */
function Told({line}) {
  const to = Date.parse(line.end);
  return html`<ul class="legend" aria-label="Legend">
    ${['checked', 'unchecked', 'rejected', 'failed', 'asks', 'put_off', 'stopped',
    'running'].map((name) => html`<li><i class="swatch ${toneOf(name)} ${name}"></i>${name === 'put_off'
    ? 'limit, no attempt lost' : name === 'checked' ? 'checked or unchecked' : name === 'rejected'
    ? 'rejected, out of scope, failed' : wordOf(name)}</li>`).filter((_, i) => ![1, 3].includes(i))}
      <li><i class="swatch wait"></i>waited</li></ul>
    ${line.bands.length ? html`<section class="band-list"><h3>What kept fleet from working</h3>
      <ul>${line.bands.map((band) => html`<li><i class="swatch band ${band.kind}"></i><b>${bandName(band)}</b>
      <span class="faint">${clock(band.start, to)}–${band.end ? clock(band.end, to)
        : 'now'}, ${span(((band.end ? Date.parse(band.end) : to) - Date.parse(band.start)) / 1000)}</span>
        <span dir="auto">${visible(band.why)}</span></li>`)}</ul></section>` : ''}
    ${line.more ? html`<p class="faint">${plural(line.more, 'run')} more are not drawn.</p>` : ''}`;
}

/** @param {import('../../core/shapes').Band} band */
function bandName({kind, name}) {
  return name && !['day', BANDS[kind], kind].includes(name) ? `${BANDS[kind]}: ${name}` : BANDS[kind];
}

/** Waits in as few rows as they need. @param {Segment[]} waits @param {number} now @returns {Segment[][]} */
function packed(waits, now) {
  /** @type {{end: number, all: Segment[]}[]} */
  const rows = [];
  for (const each of waits.slice().sort((a, b) => Date.parse(a.start) - Date.parse(b.start))) {
    const start = Date.parse(each.start);
    const row = rows.find((one) => one.end <= start);
    const end = each.end ? Date.parse(each.end) : now;
    if (row) { row.all.push(each); row.end = end; } else rows.push({end, all: [each]});
  }
  return rows.map((row) => row.all);
}

/** Round moments, as many as there is room for. @param {number} from @param {number} to @param {number} width */
function ticks(from, to, width) {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880].map((minutes) => minutes * 60_000);
  const step = steps.find((each) => (to - from) / each <= width / 90) ?? steps[steps.length - 1];
  const shift = new Date(from).getTimezoneOffset() * 60_000;
  const found = [];
  for (let at = Math.ceil((from - shift) / step) * step + shift; at <= to; at += step) found.push(at);
  return found;
}
