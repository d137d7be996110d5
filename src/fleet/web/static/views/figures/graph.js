// What a task waits for and what waits for it, two steps each way. dagre is loaded here and nowhere else.

import {html, useEffect, useState} from '../../vendor/preact.js';
import {plural, shortId} from '../../core/format.js';
import {useKeys} from '../../core/keys.js';
import {useLoaded} from '../../core/loaded.js';
import {back, link, route} from '../../core/router.js';
import {plain} from '../../core/text.js';
import {Problem} from '../../parts/problem.js';
import {Mark, markOf} from '../../parts/status.js';

/** @typedef {import('../../core/shapes').TaskGraph} TaskGraph */
/** @typedef {{x: number, y: number}} Point */
/** @typedef {{from: string, to: string, kind: string, points: Point[]}} PlacedEdge */
/** @typedef {{width: number, height: number, nodes: (Point & {id: string})[], edges: PlacedEdge[]}} Placed */

const WIDTH = 216, HEIGHT = 46;

export function Graph() {
  const {id} = route.value;
  const {value, problem} = useLoaded(`tasks/${encodeURIComponent(id)}/graph`);
  const graph = /** @type {TaskGraph | null} */ (value);
  const [placed, setPlaced] = useState(/** @type {Placed | null} */ (null));
  useKeys('Graph', [{keys: 'Escape q', label: 'back', run: back}]);
  useEffect(() => {
    let gone = false;
    if (graph) void place(graph).then((found) => { if (!gone) setPlaced(found); });
    return () => { gone = true; };
  }, [graph]);
  return html`<div class="view graph"><header class="head"><h1>What blocks what</h1><a class="link" href=${link('task',
    id)}>${shortId(id)}</a><span class="grow"></span>
      ${graph ? html`<span class="soft">closing it makes ${plural(graph.unblocks, 'task')} ready</span>` : ''}</header>
    ${problem && !graph ? html`<${Problem} problem=${problem}/>` : ''}
    ${graph && graph.nodes.length < 2 ? html`<div class="empty"><h2>Nothing is tied to this task</h2>
      <p>It waits for no task, and none waits for it. To tie them:</p>
      <code>fleet bd dep add ${shortId(id)} OTHER</code></div>` : ''}
    ${graph && placed && graph.nodes.length > 1
      ? html`<div class="scroll-x"><svg width=${placed.width} height=${placed.height} role="group"
      aria-label="Graph of tasks">
      <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
        <path d="M0 0 8 4 0 8Z" class="arrow-head"/></marker></defs>
      ${placed.edges.map((edge) => html`<path class="edge ${edge.kind}" marker-end="url(#arrow)"
        d=${`M${edge.points.map(({x, y}) => `${x} ${y}`).join('L')}`}><title>${`${edge.to} waits for ${edge.from}`}
        </title></path>`)}
      ${placed.nodes.map(({id: each, x, y}) => { const row = graph.nodes.find((node) => node.id === each); return row
        ? html`<a href=${link('task', each)} class="node ${each === graph.center ? 'center' : ''}"
        aria-label=${`${plain(row.title)}, ${row.state}`}>
        <rect x=${x - WIDTH / 2} y=${y - HEIGHT / 2} width=${WIDTH} height=${HEIGHT} rx="6"/>
          <svg x=${x - WIDTH / 2 + 10} y=${y - 8} width="16" height="16"><${Mark} name=${markOf(row)} silent/></svg>
        <svg x=${x - WIDTH / 2 + 34} y=${y - HEIGHT / 2} width=${WIDTH - 42} height=${HEIGHT}>
          <text y="19" class="node-title">${plain(row.title)}</text>
          <text y="36" class="node-id">${each} · ${row.state}</text></svg><title>${plain(row.title)}</title>
          </a>` : ''; })}
    </svg></div>` : ''}
    ${graph?.more ? html`<p class="faint">${plural(graph.more, 'task')} more are left out.</p>` : ''}
  </div>`;
}

/** From what is waited for, on the left, to what waits. @param {TaskGraph} graph @returns {Promise<Placed>} */
async function place(graph) {
  const {Graph: Layout, layout} = await import('../../vendor/dagre.js');
  const found = new Layout().setGraph({rankdir: 'LR', nodesep: 14, ranksep: 56, marginx: 2,
    marginy: 8}).setDefaultEdgeLabel(() => ({}));
  const known = new Set(graph.nodes.map((node) => node.id));
  for (const node of graph.nodes) found.setNode(node.id, {width: WIDTH, height: HEIGHT});
  const edges = graph.edges.filter((edge) => known.has(edge.task) && known.has(edge.waits_for));
  for (const edge of edges) found.setEdge(edge.waits_for, edge.task);
  layout(found);
  const {width, height} = found.graph();
  return {
    width: width || WIDTH, height: height || HEIGHT,
    nodes: graph.nodes.map((node) => ({id: node.id, x: found.node(node.id).x, y: found.node(node.id).y})),
    edges: found.edges().map((edge) => ({from: edge.v, to: edge.w,
      kind: edges.find((each) => each.waits_for === edge.v && each.task === edge.w)?.kind ?? '',
      points: found.edge(edge).points})),
  };
}
