import { Link } from "react-router";
import { useDatasetsOfRun } from "@/api/runItems";
import type { Run } from "@/api/types";
import { Ago } from "@/components/Ago";
import { CopyButton } from "@/components/CopyButton";
import { Fact, FactList } from "@/components/Fact";
import {
  formatCount,
  formatDuration,
  formatRunCost,
  formatRunTokens,
  unpricedNote,
} from "@/components/format";
import { KindIcon } from "@/components/KindIcon";
import { PageHeader } from "@/components/PageHeader";
import { promptLabel, promptPath } from "@/components/prompt";
import { StatusMark, scoredAsFailed, shownStatus } from "@/components/StatusMark";
import { SOURCE_LABELS } from "@/components/source";
import { useNow } from "@/components/useNow";
import { allows, useProject } from "@/components/useProject";
import { AgentReleaseFact } from "./AgentReleaseFact";
import { ReplayBadge } from "./ReplayBadge";
import { Replays } from "./Replays";
import { RunFindings } from "./RunFindings";
import classes from "./RunHeader.module.css";
import { SignalBadges } from "./SignalBadges";
import { Suspects } from "./Suspects";

interface Props {
  run: Run;
  onBack: () => void;
  /** Opens a span. */
  onOpen: (spanId: string) => void;
  actions: React.ReactNode;
}

/** A run may have a million tags. */
const MAX_TAGS = 100;

/** The run's name, status and facts. */
export function RunHeader({ run, onBack, onOpen, actions }: Props) {
  const now = useNow(run.status === "running" ? 1_000 : 30_000);
  const duration =
    run.status === "running"
      ? `${formatDuration(Math.max(0, Math.floor((now - Date.parse(run.start_time)) / 1000) * 1000))}…`
      : formatDuration(run.duration_ms);
  const models = run.models.join(", ");
  const runsWith = (filter: string, value: string) =>
    `/p/${run.project_id}/runs?${new URLSearchParams({ [filter]: value, ...(run.genai ? {} : { traces: "all" }), ...(run.source === "user" ? {} : { source: "all" }) }).toString()}`;
  return (
    <PageHeader
      title={run.name || "unnamed"}
      back={{ label: "Back to the runs", onClick: onBack }}
      icon={<KindIcon kind={run.kind} size={18} />}
      badges={
        <>
          <span data-testid="run-status">
            <StatusMark status={shownStatus(run)} withLabel />
          </span>
          {run.failed_scores && (
            <span className={classes.note} data-testid="failed-scores">
              {scoredAsFailed(run.failed_scores)}
            </span>
          )}
          {!run.genai && (
            <span className={classes.note} data-testid="no-genai">
              No GenAI spans
            </span>
          )}
          {run.source !== "user" && (
            <span className={classes.note} data-testid="run-source">
              {SOURCE_LABELS[run.source]}
            </span>
          )}
          <SignalBadges run={run} />
          {run.genai && <ReplayBadge run={run} />}
          <span className={classes.id}>
            <code title="Run id">{run.run_id}</code>
            <CopyButton value={run.run_id} what="run id" />
          </span>
        </>
      }
      actions={actions}
    >
      <FactList inline>
        <Fact label="Duration" value={duration} />
        <Fact label="Tokens" value={formatRunTokens(run)} testId="run-tokens" />
        <Fact label="Cost" value={formatRunCost(run)} title={costTitle(run)} testId="run-cost" />
        <Fact label="Spans" value={formatCount(run.span_count)} />
        {run.error_count > 0 && <Fact label="Errors" value={formatCount(run.error_count)} />}
        {run.failure && <Suspects run={run} failure={run.failure} onOpen={onOpen} />}
        <Fact label="Started" value={<Ago time={run.start_time} now={now} />} />
        {models !== "" && <Fact label="Models" value={models} title={models} />}
        {run.session_id && (
          <Fact
            label="Session"
            value={
              <>
                <Link to={runsWith("session_id", run.session_id)}>
                  <bdi>{run.session_id}</bdi>
                </Link>
                <CopyButton value={run.session_id} what="session id" />
              </>
            }
          />
        )}
        {run.session_id === null && run.conversation_id && (
          <Fact
            label="Conversation"
            value={
              <>
                <bdi>{run.conversation_id}</bdi>
                <CopyButton value={run.conversation_id} what="conversation id" />
              </>
            }
          />
        )}
        {run.user_id && (
          <Fact
            label="User"
            value={
              <Link to={runsWith("user_id", run.user_id)}>
                <bdi>{run.user_id}</bdi>
              </Link>
            }
          />
        )}
        {run.environment && <Fact label="Environment" value={run.environment} />}
        {run.release && <Fact label="Version" value={run.release} />}
        {run.llm_call_count > 0 && run.source === "user" && <AgentReleaseFact run={run} />}
        {run.prompts.length > 0 && (
          <Fact
            label={run.prompts.length === 1 ? "Prompt" : "Prompts"}
            testId="run-prompts"
            value={run.prompts.map((prompt, index) => {
              const path = promptPath(run.project_id, prompt);
              const label = promptLabel(prompt);
              return path === null ? (
                // biome-ignore lint/suspicious/noArrayIndexKey: the order is fixed
                <span key={index} className={classes.tag}>
                  <bdi>{label}</bdi>
                </span>
              ) : (
                // biome-ignore lint/suspicious/noArrayIndexKey: the order is fixed
                <Link key={index} to={path} className={classes.tag}>
                  <bdi>{label}</bdi>
                </Link>
              );
            })}
          />
        )}
        <Datasets run={run} />
        <Replays run={run} />
        <RunFindings run={run} />
        {run.tags.length > 0 && (
          <Fact
            label="Tags"
            value={
              <>
                {run.tags.slice(0, MAX_TAGS).map((tag, index) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: a tag may occur twice, and the order is fixed
                  <Link key={index} to={runsWith("tag", tag)} className={classes.tag}>
                    <bdi>{tag}</bdi>
                  </Link>
                ))}
                {run.tags.length > MAX_TAGS && `and ${formatCount(run.tags.length - MAX_TAGS)} more`}
              </>
            }
          />
        )}
      </FactList>
    </PageHeader>
  );
}

/** The datasets that have items from the run. */
function Datasets({ run: { project_id, run_id } }: { run: Run }) {
  const mayRead = allows(useProject(), "datasets:read");
  const { data } = useDatasetsOfRun(project_id, run_id, mayRead);
  if (!data || data.data.length === 0) return null;
  const query = new URLSearchParams({ source_run_id: run_id });
  return (
    <Fact
      label={data.data.length === 1 ? "Dataset" : "Datasets"}
      testId="run-datasets"
      value={
        <>
          {data.data.map(({ id, name }) => (
            <Link key={id} to={`/p/${project_id}/datasets/${id}?${query}`} className={classes.tag}>
              <bdi>{name}</bdi>
            </Link>
          ))}
          {data.has_more && "and more"}
        </>
      }
    />
  );
}

function costTitle(run: Run): string | undefined {
  if (run.cost_usd === null) {
    return run.llm_call_count > 0 ? "No call reports its cost or has a known price" : undefined;
  }
  const source =
    run.cost_source === "sent"
      ? "Reported by the application"
      : "Calculated from prices. Each call shows which price applied";
  const note = unpricedNote(run);
  return note === undefined ? source : `${source}. ${note}`;
}
