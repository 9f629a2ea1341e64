import { Link } from "react-router";
import { useHasRuns } from "@/api/stats";
import { useThreads } from "@/api/threads";
import type { Thread } from "@/api/types";
import { Ago } from "@/components/Ago";
import { FilterBar } from "@/components/filters/FilterBar";
import { withoutFilters, withSource, withTraces } from "@/components/filters/filters";
import { EmptyTime, SampledNote } from "@/components/filters/TimeNotes";
import { useFilters } from "@/components/filters/useFilters";
import {
  firstWords,
  formatCost,
  formatCount,
  formatRuns,
  formatTokens,
  isMissing,
} from "@/components/format";
import { ListPage } from "@/components/ListPage";
import { PageHint } from "@/components/PageMessage";
import { StatusMark } from "@/components/StatusMark";
import { useNow } from "@/components/useNow";
import classes from "./ThreadsPage.module.css";

/** The conversations of the project: runs that share a session. */
export function ThreadsPage() {
  const { projectId, params, setParams, filters, filter, isFiltered, isTimed } = useFilters();
  const query = useThreads(filter);
  const isEmpty = query.data?.pages[0]?.data.length === 0;
  const other = useHasRuns(projectId, isTimed && isEmpty);
  const now = useNow(10_000);
  return (
    <ListPage
      title="Threads"
      tools={<FilterBar page="threads" filters={filters} params={params} onChange={setParams} />}
      query={query}
      what="threads"
      rowHeight={34}
      emptyTitle="No threads yet."
      emptyHint={
        <PageHint>
          Send runs with the same <code>session_id</code> to see them here as one conversation.
        </PageHint>
      }
      empty={
        isTimed && other.data ? (
          <EmptyTime what="threads" filters={filters} params={params} onChange={setParams} />
        ) : undefined
      }
      onClearFilters={isFiltered ? () => setParams(withoutFilters(params)) : undefined}
    >
      {(threads) => (
        <>
          <div className={classes.sampled}>
            <SampledNote totals={totalsOf(threads)} />
          </div>
          <ul>
            {threads.map((thread) => (
              <Row
                key={thread.session_id}
                thread={thread}
                to={`/p/${projectId}/threads/${encodeURIComponent(thread.session_id)}`}
                search={withSource(
                  withTraces(new URLSearchParams(), filters.traces),
                  filters.source,
                ).toString()}
                now={now}
              />
            ))}
          </ul>
        </>
      )}
    </ListPage>
  );
}

/** How many of the runs of all listed threads are a sample. */
function totalsOf(threads: readonly Thread[]) {
  const sum = (of: (thread: Thread) => number) => threads.reduce((total, thread) => total + of(thread), 0);
  const shares = threads.flatMap(({ sample_share: share }) => share ?? []);
  return {
    count: sum(({ run_count }) => run_count),
    sampled_count: sum(({ sampled_count }) => sampled_count),
    sample_share: shares.length > 0 ? Math.min(...shares) : null,
  };
}

interface RowProps {
  thread: Thread;
  to: string;
  search: string;
  now: number;
}

function Row({ thread, to, search, now }: RowProps) {
  const status = thread.running ? "running" : thread.error_count > 0 ? "error" : "ok";
  return (
    <li className={classes.row} data-testid="thread-row">
      <div className={classes.name}>
        <StatusMark status={status} />
        <Link
          to={{ pathname: to, search }}
          className={classes.link}
          data-row-focus
          title={`${thread.identified_by === "session_id" ? "Session" : "Conversation"} ${thread.session_id}`}
        >
          {thread.session_id}
        </Link>
      </div>
      <div className={classes.text}>
        {thread.first_input !== null && (
          <span className={classes.input}>{firstWords(thread.first_input)}</span>
        )}
        {thread.last_output !== null && (
          <>
            <span className={classes.dim}>→</span>
            <span className={classes.output}>{firstWords(thread.last_output)}</span>
          </>
        )}
      </div>
      <div className={classes.who} title={[...thread.agents, ...thread.users].join(", ")}>
        {[firstOf(thread.agents, thread.agent_count), firstOf(thread.users, thread.user_count)]
          .filter(Boolean)
          .join(" · ")}
      </div>
      <div className={classes.number}>{formatRuns(thread.run_count)}</div>
      <div className={classes.number} data-error={thread.error_count > 0 || undefined}>
        {thread.error_count > 0 ? `${formatCount(thread.error_count)} failed` : ""}
      </div>
      <div className={classes.number}>
        <Value text={formatTokens(thread.usage?.total_tokens)} unit="tok" />
      </div>
      <div className={classes.number}>
        <Value text={formatCost(thread.cost_usd)} />
      </div>
      <div className={classes.age}>
        <Ago time={thread.last_time} now={now} bare />
      </div>
    </li>
  );
}

function Value({ text, unit = "" }: { text: string; unit?: string }) {
  const missing = isMissing(text);
  return <span data-missing={missing || undefined}>{missing ? text : `${text} ${unit}`}</span>;
}

/** The first name and the number of others: "planner +2". */
function firstOf(names: readonly string[], count: number): string {
  const [first] = names;
  if (first === undefined) return "";
  return count > 1 ? `${first} +${formatCount(count - 1)}` : first;
}
