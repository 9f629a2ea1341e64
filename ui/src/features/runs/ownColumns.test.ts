import { describe, expect, it } from "vitest";
import type { ScoreSummary } from "@/api/types";
import { scoreText, scoreTitle } from "./ownColumns";

const summary = (changed: Partial<ScoreSummary>): ScoreSummary => ({
  name: "s",
  count: 1,
  span_count: 0,
  mean: null,
  value: 0,
  label: null,
  updated_at: "2026-01-01T00:00:00Z",
  authors: ["ann@example.com"],
  author_count: 1,
  ...changed,
});

describe("scores of a run", () => {
  it.each([
    ["0.25", { value: 0.25, mean: 0.25 }],
    ["0.3333", { value: 1, mean: 1 / 3, count: 3 }],
    ["half (0.5)", { value: 0.5, mean: 0.5, label: "half" }],
    ["0.6", { value: 0.5, mean: 0.6, label: "half", count: 2 }],
    ["true", { value: true, mean: 1 }],
    ["67% true", { value: false, mean: 2 / 3, count: 3 }],
    ["rude", { value: "rude", count: 2 }],
    ["1,200", { value: 1200, mean: 1200 }],
  ])("%s", (want, changed) => expect(scoreText(summary(changed))).toBe(want));

  it.each([
    ["0.25\nBy ann@example.com", { value: 0.25, mean: 0.25 }],
    ["0.25, of a step\nSent with the run", { value: 0.25, span_count: 1, authors: [], author_count: 0 }],
    [
      "Mean of 3 scores, 1 of steps; newest: 1\nBy ann@example.com",
      { value: 1, mean: 0.5, count: 3, span_count: 1 },
    ],
    [
      "Newest of 2 scores, all of steps; newest: rude\nBy a, b and 2 others",
      { value: "rude", count: 2, span_count: 2, authors: ["a", "b"], author_count: 4 },
    ],
  ])("tooltip %j", (want, changed) => expect(scoreTitle(summary(changed))).toBe(want));
  it("has no tooltip without a score", () => expect(scoreTitle(undefined)).toBeUndefined());
});
