import { describe, expect, it } from "vitest";
import {
  allClosed,
  ERRORS,
  findSpans,
  headOf,
  lengthOf,
  neighbourError,
  PATH,
  type RunTree,
  readOutline,
  reveal,
  rowOf,
  rowsPushed,
  siblingsOf,
  visibleIndices,
} from "./outline";
import { outlineOf, type Row } from "./outlineOf";

const tree = readOutline(
  outlineOf(
    [
      ["root", -1, "error", 0, 100],
      ["plan", 0, "ok", 1, 9],
      ["act", 0, "error", 10, 80],
      ["tool", 2, "error", 11, 50, "execute_tool"],
      ["late", 0, "error", 95, -1],
    ],
    [
      [0, 90, 100],
      [2, 61, 90],
      [3, 11, 61],
      [2, 10, 11],
    ],
  ),
);
const names = (indices: Int32Array, of: RunTree = tree) => [...indices].map((index) => of.ids[index]);

describe("readOutline", () => {
  it("calculates depth, ends, children and errors below", () => {
    expect([...tree.depth]).toEqual([0, 1, 1, 2, 1]);
    expect([...tree.end]).toEqual([5, 2, 4, 4, 5]);
    expect([...tree.children]).toEqual([3, 0, 1, 0, 0]);
    expect([...tree.errorsBelow]).toEqual([3, 0, 1, 0, 0]);
  });
  it("keeps the critical path by span, in time order", () => {
    expect(tree.path.get(2)).toEqual([
      { from: 10, to: 11 },
      { from: 61, to: 90 },
    ]);
    expect(tree.path.has(1)).toBe(false);
  });
  it("describes a span", () =>
    expect(headOf(tree, 3)).toEqual({
      span_id: "tool",
      name: "execute_tool",
      kind: "tool",
      status: "error",
    }));
  it("handles a chain of 100,000 spans", () => {
    const chain = readOutline(
      outlineOf(Array.from({ length: 100_000 }, (_, i) => [`${i}`, i - 1, "ok", i, 1, "step"])),
    );
    expect(chain.depth[99_999]).toBe(99_999);
    expect(chain.end[0]).toBe(100_000);
  });
});

describe("visibleIndices", () => {
  it.each([
    ["everything", [], ["root", "plan", "act", "tool", "late"]],
    ["no descendants of a closed span", ["act"], ["root", "plan", "act", "late"]],
    ["a closed span under a closed one", ["root", "act"], ["root"]],
    ["closed spans that are gone", ["gone"], ["root", "plan", "act", "tool", "late"]],
  ])("%s", (_, closed, want) =>
    expect(names(visibleIndices(tree, new Set(closed), undefined))).toEqual(want),
  );

  it.each([
    ["text in names", { text: "EXECUTE", only: "" }, ["root", "act", "tool"]],
    ["text in tools", { text: "search", only: "" }, ["root", "act", "tool"]],
    ["an id", { text: "late", only: "" }, ["root", "late"]],
    ["errors", { text: "", only: ERRORS }, ["root", "act", "tool", "late"]],
    ["the critical path", { text: "", only: PATH }, ["root", "act", "tool"]],
    ["a kind", { text: "", only: "tool" }, ["root", "act", "tool"]],
    ["both", { text: "late", only: ERRORS }, ["root", "late"]],
    ["nothing", { text: "xyzzy", only: "" }, []],
  ])("of a filter: %s", (_, filter, want) => {
    expect(names(visibleIndices(tree, new Set(["root"]), findSpans(tree, filter)))).toEqual(want);
  });
  it("matches everything without a filter", () =>
    expect(findSpans(tree, { text: " ", only: "" })).toBeUndefined());
});

describe("siblingsOf", () => {
  const among = (visible: Int32Array) => {
    const siblings = siblingsOf(tree, visible);
    return [...visible].map((index) => `${siblings.position(index)}/${siblings.count(index)}`);
  };
  it("counts the children of one parent", () =>
    expect(among(visibleIndices(tree, new Set(), undefined))).toEqual(["1/1", "1/3", "2/3", "1/1", "3/3"]));
  it("counts the matches of a filter", () =>
    expect(among(visibleIndices(tree, new Set(), findSpans(tree, { text: "late", only: "" })))).toEqual([
      "1/1",
      "1/1",
    ]));
});

describe("rows", () => {
  const visible = visibleIndices(tree, new Set(["act"]), undefined);
  it.each([
    [0, 0],
    [2, 2],
    [3, -1],
    [4, 3],
    [undefined, -1],
  ])("span %s is in row %i", (index, row) => expect(rowOf(visible, index)).toBe(row));

  it("closes all except the roots", () => expect([...allClosed(tree)]).toEqual(["act"]));
  it("opens only the ancestors of a span", () => {
    expect([...reveal(tree, 3, new Set(["root", "act", "plan"]))]).toEqual(["plan"]);
    const untouched = new Set(["plan"]);
    expect(reveal(tree, 3, untouched)).toBe(untouched);
  });
});

describe("neighbourError", () => {
  it.each([
    [1, 1, 2],
    [4, 1, 0],
    [1, -1, 0],
    [0, -1, 4],
    [undefined, 1, 0],
    [undefined, -1, 4],
  ] as const)("from %s by %i to %i", (from, step, want) =>
    expect(neighbourError(tree, from, step)).toBe(want),
  );
  it("finds none in a successful run", () =>
    expect(neighbourError(readOutline(outlineOf([["a", -1]])), 0, 1)).toBeUndefined());
});

describe("rowsPushed", () => {
  const open = (rows: Row[]) => {
    const of = readOutline(outlineOf(rows));
    return { tree: of, visible: visibleIndices(of, new Set(), undefined) };
  };
  const before = open([
    ["a", -1],
    ["b", 0],
    ["c", 0],
  ]);
  const after = open([
    ["a", -1],
    ["x", 0],
    ["y", 0],
    ["b", 0],
    ["c", 0],
  ]);
  it.each([
    ["the selected row, in view", "c", 0, 3, 2],
    ["the first row, when the selected one is out of view", "a", 1, 1, 2],
    ["nothing at the very top", "gone", 0, 3, 0],
    ["an empty screen", "a", 9, 3, 0],
  ])("%s", (_, selected, top, height, want) =>
    expect(rowsPushed(before, after, selected, top, height)).toBe(want),
  );
});

describe("lengthOf", () => {
  it("ends when the last span ends", () => expect(lengthOf(tree, false, 0)).toBe(100));
  it("lasts until now while running", () =>
    expect(lengthOf(tree, true, Date.parse("2026-03-01T00:00:02Z"))).toBe(2000));
});
