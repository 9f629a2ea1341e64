import { Button, Skeleton } from "@mantine/core";
import { Link, useParams, useSearchParams } from "react-router";
import { useThread } from "@/api/threads";
import type { Run, Thread } from "@/api/types";
import { Ago } from "@/components/Ago";
import { CopyButton } from "@/components/CopyButton";
import { Fact, FactList } from "@/components/Fact";
import { readFilters, withSource, withTimeRange, withTraces } from "@/components/filters/filters";
import { SampledNote } from "@/components/filters/TimeNotes";
import {
  formatCost,
  formatCount,
  formatCountOf,
  formatDuration,
  formatRunCost,
  formatRunTokens,
  formatTime,
  formatTokens,
  unpricedNote,
} from "@/components/format";
import { KindIcon } from "@/components/KindIcon";
import { LoadMore } from "@/components/LoadMore";
import { PageHeader } from "@/components/PageHeader";
import { QueryState } from "@/components/QueryState";
import { RecordedText } from "@/components/RecordedText";
import { StatusMark, shownStatus } from "@/components/StatusMark";
import { useBack } from "@/components/useBack";
import { useNow } from "@/components/useNow";
import { useProjectId } from "@/components/useProject";
import classes from "./ThreadPage.module.css";
import { threadDuration } from "./threadDuration";

/** A conversation: the inputs and outputs of its runs, oldest first. */
export function ThreadPage() {
  const projectId = useProjectId();
  const { sessionId = "" } = useParams();
  const [params] = useSearchParams();
  const { traces, source } = readFilters(params);
  const query = useThread(projectId, sessionId, traces, source);
  const back = useBack();
  const thread = query.data?.pages.at(-1)?.thread;
  const runs = query.data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <div className={classes.page}>
      <PageHeader
        title={sessionId}
        back={{ label: "Back to the threads", onClick: back }}
        badges={<CopyButton value={sessionId} what="session id" />}
        actions={
          thread && (
            <Button
              component={Link}
              variant="default"
              to={`/p/${projectId}/runs?${withSource(withTraces(withTimeRange(new URLSearchParams({ [thread.identified_by]: sessionId }), { preset: null }), traces), source)}`}
            >
              Show as runs
            </Button>
          )
        }
      >
        {thread ? (
          <>
            <Totals thread={thread} runs={runs} areAll={!query.hasNextPage} />
            <SampledNote totals={{ ...thread, count: thread.run_count }} />
          </>
        ) : (
          "\u00a0"
        )}
      </PageHeader>
      <section
        className={classes.body}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
        tabIndex={0}
        aria-label="Conversation"
      >
        <QueryState
          query={query}
          page
          skeleton={
            <div className={classes.column}>
              <Skeleton h={60} w="60%" ml="auto" />
              <Skeleton h={90} w="70%" />
              <Skeleton h={60} w="50%" ml="auto" />
            </div>
          }
        >
          {() => (
            <>
              <ol className={classes.column}>
                {runs.map((run) => (
                  <Turn key={run.run_id} run={run} projectId={projectId} />
                ))}
              </ol>
              <LoadMore query={query} what="runs" />
            </>
          )}
        </QueryState>
      </section>
    </div>
  );
}

function Totals({ thread, runs, areAll }: { thread: Thread; runs: readonly Run[]; areAll: boolean }) {
  const now = useNow(thread.running ? 1_000 : 10_000);
  const users = names(thread.users, thread.user_count);
  const agents = names(thread.agents, thread.agent_count);
  return (
    <FactList inline>
      <Fact label="Runs" value={formatCount(thread.run_count)} />
      <Fact label="Failed" value={formatCount(thread.error_count)} />
      <Fact label="Tokens" value={formatTokens(thread.usage?.total_tokens)} />
      <Fact label="Cost" value={formatCost(thread.cost_usd)} />
      {users !== "" && <Fact label="Users" value={users} title={users} />}
      {agents !== "" && <Fact label="Agents" value={agents} title={agents} />}
      <Fact label="Duration" value={threadDuration(thread, runs, areAll, now)} />
      <Fact label="Last run" value={<Ago time={thread.last_time} now={now} />} />
    </FactList>
  );
}

function names(list: readonly string[], count: number): string {
  const others = count - list.length;
  return list.join(", ") + (others > 0 ? ` and ${formatCountOf(others, "other")}` : "");
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
          <StatusMark status={shownStatus(run)} withLabel={shownStatus(run) !== "ok"} />
        </div>
        {run.outputs !== null && <RecordedText text={run.outputs} what="output" />}
        {run.error && (
          <p className={classes.error}>
            <strong>{run.error.type || "Error"}</strong> {run.error.message}
          </p>
        )}
        {run.outputs === null && !run.error && (
          <p className={classes.none}>{isRunning ? "No output yet" : "No output recorded"}</p>
        )}
      </div>
      <div className={classes.figures}>
        <time dateTime={run.start_time}>{formatTime(run.start_time)}</time>
        {!isRunning && <span>{formatDuration(run.duration_ms)}</span>}
        <span>tokens {formatRunTokens(run)}</span>
        <span title={unpricedNote(run)}>cost {formatRunCost(run)}</span>
        <Link to={to}>Open run</Link>
      </div>
    </li>
  );
}
