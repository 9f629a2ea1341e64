import { Button, Splitter } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useLocation, useNavigate, useParams, useSearchParams } from "react-router";
import { useOutline, useRun } from "@/api/runs";
import { ProblemPanel } from "@/components/ProblemPanel";
import { useKeys } from "@/components/useKeys";
import { useNow } from "@/components/useNow";
import { useProjectId } from "@/components/useProject";
import { headOf, lengthOf, neighbourError, readOutline, reveal } from "./outline";
import { RunHeader } from "./RunHeader";
import classes from "./RunPage.module.css";
import { RunSkeleton, SpansSkeleton } from "./RunSkeleton";
import { SpanDetail } from "./SpanDetail";
import { SpanTree } from "./SpanTree";

/** One run: its steps as a tree with times, and the step that is looked at. */
export function RunPage() {
  const projectId = useProjectId();
  const { runId = "" } = useParams();
  return <RunView key={runId} projectId={projectId} runId={runId} />;
}

function RunView({ projectId, runId }: { projectId: string; runId: string }) {
  const run = useRun(projectId, runId);
  const outline = useOutline(projectId, runId);
  const [params, setParams] = useSearchParams();
  const location = useLocation();
  const navigate = useNavigate();
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const isNarrow = useMediaQuery("(max-width: 48em)", false, { getInitialValueInEffect: false });
  const treeElement = useRef<HTMLDivElement>(null);
  const detailElement = useRef<HTMLElement>(null);
  const isRunning = run.data?.status === "running";
  const now = useNow(isRunning ? 1_000 : 3_600_000);

  // Spans are asked for again when the run has changed, and only then.
  const { refetch } = outline;
  const version = run.data && `${run.data.status} ${run.data.span_count} ${run.data.received_at}`;
  const shownVersion = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (!version) return;
    if (shownVersion.current !== undefined && shownVersion.current !== version) void refetch();
    shownVersion.current = version;
  }, [version, refetch]);

  const tree = useMemo(() => outline.data && readOutline(outline.data), [outline.data]);
  const runEnd = useMemo(() => (tree ? lengthOf(tree, isRunning, now) : 1), [tree, isRunning, now]);

  // What the page opened at stays, whatever else comes: the first failure, else the root.
  const [opened, setOpened] = useState<string>();
  const selectedId = params.get("span") ?? opened ?? tree?.ids[tree.errorChain[0] ?? 0];
  if (opened === undefined && selectedId !== undefined) setOpened(selectedId);
  const selectedPlace = selectedId === undefined ? undefined : tree?.places.get(selectedId);

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
  const select = useCallback((id: string) => setParam("span", id), [setParam]);
  const jump = (step: 1 | -1) => {
    const place = tree && neighbourError(tree, selectedPlace, step);
    if (!tree || place === undefined) return;
    setClosed(reveal(tree, place, closed));
    select(tree.ids[place] as string);
  };
  const back = () => {
    // Going back in history finds the list where it was left.
    if ((location.state as { fromList?: boolean } | null)?.fromList) navigate(-1);
    else navigate(`/p/${projectId}/runs`);
  };
  const enter = () => detailElement.current?.focus();
  const leave = () => {
    // From the detail to the tree, from the tree to the list.
    if (detailElement.current?.contains(document.activeElement)) treeElement.current?.focus();
    else back();
  };
  useKeys({ n: () => jump(1), p: () => jump(-1), Escape: leave });

  if (run.isPending) return <RunSkeleton />;
  if (run.isError && !run.data) {
    return (
      <div className={classes.message}>
        <ProblemPanel error={run.error} onRetry={() => run.refetch()} />
        <Button variant="default" onClick={back}>
          Back to the runs
        </Button>
      </div>
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
    />
  ) : outline.isError ? (
    <ProblemPanel error={outline.error} onRetry={() => refetch()} />
  ) : (
    <SpansSkeleton />
  );
  const detailPane = selectedId !== undefined && (
    <SpanDetail
      key={selectedId}
      projectId={projectId}
      runId={runId}
      spanId={selectedId}
      head={tree && selectedPlace !== undefined ? headOf(tree, selectedPlace) : undefined}
      isRunning={isRunning}
      tab={params.get("tab")}
      onTab={(tab) => setParam("tab", tab)}
    />
  );

  return (
    <div className={classes.page}>
      <title>{`${run.data.name || "Run"} · Looptrace`}</title>
      <RunHeader run={run.data} onBack={back} />
      {isNarrow ? (
        <div className={classes.stack}>
          <section className={classes.stackTree} aria-label="Spans">
            {treePane}
          </section>
          <section ref={detailElement} tabIndex={-1} className={classes.detail} aria-label="Selected span">
            {detailPane}
          </section>
        </div>
      ) : (
        <Splitter className={classes.split} lineSize={1} withHandle={false} handleColor="var(--lt-border)">
          <Splitter.Pane defaultSize={46} min={24}>
            <section className={classes.pane} aria-label="Spans">
              {treePane}
            </section>
          </Splitter.Pane>
          <Splitter.Pane defaultSize={54} min={28}>
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
