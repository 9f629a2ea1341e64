import { Alert } from "@mantine/core";
import type { RunReplayability } from "@/api/types";
import { Missing } from "./Missing";

const TEXTS: Record<RunReplayability["level"], string> = {
  none: "This run can't be replayed",
  structure: "Only timeouts and retries can be edited: the recording has no texts",
  llm: "Replays may end early: some later requests can't be rebuilt from earlier answers",
  full: "",
};

/** How far the run can be replayed, unless it can be replayed whole. */
export function LevelNotice({ replayability: { level, missing } }: { replayability: RunReplayability }) {
  if (level === "full") return null;
  return (
    <Alert
      variant="outline"
      color="yellow"
      p="sm"
      mb="md"
      c="var(--lt-text)"
      title={TEXTS[level]}
      data-testid="level"
    >
      <Missing missing={missing} />
    </Alert>
  );
}
