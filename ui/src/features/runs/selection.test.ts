import { describe, expect, it } from "vitest";
import type { Run } from "@/api/types";
import {
  isSelected,
  MAX_SELECTED,
  NO_SELECTION,
  type Selection,
  selectionOfLoaded,
  selectionText,
  shareOf,
  withSelected,
} from "./selection";

const run = (id: number) => ({ run_id: String(id) }) as Run;
const many = (count: number) => Array.from({ length: count }, (_, id) => run(id));

describe("selection", () => {
  it("has none, some or all loaded runs", () => {
    const loaded = () => many(3);
    expect(shareOf(NO_SELECTION, loaded)).toBe("none");
    const some = withSelected(NO_SELECTION, [run(1)], true);
    expect(shareOf(some, loaded)).toBe("some");
    expect(shareOf(some, () => [])).toBe("some");
    expect(shareOf(withSelected(some, many(3), true), loaded)).toBe("all");
    expect(shareOf(withSelected(some, [run(1)], false), loaded)).toBe("none");
    expect(shareOf(selectionOfLoaded(many(3)), () => many(4))).toBe("some");
  });
  it("of all that match has every run", () => {
    const all: Selection = { ...selectionOfLoaded(many(3)), of: "all" };
    expect(isSelected(all, run(99))).toBe(true);
    expect(shareOf(all, () => many(5))).toBe("all");
    const fewer = withSelected(all, [run(1)], false);
    expect(fewer.of).toBe("chosen");
    expect([...fewer.runs.keys()]).toEqual(["0", "2"]);
  });
  it("has a limit", () => {
    const most = selectionOfLoaded(many(MAX_SELECTED + 5));
    expect(most.runs.size).toBe(MAX_SELECTED);
    expect(shareOf(most, () => many(MAX_SELECTED + 5))).toBe("all");
  });
  it("says what it covers", () => {
    const loaded = selectionOfLoaded(many(50));
    expect(selectionText(withSelected(NO_SELECTION, many(2), true), 90, true)).toBe("2 selected");
    expect(selectionText(loaded, 90, true)).toBe("50 loaded runs selected");
    expect(selectionText(loaded, 50, false)).toBe("All 50 runs selected");
    expect(selectionText({ ...loaded, of: "all" }, 12_345, true)).toBe("All 12,345 matching runs selected");
    expect(selectionText({ ...loaded, of: "all" }, null, true)).toBe("All matching runs selected");
    expect(selectionText(selectionOfLoaded(many(MAX_SELECTED + 1)), null, true)).toBe(
      "10,000 loaded runs selected, the most at once",
    );
  });
});
