import { ActionIcon, Button, Drawer, SegmentedControl, Splitter, Tooltip } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { IconPlayerTrackNext, IconTrash } from "@tabler/icons-react";
import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Link, useLocation, useNavigate, useParams, useSearchParams } from "react-router";
import { useOutline, useReloadRun, useRun } from "@/api/runs";
import { useScores } from "@/api/scores";
import type { Span } from "@/api/types";
import { AddToDatasetDialog } from "@/components/AddToDatasetDialog";
import { CompareWithGood } from "@/components/CompareWithGood";
import { DeleteRunsDialog } from "@/components/DeleteRunsDialog";
import { SearchWords } from "@/components/Highlight";
import { PageProblem } from "@/components/PageState";
import { ProblemPanel } from "@/components/ProblemPanel";
import { newReplayPath } from "@/components/replayStart";
import { useKeys } from "@/components/useKeys";
import { useNow } from "@/components/useNow";
import { allows, useProject, useProjectId } from "@/components/useProject";
import { searchWords } from "@/components/words";
import { AgentViewPane, CopyAgentView } from "./AgentViewPane";
import { CompareDialog } from "./CompareDialog";
import { type HistoryState, nextEntry, stepsToList } from "./historyState";
import { headOf, lengthOf, neighbourError, readOutline, reveal } from "./outline";
import { keepPlace, placeAt } from "./place";
import { RunHeader } from "./RunHeader";
import classes from "./RunPage.module.css";
import { RunSkeleton, SpansSkeleton } from "./RunSkeleton";
import { Scores } from "./Scores";
import { SpanDetail } from "./SpanDetail";
import { SpanTree } from "./SpanTree";
import { useKeptScroll } from "./useKeptScroll";
import { useStoredShare } from "./useStoredShare";
import { VIEWS, viewOf } from "./views";

const TranscriptView = lazy(async () => ({ default: (await import("./TranscriptView")).TranscriptView }));
const GraphView = lazy(async () => ({ default: (await import("./GraphView")).GraphView }));

/** How much of the width the spans have at first, in percent. */
const TREE_SHARE = 46;

/** One run: its spans as a tree with times, and the selected span. */
export function RunPage() {
  const projectId = useProjectId();
  const { runId = "" } = useParams();
  const [params] = useSearchParams();
  // The search that found the run.
  const find = params.get("find") ?? "";
  const words = useMemo(() => searchWords(find), [find]);
  return (
    <SearchWords value={words}>
      <RunView key={runId} projectId={projectId} runId={runId} />
    </SearchWords>
  );
}

function RunView({ projectId, runId }: { projectId: string; runId: string }) {
  const run = useRun(projectId, runId);
  const outline = useOutline(projectId, runId);
  const [params, setParams] = useSearchParams();
  const location = useLocation();
  const navigate = useNavigate();
  const view = viewOf(params.get("view"));
  const scores = useScores(projectId, runId);
  const project = useProject();
  const mayDelete = allows(project, "runs:write");
  const mayAdd = allows(project, "datasets:write");
  const mayReplay = allows(project, "replays:write");
  const [dialog, setDialog] = useState<"scores" | "compare" | "delete" | "dataset">();
  const [addedSpan, setAddedSpan] = useState<Span>();
  // Where the reader left the page, if this is a way back to it.
  const [place] = useState(() => placeAt(location.key));
  useEffect(() => keepPlace(location.key, place), [location.key, place]);
  const [closed, setClosed] = useState<ReadonlySet<string>>(place.closed ?? new Set());
  useEffect(() => {
    place.closed = closed;
  }, [place, closed]);
  const isNarrow = useMediaQuery("(max-width: 48em)", false, { getInitialValueInEffect: false });
  const [treeShare = TREE_SHARE, setTreeShare] = useStoredShare("looptrace.run-tree");
  const treeElement = useRef<HTMLDivElement>(null);
  const detailElement = useRef<HTMLElement>(null);
  const stack = useRef<HTMLDivElement>(null);
  useKeptScroll(stack, place, "stack", isNarrow && view === "tree" && run.data !== undefined);
  const isRunning = run.data?.status === "running";
  const now = useNow(isRunning ? 1_000 : 3_600_000);

  // Refetch the spans only when the run has changed.
  const reload = useReloadRun(projectId, runId);
  const version = run.data && `${run.data.status} ${run.data.span_count} ${run.data.received_at}`;
  const shownVersion = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (!version) return;
    if (shownVersion.current !== undefined && shownVersion.current !== version) reload();
    shownVersion.current = version;
  }, [version, reload]);

  const tree = useMemo(() => outline.data && readOutline(outline.data), [outline.data]);
  const runEnd = useMemo(() => (tree ? lengthOf(tree, isRunning, now) : 1), [tree, isRunning, now]);

  // The page opens at the step with the error, or at the root. New spans don't change that.
  const [opened, setOpened] = useState<string>();
  // The address changes with a delay, but the next key must act on the current selection.
  const [picked, setPicked] = useState<string>();
  const addressed = params.get("span") ?? undefined;
  if (picked !== undefined && picked === addressed) setPicked(undefined);
  const selectedId = picked ?? addressed ?? opened ?? tree?.ids[tree.errorChain[0] ?? 0];
  if (opened === undefined && selectedId !== undefined) setOpened(selectedId);
  const selectedIndex = selectedId === undefined ? undefined : tree?.indexById.get(selectedId);

  const setParam = useCallback(
    (name: string, value: string) => {
      setParams(
        (current) => {
          current.set(name, value);
          return current;
        },
        { replace: true, state: location.state },
      );
    },
    [setParams, location.state],
  );
  const select = useCallback(
    (id: string) => {
      setPicked(id);
      setParam("span", id);
    },
    [setParam],
  );
  const jump = (step: 1 | -1) => {
    const index = tree && neighbourError(tree, selectedIndex, step);
    if (!tree || index === undefined) return;
    setClosed(reveal(tree, index, closed));
    select(tree.ids[index] as string);
  };
  const back = () => {
    // Going back in the history restores the list's position.
    const steps = stepsToList(location.state as HistoryState | null);
    if (steps === null) navigate(`/p/${projectId}/runs`);
    else navigate(steps);
  };
  const enter = () => detailElement.current?.focus();
  const leave = () => {
    // From a dialog without focus to the page, from the details to the tree, from the tree to the list.
    if (dialog) setDialog(undefined);
    else if (addedSpan) setAddedSpan(undefined);
    else if (detailElement.current?.contains(document.activeElement)) treeElement.current?.focus();
    else back();
  };
  const openInTree = useCallback(
    (id: string) => {
      setDialog(undefined);
      setParams(
        (current) => {
          current.set("span", id);
          current.delete("view");
          return current;
        },
        { state: nextEntry(location.state as HistoryState | null) },
      );
      if (!tree) return;
      const index = tree.indexById.get(id);
      if (index !== undefined) setClosed((known) => reveal(tree, index, known));
    },
    [setParams, location.state, tree],
  );
  const showView = (value: string) => setParam("view", value);
  // Clicking a view moves the focus into it, so that its keys work. Choosing by keyboard keeps the focus.
  const onViewClick = (event: React.MouseEvent) => {
    if (event.detail === 0) return;
    // The click focuses the control after this handler. A new view takes the focus if nothing has it.
    setTimeout(() => {
      if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
      treeElement.current?.focus({ preventScroll: true });
    });
  };
  useKeys({
    n: () => jump(1),
    p: () => jump(-1),
    Escape: leave,
    ...Object.fromEntries(VIEWS.map(({ value }, index) => [String(index + 1), () => showView(value)])),
  });

  if (run.isPending) return <RunSkeleton />;
  if (run.isError && !run.data) {
    return (
      <PageProblem
        title="Run"
        back={{ label: "Back to the runs", onClick: back }}
        error={run.error}
        onRetry={() => run.refetch()}
      />
    );
  }

  const treePane = tree ? (
    <SpanTree
      tree={tree}
      runEnd={runEnd}
      closed={closed}
      onClosedChange={setClosed}
      selectedId={selectedId}
      onSelect={select}
      onEnter={enter}
      onJump={jump}
      errorCount={run.data.error_count}
      scroller={treeElement}
      place={place}
    />
  ) : (
    <OutlineState outline={outline} />
  );
  const detailPane = selectedId !== undefined && (
    <SpanDetail
      key={selectedId}
      projectId={projectId}
      runId={runId}
      spanId={selectedId}
      head={tree && selectedIndex !== undefined ? headOf(tree, selectedIndex) : undefined}
      isRunning={isRunning}
      onAdd={mayAdd ? setAddedSpan : undefined}
      mayReplay={mayReplay}
      tab={params.get("tab")}
      onTab={(tab) => setParam("tab", tab)}
      place={place}
    />
  );

  return (
    <div className={classes.page}>
      <RunHeader
        run={run.data}
        onBack={back}
        onOpen={openInTree}
        actions={
          <>
            <Button size="compact-sm" variant="default" onClick={() => setDialog("scores")}>
              Scores{scores.data && scores.data.data.length > 0 && ` ${scores.data.data.length}`}
            </Button>
            <Button size="compact-sm" variant="default" onClick={() => setDialog("compare")}>
              Compare with…
            </Button>
            {run.data.outcome === "failed" && (
              <CompareWithGood
                projectId={projectId}
                run={run.data}
                traces={run.data.genai ? "genai" : "all"}
                source={run.data.source}
              />
            )}
            {mayAdd && (
              <Button size="compact-sm" variant="default" onClick={() => setDialog("dataset")}>
                Add to dataset…
              </Button>
            )}
            {mayReplay && (
              <Button
                size="compact-sm"
                variant="default"
                component={Link}
                to={newReplayPath(projectId, runId)}
                leftSection={<IconPlayerTrackNext size={13} />}
              >
                Replay…
              </Button>
            )}
            <CopyAgentView projectId={projectId} runId={runId} />
            {mayDelete && (
              <Tooltip label="Delete this run">
                <ActionIcon
                  variant="default"
                  size={26}
                  aria-label="Delete this run"
                  onClick={() => setDialog("delete")}
                >
                  <IconTrash size={14} />
                </ActionIcon>
              </Tooltip>
            )}
          </>
        }
      />
      <div className={classes.views}>
        <SegmentedControl
          size="xs"
          aria-label="View of the run"
          value={view}
          onChange={showView}
          onClick={onViewClick}
          data={VIEWS.map(({ value, label }) => ({ value, label }))}
        />
      </div>
      <Drawer
        opened={dialog === "scores"}
        onClose={() => setDialog(undefined)}
        // Escape also reaches the drawer from a dialog above it, and must not close both.
        closeOnEscape={false}
        onKeyDown={(event) =>
          event.key === "Escape" && event.currentTarget.contains(event.target as Node) && setDialog(undefined)
        }
        position="right"
        title="Scores of this run"
      >
        <Scores projectId={projectId} runId={runId} spanId={null} onOpen={openInTree} />
      </Drawer>
      {dialog === "delete" && (
        <DeleteRunsDialog
          projectId={projectId}
          target={{ run_ids: [runId] }}
          name={`“${run.data.name || "this run"}”`}
          onClose={() => setDialog(undefined)}
          onDeleted={() => navigate(`/p/${projectId}/runs`, { replace: true })}
        />
      )}
      {dialog === "dataset" && (
        <AddToDatasetDialog
          projectId={projectId}
          runs={{ run_ids: [runId] }}
          name={`“${run.data.name || "this run"}”`}
          onClose={() => setDialog(undefined)}
        />
      )}
      {addedSpan && (
        <AddToDatasetDialog
          projectId={projectId}
          runs={{ run_ids: [runId] }}
          span={{ id: addedSpan.span_id, isModelCall: addedSpan.kind === "llm" }}
          name={`the span “${addedSpan.name || "unnamed"}”`}
          onClose={() => setAddedSpan(undefined)}
        />
      )}
      {dialog === "compare" && <CompareDialog run={run.data} onClose={() => setDialog(undefined)} />}
      {view !== "tree" ? (
        <Suspense>
          {view === "transcript" && (
            <TranscriptView
              projectId={projectId}
              runId={runId}
              startedAt={tree?.startedAt ?? Date.parse(run.data.start_time)}
              isRunning={isRunning}
              onOpen={openInTree}
              place={place}
            />
          )}
          {view === "graph" &&
            (tree ? <GraphView tree={tree} onOpen={openInTree} /> : <OutlineState outline={outline} />)}
          {view === "agent" && <AgentViewPane projectId={projectId} runId={runId} spanId={selectedId} />}
        </Suspense>
      ) : isNarrow ? (
        <div ref={stack} className={classes.stack}>
          <section className={classes.stackTree} aria-label="Spans">
            {treePane}
          </section>
          <section ref={detailElement} tabIndex={-1} className={classes.detail} aria-label="Selected span">
            {detailPane}
          </section>
        </div>
      ) : (
        <Splitter
          className={classes.split}
          lineSize={1}
          withHandle={false}
          handleColor="var(--lt-border)"
          attributes={{ handle: { "aria-label": "Width of the spans" } }}
          step={2}
          sizes={[treeShare, 100 - treeShare]}
          onSizeChange={([share]) => setTreeShare(Number(share))}
        >
          <Splitter.Pane defaultSize={TREE_SHARE} min={24}>
            <section className={classes.pane} aria-label="Spans">
              {treePane}
            </section>
          </Splitter.Pane>
          <Splitter.Pane defaultSize={100 - TREE_SHARE} min={28}>
            <section
              ref={detailElement}
              tabIndex={-1}
              className={`${classes.pane} ${classes.detail}`}
              aria-label="Selected span"
            >
              {detailPane}
            </section>
          </Splitter.Pane>
        </Splitter>
      )}
    </div>
  );
}

/** Replaces the spans while they load. */
function OutlineState({ outline }: { outline: ReturnType<typeof useOutline> }) {
  if (outline.isError) return <ProblemPanel error={outline.error} onRetry={() => outline.refetch()} />;
  return <SpansSkeleton />;
}
