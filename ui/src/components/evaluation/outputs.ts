import type { EvaluationOutput } from "@/api/types";

/** What a side answered: its output, else the calls of tools. Null if there is none. */
export function outputValue(output: EvaluationOutput | null): unknown {
  if (output === null || output.status !== "ok") return null;
  const calls = output.message?.tool_calls;
  if (output.output === null || output.output === "") return calls ?? output.output;
  return output.output;
}
