import { describe, expect, it } from "vitest";
import type { EvalRun } from "@/api/types";
import { rankingPath, readRanking, verdictText, whyNotRanked } from "./ranking";

const run = (id: string, more: object = {}) =>
  ({
    id,
    name: id,
    status: "succeeded",
    summary: {},
    dataset: { id: "d" },
    ...more,
  }) as EvalRun;

describe("eval-runs that are compared at once", () => {
  it("are two or more of one dataset with results", () => {
    expect(whyNotRanked([run("a")])).toBe("Select more, up to 6, to compare them.");
    expect(whyNotRanked([run("a"), run("b"), run("c", { dataset: { id: "e" } })])).toBe(
      "They are of different datasets.",
    );
    expect(whyNotRanked([run("a"), run("b"), run("c", { summary: null })])).toBe("“c” has no result yet.");
    expect(whyNotRanked([run("a"), run("b"), run("c")])).toBeNull();
  });

  it("stand in the address, each once and at most six", () => {
    const path = rankingPath(
      "p",
      ["a", "b", "a", "c", "d", "e", "f", "g"].map((id) => ({ id })),
    );
    expect(path).toContain("/p/p/eval-runs/compare?run=a&run=b");
    const params = new URLSearchParams(path.slice(path.indexOf("?")));
    params.set("group_by", "metadata.customer");
    expect(readRanking(params)).toEqual({
      eval_run_id: ["a", "b", "c", "d", "e", "f"],
      group_by: "metadata.customer",
    });
  });

  it("have a verdict with the letter of a side", () => {
    expect(verdictText({ a: "B", b: "D", verdict: "b_better" })).toBe("D better");
    expect(verdictText({ a: "B", b: "D", verdict: "a_better" })).toBe("B better");
    expect(verdictText({ a: "B", b: "D", verdict: "inconclusive" })).toBe("can't tell");
  });
});
