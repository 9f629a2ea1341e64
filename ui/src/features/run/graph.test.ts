import { describe, expect, it } from "vitest";
import { callsOf, type GraphNode, graphOf, layOut } from "./graph";
import { readOutline } from "./outline";

type Row = [parent: number, kind: string, name: string, status?: "ok" | "error"];

function treeOf(rows: Row[]) {
  const strings = ["", ...new Set(rows.flatMap(([, kind, name]) => [kind, name]))];
  const stringIndex = (text: string) => strings.indexOf(text);
  const none = rows.map(() => 0);
  return readOutline({
    run_id: "00000000-0000-4000-8000-000000000000",
    start_time: "2026-03-01T00:00:00Z",
    partial: false,
    strings,
    spans: {
      span_id: rows.map((_, index) => `${index}`),
      parent: rows.map(([parent]) => parent),
      status: rows.map(([, , , status]) => status ?? "ok"),
      start_ms: rows.map((_, index) => index),
      duration_ms: rows.map(() => 10),
      name: rows.map(([, , name]) => stringIndex(name)),
      kind: rows.map(([, kind]) => stringIndex(kind)),
      model: rows.map(([, kind, name]) => (kind === "llm" ? stringIndex(name) : 0)),
      tool: none,
      agent: none,
      error: none,
      tokens: rows.map(([, kind]) => (kind === "llm" ? 5 : -1)),
    },
    error_chain: [],
    critical_path: { span: [], start_ms: [], duration_ms: [] },
  });
}

const tree = treeOf([
  [-1, "agent", "planner"],
  [0, "llm", "gpt"],
  [0, "task", "step"],
  [2, "tool", "search"],
  [2, "tool", "search", "error"],
  [0, "agent", "helper"],
  [5, "llm", "gpt"],
  [5, "agent", "planner"],
]);
const graph = graphOf(tree);

describe("graphOf", () => {
  it("merges spans of the same kind and name", () =>
    expect(graph.nodes).toEqual([
      {
        id: "agent planner",
        kind: "agent",
        name: "planner",
        calls: 2,
        errors: 0,
        ms: 20,
        tokens: -1,
        first: 0,
      },
      { id: "llm gpt", kind: "llm", name: "gpt", calls: 2, errors: 0, ms: 20, tokens: 10, first: 1 },
      { id: "tool search", kind: "tool", name: "search", calls: 2, errors: 1, ms: 20, tokens: -1, first: 3 },
      {
        id: "agent helper",
        kind: "agent",
        name: "helper",
        calls: 1,
        errors: 0,
        ms: 10,
        tokens: -1,
        first: 5,
      },
    ]));
  it("counts calls through grouping spans", () =>
    expect(graph.edges).toEqual([
      { from: "agent planner", to: "llm gpt", calls: 1, errors: 0 },
      { from: "agent planner", to: "tool search", calls: 2, errors: 1 },
      { from: "agent planner", to: "agent helper", calls: 1, errors: 0 },
      { from: "agent helper", to: "llm gpt", calls: 1, errors: 0 },
      { from: "agent helper", to: "agent planner", calls: 1, errors: 0 },
    ]));
});

describe("callsOf", () => {
  it.each([20, 200])("lists %d equal workers, which are one node", (count) => {
    const workers = treeOf([
      [-1, "agent", "planner"],
      ...Array.from({ length: count }, (_, i): Row => [0, "agent", "worker", i % 4 ? "ok" : "error"]),
    ]);
    const { nodes } = graphOf(workers);
    expect(nodes.map(({ name, calls, errors }) => [name, calls, errors])).toEqual([
      ["planner", 1, 0],
      ["worker", count, count / 4],
    ]);
    const worker = nodes[1] as GraphNode;
    expect(callsOf(workers, worker, 1000)).toEqual(Array.from({ length: count }, (_, i) => i + 1));
    expect(callsOf(workers, worker, 10).length).toBe(10);
  });
  it("matches the node's count", () => {
    for (const node of graph.nodes) expect(callsOf(tree, node, 100).length, node.id).toBe(node.calls);
  });
});

describe("layOut", () => {
  it("puts callees after their callers, also in cycles", () => {
    const { nodes, layers, rows, leftOut } = layOut(graph);
    expect(nodes.map((node) => [node.name, node.layer, node.row])).toEqual([
      ["planner", 0, 0],
      ["search", 1, 0],
      ["helper", 1, 1],
      ["gpt", 2, 0],
    ]);
    expect([layers, rows, leftOut]).toEqual([3, 2, 0]);
  });
  it("keeps the nodes with the most calls", () => {
    const node = (name: string, calls: number): GraphNode => ({
      id: name,
      kind: "tool",
      name,
      calls,
      errors: 0,
      ms: 0,
      tokens: -1,
      first: 0,
    });
    const layout = layOut({ nodes: [node("a", 1), node("b", 9), node("c", 5)], edges: [] }, 2);
    expect(layout.nodes.map(({ name }) => name)).toEqual(["b", "c"]);
    expect(layout.leftOut).toBe(1);
  });
});
