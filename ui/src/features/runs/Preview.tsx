import { ActionIcon, Button } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { Link } from "react-router";
import { useRun } from "@/api/runs";
import type { Run } from "@/api/types";
import { Ago } from "@/components/Ago";
import { CopyButton } from "@/components/CopyButton";
import { Fact, FactList } from "@/components/Fact";
import { formatCount, formatDuration, formatRunCost, formatRunTokens } from "@/components/format";
import { KindIcon } from "@/components/KindIcon";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { RecordedText } from "@/components/RecordedText";
import { StatusMark, shownStatus } from "@/components/StatusMark";
import { useKeys } from "@/components/useKeys";
import { useNow } from "@/components/useNow";
import classes from "./Preview.module.css";

interface Props {
  projectId: string;
  runId: string;
  /** The search, as the query of the run's address. */
  find: string;
  onClose: () => void;
}

/** A preview of a run beside the list. */
export function Preview({ projectId, runId, find, onClose }: Props) {
  const query = useRun(projectId, runId);
  useKeys({ Escape: onClose });
  const run = query.data;
  return (
    <aside className={classes.root} aria-label="Preview" data-testid="preview">
      <header className={classes.head}>
        {run && (
          <>
            <StatusMark status={shownStatus(run)} />
            <KindIcon kind={run.kind} />
          </>
        )}
        <h2 dir="auto" aria-label={run ? undefined : "Run"}>
          {run?.name || (run ? "unnamed" : "\u00a0")}
        </h2>
        <Button
          component={Link}
          to={`/p/${projectId}/runs/${runId}${find}`}
          state={{ fromList: true }}
          size="compact-sm"
          variant="default"
        >
          Open
        </Button>
        <ActionIcon variant="subtle" color="gray" size="sm" onClick={onClose} aria-label="Close preview">
          <IconX size={15} />
        </ActionIcon>
      </header>
      <section
        className={classes.body}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
        tabIndex={0}
        aria-label="Run summary"
      >
        <QueryState query={query} skeleton={<SkeletonRows count={2} height={120} />}>
          {(run) => <Content run={run} />}
        </QueryState>
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
        <Fact label="Tokens" value={formatRunTokens(run)} />
        <Fact label="Cost" value={formatRunCost(run)} />
        <Fact label="Spans" value={formatCount(run.span_count)} />
        <Fact label="Model calls" value={formatCount(run.llm_call_count)} />
        <Fact label="Tool calls" value={formatCount(run.tool_call_count)} />
        <Fact label="Started" value={<Ago time={run.start_time} now={now} />} />
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
          <p dir="auto">{run.error.message}</p>
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
        <p className={classes.none}>Not recorded</p>
      ) : (
        <RecordedText text={text} what={title.toLowerCase()} />
      )}
    </section>
  );
}
