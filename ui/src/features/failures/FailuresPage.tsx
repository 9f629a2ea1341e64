import { Button, SegmentedControl, Skeleton, Title } from "@mantine/core";
import { useMemo, useRef } from "react";
import { Link, useSearchParams } from "react-router";
import { useFailedRuns } from "@/api/failures";
import type { FailedRunGroup, FailureWeights } from "@/api/types";
import { Delayed } from "@/components/Delayed";
import { FilterBar } from "@/components/filters/FilterBar";
import { chips, withoutParams, withParam } from "@/components/filters/filters";
import { formatAge, formatCount, formatTime } from "@/components/format";
import { KindIcon } from "@/components/KindIcon";
import { ProblemPanel } from "@/components/ProblemPanel";
import { useKeys } from "@/components/useKeys";
import { useNow } from "@/components/useNow";
import { useProjectId } from "@/components/useProject";
import classes from "./FailuresPage.module.css";
import { contrastText, failureQuery, readFailureFilters, readWindow, WINDOWS, whatFailed } from "./failures";
import { Rank } from "./Rank";
import { Sparkline } from "./Sparkline";

/** Failed runs by what failed: what, since when, how often, for whom; most worth a look first. */
export function FailuresPage() {
  const projectId = useProjectId();
  const [params, setParams] = useSearchParams();
  const range = readWindow(params);
  const filters = useMemo(() => readFailureFilters(params), [params]);
  const filter = useMemo(() => failureQuery(projectId, params), [projectId, params]);
  const query = useFailedRuns(filter);
  const searchBox = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const now = useNow(10_000);
  const first = query.data?.pages[0];
  const groups = query.data?.pages.flatMap((page) => page.data) ?? [];
  const move = (by: number) => {
    const links = [...(list.current?.querySelectorAll<HTMLElement>("a[data-group]") ?? [])];
    const at = links.indexOf(document.activeElement as HTMLElement);
    links[at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + by))]?.focus();
  };
  useKeys({ "/": () => searchBox.current?.focus(), j: () => move(1), k: () => move(-1) });
  const active = chips(filters);
  const isFiltered = active.length > 0 || filters.search.trim() !== "";

  return (
    <div className={classes.page}>
      <title>Failures · Looptrace</title>
      <div className={classes.top}>
        <div>
          <Title order={1} size="h4">
            Failures
          </Title>
          <p className={classes.context}>
            {first
              ? `${formatCount(first.failed_run_count)} of ${formatCount(first.run_count)} runs failed, in ${formatCount(first.group_count)} ${first.group_count === 1 ? "way" : "ways"}`
              : "\u00a0"}
          </p>
        </div>
        <FilterBar
          page="failures"
          filters={filters}
          params={params}
          onChange={setParams}
          searchBox={searchBox}
          timeRange={
            <SegmentedControl
              size="xs"
              aria-label="Time range"
              data={WINDOWS.map(({ value, label }) => ({ value, label }))}
              value={range.value}
              onChange={(value) => setParams(withParam(params, "range", value))}
            />
          }
        />
      </div>
      <div className={classes.body} aria-busy={query.isFetching && !query.data}>
        {first && (first.unknown_run_count > 0 || first.partial) && (
          <p className={classes.note} role="status">
            {first.partial && "Only the groups that rank best are listed. "}
            {first.unknown_run_count > 0 && (
              <>
                {formatCount(first.unknown_run_count)} failed runs are in no group yet: they were stored by an
                older version. <code>looptrace derive</code> puts them into theirs.
              </>
            )}
          </p>
        )}
        {query.isPending ? (
          <Delayed>
            <div className={classes.waiting}>
              {[0, 1, 2, 3, 4].map((row) => (
                <Skeleton key={row} h={64} />
              ))}
            </div>
          </Delayed>
        ) : query.isError && !query.data ? (
          <div className={classes.message}>
            <ProblemPanel error={query.error} onRetry={() => query.refetch()} />
          </div>
        ) : groups.length === 0 ? (
          <div className={classes.message}>
            <p className={classes.lead}>
              {isFiltered ? "No failed run matches these filters." : "No run failed in this time."}
            </p>
            {isFiltered ? (
              <Button
                variant="default"
                onClick={() => setParams(withParam(withoutParams(params, active), "search", null))}
              >
                Clear filters
              </Button>
            ) : (
              <p className={classes.dim}>
                Runs that fail alike stand here as one, with what they have in common.
              </p>
            )}
          </div>
        ) : (
          <ul ref={list} className={classes.list} data-stale={query.isPlaceholderData || undefined}>
            {first &&
              groups.map((group) => (
                <Row
                  key={group.fingerprint}
                  group={group}
                  weights={first.weights}
                  to={`/p/${projectId}/failures/${encodeURIComponent(group.fingerprint)}?${params}`}
                  now={now}
                />
              ))}
          </ul>
        )}
        {query.hasNextPage && (
          <div className={classes.foot}>
            <Button
              variant="default"
              loading={query.isFetchingNextPage}
              onClick={() => query.fetchNextPage()}
            >
              {query.isFetchNextPageError ? "More groups could not be loaded. Retry" : "More groups"}
            </Button>
          </div>
        )}
      </div>
    </div>
  );
}

interface RowProps {
  group: FailedRunGroup;
  weights: FailureWeights;
  to: string;
  now: number;
}

function Row({ group, weights, to, now }: RowProps) {
  const why = group.contrasts[0];
  return (
    <li className={classes.row} data-testid="failure-group">
      <div className={classes.what}>
        <Link to={to} className={classes.link} data-group={group.fingerprint}>
          {whatFailed(group)}
        </Link>
        <p className={classes.template}>{group.message_template || "no message"}</p>
        <p className={classes.where}>
          <KindIcon kind={group.step.kind} size={13} />
          <span>{group.step.name || "unnamed"}</span>
          {group.agent_name && <span>in {group.agent_name}</span>}
          {why && (
            <span className={classes.why} title={group.contrasts.map(contrastText).join("\n")}>
              {contrastText(why)}
            </span>
          )}
        </p>
      </div>
      <div className={classes.spark}>
        <Sparkline counts={group.counts} />
      </div>
      <Figure label={group.count === 1 ? "run" : "runs"} text={formatCount(group.count)} />
      <Figure
        label={group.user_count === 1 ? "user" : "users"}
        text={group.user_count === null ? "unknown" : formatCount(group.user_count)}
      />
      <div className={classes.ages}>
        <span title={formatTime(group.last_seen)}>{formatAge(group.last_seen, now)} ago</span>
        <span className={classes.dim} title={formatTime(group.first_seen)}>
          since {formatAge(group.first_seen, now)}
        </span>
      </div>
      <Rank group={group} weights={weights} />
    </li>
  );
}

function Figure({ label, text }: { label: string; text: string }) {
  return (
    <div className={classes.figure}>
      <span data-unknown={text === "unknown" || undefined}>{text}</span>
      <span className={classes.dim}>{label}</span>
    </div>
  );
}
