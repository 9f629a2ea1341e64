import type { RunTree } from "./outline";

/** An agent, a tool, a model or another thing that a run uses. */
export interface GraphNode {
  id: string;
  kind: string;
  name: string;
  calls: number;
  errors: number;
  /** The sum of its spans' durations, in milliseconds; what lies below them included. */
  ms: number;
  /** Input and output tokens of its spans and of what is passed through to it; -1 where unknown. */
  tokens: number;
  /** The place of its first span. */
  first: number;
}

export interface GraphEdge {
  from: string;
  to: string;
  calls: number;
  errors: number;
}

export interface RunGraph {
  nodes: GraphNode[];
  edges: GraphEdge[];
}

/** Kinds that only hold others together: what is below them belongs to what is above. */
const PASSED = new Set(["span", "task"]);

/** Who called whom: spans of the same kind and name are one node, an edge counts the calls from one to another. */
export function graphOf(tree: RunTree): RunGraph {
  const nodes = new Map<string, GraphNode>();
  const edges = new Map<string, GraphEdge>();
  const nodeOf: (GraphNode | undefined)[] = new Array(tree.size);
  for (let place = 0; place < tree.size; place++) {
    const parent = tree.parent[place] as number;
    const above = parent >= 0 ? nodeOf[parent] : undefined;
    const kind = tree.word.kind(place);
    if (PASSED.has(kind) && (above || (tree.children[place] as number) > 0)) {
      nodeOf[place] = above;
      continue;
    }
    const name = nameOf(tree, place, kind);
    const id = `${kind} ${name}`;
    let node = nodes.get(id);
    if (!node) {
      node = { id, kind, name, calls: 0, errors: 0, ms: 0, tokens: -1, first: place };
      nodes.set(id, node);
    }
    const failed = tree.status[place] === "error" ? 1 : 0;
    node.calls++;
    node.errors += failed;
    node.ms += Math.max(0, tree.duration[place] as number);
    const tokens = tree.tokens[place] as number;
    if (tokens >= 0) node.tokens = Math.max(0, node.tokens) + tokens;
    nodeOf[place] = node;
    if (!above) continue;
    const key = `${above.id} → ${id}`;
    const edge = edges.get(key);
    if (edge) {
      edge.calls++;
      edge.errors += failed;
    } else edges.set(key, { from: above.id, to: id, calls: 1, errors: failed });
  }
  return { nodes: [...nodes.values()], edges: [...edges.values()] };
}

function nameOf(tree: RunTree, place: number, kind: string): string {
  const name = tree.word.name(place);
  if (kind === "agent" || kind === "workflow") return tree.word.agent(place) || name || "unnamed";
  if (kind === "tool") return tree.word.tool(place) || name || "unnamed";
  if (kind === "llm" || kind === "embedding" || kind === "reranker") {
    return tree.word.model(place) || name || "unknown model";
  }
  return name || "unnamed";
}

export interface PlacedNode extends GraphNode {
  layer: number;
  row: number;
}

export interface Layout {
  nodes: PlacedNode[];
  layers: number;
  rows: number;
  /** Nodes that are in the table alone. */
  leftOut: number;
}

/** More than so many boxes tell nobody anything. */
const MOST_NODES = 60;

/**
 * Puts each node one layer behind the last of those that call it, and within a layer near its callers (Sugiyama's
 * layers and barycenters, one pass). The nodes with the most calls are kept.
 */
export function layOut(graph: RunGraph, most = MOST_NODES): Layout {
  const kept = new Set(
    [...graph.nodes]
      .sort((a, b) => b.calls - a.calls || a.first - b.first)
      .slice(0, most)
      .map((node) => node.id),
  );
  const nodes = graph.nodes.filter((node) => kept.has(node.id));
  const callers = forward(
    nodes,
    graph.edges.filter((edge) => kept.has(edge.from) && kept.has(edge.to)),
  );
  const layerOf = new Map<string, number>();
  const layer = (id: string): number => {
    let known = layerOf.get(id);
    if (known === undefined) {
      known = Math.max(-1, ...(callers.get(id) ?? []).map(layer)) + 1;
      layerOf.set(id, known);
    }
    return known;
  };
  for (const node of nodes) layer(node.id);
  const layers = Math.max(0, ...layerOf.values()) + 1;
  const rowOf = new Map<string, number>();
  let rows = 0;
  const placed: PlacedNode[] = [];
  for (let at = 0; at < layers; at++) {
    const weight = (node: GraphNode) => {
      const known = (callers.get(node.id) ?? [])
        .map((id) => rowOf.get(id))
        .filter((row) => row !== undefined);
      return known.length === 0 ? 0 : known.reduce((sum, row) => sum + row, 0) / known.length;
    };
    const members = nodes
      .filter((node) => layerOf.get(node.id) === at)
      .sort((a, b) => weight(a) - weight(b) || a.first - b.first);
    rows = Math.max(rows, members.length);
    members.forEach((node, row) => {
      rowOf.set(node.id, row);
      placed.push({ ...node, layer: at, row });
    });
  }
  return { nodes: placed, layers, rows, leftOut: graph.nodes.length - nodes.length };
}

/** The callers of each node, without the calls that close a circle: those back to a node that the call came through. */
function forward(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): Map<string, string[]> {
  const calls = new Map<string, string[]>();
  for (const { from, to } of edges) calls.set(from, [...(calls.get(from) ?? []), to]);
  const callers = new Map<string, string[]>();
  const seen = new Set<string>();
  const above = new Set<string>();
  const visit = (id: string) => {
    seen.add(id);
    above.add(id);
    for (const to of calls.get(id) ?? []) {
      if (above.has(to)) continue;
      callers.set(to, [...(callers.get(to) ?? []), id]);
      if (!seen.has(to)) visit(to);
    }
    above.delete(id);
  };
  for (const { id } of nodes) if (!seen.has(id)) visit(id);
  return callers;
}
