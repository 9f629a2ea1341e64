import type { Run } from "@/api/types";

/** What a run of a replay says of itself. */
export interface ReplayOrigin {
  replayId: string | null;
  /** The recorded run. */
  runId: string | null;
  role: string | null;
  attempt: number | null;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The replay that made a run. Null for runs of other sources: anyone can send such metadata. */
export function replayOf({ source, metadata }: Pick<Run, "source" | "metadata">): ReplayOrigin | null {
  if (source !== "replay") return null;
  const id = (name: string) => {
    const value = metadata[name];
    return typeof value === "string" && UUID.test(value) ? value : null;
  };
  const attempt = Number(metadata.replay_attempt);
  const role = metadata.replay_role;
  const origin = {
    replayId: id("replay_id"),
    runId: id("replay_of"),
    role: typeof role === "string" ? role : null,
    attempt: Number.isInteger(attempt) && attempt > 0 ? attempt : null,
  };
  return origin.replayId === null && origin.runId === null ? null : origin;
}
