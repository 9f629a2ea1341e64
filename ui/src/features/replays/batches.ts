import type {
  ReplayBatch,
  ReplayBatchOutcome,
  ReplayBatchPart,
  ReplayBatchPartResult,
  ReplayBatchPlan,
  ReplayBatchResult,
} from "@/api/types";
import { formatP } from "@/components/evaluation/measures";
import { filterWords } from "@/components/filters/runFilter";
import {
  formatCount,
  formatCountOf,
  formatDuration,
  formatPercent,
  formatRuns,
  UNKNOWN,
} from "@/components/format";
import { unableText } from "./plan";
import { effectInterval, effectValue } from "./words";

interface OutcomeWords {
  label: string;
  /** What it means, in a sentence. */
  hint: string;
}

/** What became of a run. The order is that of the chips: what matters most first. */
export const RUN_OUTCOMES: Record<ReplayBatchOutcome, OutcomeWords> = {
  repaired: { label: "Repaired", hint: "All edited attempts end well, and no unedited one." },
  recovers_unedited: {
    label: "Recovers unedited",
    hint: "All edited attempts end well, and an unedited one, too.",
  },
  still_failing: { label: "Still failing", hint: "No edited attempt ends well." },
  broken: { label: "Broken", hint: "All unedited attempts end well, and no edited one." },
  fails_unedited: {
    label: "Fails unedited",
    hint: "It was good. No edited attempt ends well, and not all unedited ones.",
  },
  kept: { label: "Kept good", hint: "It was good, and all edited attempts end well." },
  mixed: { label: "Mixed", hint: "Some edited attempts end well." },
  unknown: { label: "Unknown", hint: "Edited or unedited attempts have no outcome." },
  not_replayable: { label: "Not replayable", hint: "It can't be replayed, or the edit doesn't fit it." },
};

const ORDER = Object.keys(RUN_OUTCOMES) as ReplayBatchOutcome[];

export const PARTS: Record<ReplayBatchPart, { label: string; hint: string }> = {
  chosen: { label: "Chosen runs", hint: "Does the edit repair them?" },
  good: { label: "Good runs", hint: "Does the edit break them?" },
};

export const BATCH_VERDICTS: Record<ReplayBatchPartResult["verdict"], string> = {
  better: "More end well",
  worse: "Fewer end well",
  cannot_tell: "Can't tell",
  unknown: "Unknown",
};

/** Runs of both parts by what became of them, without outcomes of no run. */
export function outcomeCounts({
  chosen,
  good,
}: {
  chosen: Pick<ReplayBatchPartResult, "runs">;
  good: Pick<ReplayBatchPartResult, "runs"> | null;
}): { outcome: ReplayBatchOutcome; count: number }[] {
  return ORDER.map((outcome) => ({
    outcome,
    count: (chosen.runs[outcome] ?? 0) + (good?.runs[outcome] ?? 0),
  })).filter(({ count }) => count > 0);
}

/** "18 of 25". Of a grader that gives more than pass and fail, the mean: "62 % of n = 25". */
export function endsText({ attempts, sum }: ReplayBatchPartResult["edited"]): string {
  if (attempts === 0) return UNKNOWN;
  return Number.isInteger(sum)
    ? `${formatCount(sum)} of ${formatCount(attempts)}`
    : `mean ${formatPercent(sum / attempts)}, n = ${formatCount(attempts)}`;
}

/** The difference of the shares that end well, in points; "unknown" without one. */
export function differenceText({ difference }: Pick<ReplayBatchPartResult, "difference">): string {
  return effectValue("difference", difference);
}

/** "96 % interval +38 to +78 points" */
export function intervalText({ ci, confidence }: Pick<ReplayBatchPartResult, "ci" | "confidence">): string {
  if (ci === null) return "no interval";
  return `${formatPercent(confidence)} interval ${effectInterval("difference", ci)}`;
}

/** What a finding is, to mark it as the verdict of a replay is. */
export function kindOf(result: ReplayBatchResult): "effect" | "unknown" {
  const { verdict } = result.chosen;
  return verdict === "better" || verdict === "worse" ? "effect" : "unknown";
}

/** How many attempts are there to make: they failed or were not made. */
export function missingOf({ progress: { total, done, failed } }: Pick<ReplayBatch, "progress">): number {
  return total - done + failed;
}

type Sized = Pick<
  ReplayBatch,
  "run_filter" | "matched_runs" | "chosen_runs" | "good_runs" | "not_replayable_runs"
>;

/** How many runs can be replayed, as far as that is known. */
export function replayableRuns({ chosen_runs, good_runs, not_replayable_runs }: Sized): number {
  return chosen_runs + good_runs - not_replayable_runs;
}

/** What a filter of runs has in common, after "runs": " of one failure with agent: support". Empty for all runs. */
export function filterText(filter: string): string {
  const params = new URLSearchParams(filter);
  const isFailure = params.has("fingerprint");
  params.delete("fingerprint");
  const words = filterWords(params.toString());
  return `${isFailure ? " of one failure" : ""}${words === "" ? "" : ` with ${words}`}`;
}

/** "50 of 212 runs of one failure, drawn by chance, and 20 good runs" */
export function chosenText(batch: Sized): string {
  const { run_filter: filter, matched_runs: matched, chosen_runs: chosen, good_runs: good } = batch;
  const of = filter === null ? "" : filterText(filter);
  const isDrawn = matched > chosen;
  return [
    `${isDrawn ? `${formatCount(chosen)} of ${formatRuns(matched)}` : formatRuns(chosen)}${of}`,
    ...(isDrawn ? ["drawn by chance"] : []),
    ...(good > 0 ? [`and ${formatCountOf(good, "good run")}`] : []),
  ].join(", ");
}

/** Runs of a plan: how many can be replayed of a part, and why the others can't. */
export interface PlannedPart {
  part: ReplayBatchPart;
  runs: number;
  replayable: number;
  /** Reasons with how many runs have them, the most frequent first. */
  reasons: { code: string; detail: string; runs: number }[];
}

export function plannedParts({ runs }: Pick<ReplayBatchPlan, "runs">): PlannedPart[] {
  return (Object.keys(PARTS) as ReplayBatchPart[]).flatMap((part) => {
    const of = runs.filter((run) => run.part === part);
    if (of.length === 0) return [];
    const reasons = new Map<string, PlannedPart["reasons"][number]>();
    for (const { not_replayable: reason } of of) {
      if (reason === null) continue;
      const known = reasons.get(reason.code);
      if (known) known.runs += 1;
      else reasons.set(reason.code, { ...reason, runs: 1 });
    }
    return [
      {
        part,
        runs: of.length,
        replayable: of.filter((run) => run.not_replayable === null).length,
        reasons: [...reasons.values()].sort((a, b) => b.runs - a.runs),
      },
    ];
  });
}

const REASONS: Record<string, string> = {
  not_replayable: "The recording lacks what a replay needs",
  edit_does_not_fit: "The edit doesn't fit the run",
  run_too_large: "The run is too large",
  run_deleted: "The run was deleted",
};

/** Why a run can't be replayed, in a few words. */
export function refusalText(code: string): string {
  return REASONS[code] ?? code.replaceAll("_", " ");
}

/** "About 3 m 20 s, if the connection has nothing else to do." */
export function planDuration({
  calls,
  duration_ms: ms,
}: Pick<ReplayBatchPlan, "calls" | "duration_ms">): string {
  if (calls === 0) return "No model is called, so it takes seconds.";
  if (ms === null) return "How long it takes is unknown: recorded calls have no duration.";
  return `About ${formatDuration(ms)}, if the connection has nothing else to do.`;
}

/** What the chosen runs can tell at best. `canTell` is false if they can never tell an effect. */
export function findable(
  { attainable_p: p, detectable }: Pick<ReplayBatchPlan, "attainable_p" | "detectable">,
  isGraded: boolean,
): { text: string; canTell: boolean } {
  if (p === null)
    return { canTell: false, text: "Nothing is tested: no run has attempts on both sides that call models." };
  if (unableText(p) !== null)
    return {
      canTell: false,
      text: `p can't go below ${formatP(p)}, which is above 0.04. Choose more runs, or more attempts.`,
    };
  if (!isGraded)
    return { canTell: false, text: "Without a grader nobody knows whether runs are repaired. Add one." };
  if (detectable === null)
    return {
      canTell: true,
      text: "Only a difference near 100 points is sure to be found. Choose more runs.",
    };
  const points = formatCount(Math.ceil(detectable * 100));
  return {
    canTell: true,
    text: `A difference of ${points} points in how many attempts end well is found in 80 % of cases.`,
  };
}
