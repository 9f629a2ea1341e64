import type { RunSource } from "@/api/types";

/** What made a run. */
export const SOURCE_LABELS: Record<RunSource, string> = {
  user: "Application",
  playground: "Playground",
  evaluation: "Evaluation",
  replay: "Replay",
};
