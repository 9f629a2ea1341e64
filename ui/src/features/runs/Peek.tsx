import { ActionIcon, Button, Skeleton } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { Link } from "react-router";
import { useRun } from "@/api/runs";
import type { Run } from "@/api/types";
import { CopyButton } from "@/components/CopyButton";
import { Delayed } from "@/components/Delayed";
import { Fact, FactList } from "@/components/Fact";
import {
  formatAge,
  formatCount,
  formatDuration,
  formatRunCost,
  formatTime,
  formatTokens,
} from "@/components/format";
import { KindIcon } from "@/components/KindIcon";
import { ProblemPanel } from "@/components/ProblemPanel";
import { RecordedText } from "@/components/RecordedText";
import { StatusMark } from "@/components/StatusMark";
import { useKeys } from "@/components/useKeys";
import { useNow } from "@/components/useNow";
import classes from "./Peek.module.css";

interface Props {
  projectId: string;
  runId: string;
  /** What the run's address says of the search that found it. */
  find: string;
  onClose: () => void;
}

/** A run beside the list: what was asked, what came of it, what it took. */
export function Peek({ projectId, runId, find, onClose }: Props) {
  const query = useRun(projectId, runId);
  useKeys({ Escape: onClose });
  const run = query.data;
  return (
    <aside className={classes.root} aria-label="Peek" data-testid="peek">
      <header className={classes.head}>
        {run && (
          <>
            <StatusMark status={run.status} />
            <KindIcon kind={run.kind} />
          </>
        )}
        <h2>{run?.name || (run ? "unnamed" : "\u00a0")}</h2>
        <Button
          component={Link}
          to={`/p/${projectId}/runs/${runId}${find}`}
          state={{ fromList: true }}
          size="compact-sm"
          variant="default"
        >
          Open
        </Button>
        <ActionIcon variant="subtle" color="gray" size="sm" onClick={onClose} aria-label="Close the peek">
          <IconX size={15} />
        </ActionIcon>
      </header>
      {/* It scrolls, so it must be reachable by keyboard. */}
      <section
        className={classes.body}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls takes the focus
        tabIndex={0}
        aria-label="What the run holds"
        aria-busy={query.isPending}
      >
        {run ? (
          <Content run={run} />
        ) : query.isError ? (
          <ProblemPanel error={query.error} onRetry={() => query.refetch()} />
        ) : (
          <Delayed>
            <Skeleton h={90} />
            <Skeleton h={160} />
          </Delayed>
        )}
      </section>
    </aside>
  );
}

function Content({ run }: { run: Run }) {
  const now = useNow(5_000);
  return (
    <>
      <FactList>
        <Fact
          label="Duration"
          value={run.status === "running" ? "running" : formatDuration(run.duration_ms)}
        />
        <Fact label="Tokens" value={formatTokens(run.usage?.total_tokens)} />
        <Fact label="Cost" value={formatRunCost(run)} />
        <Fact label="Spans" value={formatCount(run.span_count)} />
        <Fact label="Model calls" value={formatCount(run.llm_call_count)} />
        <Fact label="Tool calls" value={formatCount(run.tool_call_count)} />
        <Fact
          label="Started"
          value={`${formatAge(run.start_time, now)} ago`}
          title={formatTime(run.start_time)}
        />
        {run.models.length > 0 && (
          <Fact label="Models" value={run.models.join(", ")} title={run.models.join(", ")} />
        )}
        {run.session_id !== null && <Fact label="Session" value={run.session_id} title={run.session_id} />}
        {run.user_id !== null && <Fact label="User" value={run.user_id} title={run.user_id} />}
        {run.environment !== null && <Fact label="Environment" value={run.environment} />}
        {run.release !== null && <Fact label="Version" value={run.release} />}
      </FactList>
      {run.error && (
        <div className={classes.error}>
          <strong>{run.error.type || "Error"}</strong>
          <p>{run.error.message}</p>
        </div>
      )}
      <Text title="Input" text={run.inputs} />
      <Text title="Output" text={run.outputs} />
      <p className={classes.id}>
        <code>{run.run_id}</code>
        <CopyButton value={run.run_id} what="run id" />
      </p>
    </>
  );
}

function Text({ title, text }: { title: string; text: string | null }) {
  return (
    <section>
      <h3 className={classes.title}>{title}</h3>
      {text === null ? (
        <p className={classes.none}>none recorded</p>
      ) : (
        <RecordedText text={text} what={title.toLowerCase()} />
      )}
    </section>
  );
}
