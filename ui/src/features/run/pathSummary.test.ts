import { describe, expect, it } from "vitest";
import { readOutline } from "./outline";
import { outlineOf } from "./outlineOf";
import { summarizePath } from "./pathSummary";

describe("summarizePath", () => {
  const rows: [string, number][] = [
    ["a", -1],
    ["b", 0],
    ["c", 0],
  ];
  it("adds up the intervals of each span", () =>
    expect(
      summarizePath(
        readOutline(
          outlineOf(rows, [
            [0, 90, 100],
            [2, 30, 90],
            [0, 20, 30],
            [1, 0, 20],
          ]),
        ),
      ),
    ).toEqual({ ms: 100, spans: 3, longest: 2, longestMs: 60 }));
  it("has nothing to say about a run without a path", () =>
    expect(summarizePath(readOutline(outlineOf(rows)))).toBeUndefined());
});
