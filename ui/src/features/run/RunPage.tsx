import { Button, Splitter, Text } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useLocation, useNavigate, useParams, useSearchParams } from "react-router";
import { useRun, useSpans } from "@/api/runs";
import { ProblemPanel } from "@/components/ProblemPanel";
import { useKeys } from "@/components/useKeys";
import { useProjectId } from "@/components/useProject";
import { RunHeader } from "./RunHeader";
import classes from "./RunPage.module.css";
import { RunSkeleton } from "./RunSkeleton";
import { SpanDetail } from "./SpanDetail";
import { SpanTree } from "./SpanTree";
import { buildTree, firstFailure, neighbourError, reveal } from "./tree";

/** One run: its steps as a tree with times, and the step that is looked at. */
export function RunPage() {
  const projectId = useProjectId();
  const { runId = "" } = useParams();
  return <RunView key={runId} projectId={projectId} runId={runId} />;
}

function RunView({ projectId, runId }: { projectId: string; runId: string }) {
  const run = useRun(projectId, runId);
  const spans = useSpans(projectId, runId);
  const [params, setParams] = useSearchParams();
  const location = useLocation();
  const navigate = useNavigate();
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const isNarrow = useMediaQuery("(max-width: 48em)", false, { getInitialValueInEffect: false });

  const { fetchNextPage, refetch } = spans;
  const mayLoadMore = spans.hasNextPage && !spans.isFetching && !spans.isFetchNextPageError;
  useEffect(() => {
    if (mayLoadMore) void fetchNextPage();
  }, [mayLoadMore, fetchNextPage]);

  // Spans are asked for again when the run has changed, and only then.
  const version = run.data && `${run.data.status} ${run.data.span_count} ${run.data.received_at}`;
  const shownVersion = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (!version) return;
    if (shownVersion.current !== undefined && shownVersion.current !== version) void refetch();
    shownVersion.current = version;
  }, [version, refetch]);

  const loaded = useMemo(() => spans.data?.pages.flatMap((page) => page.data) ?? [], [spans.data]);
  const total = spans.data?.pages.at(-1)?.span_count ?? 0;
  const tree = useMemo(() => buildTree(loaded), [loaded]);
  const isRunning = run.data?.status === "running";

  const failure = useMemo(() => firstFailure(tree), [tree]);
  // What the page opened at stays, whatever else comes.
  const [opened, setOpened] = useState<string>();
  const wanted = params.get("span") ?? opened ?? null;
  // A failing span may still be among those that come: the choice waits for it rather than jump.
  const isSearching = !failure && spans.hasNextPage && (run.data?.error_count ?? 0) > 0;
  const chosen =
    wanted === null ? (failure ?? (isSearching ? undefined : tree.order[0])) : tree.byId.get(wanted);
  const selectedId = wanted ?? chosen?.span.span_id;
  if (opened === undefined && selectedId !== undefined) setOpened(selectedId);

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
    const node = neighbourError(tree, selectedId, step);
    if (!node) return;
    setClosed(reveal(node, closed));
    select(node.span.span_id);
  };
  const back = () => {
    // Going back in history finds the list where it was left.
    if ((location.state as { fromList?: boolean } | null)?.fromList) navigate(-1);
    else navigate(`/p/${projectId}/runs`);
  };
  useKeys({ n: () => jump(1), p: () => jump(-1), Escape: back });

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

  const treePane = (
    <SpanTree
      tree={tree}
      closed={closed}
      onClosedChange={setClosed}
      selectedId={selectedId}
      onSelect={select}
      isRunning={isRunning}
      isLoading={spans.isPending}
      loaded={loaded.length}
      total={total}
      error={spans.error}
      onRetry={() => (spans.isFetchNextPageError ? fetchNextPage() : refetch())}
      onNextError={() => jump(1)}
      errorCount={run.data.error_count}
    />
  );
  const detailPane =
    selectedId === undefined ? (
      <Text c="dimmed" p="md" size="sm">
        {isSearching
          ? "Looking for the first failed span…"
          : spans.isPending
            ? ""
            : "This run has no spans yet."}
      </Text>
    ) : (
      <SpanDetail
        key={selectedId}
        projectId={projectId}
        runId={runId}
        spanId={selectedId}
        summary={chosen?.span}
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
          <section aria-label="Selected span">{detailPane}</section>
        </div>
      ) : (
        <Splitter className={classes.split} lineSize={1} withHandle={false} handleColor="var(--lt-border)">
          <Splitter.Pane defaultSize={46} min={24}>
            <section className={classes.pane} aria-label="Spans">
              {treePane}
            </section>
          </Splitter.Pane>
          <Splitter.Pane defaultSize={54} min={28}>
            <section className={classes.pane} aria-label="Selected span">
              {detailPane}
            </section>
          </Splitter.Pane>
        </Splitter>
      )}
    </div>
  );
}
