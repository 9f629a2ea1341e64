import { describe, expect, it } from "vitest";
import type { Finding, ReplayEdit } from "@/api/types";
import { candidateOf, causeText, disagreement } from "./words";

const edit = (set: object) => ({ target: "all", set }) as ReplayEdit;
const finding = (status: string, agrees: boolean | null = null) =>
  ({ status, agrees_with_verdict: agrees }) as Finding;

describe("candidateOf", () => {
  it("names the kind of edits that are alike", () => {
    expect(candidateOf([edit({ system_prompt: "Ask." })])).toEqual({
      kind: "instructions",
      title: "The system message is the cause",
    });
    expect(candidateOf([edit({ tool_result: 1 }), edit({ tool_error: { type: "Down" } })]).kind).toBe(
      "tool_result",
    );
  });
  it("leaves others to the reader", () => {
    expect(candidateOf([edit({ model: "m" }), edit({ retries: 1 })])).toEqual({ kind: "other", title: "" });
    expect(candidateOf([]).kind).toBe("other");
  });
});

describe("disagreement", () => {
  it("says what the batch shows", () => {
    expect(disagreement(finding("confirmed", false))).toContain("fewer attempts");
    expect(disagreement(finding("refuted", false))).toContain("repair");
    expect(disagreement(finding("confirmed", null))).toBeNull();
  });
});

describe("causeText", () => {
  it("says the most that is known", () => {
    expect(causeText([finding("open"), finding("confirmed")])?.text).toBe("Confirmed cause");
    expect(causeText([finding("open"), finding("refuted"), finding("open")])?.text).toBe("2 open findings");
    expect(causeText([finding("refuted")])).toBeNull();
  });
});
