import type { AgentComparison, AgentFigure, AgentRelease, RunAgent } from "@/api/types";
import { UNKNOWN } from "@/components/format";
import type { ValueChange } from "@/components/textDiff";

/** A figure with its interval: 12 % (4 to 30 %). */
export function figureText(figure: AgentFigure, format: (value: number) => string): string {
  if (figure.value === null) return UNKNOWN;
  const [low, high] = figure.ci ?? [];
  return low === undefined || high === undefined
    ? format(figure.value)
    : `${format(figure.value)} (${format(low)} to ${format(high)})`;
}

/** What a difference to the release before says. */
export function verdictText({ verdict }: AgentComparison): string {
  return verdict === "cannot_tell" ? "cannot tell" : verdict;
}

/** The name of a release. One that stands for several has none of its own. */
export function releaseLabel(release: AgentRelease): string {
  return release.agent_release ?? `${release.agent_release_count} with instructions of their own`;
}

/** A part of an agent in words: tool search, parameter temperature. */
export function partLabel(part: string): string {
  return part.replace(":", " ");
}

/** Whether a part has only the hash of a text. */
export function isText(part: string): boolean {
  return part === "instructions" || part === "tools" || part.startsWith("tool:");
}

/** The texts of the parts that differ between the agents of two runs. */
export function textChanges(parts: readonly string[], before: RunAgent, after: RunAgent): ValueChange[] {
  return parts.filter(isText).map((part) => {
    const [old, now] = [textOf(before, part), textOf(after, part)];
    return {
      path: partLabel(part),
      change: old === undefined ? "added" : now === undefined ? "removed" : "changed",
      ...(old !== undefined && { before: old }),
      ...(now !== undefined && { after: now }),
    };
  });
}

function textOf(agent: RunAgent, part: string): unknown {
  if (part === "instructions") return agent.instructions ?? undefined;
  if (part === "tools") return agent.tool_definitions.length > 0 ? agent.tool_definitions : undefined;
  return agent.tool_definitions.find((definition) => toolName(definition) === part.slice("tool:".length));
}

function toolName(definition: unknown): unknown {
  const { name, function: inner } = (definition ?? {}) as { name?: unknown; function?: { name?: unknown } };
  return name ?? inner?.name;
}
