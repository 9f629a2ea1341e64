import type { Outline } from "@/api/types";

/** A step of the recorded run, in start order. */
export interface RunStep {
  /** From 1, as plans and verdicts count. */
  n: number;
  id: string;
  /** That of a tool is the tool's own. */
  name: string;
  kind: string;
  agent: string;
  model: string;
  isFailed: boolean;
  /** Milliseconds; null if it has not ended. */
  duration: number | null;
}

/** The steps of an outline. */
export function stepsOf({ spans, strings }: Outline): RunStep[] {
  const text = (column: readonly number[], index: number) => strings[column[index] as number] ?? "";
  const order = spans.span_id.map((_, index) => index);
  order.sort((a, b) => (spans.start_ms[a] as number) - (spans.start_ms[b] as number) || a - b);
  return order.map((index, at) => {
    const duration = spans.duration_ms[index] as number;
    return {
      n: at + 1,
      id: spans.span_id[index] as string,
      name: text(spans.tool, index) || text(spans.name, index),
      kind: text(spans.kind, index),
      agent: text(spans.agent, index),
      model: text(spans.model, index),
      isFailed: spans.status[index] === "error",
      duration: duration < 0 ? null : duration,
    };
  });
}

export function isModelCall({ kind }: RunStep): boolean {
  return kind === "llm";
}

export function isToolCall({ kind }: RunStep): boolean {
  return kind === "tool";
}

/** The names of the tools that the run called, in the order of their first calls. */
export function toolsOf(steps: readonly RunStep[]): string[] {
  return [...new Set(steps.filter(isToolCall).map(({ name }) => name))].filter((name) => name !== "");
}

/** The names of its agents. A run with one agent has nothing to choose. */
export function agentsOf(steps: readonly RunStep[]): string[] {
  const names = steps.filter(({ kind }) => kind === "agent").map(({ agent, name }) => agent || name);
  return [...new Set(names)].filter((name) => name !== "");
}
