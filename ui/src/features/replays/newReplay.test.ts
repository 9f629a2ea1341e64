import { describe, expect, it } from "vitest";
import type { ReplayEdit, ReplayPlan } from "@/api/types";
import { newEdit } from "./edits";
import { emptyReplay, emptyTool, type NewReplay, replayRequest } from "./newReplay";
import { planCost, startText, stepsBefore, unableText, whyText } from "./plan";

const edit: ReplayEdit = { target: "all", set: { model: "m" } };
const request = (draft: Partial<NewReplay>, edits: (ReplayEdit | null)[] = [edit]) =>
  replayRequest("project", "run", { ...emptyReplay([]), ...draft }, edits, {});

describe("replayRequest", () => {
  it("has the defaults of the form", () =>
    expect(request({}).body).toEqual({
      run_id: "run",
      project_id: "project",
      edits: [edit],
      controls: 5,
      treatments: 4,
    }));
  it("leaves the connection out where nothing is called", () => {
    expect(request({ providerId: "c" }).body).toHaveProperty("provider_id", "c");
    expect(request({ providerId: "c", edits: [newEdit("all", "timeout_ms")] }).body).not.toHaveProperty(
      "provider_id",
    );
  });
  it("has the policies that are no default", () =>
    expect(
      request({
        tools: {
          a: emptyTool,
          b: { ...emptyTool, onMiss: "fixed", result: "x" },
          c: { ...emptyTool, sideEffects: "read" },
        },
      }).body?.tools,
    ).toEqual({ b: { on_miss: "fixed", result: "x" }, c: { on_miss: "stop", side_effects: "read" } }));
  it("says what is wrong", () => {
    expect(request({ controls: "101" }).errors).toHaveProperty(["body.controls"]);
    expect(request({ treatments: "0" }).errors).toHaveProperty(["body.treatments"]);
    expect(request({ maxCost: "0" }).errors).toHaveProperty(["body.max_cost_usd"]);
    expect(request({}, [null]).body).toBeNull();
    expect(request({ outcome: { id: "g", name: "", json: "{" } }).errors).toHaveProperty(["body.outcome"]);
  });
  it("names the grader of the outcome", () =>
    expect(request({ outcome: { id: "g", name: "", json: '{"type":"contains"}' } }).body?.outcome).toEqual({
      type: "contains",
      name: "outcome",
    }));
});

const plan = (changed: Partial<ReplayPlan>) =>
  ({ calls: 9, cost_low_usd: 0.01, cost_high_usd: 0.1, unpriced_models: [], ...changed }) as ReplayPlan;

describe("plan", () => {
  it.each([
    [plan({}), "$0.0100 to $0.100"],
    [plan({ cost_high_usd: 0.01 }), "about $0.0100"],
    [plan({ cost_high_usd: null }), "at least $0.0100"],
    [plan({ cost_low_usd: null, cost_high_usd: null }), "unknown cost"],
    [plan({ unpriced_models: ["m"] }), "unknown cost: no price for m"],
    [plan({ calls: 0 }), "no calls"],
  ])("%#: its cost", (of, want) => expect(planCost(of)).toBe(want));
  it("is on the button", () => {
    expect(startText(undefined)).toBe("Start replay");
    expect(startText(plan({}))).toBe("Start replay · $0.0100 to $0.100");
    expect(startText(plan({ unpriced_models: ["m"] }))).toBe("Start replay · unknown cost");
  });
  it("says what can never tell", () => {
    expect(unableText(null)).toBeNull();
    expect(unableText(0.04)).toBeNull();
    expect(unableText(0.5)).toContain("0.50");
  });
  it("says what a miss does", () => {
    expect(whyText({ why: "", on_miss: null })).toBe("");
    expect(whyText({ why: "It may.", on_miss: "stop" })).toBe(
      "It may. A call that was not recorded ends the attempt.",
    );
  });
});

describe("stepsBefore", () => {
  const steps = (copied: number, live: number) => [
    ...Array.from({ length: copied }, () => ({ action: "copied" as const, kind: "llm" })),
    ...Array.from({ length: live }, () => ({ action: "live" as const, kind: "tool" })),
  ];
  it("leaves some before the first that is not copied", () => expect(stepsBefore(steps(500, 9))).toBe(498));
  it("does not begin at an agent", () =>
    expect(stepsBefore([{ action: "unknown", kind: "agent" }, ...steps(500, 9)])).toBe(499));
  it("is nothing in a short plan, one that begins with the edit, or one of copies", () => {
    expect(stepsBefore(steps(50, 9))).toBe(0);
    expect(stepsBefore(steps(0, 500))).toBe(0);
    expect(stepsBefore(steps(500, 0))).toBe(0);
  });
});
