import type { ReplayVerdictKind } from "@/api/types";

/** What a verdict on an edit says, in a few words, and what kind of finding it is. */
export interface VerdictWords {
  label: string;
  kind: "effect" | "likely" | "none" | "noise" | "unknown" | "invalid";
  /** What it means, in a sentence. */
  meaning: string;
}

const REPLAY_VERDICTS: Record<ReplayVerdictKind, VerdictWords> = {
  effect_attributable: {
    label: "Effect",
    kind: "effect",
    meaning: "Edited replays differ from unedited ones more than chance explains.",
  },
  deterministic_effect: {
    label: "Effect, by construction",
    kind: "effect",
    meaning: "No model was called: what differs comes from the edit.",
  },
  effect_likely: {
    label: "Probably an effect",
    kind: "likely",
    meaning: "They differ, but something weakens the finding.",
  },
  deterministic_no_effect: {
    label: "No effect, by construction",
    kind: "none",
    meaning: "No model was called, and nothing differs.",
  },
  no_effect_detected: {
    label: "No effect found",
    kind: "none",
    meaning: "A larger effect would have been seen.",
  },
  within_noise: {
    label: "Within noise",
    kind: "noise",
    meaning:
      "They differ no more than unedited replays do among themselves. A small effect may still be there.",
  },
  underpowered: {
    label: "Can't tell",
    kind: "unknown",
    meaning: "There are too few replays to tell an effect from chance.",
  },
  drift: {
    label: "Drifted",
    kind: "unknown",
    meaning: "Unedited replays no longer do what was recorded.",
  },
  invalid: {
    label: "Says nothing",
    kind: "invalid",
    meaning: "The replay can't be used to judge the edit.",
  },
};

/** The words of a verdict, also of one that this version doesn't know. */
export function verdictWords(verdict: string): VerdictWords {
  const known: Record<string, VerdictWords | undefined> = REPLAY_VERDICTS;
  return known[verdict] ?? { label: verdict.replaceAll("_", " "), kind: "unknown", meaning: "" };
}
