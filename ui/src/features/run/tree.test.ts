import { describe, expect, it } from "vitest";
import {
  buildTree,
  firstFailure,
  neighbourError,
  reveal,
  rowsPushed,
  type TreeSpan,
  visibleNodes,
} from "./tree";

function span(
  span_id: string,
  parent_span_id: string | null,
  start = 0,
  status: TreeSpan["status"] = "ok",
): TreeSpan {
  return {
    span_id,
    parent_span_id,
    status,
    start_time: `2026-03-01T00:00:${String(start).padStart(2, "0")}Z`,
  };
}

const shape = (spans: TreeSpan[]) =>
  buildTree(spans).order.map((node) => `${"  ".repeat(node.depth)}${node.span.span_id}`);

describe("buildTree", () => {
  it.each([
    ["nothing", [], []],
    ["children in start order", [span("a", null), span("c", "a", 2), span("b", "a", 1)], ["a", "  b", "  c"]],
    ["children before their parent", [span("b", "a", 1), span("a", null)], ["a", "  b"]],
    ["equal starts by id", [span("a", null), span("z", "a", 1), span("y", "a", 1)], ["a", "  y", "  z"]],
    ["an absent parent", [span("b", "gone", 1), span("a", null)], ["a", "b"]],
    ["a span that is its own parent", [span("a", "a")], ["a"]],
    ["a circle", [span("a", "b"), span("b", "a", 1), span("c", "b", 2)], ["a", "  b", "    c"]],
    ["a span sent twice", [span("a", null), span("b", "a"), span("b", "a")], ["a", "  b"]],
  ])("%s", (_, spans, want) => expect(shape(spans)).toEqual(want));

  it("counts errors below", () => {
    const tree = buildTree([
      span("a", null),
      span("b", "a", 1, "error"),
      span("c", "b", 2, "error"),
      span("d", "a", 3),
    ]);
    expect(tree.order.map((node) => node.errorsBelow)).toEqual([2, 1, 0, 0]);
  });

  it("takes a chain of 20,000 spans", () => {
    const chain = Array.from({ length: 20_000 }, (_, index) =>
      span(`${index}`, index ? `${index - 1}` : null),
    );
    expect(buildTree(chain).order.at(-1)?.depth).toBe(19_999);
  });
});

describe("with errors", () => {
  const tree = buildTree([
    span("root", null, 0, "error"),
    span("plan", "root", 1),
    span("act", "root", 2, "error"),
    span("tool", "act", 3, "error"),
    span("late", "root", 9, "error"),
  ]);
  const names = (nodes: { span: TreeSpan }[]) => nodes.map((node) => node.span.span_id);

  it("finds where the failure began", () => expect(firstFailure(tree)?.span.span_id).toBe("tool"));
  it("takes the earliest of several", () => {
    const spans = [
      span("a", null),
      span("b", "a", 1),
      span("late", "b", 9, "error"),
      span("soon", "a", 2, "error"),
    ];
    expect(firstFailure(buildTree(spans))?.span.span_id).toBe("soon");
  });
  it("finds none in a good run", () => expect(firstFailure(buildTree([span("a", null)]))).toBeUndefined());
  it.each([
    ["plan", 1, "act"],
    ["late", 1, "root"],
    ["plan", -1, "root"],
    ["root", -1, "late"],
    [undefined, 1, "root"],
  ] as const)("from %s by %i to %s", (from, step, want) => {
    expect(neighbourError(tree, from, step)?.span.span_id).toBe(want);
  });
  it("hides what is under closed nodes", () => {
    expect(names(visibleNodes(tree, new Set(["act"])))).toEqual(["root", "plan", "act", "late"]);
    expect(names(visibleNodes(tree, new Set(["root", "act"])))).toEqual(["root"]);
  });
  it("opens what hides a node and nothing else", () => {
    const tool = tree.byId.get("tool");
    if (!tool) throw new Error("no tool");
    expect([...reveal(tool, new Set(["root", "act", "plan"]))]).toEqual(["plan"]);
    const untouched = new Set(["plan"]);
    expect(reveal(tool, untouched)).toBe(untouched);
  });
});

describe("rowsPushed", () => {
  const before = buildTree([span("a", null), span("b", "a", 5), span("c", "a", 6)]).order;
  const after = buildTree([
    span("a", null),
    span("x", "a", 1),
    span("y", "a", 2),
    span("b", "a", 5),
    span("c", "a", 6),
  ]).order;
  it.each([
    ["the selected row, in view", "c", 0, 3, 2],
    ["the first row, when the selected one is out of view", "a", 1, 1, 2],
    ["at the very top nothing is held", "gone", 0, 3, 0],
    ["an empty screen", "a", 9, 3, 0],
  ])("%s", (_, selected, top, height, want) =>
    expect(rowsPushed(before, after, selected, top, height)).toBe(want),
  );
});
