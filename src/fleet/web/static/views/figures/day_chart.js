// Money and tokens by day. uPlot is loaded here and nowhere else.

import {html, useEffect, useRef} from '../../vendor/preact.js';
import {fileAt} from '../../core/api.js';
import {count, dollars} from '../../core/format.js';

/** @typedef {import('../../core/shapes').Spent} Spent */

/** @param {string} name */
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** @param {{days: Spent[]}} props */
export function DayChart({days}) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    let chart = /** @type {{destroy: () => void, setSize: (size: {width: number, height: number}) => void} | null} */ (null);
    let gone = false;
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const draw = async () => {
      if (!document.getElementById('chart-style')) {
        document.head.append(Object.assign(document.createElement('link'),
          {id: 'chart-style', rel: 'stylesheet', href: fileAt('vendor/uplot.css')}));
      }
      const {default: uPlot} = await import('../../vendor/uplot.js');
      if (gone || !box.current) return;
      chart?.destroy();
      chart = new uPlot(options(uPlot, box.current.clientWidth), values(days), box.current);
    };
    void draw();
    dark.addEventListener('change', draw);
    const watcher = new ResizeObserver(([entry]) =>
      chart?.setSize({width: Math.floor(entry.contentRect.width), height: 180}));
    if (box.current) watcher.observe(box.current);
    return () => { gone = true; chart?.destroy(); watcher.disconnect(); dark.removeEventListener('change', draw); };
  }, [days]);
  const last = days.at(-1);
  return html`<figure class="day-chart"><figcaption><span class="key-of known">known cost</span>
    <span class="key-of estimated">estimated</span><span class="key-of lost">of it lost</span></figcaption>
    <div ref=${box} role="img" aria-label=${`Cost by day, ${days.length} days, ${last
      ? `${last.name}: ${dollars(last.cost_usd + last.estimated_usd)}` : ''}`}></div></figure>`;
}

/** Stacked: what stands on top is drawn first. @param {Spent[]} days */
function values(days) {
  return [
    days.map((each) => Date.parse(`${each.name}T12:00:00`) / 1000),
    days.map((each) => each.cost_usd + each.estimated_usd),
    days.map((each) => each.cost_usd),
    days.map((each) => each.wasted_usd),
  ];
}

/** @param {typeof import('../../vendor/uplot.js').default} uPlot @param {number} width */
function options(uPlot, width) {
  const bars = uPlot.paths.bars?.({size: [0.6, 48], radius: 0.08, gap: 2});
  const thin = uPlot.paths.bars?.({size: [0.22, 16], radius: 0.08});
  const axis = {stroke: colour('--ink-faint'), grid: {stroke: colour('--line'), width: 1}, ticks: {show: false},
    font: `11px ${colour('--sans')}`};
  const series = (/** @type {string} */ label, /** @type {string} */ fill, /** @type {unknown} */ paths) =>
    ({label, fill, stroke: fill, width: 0, paths, points: {show: false},
    value: (/** @type {unknown} */ _, /** @type {number | null} */ v) => (v === null ? '–' : dollars(v))});
  return {
    width, height: 180, padding: [8, 0, 0, 0], legend: {show: true, live: true},
      cursor: {y: false, points: {show: false}, drag: {x: false, y: false}},
    scales: {x: {range: (/** @type {unknown} */ _, /** @type {number} */ min, /** @type {number} */ max) =>
      [min - 43200, max + 43200]}, y: {range: (/** @type {unknown} */ _, /** @type {number} */ __,
      /** @type {number} */ max) => [0, (max || 1) * 1.1]}},
    axes: [{...axis, grid: {show: false}, splits: (/** @type {{data: number[][], width: number}} */ plot) =>
      plot.data[0].filter((_, i, all) => i % Math.ceil(all.length / Math.max(1, plot.width / 64)) === 0),
      values: (/** @type {unknown} */ _, /** @type {number[]} */ at) =>
      at.map((v) => new Intl.DateTimeFormat(undefined, {day: 'numeric', month: 'short'}).format(v * 1000))},
      {...axis, size: 56, values: (/** @type {unknown} */ _, /** @type {number[]} */ at) =>
        at.map((v) => (v >= 1000 ? `$${count(v)}` : dollars(v)))}],
    series: [{value: (/** @type {unknown} */ _, /** @type {number | null} */ v) => (v === null ? ''
      : new Intl.DateTimeFormat(undefined, {weekday: 'short', day: 'numeric', month: 'short'}).format(v * 1000)),
      label: 'day'},
      series('known and estimated', colour('--chart-estimated'), bars), series('known', colour('--accent'), bars),
        series('of it lost', colour('--bad'), thin)],
  };
}
