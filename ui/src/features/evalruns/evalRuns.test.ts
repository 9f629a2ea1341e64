import { describe, expect, it } from "vitest";
import type { EvalRun, EvalRunItem, EvalRunMetric, GateDecision } from "@/api/types";
import {
  comparisonOf,
  gateMetrics,
  gateNotes,
  inOrder,
  itemScore,
  itemVerdict,
  originText,
  primaryScore,
  readMargin,
  readSelection,
  scoreText,
  sharesText,
  shortCommit,
  tookMs,
  whyNotComparable,
} from "./evalRuns";
import { readItemsPlace } from "./itemsPlace";

const metric = (name: string, changed: Partial<EvalRunMetric> = {}): EvalRunMetric => ({
  name,
  kind: "score",
  better: "higher",
  mean: 0.8,
  ci: [0.7, 0.9],
  pass_rate: 0.75,
  categories: null,
  n: 30,
  groups: null,
  all_pass: null,
  ...changed,
});

const run = (changed: Partial<EvalRun> = {}) =>
  ({
    id: "r1",
    project_id: "p1",
    name: "agent",
    dataset: { id: "d1", name: "numbers", revision: 3, split: null, item_count: 30 },
    status: "succeeded",
    primary_metric: "correct",
    branch: "main",
    commit: "0d2f9c1a7b3e4f5d",
    created_at: "2026-01-01T00:00:00Z",
    started_at: "2026-01-01T00:00:00Z",
    finished_at: "2026-01-01T00:01:00Z",
    summary: {
      sentence: "",
      partial: false,
      panels: [],
      scores: [metric("brief"), metric("correct")],
    },
    ...changed,
  }) as EvalRun;

describe("a score", () => {
  it("is the primary one, else the first", () => {
    expect(primaryScore(run())?.name).toBe("correct");
    expect(primaryScore(run({ primary_metric: null }))?.name).toBe("brief");
    expect(primaryScore(run({ summary: null }))).toBeUndefined();
    const scores = [metric("cost_usd", { kind: "cost" })];
    expect(
      primaryScore(run({ summary: { sentence: "", partial: false, panels: [], scores } })),
    ).toBeUndefined();
  });

  it("of an item is the mean of its repeats", () => {
    const repeat = (score: number | null) => ({ result: { scores: [{ name: "correct", score }] } });
    const item = (...scores: (number | null)[]) => ({ repeats: scores.map(repeat) }) as EvalRunItem;
    expect(itemScore(item(1, 0), "correct")).toBe(0.5);
    expect(itemScore(item(1, null), "correct")).toBe(1);
    expect(itemScore(item(null), "correct")).toBeNull();
    expect(itemScore(item(1), "brief")).toBeNull();
  });

  it("of categories that neither pass nor fail are the shares of labels", () => {
    const share = (label: string, outputs: number) => ({ label, outputs, share: outputs / 40, ci: null });
    const categories = [share("rude", 0), share("casual", 10), share("formal", 24), share("odd", 4)];
    const tone = metric("tone", { mean: null, ci: null, pass_rate: null, categories });
    expect(scoreText(tone)).toBe("tone: formal 60\u00a0%, casual 25\u00a0%, odd 10\u00a0%, 30 items");
    expect(sharesText([...categories, share("blunt", 2)])).toMatch(/, 1 more$/);
    const repeat = (label: string | null) => ({ result: { scores: [{ name: "tone", score: null, label }] } });
    const item = (...labels: (string | null)[]) => ({ repeats: labels.map(repeat) }) as EvalRunItem;
    expect(itemVerdict(item("formal", "casual", "formal", null), "tone")).toBe("formal, casual");
    expect(itemVerdict(item(null), "tone")).toBeNull();
    const scores = [tone, metric("correct")];
    const judged = run({ summary: { sentence: "", partial: false, panels: [], scores } });
    expect(gateMetrics(judged).map(({ name }) => name)).not.toContain("tone");
  });

  it("never stands without its interval and n", () => {
    expect(scoreText(metric("correct"))).toBe("correct 80.0 (70.0 to 90.0), 30 items");
    expect(scoreText(metric("correct", { mean: null, ci: null, n: 1 }))).toBe("correct —, 1 item");
  });
});

describe("an eval-run", () => {
  it("says where it comes from", () => {
    expect(originText(run())).toBe("main · 0d2f9c1a7 · r3");
    expect(originText(run({ branch: null, commit: null }))).toBe("r3");
    expect(shortCommit("v1.2.3-rc1-with-a-long-name")).toBe("v1.2.3-rc1-with-a-long-name");
  });

  it("took no known time while it runs", () => {
    expect(tookMs(run())).toBe(60_000);
    expect(tookMs(run({ finished_at: null }))).toBeNull();
  });
});

describe("a comparison of two", () => {
  it("needs one dataset and two results", () => {
    expect(whyNotComparable(run(), run({ id: "r2" }))).toBeNull();
    expect(whyNotComparable(run(), run({ dataset: { ...run().dataset, id: "d2" } }))).toMatch(/different/);
    expect(whyNotComparable(run(), run({ status: "running", summary: null }))).toMatch(/no result/);
    expect(whyNotComparable(run({ status: "failed", summary: null }), run())).toMatch(/no result/);
  });

  it("has the older one as A, and a primary score of both", () => {
    const newer = run({ id: "r2", created_at: "2026-01-02T00:00:00Z", primary_metric: "tone" });
    const [a, b] = inOrder(newer, run());
    expect([a.id, b.id]).toEqual(["r1", "r2"]);
    expect(comparisonOf(a, b)).toEqual({
      project_id: "p1",
      dataset_id: "d1",
      a: { eval_run_id: "r1" },
      b: { eval_run_id: "r2" },
      primary_metric: "correct",
    });
    const other = run({
      summary: { sentence: "", partial: false, panels: [], scores: [metric("tone")] },
    });
    expect(comparisonOf(run(), other)).not.toHaveProperty("primary_metric");
  });
});

describe("a gate", () => {
  it("offers the primary score first, and what is measured", () => {
    expect(gateMetrics(run()).map(({ name }) => name)).toEqual([
      "correct",
      "brief",
      "failures",
      "cost_usd",
      "output_tokens",
    ]);
  });

  it("takes margins of scores in points", () => {
    const [score, , , cost] = gateMetrics(run());
    expect(score && readMargin(2, score)).toBe(0.02);
    expect(score && readMargin("0", score)).toBe(0);
    expect(cost && readMargin("0.5", cost)).toBe(0.5);
    for (const text of ["", "-1", "x"]) expect(score && readMargin(text, score), text).toBeNull();
  });

  it("says all that it leaves out", () => {
    const decision = {
      paired: 28,
      only_candidate: 1,
      only_baseline: 0,
      changed: 2,
      candidate_lost: 0,
      baseline_lost: 3,
    } as GateDecision;
    expect(gateNotes(decision)).toEqual([
      "28 items compared.",
      "Left out: 1 item only in this eval-run.",
      "Left out: 2 items with a changed input or reference output.",
      "Without a result in the baseline: 3 items.",
    ]);
  });
});

it("reads filters and places, and ignores what it doesn't know", () => {
  expect(readSelection(new URLSearchParams("dataset=d&name=&branch=main&status=odd"))).toEqual({
    dataset_id: "d",
    name: undefined,
    branch: "main",
    status: undefined,
  });
  expect(
    readItemsPlace(
      new URLSearchParams("status=target_failed&page=0&item=x&repeat=2&split=correct&blind=1&order=random"),
    ),
  ).toEqual({
    status: "target_failed",
    split: "correct",
    panel: "",
    isBlind: true,
    isRandom: true,
    page: 1,
    item: "x",
    repeat: 2,
  });
});
