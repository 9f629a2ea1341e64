import { Button, Skeleton } from "@mantine/core";
import { useState } from "react";
import { useRunAgent } from "@/api/agents";
import type { AgentRelease } from "@/api/types";
import { Changes } from "@/components/Changes";
import { formatTime } from "@/components/format";
import { QueryState } from "@/components/QueryState";
import classes from "./AgentPage.module.css";
import { isText, partLabel, releaseLabel, textChanges } from "./releases";

interface Props {
  projectId: string;
  /** Newest first. */
  releases: readonly AgentRelease[];
}

/** What changed between each release and the one before. */
export function ReleaseChanges({ projectId, releases }: Props) {
  return (
    <section className={classes.section} aria-label="What changed">
      <h2>What changed</h2>
      {releases.slice(0, -1).map((release, index) => (
        <Release
          key={release.first_run.run_id}
          projectId={projectId}
          release={release}
          // biome-ignore lint/style/noNonNullAssertion: the last release is left out
          before={releases[index + 1]!}
        />
      ))}
      {releases.length === 1 && <p className={classes.dim}>Nothing: all runs have the same release.</p>}
    </section>
  );
}

interface ReleaseProps {
  projectId: string;
  release: AgentRelease;
  before: AgentRelease;
}

function Release({ projectId, release, before }: ReleaseProps) {
  const [isOpen, setOpen] = useState(false);
  const label = releaseLabel(release);
  return (
    <div className={classes.release}>
      <div>
        <code>{label}</code>{" "}
        <span className={classes.dim}>since {formatTime(release.first_run.start_time)}</span>
      </div>
      <ul className={classes.changes}>
        {release.changes.map(({ part, before: old, after }) => (
          <li key={part}>
            {partLabel(part)}{" "}
            {isText(part) ? (
              old === null ? (
                "added"
              ) : after === null ? (
                "removed"
              ) : (
                "changed"
              )
            ) : (
              <>
                <code>{old ?? "none"}</code> → <code>{after ?? "none"}</code>
              </>
            )}
          </li>
        ))}
      </ul>
      {release.changes.some(({ part }) => isText(part)) && (
        <Button
          size="compact-xs"
          variant="default"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
          aria-label={`${isOpen ? "Hide" : "Show"} the texts of ${label}`}
        >
          {isOpen ? "Hide the texts" : "Show the texts"}
        </Button>
      )}
      {isOpen && <Texts projectId={projectId} release={release} before={before} />}
    </div>
  );
}

/** The texts of a run of each side. */
function Texts({ projectId, release, before }: ReleaseProps) {
  const old = useRunAgent(projectId, before.last_run.run_id);
  const now = useRunAgent(projectId, release.first_run.run_id);
  return (
    <QueryState query={old} skeleton={<Skeleton h={80} />}>
      {(oldAgent) => (
        <QueryState query={now} skeleton={<Skeleton h={80} />}>
          {(newAgent) => (
            <Changes
              changes={textChanges(
                release.changes.map(({ part }) => part),
                oldAgent,
                newAgent,
              )}
              before={releaseLabel(before)}
              after={releaseLabel(release)}
            />
          )}
        </QueryState>
      )}
    </QueryState>
  );
}
