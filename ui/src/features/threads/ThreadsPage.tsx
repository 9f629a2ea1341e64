import { Button, Skeleton, Title } from "@mantine/core";
import { useMemo, useRef } from "react";
import { Link, useSearchParams } from "react-router";
import { useThreads } from "@/api/threads";
import type { Thread } from "@/api/types";
import { Delayed } from "@/components/Delayed";
import { FilterBar } from "@/components/filters/FilterBar";
import { areFiltering, readFilters, toggleOnlyErrors, toQuery } from "@/components/filters/filters";
import {
  firstWords,
  formatAge,
  formatCost,
  formatCount,
  formatTime,
  formatTokens,
  UNKNOWN,
} from "@/components/format";
import { ProblemPanel } from "@/components/ProblemPanel";
import { StatusMark } from "@/components/StatusMark";
import { useKeys } from "@/components/useKeys";
import { useNow } from "@/components/useNow";
import { useProjectId } from "@/components/useProject";
import classes from "./ThreadsPage.module.css";

/** The conversations of the project: runs that share a session. */
export function ThreadsPage() {
  const projectId = useProjectId();
  const [params, setParams] = useSearchParams();
  const filters = useMemo(() => readFilters(params), [params]);
  const filter = useMemo(() => toQuery(projectId, filters), [projectId, filters]);
  const query = useThreads(filter);
  const searchBox = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const now = useNow(10_000);
  const threads = query.data?.pages.flatMap((page) => page.data) ?? [];
  const isFiltered = areFiltering(filters);

  const move = (by: number) => {
    const links = [...(list.current?.querySelectorAll<HTMLElement>("a[data-thread]") ?? [])];
    const at = links.indexOf(document.activeElement as HTMLElement);
    links[at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + by))]?.focus();
  };
  useKeys({
    "/": () => searchBox.current?.focus(),
    e: () => setParams(toggleOnlyErrors(params)),
    j: () => move(1),
    k: () => move(-1),
  });

  return (
    <div className={classes.page}>
      <title>Threads · Looptrace</title>
      <div className={classes.top}>
        <Title order={1} size="h4">
          Threads
        </Title>
        <FilterBar
          page="threads"
          filters={filters}
          params={params}
          onChange={setParams}
          searchBox={searchBox}
        />
      </div>
      <div className={classes.body} aria-busy={query.isFetching && !query.data}>
        {query.isPending ? (
          <Delayed>
            <div className={classes.waiting}>
              {[0, 1, 2, 3, 4, 5, 6, 7].map((row) => (
                <Skeleton key={row} h={34} />
              ))}
            </div>
          </Delayed>
        ) : query.isError && !query.data ? (
          <div className={classes.message}>
            <ProblemPanel error={query.error} onRetry={() => query.refetch()} />
          </div>
        ) : threads.length === 0 ? (
          <div className={classes.message}>
            <p className={classes.lead}>
              {isFiltered ? "No thread matches these filters." : "No threads yet."}
            </p>
            {isFiltered ? (
              <Button variant="default" onClick={() => setParams(new URLSearchParams())}>
                Clear filters
              </Button>
            ) : (
              <p className={classes.dim}>
                Runs that are sent with the same <code>session_id</code> stand here as one conversation.
              </p>
            )}
          </div>
        ) : (
          <>
            <ul ref={list} className={classes.list} data-stale={query.isPlaceholderData || undefined}>
              {threads.map((thread) => (
                <Row key={thread.session_id} thread={thread} projectId={projectId} now={now} />
              ))}
            </ul>
            {query.hasNextPage && (
              <div className={classes.foot}>
                <Button
                  variant="default"
                  loading={query.isFetchingNextPage}
                  onClick={() => query.fetchNextPage()}
                >
                  {query.isFetchNextPageError ? "More threads could not be loaded. Retry" : "More threads"}
                </Button>
              </div>
            )}
          </>
        )}
      </div>
    </div>
  );
}

function Row({ thread, projectId, now }: { thread: Thread; projectId: string; now: number }) {
  const status = thread.running ? "running" : thread.error_count > 0 ? "error" : "ok";
  return (
    <li className={classes.row} data-testid="thread-row">
      <div className={classes.name}>
        <StatusMark status={status} />
        <Link
          to={`/p/${projectId}/threads/${encodeURIComponent(thread.session_id)}`}
          className={classes.link}
          data-thread={thread.session_id}
          title={`${thread.identified_by === "session_id" ? "Session" : "Conversation"} ${thread.session_id}`}
        >
          {thread.session_id}
        </Link>
      </div>
      <div className={classes.words}>
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
        {[few(thread.agents, thread.agent_count), few(thread.users, thread.user_count)]
          .filter(Boolean)
          .join(" · ")}
      </div>
      <div className={classes.number}>
        {formatCount(thread.run_count)} {thread.run_count === 1 ? "run" : "runs"}
      </div>
      <div className={classes.number} data-error={thread.error_count > 0 || undefined}>
        {thread.error_count > 0 ? `${formatCount(thread.error_count)} failed` : ""}
      </div>
      <div className={classes.number}>
        <Value text={formatTokens(thread.usage?.total_tokens)} unit="tok" />
      </div>
      <div className={classes.number}>
        <Value text={formatCost(thread.cost_usd)} />
      </div>
      <div className={classes.age} title={formatTime(thread.last_time)}>
        {formatAge(thread.last_time, now)}
      </div>
    </li>
  );
}

function Value({ text, unit = "" }: { text: string; unit?: string }) {
  const isKnown = text !== UNKNOWN;
  return <span data-unknown={!isKnown || undefined}>{isKnown && unit ? `${text} ${unit}` : text}</span>;
}

function few(names: readonly string[], count: number): string {
  const [first] = names;
  if (first === undefined) return "";
  return count > 1 ? `${first} +${formatCount(count - 1)}` : first;
}
