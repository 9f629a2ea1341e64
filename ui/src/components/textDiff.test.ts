import { describe, expect, it } from "vitest";
import { changeText, diffWords, foldSame } from "./textDiff";

describe("diffWords", () => {
  it("marks whole words", () => {
    expect(diffWords("Answer in one sentence.", "Answer in two sentences.")).toEqual([
      { op: "same", text: "Answer in " },
      { op: "removed", text: "one sentence" },
      { op: "added", text: "two sentences" },
      { op: "same", text: "." },
    ]);
  });
  it.each([
    ["", "new"],
    ["old", ""],
    ["same", "same"],
    ["a\nb\nc\n", "a\nc\nd\n"],
    ["{{a}} é😀", "{{b}} é😃"],
  ])("%j to %j has both texts", (before, after) => {
    const hunks = diffWords(before, after);
    const without = (op: string) =>
      hunks
        .filter((hunk) => hunk.op !== op)
        .map(({ text }) => text)
        .join("");
    expect(without("added")).toBe(before);
    expect(without("removed")).toBe(after);
  });
});

describe("foldSame", () => {
  const lines = (count: number) => Array.from({ length: count }, (_, line) => `line ${line}\n`).join("");
  it("folds the middle of long unchanged texts and keeps every character", () => {
    const hunks = diffWords(`${lines(20)}old`, `${lines(20)}new`);
    const folded = foldSame(hunks);
    expect(folded.map(({ folded: count }) => count)).toEqual([18, undefined, undefined, undefined]);
    expect(folded.map(({ text }) => text).join("")).toBe(hunks.map(({ text }) => text).join(""));
  });
  it("keeps lines on both sides of an unchanged text between two differences", () => {
    const hunks = diffWords(`a\n${lines(20)}b`, `c\n${lines(20)}d`);
    expect(foldSame(hunks).filter(({ folded }) => folded)).toMatchObject([{ folded: 16 }]);
    expect(
      foldSame(hunks)
        .map(({ text }) => text)
        .join(""),
    ).toBe(hunks.map(({ text }) => text).join(""));
  });
  it("leaves short texts", () => {
    const hunks = diffWords("a\nb\nc old", "a\nb\nc new");
    expect(foldSame(hunks)).toEqual(hunks);
  });
});

describe("changeText", () => {
  it.each([
    [null, ""],
    ["a", "a"],
    [0.5, "0.5"],
    [{ a: 1 }, '{\n  "a": 1\n}'],
  ])("%j", (value, want) => expect(changeText(value)).toBe(want));
});
