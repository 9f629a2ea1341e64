import { Alert, Button, Skeleton, Stack, Text } from "@mantine/core";
import { IconArrowsExchange, IconChevronDown, IconChevronUp } from "@tabler/icons-react";
import { Link, useNavigate, useParams } from "react-router";
import { fetchFolded, useDiff } from "@/api/diff";
import type { RunDiff } from "@/api/types";
import { Delayed } from "@/components/Delayed";
import classes from "@/components/diff/Diff.module.css";
import { PARTIAL, SIGNS, verdict } from "@/components/diff/rows";
import { Steps, useDiffSteps } from "@/components/diff/Steps";
import { Totals } from "@/components/diff/Totals";
import { formatCount, formatTime } from "@/components/format";
import { PageHeader } from "@/components/PageHeader";
import { PageProblem } from "@/components/PageState";
import { ProblemPanel } from "@/components/ProblemPanel";
import { StatusMark } from "@/components/StatusMark";
import { useKeys } from "@/components/useKeys";
import { useProjectId } from "@/components/useProject";

/** Two runs side by side, step by step. */
export function DiffPage() {
  const projectId = useProjectId();
  const { runId = "", otherRunId = "" } = useParams();
  return <Diff key={`${runId} ${otherRunId}`} projectId={projectId} runId={runId} otherRunId={otherRunId} />;
}

interface Props {
  projectId: string;
  runId: string;
  otherRunId: string;
}

function Diff({ projectId, runId, otherRunId }: Props) {
  const diff = useDiff(projectId, runId, otherRunId);
  const navigate = useNavigate();
  const steps = useDiffSteps(diff.data?.pages, diff, (offset, limit) =>
    fetchFolded(projectId, runId, otherRunId, offset, limit),
  );
  const { jump, failure } = steps;
  const first = diff.data?.pages[0];
  const swap = () => navigate(`/p/${projectId}/diff/${otherRunId}/${runId}`, { replace: true });
  useKeys({
    n: () => jump(1),
    p: () => jump(-1),
    x: swap,
    Escape: () => navigate(`/p/${projectId}/runs/${runId}`),
  });

  if (diff.isError && !first) {
    return (
      <PageProblem
        title="Diff"
        back={{ label: "Back to the runs", onClick: () => navigate(`/p/${projectId}/runs`) }}
        error={diff.error}
        onRetry={() => diff.refetch()}
      />
    );
  }
  if (!first) {
    return (
      <Delayed>
        <Stack p="md" aria-busy="true">
          <Skeleton h={20} w={300} />
          <Skeleton h={50} />
          <Skeleton h={240} />
        </Stack>
      </Delayed>
    );
  }
  const differences = first.counts.changed + first.counts.added + first.counts.removed + first.counts.moved;
  return (
    <div className={classes.page}>
      <PageHeader
        title={verdict(first, differences)}
        actions={
          <>
            <Button
              variant="default"
              leftSection={<IconChevronUp size={14} />}
              onClick={() => jump(-1)}
              disabled={differences === 0}
            >
              Previous
            </Button>
            <Button
              variant="default"
              leftSection={<IconChevronDown size={14} />}
              onClick={() => jump(1)}
              disabled={differences === 0}
            >
              Next difference
            </Button>
            <Button variant="default" leftSection={<IconArrowsExchange size={14} />} onClick={swap}>
              Swap sides
            </Button>
          </>
        }
      >
        <ul className={classes.counts} aria-label="Steps by state" data-testid="diff-counts">
          {(["same", "changed", "added", "removed", "moved"] as const).map((state) => (
            <li key={state} data-state={state} data-none={first.counts[state] === 0 || undefined}>
              <span className={classes.sign}>{SIGNS[state]}</span> {formatCount(first.counts[state])} {state}
            </li>
          ))}
        </ul>
        {first.partial && (
          <Alert variant="outline" color="yellow" p="xs" title="The comparison is incomplete">
            {first.partial_because.map((why) => PARTIAL[why]).join(" ")}
          </Alert>
        )}
        {failure && <ProblemPanel error={failure} />}
      </PageHeader>
      <div className={classes.sides}>
        <Side projectId={projectId} run={first.base} label="First" />
        <Side projectId={projectId} run={first.other} label="Second" />
      </div>
      <Totals totals={first.totals} />
      <Steps
        projectId={projectId}
        runIds={[runId, otherRunId]}
        steps={steps}
        firstN={first.first_divergence?.n}
        query={diff}
      />
    </div>
  );
}

function Side({ projectId, run, label }: { projectId: string; run: RunDiff["base"]; label: string }) {
  return (
    <div className={classes.side}>
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      <Link to={`/p/${projectId}/runs/${run.run_id}`} className={classes.run}>
        {run.name || "unnamed"}
      </Link>
      <StatusMark status={run.status} withLabel />
      <Text size="xs" c="dimmed" title={run.run_id}>
        {formatTime(run.start_time)}
        {run.release && ` · ${run.release}`}
        {run.models.length > 0 && ` · ${run.models.join(", ")}`}
      </Text>
    </div>
  );
}
