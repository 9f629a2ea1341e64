import { describe, expect, it } from "vitest";
import type { PlaygroundOpened, Span } from "@/api/types";
import type { FormErrors } from "@/components/formErrors";
import {
  broadestTarget,
  changesOf,
  type EditDraft,
  givenEdit,
  isOffered,
  newEdit,
  readTarget,
  sharedTargetsOf,
  targetSteps,
  targetsOf,
  withChange,
  withTarget,
} from "./edits";
import { changedParams, readEdit } from "./readEdit";
import { type Recorded, recordedParams, recordedText } from "./recorded";
import type { RunStep } from "./steps";

const step = (n: number, kind: string, name: string, more: Partial<RunStep> = {}): RunStep => ({
  n,
  id: `s${n}`,
  kind,
  name,
  agent: "",
  model: "",
  isFailed: false,
  duration: 100,
  ...more,
});
const steps = [
  step(1, "agent", "orders"),
  step(2, "llm", "chat gpt", { agent: "orders" }),
  step(3, "tool", "find"),
  step(4, "llm", "chat gpt"),
  step(5, "tool", "find"),
  step(6, "tool", "cancel"),
];
const recorded: Recorded = {
  opened: {
    messages: [
      { role: "system", content: "You help." },
      { role: "user", content: "Cancel it." },
      { role: "assistant", content: null, tool_calls: [{ id: "c" }] },
    ],
    output: { role: "assistant", content: "Done." },
    tools: [],
    model_config: { model: "gpt", temperature: 1, max_output_tokens: 20 },
  } as unknown as PlaygroundOpened,
  span: { tool: { result: '{"ok":true}' }, error: null } as unknown as Span,
};
const read = (edit: Partial<EditDraft>) => {
  const errors: FormErrors = {};
  return { edit: readEdit({ ...newEdit(), ...edit }, recorded, "body.edits[0]", errors), errors };
};

describe("targets", () => {
  it.each([
    ["all", "all"],
    ["tools", { kind: "tool" }],
    ["input", "all"],
    ["span:s2", { span_id: "s2" }],
    ["agent:a:b", { kind: "agent", name: "a:b" }],
    ["tool:find", { kind: "tool", name: "find" }],
  ] as const)("%s", (target, want) => expect(readTarget(target)).toEqual(want));
  it("are model calls, if there are any", () => {
    const onlyTools = steps.filter(({ name }) => name === "find");
    expect(broadestTarget(steps)).toBe("all");
    expect(broadestTarget(onlyTools)).toBe("tools");
    const values = (of: typeof steps) => targetsOf(of)[0]?.items.map(({ value }) => value);
    expect(values(steps)).toContain("all");
    expect(values(onlyTools)).not.toContain("all");
  });
  it("name steps", () => {
    const ids = (target: string) => targetSteps(target, steps).map(({ n }) => n);
    expect(ids("all")).toEqual([2, 4]);
    expect(ids("tool:find")).toEqual([3, 5]);
    expect(ids("agent:orders")).toEqual([2]);
    expect(ids("span:s6")).toEqual([6]);
  });
  it("offer what fits", () => {
    expect(changesOf("all", steps, "full")).toContain("model");
    expect(changesOf("all", steps, "full")).not.toContain("response");
    expect(changesOf("span:s2", steps, "full")).toContain("response");
    expect(changesOf("tool:find", steps, "full")).not.toContain("tool_result");
    expect(changesOf("tool:cancel", steps, "full")).toContain("tool_result");
    expect(changesOf("span:s2", steps, "structure")).toEqual(["timeout_ms", "retries"]);
  });
  it("keep the change where it is possible", () => {
    expect(withTarget(newEdit("all", "model"), "span:s2", steps, "full").change).toBe("model");
    expect(withTarget(newEdit("all", "model"), "tool:find", steps, "full").change).toBe("tool_error");
  });
  it("offer every call of a long run", () => {
    const call = steps.find(({ kind }) => kind === "llm");
    const long = Array.from({ length: 3_000 }, (_, index) => ({
      ...(call as RunStep),
      n: index + 1,
      id: `s${index}`,
    }));
    expect(targetsOf(long).at(-1)?.items).toHaveLength(3_000);
  });
  it("leave the frames of a run out, and one agent", () => {
    const groups = targetsOf(steps);
    expect(groups.map(({ group }) => group)).toEqual(["The run", "A tool", "One step"]);
    expect(groups.at(-1)?.items.map(({ value }) => value)).not.toContain("span:s1");
  });
  it("of several runs name no step and no input of one", () => {
    const values = sharedTargetsOf(steps).flatMap(({ items }) => items.map(({ value }) => value));
    expect(values).toContain("tool:find");
    expect(values.filter((value) => value.startsWith("span:") || value === "input")).toEqual([]);
  });
});

describe("readEdit", () => {
  it("wants another text than the recorded one", () => {
    expect(read({ change: "system_prompt" }).errors["body.edits[0].set.system_prompt"]).toMatch(/recorded/);
    expect(read({ change: "system_prompt", text: "New." }).edit).toEqual({
      target: "all",
      set: { system_prompt: "New." },
    });
    expect(read({ change: "tool_result", target: "span:s3", text: "no" }).edit?.set).toEqual({
      tool_result: "no",
    });
    expect(read({ change: "input", text: "" }).errors["body.edits[0].set.input"]).toMatch(
      /Enter the new text/,
    );
  });
  it("sends only parameters that differ, by their names in chat completions", () => {
    const params = { ...recordedParams(recorded), temperature: "0", maxOutputTokens: "" };
    expect(read({ change: "params", params }).edit?.set).toEqual({
      params: { temperature: 0, max_tokens: null },
    });
    expect(read({ change: "params" }).edit).toBeNull();
    const errors: FormErrors = {};
    expect(changedParams(params, { ...params, seed: "x" }, "at", errors)).toBeNull();
    expect(errors).toEqual({ "at.seed": "Enter a whole number." });
  });
  it("reads messages", () => {
    const messages: EditDraft["messages"] = [{ id: "a", kind: "text", role: "user", text: "Hi", more: "" }];
    const message = { role: "user", content: "Hi" };
    expect(read({ change: "messages", messages }).edit?.set).toEqual({ messages: [message] });
    expect(read({ change: "response", messages }).edit?.set).toEqual({ response: message });
    expect(read({ change: "messages" }).errors["body.edits[0].set.messages"]).toMatch(/recorded/);
  });
  it("reads numbers and errors", () => {
    expect(read({ change: "timeout_ms", number: "2000" }).edit?.set).toEqual({ timeout_ms: 2000 });
    expect(read({ change: "timeout_ms", number: "0" }).edit).toBeNull();
    expect(read({ change: "retries", number: "1.5" }).errors["body.edits[0].set.retries"]).toMatch(
      /0 to 100/,
    );
    expect(read({ change: "tool_error", errorType: "Timeout" }).edit?.set).toEqual({
      tool_error: { type: "Timeout" },
    });
    expect(read({ change: "tool_error" }).edit).toBeNull();
  });
  it("reads JSON", () => {
    const prompt = { id: "p", name: "triage", version: 3 };
    expect(read({ change: "prompt", prompt, variables: '{"a":1}' }).edit?.set).toEqual({
      prompt: { prompt: { id: "p", version: 3 }, variables: { a: 1 } },
    });
    expect(read({ change: "prompt", prompt, variables: "[" }).errors).toHaveProperty([
      "body.edits[0].set.prompt.variables",
    ]);
    expect(read({ change: "tool_schema", schema: "{}" }).edit?.set).toEqual({ tool_schema: {} });
    expect(read({ change: "tool_schema", schema: "x" }).edit).toBeNull();
  });
});

describe("isOffered", () => {
  it.each([
    [{ tool_error: { type: "Down" } }, true],
    [{ tool_error: { remove: true } }, false],
    [{ resample: true }, false],
    [{ latency_ms: 5 }, false],
  ])("%j", (set, want) => expect(isOffered(set)).toBe(want));
});

describe("recordedText", () => {
  it.each([
    [{ change: "system_prompt" }, "You help."],
    [{ change: "input" }, "Cancel it."],
    [{ change: "tool_result" }, '{"ok":true}'],
    [{ change: "response" }, "assistant: Done."],
    [{ change: "model" }, null],
  ] as [Partial<EditDraft>, string | null][])("%j", (edit, want) =>
    expect(recordedText({ ...newEdit(), ...edit }, recorded)).toBe(want),
  );
});

describe("an edit that the form starts with", () => {
  it("is used as it is", () => {
    const given = {
      target: { kind: "tool" as const, name: "find" },
      set: { timeout_ms: 5000 },
    };
    const draft = givenEdit(given);
    expect([draft.target, draft.change]).toEqual(["tool:find", "timeout_ms"]);
    expect(readEdit(draft, recorded, "body.edits[0]", {})).toBe(given);
  });
  it("is no longer there after a change", () => {
    const draft = givenEdit({ target: "all", set: { model: "large" } });
    expect(withChange(draft, draft.change).given).toBeNull();
  });
});
