import { Button, Switch, Title } from "@mantine/core";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Link, NavigationType, useLocation, useNavigationType, useSearchParams } from "react-router";
import type { Doomed } from "@/api/deletion";
import { type RunFilter, useFirstRuns, useReloadRuns } from "@/api/runs";
import { useRunStream } from "@/api/stream";
import type { Run } from "@/api/types";
import { DeleteRunsDialog } from "@/components/DeleteRunsDialog";
import { FilterBar } from "@/components/filters/FilterBar";
import {
  areFiltering,
  type Order,
  readFilters,
  readOrder,
  toggleOnlyErrors,
  toQuery,
  withParam,
  withTimeRange,
} from "@/components/filters/filters";
import { formatCount } from "@/components/format";
import { SearchWords } from "@/components/Marked";
import { ProblemPanel } from "@/components/ProblemPanel";
import { useKeys } from "@/components/useKeys";
import { allows, useProject, useProjectId } from "@/components/useProject";
import { searchWords } from "@/components/words";
import { ColumnChooser } from "./ColumnChooser";
import { Histogram } from "./Histogram";
import { absorb, NOTHING } from "./live";
import { MoreActions } from "./MoreActions";
import { Peek } from "./Peek";
import { RunList } from "./RunList";
import { RunListSkeleton } from "./RunListSkeleton";
import classes from "./RunsPage.module.css";
import { SelectionBar } from "./SelectionBar";
import { useColumns } from "./useColumns";
import { useStoredFlag } from "./useStoredFlag";

/** The runs of the project, newest first; the address holds the filters. */
export function RunsPage() {
  const projectId = useProjectId();
  const [params, setParams] = useSearchParams();
  const filters = useMemo(() => readFilters(params), [params]);
  const filter = useMemo(() => toQuery(projectId, filters), [projectId, filters]);
  const order = readOrder(params);
  const [live, setLive] = useStoredFlag("looptrace.live", true);
  const [columns, setColumns] = useColumns();
  const mayDelete = allows(useProject(), "runs:write");
  const [doomed, setDoomed] = useState<Doomed | null>(null);
  const searchBox = useRef<HTMLInputElement>(null);
  useKeys({
    "/": () => searchBox.current?.focus(),
    e: () => setParams(toggleOnlyErrors(params)),
  });

  const isFiltered = areFiltering(filters);
  return (
    <div className={classes.page}>
      <title>Runs · Looptrace</title>
      <div className={classes.top}>
        <Title order={1} size="h4">
          Runs
        </Title>
        <FilterBar page="runs" filters={filters} params={params} onChange={setParams} searchBox={searchBox}>
          <ColumnChooser columns={columns} onChange={setColumns} />
          <MoreActions filter={filter} onDelete={mayDelete ? () => setDoomed({ filter }) : undefined} />
        </FilterBar>
        <Switch
          className={classes.live}
          size="xs"
          label="Live"
          checked={live}
          onChange={(event) => setLive(event.currentTarget.checked)}
        />
      </div>
      <Histogram
        filter={filter}
        isFiltered={isFiltered}
        onRange={(from, until) => setParams(withTimeRange(params, { preset: null, ...between(from, until) }))}
      />
      <Results
        projectId={projectId}
        filter={filter}
        search={filters.search}
        live={live}
        columns={columns}
        order={order}
        onOrder={(next) => setParams(withParam(params, "order", next))}
        isFiltered={isFiltered}
        onClear={() => setParams(new URLSearchParams())}
        doomed={doomed}
        onDoom={mayDelete ? setDoomed : undefined}
      />
    </div>
  );
}

function between(from: number, until: number) {
  return { after: new Date(from * 1000).toISOString(), before: new Date(until * 1000).toISOString() };
}

interface ResultsProps {
  projectId: string;
  filter: RunFilter;
  search: string;
  live: boolean;
  columns: ReturnType<typeof useColumns>[0];
  order: Order | null;
  onOrder: (order: Order | null) => void;
  isFiltered: boolean;
  onClear: () => void;
  /** What is about to be deleted. */
  doomed: Doomed | null;
  /** Absent where the caller may not delete. */
  onDoom?: (doomed: Doomed | null) => void;
}

const NO_RUNS: ReadonlyMap<string, Run> = new Map();
const NO_WORDS: readonly string[] = [];

function Results({
  projectId,
  filter,
  search,
  live,
  columns,
  order,
  onOrder,
  isFiltered,
  onClear,
  doomed,
  onDoom,
}: ResultsProps) {
  const location = useLocation();
  const listed = useMemo(() => (order ? { ...filter, order } : filter), [filter, order]);
  const runs = useFirstRuns(listed);
  const reload = useReloadRuns(listed);
  const isCurrent = runs.isSuccess && !runs.isPlaceholderData;
  const words = useMemo(() => searchWords(search), [search]);
  const find = words.length > 0 ? `?${new URLSearchParams({ find: search })}` : "";

  // Without the stream nobody tells that the list is old: only who goes back finds it as it was left.
  const isReturn = useNavigationType() === NavigationType.Pop;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once each time that the reader comes here
  useEffect(() => {
    if (!live && !isReturn) void reload();
  }, [location.key]);

  // What came since the first page was loaded: loaded again, even with the same runs, it begins anew.
  const page = isCurrent ? runs.data : undefined;
  const loadedAt = runs.dataUpdatedAt;
  const [since, setSince] = useState({ listed, loadedAt, news: NOTHING, overrun: false });
  const current = (known: typeof since) =>
    known.listed === listed && known.loadedAt === loadedAt
      ? known
      : { listed, loadedAt, news: NOTHING, overrun: false };
  const { news, overrun } = current(since);
  // Of any state: else nobody would tell of a run that is none of the filter's any more.
  const streamed = useMemo(() => ({ ...filter, status: undefined }), [filter]);
  useRunStream(streamed, live && page !== undefined, {
    onRuns: (arrived) =>
      page &&
      setSince((before) => {
        const known = current(before);
        const next = absorb(known.news, arrived, {
          first: page,
          isNewestFirst: order === null,
          status: filter.status,
        });
        return next === known.news ? before : { ...known, news: next };
      }),
    onReset: () => setSince((before) => ({ ...current(before), overrun: true })),
  });
  const fresh = news.fresh.size;

  // Nothing is being read in an empty list: the first runs come in by themselves.
  const isEmpty = isCurrent && runs.data.data.length === 0;
  useEffect(() => {
    if (isEmpty && fresh > 0) void reload();
  }, [isEmpty, fresh, reload]);

  const [reloads, setReloads] = useState(0);
  const showFresh = useCallback(async () => {
    await reload();
    setReloads((count) => count + 1);
  }, [reload]);
  useKeys({ r: () => void showFresh() });

  // Both belong to what is listed: another filter begins anew.
  const [choice, setChoice] = useState({ filter, selected: NO_RUNS, peeked: null as string | null });
  const { selected, peeked } = choice.filter === filter ? choice : { selected: NO_RUNS, peeked: null };
  const change = (changed: { selected?: ReadonlyMap<string, Run>; peeked?: string | null }) =>
    setChoice({ filter, selected, peeked, ...changed });
  const select = (chosen: Run[], isOn: boolean) => {
    const next = new Map(selected);
    for (const run of chosen) {
      if (isOn) next.set(run.run_id, run);
      else next.delete(run.run_id);
    }
    change({ selected: next });
  };

  return (
    <div className={classes.body} aria-busy={runs.isFetching}>
      {(fresh > 0 || overrun) && !isEmpty && (
        <Button
          className={classes.pill}
          size="compact-sm"
          radius="xl"
          onClick={showFresh}
          data-testid="new-runs"
        >
          {overrun ? "Many new runs" : fresh === 1 ? "1 new run" : `${formatCount(fresh)} new runs`}
        </Button>
      )}
      {runs.isPending ? (
        <RunListSkeleton />
      ) : runs.isError && !runs.data ? (
        <div className={classes.message}>
          <ProblemPanel error={runs.error} onRetry={() => runs.refetch()} />
        </div>
      ) : runs.data && (runs.data.data.length > 0 || runs.data.partial) ? (
        <RunList
          key={location.key}
          filter={listed}
          order={order}
          onOrder={onOrder}
          projectId={projectId}
          stale={runs.isPlaceholderData ? runs.data.data : null}
          changed={news.changed}
          reloads={reloads}
          columns={columns}
          // The rows that stand in were found by other words.
          words={runs.isPlaceholderData ? NO_WORDS : words}
          find={find}
          selected={selected}
          onSelect={select}
          peeked={peeked}
          onPeek={(runId) => change({ peeked: runId })}
        />
      ) : isFiltered ? (
        <div className={classes.message}>
          <p className={classes.lead}>No run matches these filters.</p>
          <Button variant="default" onClick={onClear}>
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
      {selected.size > 0 && (
        <SelectionBar
          projectId={projectId}
          selected={selected}
          onClear={() => change({ selected: NO_RUNS })}
          onDelete={onDoom && (() => onDoom({ run_ids: [...selected.keys()] }))}
        />
      )}
      {doomed && onDoom && (
        <DeleteRunsDialog
          projectId={projectId}
          doomed={doomed}
          what={
            "filter" in doomed
              ? isFiltered
                ? "all runs that match"
                : "all runs"
              : doomed.run_ids.length === 1
                ? "the selected run"
                : "the selected runs"
          }
          onClose={() => onDoom(null)}
          onDeleted={() => {
            onDoom(null);
            change({ selected: NO_RUNS, peeked: null });
            void showFresh();
          }}
        />
      )}
      {peeked !== null && (
        <SearchWords value={words}>
          <Peek projectId={projectId} runId={peeked} find={find} onClose={() => change({ peeked: null })} />
        </SearchWords>
      )}
    </div>
  );
}
