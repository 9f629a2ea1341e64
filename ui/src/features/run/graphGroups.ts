import type { GraphEdge, GraphNode, RunGraph } from "./graph";

/** Nodes that are alike, drawn as one. */
export interface GroupNode extends GraphNode {
  members: readonly GraphNode[];
}

export function isGroup(node: GraphNode): node is GroupNode {
  return "members" in node;
}

/** Fewer nodes that are alike are drawn one by one. */
const MIN_MEMBERS = 4;

/** The numbers in the name of a model make it another model. */
const MODELS = new Set(["llm", "embedding", "reranker"]);

/**
 * Merges nodes of the same kind whose names differ in numbers only, such as worker-1 to worker-20, and that are called by and
 * call the same. Leaves out the groups whose ids are in `expanded`.
 */
export function groupAlike(graph: RunGraph, expanded: ReadonlySet<string> = new Set()): RunGraph {
  const patterns = new Map(graph.nodes.map((node) => [node.id, patternOf(node)]));
  const around = new Map<string, Set<string>>(graph.nodes.map(({ id }) => [id, new Set()]));
  for (const { from, to } of graph.edges) {
    around.get(from)?.add(`→ ${patterns.get(to)}`);
    around.get(to)?.add(`← ${patterns.get(from)}`);
  }
  const alike = new Map<string, GraphNode[]>();
  for (const node of graph.nodes) {
    const pattern = patterns.get(node.id);
    if (pattern === node.id) continue;
    const shape = [pattern, ...[...(around.get(node.id) ?? [])].sort()].join("\n");
    const known = alike.get(shape);
    if (known) known.push(node);
    else alike.set(shape, [node]);
  }
  const groupOf = new Map<string, GroupNode>();
  for (const members of alike.values()) {
    if (members.length < MIN_MEMBERS) continue;
    const group = merge(members);
    if (!expanded.has(group.id)) for (const { id } of members) groupOf.set(id, group);
  }
  const nodes = [...new Set(graph.nodes.map((node) => groupOf.get(node.id) ?? node))];
  const edges = new Map<string, GraphEdge>();
  for (const edge of graph.edges) {
    const from = groupOf.get(edge.from)?.id ?? edge.from;
    const to = groupOf.get(edge.to)?.id ?? edge.to;
    const known = edges.get(`${from} → ${to}`);
    if (known) {
      known.calls += edge.calls;
      known.errors += edge.errors;
    } else edges.set(`${from} → ${to}`, { ...edge, from, to });
  }
  return { nodes, edges: [...edges.values()] };
}

/** The id of a node with a star for each number of its name. */
function patternOf({ id, kind, name }: GraphNode): string {
  return MODELS.has(kind) ? id : `${kind} ${starred(name)}`;
}

function starred(name: string): string {
  return name.replace(/\d+/g, "*");
}

function merge(members: readonly GraphNode[]): GroupNode {
  const [first] = members as [GraphNode];
  const known = members.filter(({ tokens }) => tokens >= 0);
  const sum = (of: (node: GraphNode) => number) => members.reduce((total, node) => total + of(node), 0);
  return {
    // Groups of one pattern may differ in what they call.
    id: `group ${first.id}`,
    kind: first.kind,
    name: starred(first.name),
    calls: sum(({ calls }) => calls),
    errors: sum(({ errors }) => errors),
    ms: sum(({ ms }) => ms),
    tokens: known.length === 0 ? -1 : known.reduce((total, { tokens }) => total + tokens, 0),
    first: first.first,
    members,
  };
}
