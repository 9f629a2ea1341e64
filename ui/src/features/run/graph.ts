import type { RunTree } from "./outline";

/** An agent, tool, model or anything else that a run uses. */
export interface GraphNode {
  id: string;
  kind: string;
  name: string;
  calls: number;
  errors: number;
  /** The sum of its spans' durations in milliseconds, including their descendants. */
  ms: number;
  /** Input and output tokens of its spans and of the spans merged into it; -1 if unknown. */
  tokens: number;
  /** The index of its first span. */
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

/** Kinds that only group other spans: their children belong to their parent. */
export const GROUPING_KINDS = new Set(["span", "task"]);

/** The call graph: spans of the same kind and name are one node, and an edge counts the calls between two nodes. */
export function graphOf(tree: RunTree): RunGraph {
  const nodes = new Map<string, GraphNode>();
  const edges = new Map<string, GraphEdge>();
  const nodeOf: (GraphNode | undefined)[] = new Array(tree.size);
  for (let index = 0; index < tree.size; index++) {
    const parent = tree.parent[index] as number;
    const above = parent >= 0 ? nodeOf[parent] : undefined;
    const kind = tree.text.kind(index);
    if (GROUPING_KINDS.has(kind) && (above || (tree.children[index] as number) > 0)) {
      nodeOf[index] = above;
      continue;
    }
    const name = nameOf(tree, index, kind);
    const id = `${kind} ${name}`;
    let node = nodes.get(id);
    if (!node) {
      node = { id, kind, name, calls: 0, errors: 0, ms: 0, tokens: -1, first: index };
      nodes.set(id, node);
    }
    const failed = tree.status[index] === "error" ? 1 : 0;
    node.calls++;
    node.errors += failed;
    node.ms += Math.max(0, tree.duration[index] as number);
    const tokens = tree.tokens[index] as number;
    if (tokens >= 0) node.tokens = Math.max(0, node.tokens) + tokens;
    nodeOf[index] = node;
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

/** The spans of a node, at most `max`. None for kinds that only group other spans. */
export function callsOf(tree: RunTree, { kind, name }: GraphNode, max: number): number[] {
  const calls: number[] = [];
  if (GROUPING_KINDS.has(kind)) return calls;
  for (let index = 0; index < tree.size && calls.length < max; index++) {
    if (tree.text.kind(index) === kind && nameOf(tree, index, kind) === name) calls.push(index);
  }
  return calls;
}

function nameOf(tree: RunTree, index: number, kind: string): string {
  const name = tree.text.name(index);
  if (kind === "agent" || kind === "workflow") return tree.text.agent(index) || name || "unnamed";
  if (kind === "tool") return tree.text.tool(index) || name || "unnamed";
  if (kind === "llm" || kind === "embedding" || kind === "reranker") {
    return tree.text.model(index) || name || "unknown model";
  }
  return name || "unnamed";
}

export interface LayoutNode extends GraphNode {
  layer: number;
  row: number;
}

export interface Layout {
  nodes: LayoutNode[];
  layers: number;
  rows: number;
  /** How many nodes only the table shows. */
  leftOut: number;
}

/** More boxes are unreadable. */
const MAX_NODES = 60;

/**
 * Puts each node one layer after its last caller, and within a layer near its callers (Sugiyama's layers and barycenters,
 * one pass). Keeps the nodes with the most calls.
 */
export function layOut(graph: RunGraph, maxNodes = MAX_NODES): Layout {
  const kept = new Set(
    [...graph.nodes]
      .sort((a, b) => b.calls - a.calls || a.first - b.first)
      .slice(0, maxNodes)
      .map((node) => node.id),
  );
  const nodes = graph.nodes.filter((node) => kept.has(node.id));
  const callers = acyclicCallers(
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
  const positioned: LayoutNode[] = [];
  for (let current = 0; current < layers; current++) {
    const weight = (node: GraphNode) => {
      const known = (callers.get(node.id) ?? [])
        .map((id) => rowOf.get(id))
        .filter((row) => row !== undefined);
      return known.length === 0 ? 0 : known.reduce((sum, row) => sum + row, 0) / known.length;
    };
    const members = nodes
      .filter((node) => layerOf.get(node.id) === current)
      .sort((a, b) => weight(a) - weight(b) || a.first - b.first);
    rows = Math.max(rows, members.length);
    members.forEach((node, row) => {
      rowOf.set(node.id, row);
      positioned.push({ ...node, layer: current, row });
    });
  }
  return { nodes: positioned, layers, rows, leftOut: graph.nodes.length - nodes.length };
}

/** The callers of each node, without the calls that close a cycle. */
function acyclicCallers(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): Map<string, string[]> {
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
