import { ActionIcon, Button, Skeleton, Tooltip } from "@mantine/core";
import { IconArrowLeft } from "@tabler/icons-react";
import { Link, useLocation, useNavigate, useParams } from "react-router";
import { useThread } from "@/api/threads";
import type { Run, Thread } from "@/api/types";
import { CopyButton } from "@/components/CopyButton";
import { Delayed } from "@/components/Delayed";
import {
  formatAge,
  formatCost,
  formatCount,
  formatDuration,
  formatRunCost,
  formatTime,
  formatTokens,
  unpricedNote,
} from "@/components/format";
import { KindIcon } from "@/components/KindIcon";
import { ProblemPanel } from "@/components/ProblemPanel";
import { RecordedText } from "@/components/RecordedText";
import { StatusMark } from "@/components/StatusMark";
import { useKeys } from "@/components/useKeys";
import { useNow } from "@/components/useNow";
import { useProjectId } from "@/components/useProject";
import { lasted } from "./lasted";
import classes from "./ThreadPage.module.css";

/** A conversation: what was said to its runs and what they answered, the first one first. */
export function ThreadPage() {
  const projectId = useProjectId();
  const { sessionId = "" } = useParams();
  const query = useThread(projectId, sessionId);
  const navigate = useNavigate();
  const location = useLocation();
  const back = () => (location.key === "default" ? navigate("..", { relative: "path" }) : navigate(-1));
  useKeys({ Escape: back });
  const thread = query.data?.pages.at(-1)?.thread;
  const runs = query.data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <div className={classes.page}>
      <title>{`${sessionId} · Looptrace`}</title>
      <header className={classes.head}>
        <div className={classes.line}>
          <Tooltip label="Back to the threads">
            <ActionIcon variant="subtle" color="gray" onClick={back} aria-label="Back to the threads">
              <IconArrowLeft size={17} stroke={1.7} />
            </ActionIcon>
          </Tooltip>
          <h1 className={classes.name} title={sessionId}>
            {sessionId}
          </h1>
          <CopyButton value={sessionId} what="session id" />
          {thread && (
            <Link
              className={classes.list}
              to={`/p/${projectId}/runs?${new URLSearchParams({ [thread.identified_by]: sessionId })}`}
            >
              As a list
            </Link>
          )}
        </div>
        {thread ? (
          <Totals thread={thread} runs={runs} areAll={!query.hasNextPage} />
        ) : (
          <div className={classes.facts}>{"\u00a0"}</div>
        )}
      </header>
      <section
        className={classes.body}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls takes the focus
        tabIndex={0}
        aria-label="Conversation"
        aria-busy={query.isPending}
      >
        {query.isPending ? (
          <Delayed>
            <div className={classes.column}>
              <Skeleton h={60} w="60%" ml="auto" />
              <Skeleton h={90} w="70%" />
              <Skeleton h={60} w="50%" ml="auto" />
            </div>
          </Delayed>
        ) : query.isError && !query.data ? (
          <div className={classes.column}>
            <ProblemPanel error={query.error} onRetry={() => query.refetch()} />
          </div>
        ) : (
          <ol className={classes.column}>
            {runs.map((run) => (
              <Turn key={run.run_id} run={run} projectId={projectId} />
            ))}
            {query.hasNextPage && (
              <li className={classes.more}>
                <Button
                  variant="default"
                  loading={query.isFetchingNextPage}
                  onClick={() => query.fetchNextPage()}
                >
                  {query.isFetchNextPageError ? "Later runs could not be loaded. Retry" : "Later runs"}
                </Button>
              </li>
            )}
          </ol>
        )}
      </section>
    </div>
  );
}

function Totals({ thread, runs, areAll }: { thread: Thread; runs: readonly Run[]; areAll: boolean }) {
  const now = useNow(thread.running ? 1_000 : 10_000);
  const facts = [
    ["Runs", formatCount(thread.run_count)],
    ["Failed", formatCount(thread.error_count)],
    ["Tokens", formatTokens(thread.usage?.total_tokens)],
    ["Cost", formatCost(thread.cost_usd)],
    ["Users", names(thread.users, thread.user_count)],
    ["Agents", names(thread.agents, thread.agent_count)],
    ["Lasted", lasted(thread, runs, areAll, now)],
    ["Last run", `${formatAge(thread.last_time, now)} ago`],
  ] as const;
  return (
    <dl className={classes.facts}>
      {facts
        .filter(([, text]) => text !== "")
        .map(([label, text]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd title={text}>{text}</dd>
          </div>
        ))}
    </dl>
  );
}

function names(list: readonly string[], count: number): string {
  const others = count - list.length;
  return list.join(", ") + (others > 0 ? ` and ${formatCount(others)} others` : "");
}

function Turn({ run, projectId }: { run: Run; projectId: string }) {
  const to = `/p/${projectId}/runs/${run.run_id}`;
  const isRunning = run.status === "running";
  return (
    <li className={classes.turn} data-testid="turn" data-status={run.status}>
      {run.inputs !== null && (
        <div className={classes.asked}>
          <RecordedText text={run.inputs} what="input" />
        </div>
      )}
      <div className={classes.answered} data-status={run.status}>
        <div className={classes.who}>
          <KindIcon kind={run.kind} size={14} />
          <Link to={to}>{run.name || "unnamed"}</Link>
          <StatusMark status={run.status} withWord={run.status !== "ok"} />
        </div>
        {run.outputs !== null && <RecordedText text={run.outputs} what="output" />}
        {run.error && (
          <p className={classes.error}>
            <strong>{run.error.type || "Error"}</strong> {run.error.message}
          </p>
        )}
        {run.outputs === null && !run.error && (
          <p className={classes.none}>{isRunning ? "not answered yet" : "no output recorded"}</p>
        )}
      </div>
      <div className={classes.figures}>
        <time dateTime={run.start_time}>{formatTime(run.start_time)}</time>
        {!isRunning && <span>{formatDuration(run.duration_ms)}</span>}
        <span>{formatTokens(run.usage?.total_tokens)} tokens</span>
        <span title={unpricedNote(run)}>cost {formatRunCost(run)}</span>
        <Link to={to}>Open the run</Link>
      </div>
    </li>
  );
}
