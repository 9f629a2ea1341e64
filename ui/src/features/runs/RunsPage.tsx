import { Button, Switch } from "@mantine/core";
import { useCallback, useEffect, useMemo, useState } from "react";
import { Link, NavigationType, useLocation, useNavigationType } from "react-router";
import type { DeletionTarget } from "@/api/deletion";
import type { RunsExport } from "@/api/export";
import { useFirstRuns, useReloadRuns } from "@/api/runs";
import { type HiddenTraces, useHiddenTraces } from "@/api/stats";
import type { RunFilter } from "@/api/types";
import type { AddedRuns } from "@/components/AddToDatasetDialog";
import { FilterBar } from "@/components/filters/FilterBar";
import {
  betweenSeconds,
  type Filters,
  type Order,
  readOrder,
  withParam,
  withTimeRange,
  withTraces,
} from "@/components/filters/filters";
import { NoRuns } from "@/components/filters/NoRuns";
import { useFilters } from "@/components/filters/useFilters";
import { formatCount, formatHidden } from "@/components/format";
import { SearchWords } from "@/components/Highlight";
import { LoadSamples } from "@/components/LoadSamples";
import { onDemand } from "@/components/onDemand";
import { PageHeader } from "@/components/PageHeader";
import { PageHint, PageMessage } from "@/components/PageMessage";
import { QueryState } from "@/components/QueryState";
import { newRulePath } from "@/components/ruleStart";
import { useKeys } from "@/components/useKeys";
import { allows, useProject } from "@/components/useProject";
import { searchWords } from "@/components/words";
import { ColumnChooser } from "./ColumnChooser";
import type { Layout } from "./columns";
import { Histogram } from "./Histogram";
import { MoreActions } from "./MoreActions";
import { ofKind, ownName, SCORE } from "./ownColumns";
import { RunList } from "./RunList";
import { RunListSkeleton } from "./RunListSkeleton";
import classes from "./RunsPage.module.css";
import { SelectionBar } from "./SelectionBar";
import { useArrivals } from "./useArrivals";
import { useChoice } from "./useChoice";
import { useColumns } from "./useColumns";
import { useStoredFlag } from "./useStoredFlag";

const AddToDatasetDialog = onDemand(
  async () => (await import("@/components/AddToDatasetDialog")).AddToDatasetDialog,
);
const DeleteRunsDialog = onDemand(
  async () => (await import("@/components/DeleteRunsDialog")).DeleteRunsDialog,
);
const ExportDialog = onDemand(async () => (await import("./ExportDialog")).ExportDialog);
const Preview = onDemand(async () => (await import("./Preview")).Preview);

/** The runs of the project, newest first. The address contains the filters. */
export function RunsPage() {
  const { projectId, params, setParams, filters, filter, isFiltered, isTimed } = useFilters();
  const [live, setLive] = useStoredFlag("looptrace.live", true);
  const [layout, setLayout] = useColumns(projectId);
  const hidden = useHiddenTraces(filter, filters.traces === "genai");
  const showAll = () => setParams(withTraces(params, "all"));
  const project = useProject();
  const mayDelete = allows(project, "runs:write");
  const [deletion, setDeletion] = useState<DeletionTarget | null>(null);
  const mayAdd = allows(project, "datasets:write");
  const mayScore = allows(project, "evals:write");
  const [added, setAdded] = useState<AddedRuns | null>(null);
  const [exported, setExported] = useState<RunsExport | null>(null);
  const endExport = useCallback(() => setExported(null), []);
  return (
    <div className={classes.page}>
      <PageHeader
        title="Runs"
        tools={
          <FilterBar page="runs" filters={filters} params={params} onChange={setParams}>
            <ColumnChooser filter={filter} layout={layout} onChange={setLayout} />
            <MoreActions
              onExport={setExported}
              onAdd={mayAdd ? () => setAdded({ filter }) : undefined}
              rulePath={mayScore ? newRulePath(projectId, params.toString()) : undefined}
              onDelete={mayDelete ? () => setDeletion({ filter }) : undefined}
            />
          </FilterBar>
        }
        actions={
          <Switch
            size="xs"
            label="Live"
            checked={live}
            onChange={(event) => setLive(event.currentTarget.checked)}
          />
        }
      />
      <Histogram
        filter={filter}
        isFiltered={isFiltered}
        params={params}
        onParams={setParams}
        onRange={(from, until) => setParams(withTimeRange(params, betweenSeconds(from, until)))}
      />
      <Results
        projectId={projectId}
        filter={filter}
        filters={filters}
        params={params}
        onParams={setParams}
        live={live}
        layout={layout}
        onLayout={setLayout}
        order={readOrder(params)}
        onOrder={(next) => setParams(withParam(params, "order", next))}
        isFiltered={isFiltered}
        isTimed={isTimed}
        hidden={hidden && hidden.count > 0 ? hidden : undefined}
        onShowHidden={showAll}
        deletion={deletion}
        onDelete={mayDelete ? setDeletion : undefined}
        onAdd={mayAdd ? setAdded : undefined}
        mayReplay={allows(project, "replays:write")}
        mayCreateKeys={allows(project, "admin")}
      />
      {exported && <ExportDialog filter={filter} what={exported} onClose={endExport} />}
      {added && (
        <AddToDatasetDialog
          projectId={projectId}
          runs={added}
          name={
            "filter" in added
              ? isFiltered || isTimed
                ? "all matching runs"
                : "all runs"
              : added.run_ids.length === 1
                ? "the selected run"
                : `${formatCount(added.run_ids.length)} runs`
          }
          onClose={() => setAdded(null)}
        />
      )}
    </div>
  );
}

interface ResultsProps {
  projectId: string;
  filter: RunFilter;
  filters: Filters;
  params: URLSearchParams;
  onParams: (params: URLSearchParams) => void;
  live: boolean;
  layout: Layout;
  onLayout: (layout: Layout) => void;
  order: Order | null;
  onOrder: (order: Order | null) => void;
  isFiltered: boolean;
  /** Whether runs of another time are left out. */
  isTimed: boolean;
  /** The traces without GenAI spans that match the filter but are not listed; missing if there are none. */
  hidden?: HiddenTraces;
  onShowHidden: () => void;
  /** The runs that the user is asked to delete. */
  deletion: DeletionTarget | null;
  /** Missing if the user may not delete runs. */
  onDelete?: (target: DeletionTarget | null) => void;
  /** Missing if the user may not change datasets. */
  onAdd?: (runs: AddedRuns) => void;
  /** Whether the user may replay runs. */
  mayReplay: boolean;
  mayCreateKeys: boolean;
}

/** At most so often new runs appear by themselves. */
const APPEAR_MS = 2_000;

const NO_WORDS: readonly string[] = [];

function Results({
  projectId,
  filter,
  filters,
  params,
  onParams,
  live,
  layout,
  onLayout,
  order,
  onOrder,
  isFiltered,
  isTimed,
  hidden,
  onShowHidden,
  deletion,
  onDelete,
  onAdd,
  mayReplay,
  mayCreateKeys,
}: ResultsProps) {
  const location = useLocation();
  const { search } = filters;
  // As a text, so that other columns don't change what is listed.
  const scores = JSON.stringify(ofKind(layout.columns, SCORE).map(ownName));
  const listed = useMemo(() => {
    const names = JSON.parse(scores) as string[];
    return { ...filter, ...(order && { order }), ...(names.length > 0 && { score_name: names }) };
  }, [filter, order, scores]);
  const runs = useFirstRuns(listed);
  const reload = useReloadRuns(listed);
  const isCurrent = runs.isSuccess && !runs.isPlaceholderData;
  const words = useMemo(() => searchWords(search), [search]);
  const find = words.length > 0 ? `?${new URLSearchParams({ find: search })}` : "";

  // Without the stream the list may be outdated. Going back keeps it; any other navigation reloads it.
  const isReturn = useNavigationType() === NavigationType.Pop;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once per navigation
  useEffect(() => {
    if (!live && !isReturn) void reload();
  }, [location.key]);

  const { news, overrun } = useArrivals(listed, runs, live);
  const fresh = news.fresh.size;

  // An empty list shows the first runs without asking.
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

  // At its top the list shows new runs by itself. Further down they would move what is being read.
  const [isAtTop, setAtTop] = useState(true);
  const mayAppear = isAtTop && !isEmpty && (fresh > 0 || overrun);
  useEffect(() => {
    if (!mayAppear) return;
    const timer = setTimeout(() => void reload(), Math.max(0, runs.dataUpdatedAt + APPEAR_MS - Date.now()));
    return () => clearTimeout(timer);
  }, [mayAppear, runs.dataUpdatedAt, reload]);

  const choice = useChoice(filter, location.key);
  const { selection, previewed } = choice;

  return (
    <>
      {hidden && !isEmpty && (
        <p className={classes.hidden} data-testid="hidden-traces">
          {formatHidden(hidden)}
          <Button size="compact-xs" variant="subtle" onClick={onShowHidden}>
            Show
          </Button>
        </p>
      )}
      <div className={classes.body} aria-busy={runs.isFetching}>
        {(fresh > 0 || overrun) && !isEmpty && !isAtTop && (
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
        <QueryState query={runs} page skeleton={<RunListSkeleton />}>
          {(first) =>
            first.data.length > 0 || first.partial ? (
              <RunList
                key={location.key}
                filter={listed}
                order={order}
                onOrder={onOrder}
                projectId={projectId}
                stale={runs.isPlaceholderData ? first.data : null}
                changed={news.changed}
                reloads={reloads}
                onTop={setAtTop}
                layout={layout}
                onLayout={onLayout}
                // The previous filter's rows match other words.
                words={runs.isPlaceholderData ? NO_WORDS : words}
                find={find}
                selection={selection}
                onSelect={choice.select}
                onSelection={choice.setSelection}
                previewed={previewed}
                onPreview={choice.preview}
              />
            ) : hidden ? (
              <PageMessage title="No traces with GenAI spans.">
                <PageHint>
                  Runs of agents have GenAI spans, such as model calls. These traces have none, so they are
                  hidden.
                </PageHint>
                <Button variant="default" onClick={onShowHidden}>
                  Show all traces
                </Button>
              </PageMessage>
            ) : (
              <NoRuns
                projectId={projectId}
                filters={filters}
                isFiltered={isFiltered}
                isTimed={isTimed}
                params={params}
                onParams={onParams}
                skeleton={<RunListSkeleton />}
              >
                <PageHint>
                  {mayCreateKeys ? "Create a key" : "Ask an admin for an Ingest key"} and add a few lines of
                  code. Your first run appears here.
                </PageHint>
                <Button component={Link} to={`/p/${projectId}/connect`}>
                  Send your first run
                </Button>
                <LoadSamples />
              </NoRuns>
            )
          }
        </QueryState>
        {selection.runs.size > 0 && (
          <SelectionBar
            projectId={projectId}
            filter={filter}
            selection={selection}
            hasMore={!isCurrent || runs.data.next_cursor !== null}
            onSelection={choice.setSelection}
            mayReplay={mayReplay}
            onAdd={onAdd}
            onDelete={onDelete}
          />
        )}
        {deletion && onDelete && (
          <DeleteRunsDialog
            projectId={projectId}
            target={deletion}
            name={
              "filter" in deletion
                ? isFiltered || isTimed
                  ? "all matching runs"
                  : hidden
                    ? "all runs with GenAI spans"
                    : "all runs"
                : deletion.run_ids.length === 1
                  ? "the selected run"
                  : "the selected runs"
            }
            onClose={() => onDelete(null)}
            onDeleted={() => {
              onDelete(null);
              choice.clear();
              void showFresh();
            }}
          />
        )}
        {previewed !== null && (
          <SearchWords value={words}>
            <Preview
              projectId={projectId}
              runId={previewed}
              find={find}
              onClose={() => choice.preview(null)}
            />
          </SearchWords>
        )}
      </div>
    </>
  );
}
