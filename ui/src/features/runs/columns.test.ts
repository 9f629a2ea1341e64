import { describe, expect, it } from "vitest";
import { readColumns, shownColumns, totalMinWidth } from "./columns";

const ids = (stored: string | null, width: number) =>
  shownColumns(readColumns(stored), width).map(({ id }) => id);

describe("columns", () => {
  it("are the default ones that fit", () => {
    expect(ids(null, 2000)).toEqual(["words", "duration", "tokens", "cost", "models", "session", "age"]);
    expect(ids(null, 800)).toEqual(["words", "duration", "tokens", "cost", "age"]);
    expect(totalMinWidth(shownColumns(readColumns(null), 800))).toBeLessThanOrEqual(800);
  });
  it("are all chosen ones in order, even if they don't fit", () => {
    expect(ids("age,user,words,nonsense", 300)).toEqual(["words", "user", "age"]);
    expect(ids("", 300)).toEqual([]);
  });
});
