// The part of dagre that the page uses, for `tsc`.
export class Graph {
  setGraph(options: object): this;
  setDefaultEdgeLabel(make: () => object): this;
  setNode(id: string, box: { width: number; height: number }): this;
  setEdge(from: string, to: string): this;
  node(id: string): { x: number; y: number; width: number; height: number };
  edges(): { v: string; w: string }[];
  edge(edge: { v: string; w: string }): { points: { x: number; y: number }[] };
  graph(): { width: number; height: number };
}
export function layout(graph: Graph): void;
