import { Link } from "react-router";
import { useReplaysOfRun } from "@/api/replays";
import type { Run } from "@/api/types";
import { Fact } from "@/components/Fact";
import { ReplayVerdictMark } from "@/components/ReplayVerdictMark";
import { allows, useProject } from "@/components/useProject";
import classes from "./RunHeader.module.css";
import { replayOf } from "./replayOf";

/** The replays of the run, and the replay that made it. */
export function Replays({ run }: { run: Run }) {
  const mayRead = allows(useProject(), "replays:read");
  const { data } = useReplaysOfRun(run.project_id, run.run_id, mayRead);
  const origin = replayOf(run);
  const base = `/p/${run.project_id}`;
  return (
    <>
      {origin && (
        <Fact
          label="Replay"
          testId="run-replay"
          value={
            <>
              {origin.replayId && (
                <Link
                  to={`${base}/replays/${origin.replayId}${origin.attempt ? `?tab=difference&attempt=${origin.attempt}` : ""}`}
                  className={classes.tag}
                >
                  {origin.attempt ? `Attempt ${origin.attempt}` : "Open the replay"}
                  {origin.role === "control" && " without the edits"}
                  {origin.role === "treatment" && " with the edits"}
                </Link>
              )}
              {origin.runId && (
                <Link to={`${base}/runs/${origin.runId}`} className={classes.tag}>
                  Recorded run
                </Link>
              )}
            </>
          }
        />
      )}
      {data && data.data.length > 0 && (
        <Fact
          label="Replays"
          testId="run-replays"
          value={
            <span className={classes.replays}>
              {data.data.map(({ id, name, status, verdict }) => (
                <Link key={id} to={`${base}/replays/${id}`} className={classes.tag} title={name}>
                  {verdict ? <ReplayVerdictMark verdict={verdict.verdict} /> : status}
                </Link>
              ))}
              <Link to={`${base}/replays?${new URLSearchParams({ run: run.run_id })}`}>
                {data.has_more ? "All" : "List"}
              </Link>
            </span>
          }
        />
      )}
    </>
  );
}
