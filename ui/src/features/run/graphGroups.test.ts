import { describe, expect, it } from "vitest";
import { type GraphNode, layOut, type RunGraph } from "./graph";
import { groupAlike, isGroup } from "./graphGroups";

const node = (kind: string, name: string, more: Partial<GraphNode> = {}): GraphNode => ({
  id: `${kind} ${name}`,
  kind,
  name,
  calls: 1,
  errors: 0,
  ms: 10,
  tokens: -1,
  first: 0,
  ...more,
});
const edge = (from: string, to: string, errors = 0) => ({ from, to, calls: 1, errors });

/** A planner with workers, of which each calls a model and every tenth fails. */
function team(workers: number): RunGraph {
  const names = Array.from({ length: workers }, (_, i) => `worker-${i + 1}`);
  const failed = (i: number) => (i % 10 === 9 ? 1 : 0);
  return {
    nodes: [
      node("agent", "planner"),
      ...names.map((name, i) => node("agent", name, { errors: failed(i), first: i + 1 })),
      node("llm", "gpt-4", { calls: workers }),
    ],
    edges: names.flatMap((name, i) => [
      edge("agent planner", `agent ${name}`, failed(i)),
      edge(`agent ${name}`, "llm gpt-4"),
    ]),
  };
}

describe("groupAlike", () => {
  it.each([20, 200])("merges %d workers into one node", (workers) => {
    const { nodes, edges } = groupAlike(team(workers));
    const group = nodes.find(isGroup);
    expect(nodes.map(({ name }) => name)).toEqual(["planner", "worker-*", "gpt-4"]);
    expect(group).toMatchObject({
      calls: workers,
      errors: workers / 10,
      ms: workers * 10,
      tokens: -1,
      first: 1,
    });
    expect(group?.members.length).toBe(workers);
    expect(edges).toEqual([
      { from: "agent planner", to: group?.id, calls: workers, errors: workers / 10 },
      { from: group?.id, to: "llm gpt-4", calls: workers, errors: 0 },
    ]);
    expect(layOut({ nodes, edges })).toMatchObject({ layers: 3, rows: 1, leftOut: 0 });
  });
  it.each([20, 200])("shows %d workers one by one if expanded", (workers) => {
    const whole = team(workers);
    const id = groupAlike(whole).nodes.find(isGroup)?.id as string;
    expect(groupAlike(whole, new Set([id]))).toEqual(whole);
    expect(layOut(whole).nodes.length).toBe(Math.min(60, workers + 2));
  });
  it("keeps a few apart", () => expect(groupAlike(team(3))).toEqual(team(3)));
  it("keeps those apart that call something else", () => {
    const { nodes, edges } = team(20);
    const odd = {
      nodes: [...nodes, node("tool", "search")],
      edges: [...edges, edge("agent worker-7", "tool search")],
    };
    const group = groupAlike(odd);
    expect(group.nodes.map(({ name }) => name)).toEqual([
      "planner",
      "worker-*",
      "worker-7",
      "gpt-4",
      "search",
    ]);
    expect(group.nodes.find(isGroup)?.members.length).toBe(19);
  });
  it("keeps models apart", () => {
    const nodes = ["gpt-3", "gpt-4", "gpt-5", "gpt-6", "gpt-7"].map((name) => node("llm", name));
    expect(groupAlike({ nodes, edges: [] }).nodes).toEqual(nodes);
  });
  it("merges groups that call each other", () => {
    const names = [1, 2, 3, 4];
    const { nodes, edges } = groupAlike({
      nodes: names.flatMap((i) => [node("agent", `a${i}`), node("tool", `t${i}`, { tokens: i })]),
      edges: names.map((i) => edge(`agent a${i}`, `tool t${i}`)),
    });
    expect(nodes.map(({ name, tokens }) => [name, tokens])).toEqual([
      ["a*", -1],
      ["t*", 10],
    ]);
    expect(edges).toEqual([{ from: "group agent a1", to: "group tool t1", calls: 4, errors: 0 }]);
  });
});
