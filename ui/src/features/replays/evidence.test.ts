import { describe, expect, it } from "vitest";
import type { Replay, ReplayAttempt, ReplayChannel, ReplayVerdict } from "@/api/types";
import { axisOf, extension, foundChannels, isMeasured, pointsOf, shownChannels, stacked } from "./evidence";
import { driftText } from "./Trust";
import {
  channelValue,
  editsText,
  effectInterval,
  effectText,
  effectValue,
  missingAttempts,
  progressText,
  readSelection,
  timeLeft,
} from "./words";

const attempt = (changed: Partial<ReplayAttempt>): ReplayAttempt =>
  ({
    role: "control",
    status: "succeeded",
    stop_reason: "completed",
    detail: null,
    outcome: 1,
    cost_usd: 0.1,
    duration_ms: 10,
    usage: { input_tokens: 3, output_tokens: 2 },
    ...changed,
  }) as ReplayAttempt;

describe("pointsOf", () => {
  const attempts = [
    attempt({}),
    attempt({ role: "treatment", cost_usd: null }),
    attempt({ role: "treatment", cost_usd: 0.2 }),
    attempt({ status: "failed", cost_usd: 9 }),
  ];
  it("never takes an unknown value for 0", () =>
    expect(pointsOf("cost", attempts)).toEqual({ controls: [0.1], treatments: [0.2] }));
  it("adds tokens", () => expect(pointsOf("tokens", attempts).controls).toEqual([5]));
  it("has none of distances", () => expect(pointsOf("answer", attempts).controls).toEqual([]));
});

describe("axes and points", () => {
  it("have room", () => {
    expect(axisOf("outcome", { controls: [], treatments: [] })).toEqual([0, 1]);
    expect(axisOf("cost", { controls: [10], treatments: [10] })).toEqual([9, 11]);
    expect(axisOf("cost", { controls: [], treatments: [] })).toEqual([0, 1]);
  });
  it("put equal points above each other", () =>
    expect(stacked([1, 1, 5, 1], 1).map(({ level }) => level)).toEqual([0, 1, 2, 0]));
});

describe("verdicts", () => {
  const verdict = (changed: Partial<ReplayVerdict>) =>
    ({ verdict: "drift", sentence: "", alpha: 0.05, ...changed }) as ReplayVerdict;
  it("name the measures that differ", () => {
    const none = { p_adjusted: null };
    const channels = {
      ...{ outcome: none, structure: none, latency: none, tokens: none },
      cost: { p_adjusted: 0.03 },
      answer: { p_adjusted: 0.06 },
    };
    expect(foundChannels(verdict({ channels } as unknown as Partial<ReplayVerdict>))).toEqual(["cost"]);
  });
  it("show tokens where the cost is unknown", () => {
    const channels = (n: number) =>
      ({ cost: { controls: { n }, treatments: { n: 1 } } }) as ReplayVerdict["channels"];
    expect(shownChannels(channels(1))).not.toContain("tokens");
    expect(shownChannels(channels(0))).toContain("tokens");
  });
  it("have figures, or say nothing", () => {
    const channels = (n: number) =>
      Object.fromEntries(
        ["outcome", "structure", "answer", "cost", "latency", "tokens"].map((name) => [
          name,
          { controls: { n }, treatments: { n: 0 } },
        ]),
      ) as unknown as ReplayVerdict["channels"];
    expect(isMeasured({ channels: channels(0) })).toBe(false);
    expect(isMeasured({ channels: channels(3) })).toBe(true);
  });
  it("ask for more attempts in all", () => {
    const replay = { controls: 3, treatments: 98 };
    expect(extension(replay, null)).toBeNull();
    expect(extension(replay, verdict({ more_replays_needed: { controls: 0, treatments: 0 } }))).toBeNull();
    expect(extension(replay, verdict({ more_replays_needed: { controls: 2, treatments: 4 } }))).toEqual({
      controls: 5,
      treatments: 100,
      more: 6,
    });
  });
  it.each([
    [{ flag: false, measured: null, ratio: null, p: null, changed: [] }, /unknown/],
    [
      { flag: true, measured: true, ratio: 2.04, p: 0.1, changed: ["model"] },
      /drifted.*Changed since the recording: model\./,
    ],
    [{ flag: false, measured: false, ratio: 1, p: 0.5, changed: [] }, /No drift found/],
  ])("say whether it drifted: %#", (drift, want) => expect(driftText(drift)).toMatch(want));
});

describe("words", () => {
  it("say what edits change, without contents", () => {
    expect(editsText([])).toBe("");
    expect(
      editsText([
        { target: "all", set: "system_prompt" },
        { target: { span_id: "a0" }, set: "tool_result" },
        { target: { kind: "tool", name: "search" }, set: "timeout_ms" },
        { target: { kind: "model" }, set: "retries" },
        { target: { kind: "agent", name: "planner" }, set: "model" },
        { target: "all", set: "input" },
      ]),
    ).toBe(
      "System prompt of all model calls; Result of one step; Timeout of the tool search; Retries of all model calls; Model of the agent planner; Input of the run",
    );
  });
  it("count", () => {
    const replay = { status: "running", progress: { total: 9, done: 3, failed: 1 } } as Replay;
    expect(progressText(replay)).toBe("3 of 9 attempts, 1 failed");
    expect(progressText({ status: "queued", progress: { total: 9, done: 0, failed: 0 } })).toMatch(/worker/);
    expect(missingAttempts({ attempts: [attempt({}), attempt({ status: "failed" })] })).toBe(1);
  });
  it("format effects", () => {
    expect(effectValue("ratio", 0.5)).toBe("× 0.5");
    expect(effectValue("difference", -0.49)).toBe("−49 points");
    expect(effectInterval("difference", [-0.49, 0.42])).toBe("−49 to +42 points");
    expect(effectValue("energy_distance", null)).toBe("unknown");
    expect(channelValue("outcome", null)).toBe("unknown");
  });
  it("say an effect in a line", () => {
    const side = (mean: number | null, n = 5) => ({ mean, n });
    const channel = (changed: Partial<ReplayChannel>) =>
      ({
        test: "",
        ci: null,
        effect: null,
        p: null,
        controls: side(0),
        treatments: side(0.8),
        ...changed,
      }) as ReplayChannel;
    const text = (name: "outcome" | "cost" | "answer", changed: Partial<ReplayChannel>, isFound = false) =>
      effectText(name, channel(changed), isFound);
    expect(text("outcome", { test: "fisher_exact" })).toBe("4 of 5 good with the edits, 0 of 5 good without");
    expect(text("outcome", { test: "permutation_of_means" })).toMatch(/^80.% with the edits, 0.% without$/);
    expect(text("outcome", { controls: side(null, 0) })).toBe("unknown");
    expect(text("cost", { measure: "ratio", effect: 1.3, ci: [1.1, 1.5] })).toBe("× 1.3 (× 1.1 to × 1.5)");
    expect(text("cost", { measure: "ratio" })).toBe("unknown");
    expect(text("answer", { measure: "energy_distance", p: 0.01 }, true)).toBe("different");
    expect(text("answer", { measure: "energy_distance", p: 0.4 })).toBe("no difference found");
    expect(text("answer", { measure: "energy_distance" })).toBe("unknown");
  });
  it("read filters", () => {
    expect(readSelection(new URLSearchParams("status=failed&run=r"))).toEqual({
      status: "failed",
      run_id: "r",
    });
    expect(readSelection(new URLSearchParams("status=nope"))).toEqual({
      status: undefined,
      run_id: undefined,
    });
  });
});

describe("timeLeft", () => {
  const replay = (done: number, status: Replay["status"] = "running") => ({
    status,
    progress: { total: 10, done, failed: 0 },
  });
  const since = { time: 1_000, done: 2 };
  it("is that at the speed since then", () => expect(timeLeft(replay(6), since, 9_000)).toBe(8_000));
  it("can't be said too early, or when nothing is left", () => {
    expect(timeLeft(replay(3), since, 9_000)).toBeNull();
    expect(timeLeft(replay(6), since, 2_000)).toBeNull();
    expect(timeLeft(replay(10), since, 9_000)).toBeNull();
    expect(timeLeft(replay(6, "queued"), since, 9_000)).toBeNull();
  });
});
