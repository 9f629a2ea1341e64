import type { CandidateKind, Finding, FindingStatus, ReplayEdit } from "@/api/types";

/** What people hold of a finding. */
export const STATUSES: Record<FindingStatus, string> = {
  open: "Open",
  confirmed: "Confirmed",
  refuted: "Refuted",
};

/** What an edit of each kind changes: the kind of a candidate and the words for it. */
const OF_SET: Record<string, { kind: CandidateKind; words: string }> = {
  system_prompt: { kind: "instructions", words: "The system message" },
  prompt: { kind: "prompt_version", words: "The version of the prompt" },
  model: { kind: "model", words: "The model" },
  params: { kind: "parameter", words: "A parameter of the model" },
  tool_schema: { kind: "tool_definition", words: "The definition of a tool" },
  tool_result: { kind: "tool_result", words: "The result of a tool" },
  tool_error: { kind: "tool_result", words: "The error of a tool" },
  timeout_ms: { kind: "timeout", words: "The timeout" },
  retries: { kind: "retry", words: "The number of retries" },
};

/** The kind of a candidate that is edited so, and a title to begin with. */
export function candidateOf(edits: readonly ReplayEdit[]): { kind: CandidateKind; title: string } {
  const [first, ...others] = edits.map(({ set }) => Object.keys(set)[0] ?? "");
  const known = first === undefined ? undefined : OF_SET[first];
  if (!known || others.some((name) => OF_SET[name]?.kind !== known.kind)) return { kind: "other", title: "" };
  return { kind: known.kind, title: `${known.words} is the cause` };
}

/** Says that a status is not what the batch shows; null if it is, or if either decides nothing. */
export function disagreement({ agrees_with_verdict: agrees, status }: Finding): string | null {
  if (agrees !== false) return null;
  return status === "confirmed"
    ? "The batch says otherwise: with the edits fewer attempts end well."
    : "The batch says otherwise: the edits repair failed runs.";
}

/** The findings of each group, confirmed ones first as they are listed. */
export function byFingerprint(findings: readonly Finding[]): Map<string, Finding[]> {
  const groups = new Map<string, Finding[]>();
  for (const finding of findings) {
    const group = groups.get(finding.fingerprint);
    if (group) group.push(finding);
    else groups.set(finding.fingerprint, [finding]);
  }
  return groups;
}

/** What is known of the cause of a group, in two words; null if nothing is. */
export function causeText(findings: readonly Finding[]): { text: string; status: FindingStatus } | null {
  if (findings.some(({ status }) => status === "confirmed"))
    return { text: "Confirmed cause", status: "confirmed" };
  const open = findings.filter(({ status }) => status === "open").length;
  return open === 0
    ? null
    : { text: open === 1 ? "1 open finding" : `${open} open findings`, status: "open" };
}
