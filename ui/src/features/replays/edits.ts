import type { ReplayEdit, ReplaySet, ReplayTarget, RunReplayability } from "@/api/types";
import { type DraftMessage, type DraftModel, newId } from "@/components/editor/draft";
import { isObject } from "@/components/json";
import type { PromptChoice } from "@/components/PromptPicker";
import { agentsOf, isModelCall, isToolCall, type RunStep, toolsOf } from "./steps";

/** How far a run can be replayed. */
export type Level = RunReplayability["level"];

/** What an edit changes: a member of the API's `set`. */
export type Change = keyof ReplaySet;

/** An edit while it is made. Numbers are texts. */
export interface EditDraft {
  id: string;
  /** `all`, `tools`, `input`, `agent:name`, `tool:name` or `span:id`. */
  target: string;
  change: Change;
  model: string;
  /** What the parameters become. Null while they are the recorded ones. */
  params: DraftModel | null;
  /** The system prompt, the input or the result of a tool. Null while it is the recorded one. */
  text: string | null;
  /** The messages, or the answer. Null while they are the recorded ones. */
  messages: DraftMessage[] | null;
  prompt: PromptChoice | null;
  /** JSON of the variables of the prompt. */
  variables: string;
  errorType: string;
  errorMessage: string;
  /** JSON of the tool's definition; null until a tool is chosen. */
  schema: string | null;
  number: string;
  /** An edit that came with the address, as it is. Null for one that is made in the form. */
  given: ReplayEdit | null;
}

export function newEdit(target = "all", change: Change = "system_prompt"): EditDraft {
  return {
    id: newId(),
    target,
    change,
    model: "",
    params: null,
    text: null,
    messages: null,
    prompt: null,
    variables: "",
    errorType: "",
    errorMessage: "",
    schema: null,
    number: "",
    given: null,
  };
}

/** An edit that came with the address. */
export function givenEdit(given: ReplayEdit): EditDraft {
  const [change = "system_prompt"] = Object.keys(given.set) as Change[];
  return { ...newEdit(targetOf(given.target), change), given };
}

/** The target of a given edit, as the form names it. */
function targetOf(target: ReplayTarget): string {
  if (target === "all") return "all";
  if ("span_id" in target) return `span:${target.span_id}`;
  return target.name === undefined ? "tools" : `${target.kind}:${target.name}`;
}

/** An edit of something else. Values of one change mean nothing in another. */
export function withChange(edit: EditDraft, change: Change): EditDraft {
  return { ...newEdit(edit.target, change), id: edit.id };
}

/** An edit of other steps, with the same change if it is possible there. */
export function withTarget(
  edit: EditDraft,
  target: string,
  steps: readonly RunStep[],
  level: Level,
): EditDraft {
  const possible = changesOf(target, steps, level);
  const change = possible.includes(edit.change) ? edit.change : (possible[0] ?? "system_prompt");
  return { ...newEdit(target, change), id: edit.id };
}

interface ChangeWords {
  label: string;
  /** What it does, in a few words. */
  hint: string;
}

export const CHANGES: Record<Change, ChangeWords> = {
  system_prompt: { label: "System prompt", hint: "Different instructions for the model" },
  model: { label: "Model", hint: "Another model answers" },
  params: { label: "Parameters", hint: "Temperature, answer length and others" },
  prompt: { label: "Prompt version", hint: "Messages from a saved prompt" },
  messages: { label: "Messages", hint: "Change, add or remove messages of the request" },
  response: { label: "Forced answer", hint: "This answer is used instead of calling the model" },
  tool_schema: { label: "Tool definition", hint: "Another description or other parameters of a tool" },
  tool_result: { label: "Result", hint: "What the tool returns" },
  tool_error: { label: "Error", hint: "Make the tool fail" },
  timeout_ms: { label: "Timeout", hint: "Calls that take longer fail" },
  retries: { label: "Retries", hint: "How often a failed call is retried" },
  input: { label: "Input", hint: "A different first user message" },
};

/** Whether an edit can still be made. One of an earlier version may change what none can change now. */
export function isOffered(set: object): boolean {
  const [[name, value] = ["", null]] = Object.entries(set);
  return name in CHANGES && !(name === "tool_error" && isObject(value) && "remove" in value);
}

const TIMING: readonly Change[] = ["timeout_ms", "retries"];
const OF_MODELS: readonly Change[] = ["system_prompt", "model", "params", "prompt", "tool_schema", ...TIMING];
const OF_ONE_CALL: readonly Change[] = [
  "system_prompt",
  "model",
  "params",
  "messages",
  "prompt",
  "response",
  "tool_schema",
  ...TIMING,
];

/** What can be changed of a target, if the recording has the texts. */
export function changesOf(target: string, steps: readonly RunStep[], level: Level): readonly Change[] {
  const all = allChanges(target, steps);
  return level === "structure" ? all.filter((change) => TIMING.includes(change)) : all;
}

function allChanges(target: string, steps: readonly RunStep[]): readonly Change[] {
  if (target === "input") return ["input"];
  const targeted = targetSteps(target, steps);
  if (target === "tools") return ["tool_error", ...TIMING];
  if (target.startsWith("tool:"))
    return targeted.length === 1 ? ["tool_result", "tool_error", ...TIMING] : ["tool_error", ...TIMING];
  const [first] = targeted;
  if (!target.startsWith("span:") || !first) return OF_MODELS;
  return isToolCall(first) ? ["tool_result", "tool_error", ...TIMING] : OF_ONE_CALL;
}

/** The steps that a target names, as far as the outline says. An agent's are those of the kind that is below it. */
export function targetSteps(target: string, steps: readonly RunStep[]): RunStep[] {
  const [, kind = target, name = ""] = /^(agent|tool|span):(.*)$/s.exec(target) ?? [];
  switch (kind) {
    case "span":
      return steps.filter(({ id }) => id === name);
    case "tools":
      return steps.filter(isToolCall);
    case "tool":
      return steps.filter((step) => isToolCall(step) && step.name === name);
    case "agent": {
      const own = steps.filter((step) => isModelCall(step) && step.agent === name);
      return own.length > 0 ? own : steps.filter(isModelCall);
    }
    default:
      return steps.filter(isModelCall);
  }
}

/** The step whose recorded values an edit starts from. */
export function sourceStep(target: string, steps: readonly RunStep[]): RunStep | undefined {
  return targetSteps(target, steps)[0];
}

/** Targets that other runs of the same agent have, too: no single step, and no input, which is each run's own. */
export function sharedTargetsOf(steps: readonly RunStep[]) {
  return targetsOf(steps)
    .filter(({ group }) => group !== ONE_STEP)
    .map(({ group, items }) => ({ group, items: items.filter(({ value }) => value !== "input") }));
}

const ONE_STEP = "One step";

/** Targets to choose from, in groups. */
export function targetsOf(steps: readonly RunStep[]) {
  const agents = agentsOf(steps);
  const tools = toolsOf(steps);
  const single = steps.filter((step) => isModelCall(step) || isToolCall(step));
  return [
    {
      group: "The run",
      items: [
        ...(steps.some(isModelCall) ? [{ value: "all", label: "All model calls" }] : []),
        ...(tools.length > 0 ? [{ value: "tools", label: "All tool calls" }] : []),
        { value: "input", label: "Input of the run" },
      ],
    },
    ...(agents.length > 1
      ? [
          {
            group: "An agent",
            items: agents.map((name) => ({ value: `agent:${name}`, label: `Model calls of ${name}` })),
          },
        ]
      : []),
    ...(tools.length > 0
      ? [
          {
            group: "A tool",
            items: tools.map((name) => ({ value: `tool:${name}`, label: `All calls of ${name}` })),
          },
        ]
      : []),
    {
      group: ONE_STEP,
      items: single.map((step) => ({
        value: `span:${step.id}`,
        label: `Step ${step.n}: ${step.name || "unnamed"}`,
      })),
    },
  ];
}

/** Whether recorded durations decide all edits, so that nothing is called unless it is asked for. */
export function isTiming(edits: readonly EditDraft[]): boolean {
  return edits.length > 0 && edits.every(({ change }) => TIMING.includes(change));
}

/** What a new edit changes: all model calls, or all tool calls of a run that has no other ones. */
export function broadestTarget(steps: readonly RunStep[]): string {
  return steps.some(isModelCall) ? "all" : "tools";
}

/** A target as the API takes it. */
export function readTarget(target: string): ReplayTarget {
  if (target === "tools") return { kind: "tool" };
  const [, kind, name = ""] = /^(agent|tool|span):(.*)$/s.exec(target) ?? [];
  if (kind === "span") return { span_id: name };
  if (kind === "agent" || kind === "tool") return { kind, name };
  return "all";
}
