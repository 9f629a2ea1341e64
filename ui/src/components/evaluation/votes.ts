import type { EvaluationScore, Label, Vote, VoteCounts, VoteStatus } from "@/api/types";
import { formatCount, formatCountOf } from "@/components/format";
import { isObject } from "@/components/json";
import { formatValue } from "./measures";

/** What became of a vote. */
export const VOTE_STATUSES: Record<VoteStatus, string> = {
  ok: "Valid",
  parse_error: "Unreadable answer",
  refused: "Refused to judge",
  off_scale: "Off the scale",
  timeout: "Timed out",
  provider_error: "Provider error",
};

/** What a status means for the score, for people who wonder. */
export const STATUS_HINTS: Record<VoteStatus, string> = {
  ok: "It counts in the score.",
  parse_error:
    "The model didn't answer in the requested form, even after a reminder. It counts neither as a vote nor as 0.",
  refused: "The model refused to judge this output. It counts neither as a vote nor as 0.",
  off_scale: "The model gave a value that isn't on the scale. It isn't rounded, and doesn't count as a vote.",
  timeout: "The provider took too long. Resume the evaluation to ask again.",
  provider_error: "The provider answered with an error. Resume the evaluation to ask again.",
};

/** One kind of vote in the sum of all votes. */
export interface VotePart {
  name: keyof VoteCounts;
  label: string;
  count: number;
}

/** All votes by what became of them. The counts add up to `total`. */
export function voteParts(counts: VoteCounts): VotePart[] {
  const label = {
    ok: "valid",
    parse_error: "unreadable",
    refused: "refused",
    off_scale: "off the scale",
    timeout: "timed out",
    provider_error: "with a provider error",
    skipped: "not needed",
    pending: "not made",
  };
  return (Object.keys(label) as (keyof typeof label)[]).map((name) => ({
    name,
    label: label[name],
    count: counts[name],
  }));
}

/** The votes of a judge in one line: "118 of 120 valid, 2 unreadable". */
export function votesText(counts: VoteCounts): string {
  const failed = voteParts(counts)
    .filter(({ name, count }) => name !== "ok" && count > 0)
    .map(({ label, count }) => `${formatCount(count)} ${label}`);
  return [`${formatCount(counts.ok)} of ${formatCount(counts.total)} valid`, ...failed].join(", ");
}

/** Votes that are no vote: the model failed to give one. */
export function failedVotes(votes: VoteCounts): number {
  return votes.parse_error + votes.refused + votes.off_scale + votes.timeout + votes.provider_error;
}

/** 1 vote, 2,000 votes. */
export function votesCount(count: number): string {
  return formatCountOf(count, "vote");
}

/** A value on a scale for people: a label, else a number. */
export function valueText({ label, value }: Pick<Vote | Label, "label" | "value">): string {
  if (label !== null) return label;
  return value === null ? "" : String(Number(value.toPrecision(6)));
}

const PREFERRED: Record<string, string> = { a: "A is better", b: "B is better", tie: "Tie" };

/** What a vote says: its value, or which side it prefers. */
export function voteText(vote: Pick<Vote, "label" | "value" | "order">): string {
  const text = valueText(vote);
  return vote.order === null ? text : (PREFERRED[text] ?? text);
}

/** The category that a panel gives an output; empty for none. */
export function categoryOf({ evidence }: Pick<EvaluationScore, "evidence">): string {
  return isObject(evidence) && typeof evidence.label === "string" ? evidence.label : "";
}

/** What a panel says of an output: "80, pass", its category, or why it has no score. */
export function panelScoreText(of: EvaluationScore): string {
  const { score, pass, reason, error } = of;
  const word = pass === null ? "" : pass ? ", pass" : ", fail";
  if (score !== null) return formatValue("score", score) + word;
  const category = categoryOf(of);
  return category === "" ? `no score: ${error ?? reason}` : category + word;
}

/** The votes of one judge on an output. */
export interface JudgeVotes {
  judge: string;
  escalated: boolean;
  votes: Vote[];
}

/** The votes on an output by panel and judge, in the order of the votes; those of an escalation come last. */
export function groupVotes(votes: readonly Vote[]): { panel: string; judges: JudgeVotes[] }[] {
  const panels = new Map<string, Map<string, JudgeVotes>>();
  for (const vote of votes) {
    const judges = panels.get(vote.panel) ?? new Map<string, JudgeVotes>();
    panels.set(vote.panel, judges);
    const of = judges.get(vote.judge) ?? { judge: vote.judge, escalated: vote.escalated, votes: [] };
    judges.set(vote.judge, of);
    of.votes.push(vote);
  }
  return [...panels].map(([panel, judges]) => ({
    panel,
    judges: [...judges.values()].sort((a, b) => Number(a.escalated) - Number(b.escalated)),
  }));
}

/** Whether the valid votes of a panel on an output differ. */
export function differs(judges: readonly JudgeVotes[]): boolean {
  const values = judges.flatMap(({ votes }) => votes.filter(({ status }) => status === "ok").map(valueText));
  return new Set(values).size > 1;
}
