import { ActionIcon, Tooltip } from "@mantine/core";
import { IconArrowLeft } from "@tabler/icons-react";
import { Link } from "react-router";
import type { Run } from "@/api/types";
import { CopyButton } from "@/components/CopyButton";
import {
  formatAge,
  formatCount,
  formatDuration,
  formatRunCost,
  formatTime,
  formatTokens,
  UNKNOWN,
  unpricedNote,
} from "@/components/format";
import { KindIcon } from "@/components/KindIcon";
import { StatusMark } from "@/components/StatusMark";
import { useNow } from "@/components/useNow";
import classes from "./RunHeader.module.css";

interface Props {
  run: Run;
  onBack: () => void;
  /** What can be done with the run. */
  children: React.ReactNode;
}

// A run may have a million tags, which no page can show.
const SHOWN_TAGS = 100;

/** What the run is, in two lines. */
export function RunHeader({ run, onBack, children }: Props) {
  const now = useNow(run.status === "running" ? 1_000 : 30_000);
  const duration =
    run.status === "running"
      ? `${formatDuration(Math.max(0, Math.floor((now - Date.parse(run.start_time)) / 1000) * 1000))}…`
      : formatDuration(run.duration_ms);
  const list = (filter: string, value: string) =>
    `/p/${run.project_id}/runs?${new URLSearchParams({ [filter]: value }).toString()}`;

  return (
    <header className={classes.root}>
      <div className={classes.first}>
        <Tooltip label="Back to the runs">
          <ActionIcon variant="subtle" color="gray" onClick={onBack} aria-label="Back to the runs">
            <IconArrowLeft size={17} stroke={1.7} />
          </ActionIcon>
        </Tooltip>
        <span className={classes.kind}>
          <KindIcon kind={run.kind} size={18} />
        </span>
        <h1 className={classes.name} title={run.name}>
          {run.name || "unnamed"}
        </h1>
        <span className={classes.status} data-testid="run-status">
          <StatusMark status={run.status} withWord />
        </span>
        <span className={classes.id}>
          <code title="Run id">{run.run_id}</code>
          <CopyButton value={run.run_id} what="run id" />
        </span>
        <span className={classes.actions}>{children}</span>
      </div>
      <dl className={classes.facts}>
        <Figure label="Duration" text={duration} />
        <Figure label="Tokens" text={formatTokens(run.usage?.total_tokens)} testId="run-tokens" />
        <Figure label="Cost" text={formatRunCost(run)} title={costTitle(run)} testId="run-cost" />
        <Figure label="Spans" text={formatCount(run.span_count)} />
        {run.error_count > 0 && <Figure label="Errors" text={formatCount(run.error_count)} />}
        <Figure
          label="Started"
          text={`${formatAge(run.start_time, now)} ago`}
          title={formatTime(run.start_time)}
        />
        {run.models.length > 0 && <Figure label="Models" text={run.models.join(", ")} />}
        {run.session_id && (
          <Fact label="Session">
            <Link to={list("session_id", run.session_id)}>{run.session_id}</Link>
            <CopyButton value={run.session_id} what="session id" />
          </Fact>
        )}
        {run.session_id === null && run.conversation_id && (
          <Fact label="Conversation">
            <span className={classes.text}>{run.conversation_id}</span>
            <CopyButton value={run.conversation_id} what="conversation id" />
          </Fact>
        )}
        {run.user_id && (
          <Fact label="User">
            <Link to={list("user_id", run.user_id)}>{run.user_id}</Link>
          </Fact>
        )}
        {run.environment && <Figure label="Environment" text={run.environment} />}
        {run.release && <Figure label="Release" text={run.release} />}
        {run.tags.length > 0 && (
          <Fact label="Tags">
            {run.tags.slice(0, SHOWN_TAGS).map((tag, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a tag may stand there twice, and none moves
              <Link key={index} to={list("tag", tag)}>
                {tag}
              </Link>
            ))}
            {run.tags.length > SHOWN_TAGS && (
              <span>and {formatCount(run.tags.length - SHOWN_TAGS)} more</span>
            )}
          </Fact>
        )}
      </dl>
    </header>
  );
}

function Fact({ label, children }: { label: string; children: React.ReactNode }) {
  return (
    <div className={classes.fact}>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Figure({
  label,
  text,
  title,
  testId,
}: {
  label: string;
  text: string;
  title?: string;
  testId?: string;
}) {
  return (
    <div className={classes.fact} title={title} data-testid={testId}>
      <dt>{label}</dt>
      <dd data-unknown={text === UNKNOWN || undefined}>{text}</dd>
    </div>
  );
}

function costTitle(run: Run): string | undefined {
  if (run.cost_usd === null) return "No span says its cost, and no price is known";
  const source =
    run.cost_source === "sent"
      ? "As sent by the application"
      : "Computed from prices; each call says from which";
  const note = unpricedNote(run);
  return note === undefined ? source : `${source}. ${note}`;
}
