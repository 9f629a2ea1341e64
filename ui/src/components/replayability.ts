import type { Replayability } from "@/api/types";

/** How far runs can be replayed, the most first. `label` is a filter's value, `badge` what a run says. */
export const REPLAYABILITY: readonly {
  value: Replayability;
  label: string;
  badge: string;
  meaning: string;
}[] = [
  {
    value: "full",
    label: "fully",
    badge: "Fully replayable",
    meaning: "Every request to a model can be rebuilt, so a replay follows an edit to the end of the run.",
  },
  {
    value: "llm",
    label: "single model calls",
    badge: "Model calls replayable",
    meaning:
      "Single model calls can be made again. What follows a changed answer can't, because later requests can't be rebuilt from it.",
  },
  {
    value: "structure",
    label: "timing only",
    badge: "Timing replayable",
    meaning: "Steps and times are recorded, but not all texts. A replay can change timeouts and retries.",
  },
  {
    value: "none",
    label: "not at all",
    badge: "Not replayable",
    meaning: "There is nothing to replay: the run has no model or tool call, or hasn't ended.",
  },
];
