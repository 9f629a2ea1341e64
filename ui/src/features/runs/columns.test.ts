import { describe, expect, it } from "vitest";
import { DEFAULT_LAYOUT, inOrder, shownColumns, totalMinWidth, tracksOf } from "./columns";

const ids = (columns: readonly string[], width: number) =>
  shownColumns(inOrder(columns), width).map(({ id }) => id);

describe("columns", () => {
  it("are the default ones that fit", () => {
    expect(ids(DEFAULT_LAYOUT.columns, 2000)).toEqual(DEFAULT_LAYOUT.columns);
    expect(ids(DEFAULT_LAYOUT.columns, 800)).toEqual(["words", "duration", "tokens", "cost", "age"]);
    expect(totalMinWidth(shownColumns(DEFAULT_LAYOUT.columns, 800), {})).toBeLessThanOrEqual(800);
  });
  it("are all chosen ones in order, even if they don't fit", () => {
    expect(ids(["age", "user", "words", "nonsense"], 300)).toEqual(["words", "user", "age"]);
    expect(ids([], 300)).toEqual([]);
  });
  it("have scores and metadata before the times", () => {
    expect(ids(["age", "metadata:tier", "score:b", "score:a", "words", "score:b"], 300)).toEqual([
      "words",
      "score:b",
      "score:a",
      "metadata:tier",
      "age",
    ]);
  });
  it("are at most ten scores", () => {
    const many = Array.from({ length: 12 }, (_, index) => `score:${index}`);
    expect(inOrder(many)).toHaveLength(10);
  });
  it("have the widths that the user gave them", () => {
    const shown = shownColumns(inOrder(["words", "age", "score:a"]), 0);
    expect(tracksOf(shown, { words: 300, name: 120 })).toBe(
      "120px 300px minmax(80px, 120px) var(--lt-age-width)",
    );
    expect(totalMinWidth(shown, { words: 300, name: 120 })).toBe(
      totalMinWidth(shown, {}) + (300 + 14 - 154) - 70,
    );
  });
});
