import { Button, Loader, Text } from "@mantine/core";
import { IconCircleCheck } from "@tabler/icons-react";
import { useMemo, useState } from "react";
import { Link } from "react-router";
import { useNewestRuns } from "@/api/runs";
import { ProblemPanel } from "@/components/ProblemPanel";
import { arrivedRun } from "./arrival";
import classes from "./ConnectPage.module.css";

/** Waits for a new run and links to it. */
export function Arrival({ projectId }: { projectId: string }) {
  const filter = useMemo(() => ({ project_id: projectId, traces: "all" as const }), [projectId]);
  const newest = useNewestRuns(filter, 20);
  const [before, setBefore] = useState<ReadonlySet<string> | null>(null);
  const runs = newest.data?.data;
  if (runs && before === null) setBefore(new Set(runs.map((run) => run.run_id)));
  const arrived = runs && before ? arrivedRun(before, runs) : undefined;

  if (newest.isError && !runs) return <ProblemPanel error={newest.error} onRetry={() => newest.refetch()} />;
  const isFirst = before?.size === 0;
  return (
    <div
      className={classes.arrival}
      data-arrived={arrived ? true : undefined}
      role="status"
      data-testid="arrival"
    >
      {arrived ? (
        <>
          <IconCircleCheck size={20} stroke={1.8} color="var(--lt-ok)" aria-hidden="true" />
          <Text size="sm">
            {isFirst && runs?.length === 1 ? "Your first run arrived: " : "A run arrived: "}
            <strong>{arrived.name}</strong>
          </Text>
          <Button component={Link} to={`/p/${projectId}/runs/${arrived.run_id}`} className={classes.open}>
            Open run
          </Button>
        </>
      ) : (
        <>
          <Loader size={16} aria-hidden="true" />
          <Text size="sm" c="dimmed">
            {isFirst || !runs
              ? "Waiting for the first run…"
              : "This project has runs. Waiting for a new one…"}
          </Text>
          {runs && !isFirst && (
            <Button component={Link} to={`/p/${projectId}/runs`} variant="default" className={classes.open}>
              Show runs
            </Button>
          )}
        </>
      )}
    </div>
  );
}
