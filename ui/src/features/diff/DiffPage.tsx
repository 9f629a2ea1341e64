import { Alert, Button, Skeleton, Stack, Text } from "@mantine/core";
import { IconArrowsExchange, IconChevronDown, IconChevronUp } from "@tabler/icons-react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState } from "react";
import { Link, useNavigate, useParams } from "react-router";
import { fetchFolded, useDiff } from "@/api/diff";
import type { RunDiff, RunDiffStep } from "@/api/types";
import { Delayed } from "@/components/Delayed";
import { formatCount, formatTime } from "@/components/format";
import { PageHeader } from "@/components/PageHeader";
import { PageProblem } from "@/components/PageState";
import { ProblemPanel } from "@/components/ProblemPanel";
import { StatusMark } from "@/components/StatusMark";
import { useKeys } from "@/components/useKeys";
import { useProjectId } from "@/components/useProject";
import classes from "./DiffPage.module.css";
import { nextDifference, rowsOf, SIGNS, verdict } from "./rows";
import { Step } from "./Step";
import { Totals } from "./Totals";

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
  const [opened, setOpened] = useState<ReadonlyMap<number, readonly RunDiffStep[]>>(new Map());
  const [failure, setFailure] = useState<Error>();
  // By key, because lines may be added above it.
  const [current, setCurrent] = useState<string>();
  const { fetchNextPage } = diff;
  const mayLoadMore = diff.hasNextPage && !diff.isFetching && !diff.isFetchNextPageError;
  useEffect(() => {
    if (mayLoadMore) void fetchNextPage();
  }, [mayLoadMore, fetchNextPage]);

  const rows = useMemo(
    () => rowsOf(diff.data?.pages.flatMap((page) => page.steps) ?? [], opened),
    [diff.data, opened],
  );
  const first = diff.data?.pages[0];
  const scroller = useRef<HTMLElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 40,
    overscan: 8,
    getItemKey: (index) => rows[index]?.key ?? index,
  });
  const swap = () => navigate(`/p/${projectId}/diff/${otherRunId}/${runId}`, { replace: true });
  const jump = (by: 1 | -1) => {
    const at = nextDifference(
      rows,
      rows.findIndex(({ key }) => key === current),
      by,
    );
    if (at < 0) return;
    setCurrent(rows[at]?.key);
    virtual.scrollToIndex(at, { align: "center" });
  };
  const open = async (step: RunDiffStep) => {
    setFailure(undefined);
    try {
      const steps = await fetchFolded(projectId, runId, otherRunId, step.n, step.folded);
      setOpened((known) => new Map(known).set(step.n, steps));
    } catch (error) {
      setFailure(error as Error);
    }
  };
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
            {first.partial_because.map((why) => REASONS[why]).join(" ")}
          </Alert>
        )}
        {failure && <ProblemPanel error={failure} />}
      </PageHeader>
      <div className={classes.sides}>
        <Side projectId={projectId} run={first.base} label="First" />
        <Side projectId={projectId} run={first.other} label="Second" />
      </div>
      <Totals totals={first.totals} />
      <section
        ref={scroller}
        className={classes.scroller}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
        tabIndex={0}
        aria-label="Steps"
        data-testid="diff-steps"
      >
        <div className={classes.rows} style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index];
            return (
              row && (
                <div
                  key={item.key}
                  ref={virtual.measureElement}
                  data-index={item.index}
                  className={classes.row}
                  style={{ transform: `translateY(${item.start}px)` }}
                >
                  {row.kind === "fold" ? (
                    <button type="button" className={classes.fold} onClick={() => open(row.step)}>
                      {formatCount(row.step.folded)} same
                    </button>
                  ) : (
                    <Step
                      projectId={projectId}
                      runIds={[runId, otherRunId]}
                      step={row.step}
                      isCurrent={row.key === current}
                      isFirst={row.step.n === first.first_divergence?.n}
                    />
                  )}
                </div>
              )
            );
          })}
        </div>
        {diff.isFetchNextPageError && <ProblemPanel error={diff.error} onRetry={() => fetchNextPage()} />}
      </section>
    </div>
  );
}

const REASONS: Record<RunDiff["partial_because"][number], string> = {
  steps: "A run has more than 20,000 steps. Only the first ones were compared.",
  texts: "A run has more than 48 MB of text. The steps after that were compared without their texts.",
  alignment: "The runs differ so much that some steps may not be aligned in the best way.",
};

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
