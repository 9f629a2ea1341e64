import { Button, Switch, Title } from "@mantine/core";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Link, useLocation, useSearchParams } from "react-router";
import { useReloadRuns, useRuns, useRunsHead } from "@/api/runs";
import { ProblemPanel } from "@/components/ProblemPanel";
import { useKeys } from "@/components/useKeys";
import { useProjectId } from "@/components/useProject";
import { FilterBar } from "./FilterBar";
import { chips, readFilters, toggleOnlyErrors, toQuery } from "./filters";
import { mergeHead, uniqueRuns } from "./live";
import { RunList } from "./RunList";
import { RunListSkeleton } from "./RunListSkeleton";
import classes from "./RunsPage.module.css";
import { useStoredFlag } from "./useStoredFlag";

/** The runs of the project, newest first; the address holds the filters. */
export function RunsPage() {
  const projectId = useProjectId();
  const [params, setParams] = useSearchParams();
  const location = useLocation();
  const filters = useMemo(() => readFilters(params), [params]);
  const query = useMemo(() => toQuery(projectId, filters), [projectId, filters]);
  const [live, setLive] = useStoredFlag("looptrace.live", true);
  const searchBox = useRef<HTMLInputElement>(null);

  const runs = useRuns(query);
  const head = useRunsHead(query, live && runs.isSuccess && !runs.isPlaceholderData);
  const reload = useReloadRuns(query);
  const loaded = useMemo(() => uniqueRuns(runs.data?.pages.flatMap((page) => page.data) ?? []), [runs.data]);
  const { rows, fresh } = useMemo(() => mergeHead(loaded, head.data?.data), [loaded, head.data]);

  // Nothing is being read in an empty list: the first runs come in by themselves.
  const isEmpty = runs.isSuccess && loaded.length === 0;
  useEffect(() => {
    if (isEmpty && fresh > 0) void reload();
  }, [isEmpty, fresh, reload]);

  const [reloads, setReloads] = useState(0);
  const showFresh = useCallback(async () => {
    await reload();
    setReloads((count) => count + 1);
  }, [reload]);

  useKeys({
    "/": () => searchBox.current?.focus(),
    e: () => setParams(toggleOnlyErrors(params)),
    r: () => void showFresh(),
  });

  const isFiltered = chips(filters).length > 0 || filters.search.trim() !== "";
  return (
    <div className={classes.page}>
      <title>Runs · Looptrace</title>
      <div className={classes.top}>
        <Title order={1} size="h4">
          Runs
        </Title>
        <FilterBar filters={filters} params={params} onChange={setParams} searchBox={searchBox} />
        <Switch
          className={classes.live}
          size="xs"
          label="Live"
          checked={live}
          onChange={(event) => setLive(event.currentTarget.checked)}
        />
      </div>
      <div className={classes.body} aria-busy={runs.isFetching}>
        {fresh > 0 && !isEmpty && (
          <Button
            className={classes.pill}
            size="compact-sm"
            radius="xl"
            onClick={showFresh}
            data-testid="new-runs"
          >
            {fresh >= 50 ? "50+ new runs" : fresh === 1 ? "1 new run" : `${fresh} new runs`}
          </Button>
        )}
        {runs.isPending ? (
          <RunListSkeleton />
        ) : runs.isError && loaded.length === 0 ? (
          <div className={classes.message}>
            <ProblemPanel error={runs.error} onRetry={() => runs.refetch()} />
          </div>
        ) : rows.length > 0 ? (
          <RunList
            key={location.key}
            reloads={reloads}
            rows={rows}
            projectId={projectId}
            stale={runs.isPlaceholderData}
            hasMore={runs.hasNextPage}
            isLoadingMore={runs.isFetchingNextPage}
            moreError={runs.isFetchNextPageError ? runs.error : null}
            onMore={runs.fetchNextPage}
          />
        ) : isFiltered ? (
          <div className={classes.message}>
            <p className={classes.lead}>No run matches these filters.</p>
            <Button variant="default" onClick={() => setParams(new URLSearchParams())}>
              Clear filters
            </Button>
          </div>
        ) : (
          <div className={classes.message}>
            <p className={classes.lead}>No runs yet.</p>
            <p className={classes.dim}>
              A key and a few lines of code bring the first one; it shows up here by itself.
            </p>
            <Button component={Link} to={`/p/${projectId}/start`}>
              Send your first run
            </Button>
          </div>
        )}
      </div>
    </div>
  );
}
