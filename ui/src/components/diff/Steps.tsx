import { VisuallyHidden } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { RunDiff, RunDiffStep } from "@/api/types";
import { formatCount } from "@/components/format";
import { ProblemPanel } from "@/components/ProblemPanel";
import classes from "./Diff.module.css";
import { nextDifference, rowsOf } from "./rows";
import { Step } from "./Step";

interface Query {
  hasNextPage: boolean;
  isFetching: boolean;
  isFetchNextPageError: boolean;
  error: Error | null;
  fetchNextPage: () => unknown;
}

/** The lines of a comparison: which are open, and which one is current. */
export function useDiffSteps(
  pages: readonly RunDiff[] | undefined,
  query: Query,
  fetchFolded: (offset: number, limit: number) => Promise<readonly RunDiffStep[]>,
) {
  const [opened, setOpened] = useState<ReadonlyMap<number, readonly RunDiffStep[]>>(new Map());
  const [failure, setFailure] = useState<Error>();
  // By key, because lines may be added above it.
  const [current, setCurrent] = useState<string>();
  const scroll = useRef<(index: number) => void>(undefined);
  const { fetchNextPage } = query;
  const mayLoadMore = query.hasNextPage && !query.isFetching && !query.isFetchNextPageError;
  useEffect(() => {
    if (mayLoadMore) void fetchNextPage();
  }, [mayLoadMore, fetchNextPage]);
  const rows = useMemo(() => rowsOf(pages?.flatMap((page) => page.steps) ?? [], opened), [pages, opened]);
  const jump = (by: 1 | -1) => {
    const at = nextDifference(
      rows,
      rows.findIndex(({ key }) => key === current),
      by,
    );
    if (at < 0) return;
    setCurrent(rows[at]?.key);
    scroll.current?.(at);
  };
  const open = async (step: RunDiffStep) => {
    setFailure(undefined);
    try {
      const steps = await fetchFolded(step.n, step.folded);
      setOpened((known) => new Map(known).set(step.n, steps));
    } catch (error) {
      setFailure(error as Error);
    }
  };
  const onScroller = useCallback((to: (index: number) => void) => {
    scroll.current = to;
  }, []);
  return { rows, current, failure, jump, open, onScroller };
}

interface Props {
  projectId: string;
  runIds: [string, string];
  steps: ReturnType<typeof useDiffSteps>;
  /** The first difference. */
  firstN: number | undefined;
  query: Query;
  /** More about a step. */
  note?: (step: RunDiffStep) => React.ReactNode;
}

/** The steps of two runs side by side. */
export function Steps({ projectId, runIds, steps, firstN, query, note }: Props) {
  const { rows, current, open, onScroller } = steps;
  const scroller = useRef<HTMLElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 40,
    overscan: 8,
    getItemKey: (index) => rows[index]?.key ?? index,
  });
  useEffect(() => {
    onScroller((index) => virtual.scrollToIndex(index, { align: "center" }));
  }, [onScroller, virtual]);
  return (
    <section
      ref={scroller}
      className={classes.scroller}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
      tabIndex={0}
      aria-label="Steps"
      data-testid="diff-steps"
    >
      <VisuallyHidden>
        <h2>Steps</h2>
      </VisuallyHidden>
      <div className={classes.rows} style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => {
          const row = rows[item.index];
          return (
            row && (
              <div
                key={item.key}
                ref={virtual.measureElement}
                data-index={item.index}
                className={classes.row}
                style={{ transform: `translateY(${item.start}px)` }}
              >
                {row.kind === "fold" ? (
                  <button type="button" className={classes.fold} onClick={() => open(row.step)}>
                    {formatCount(row.step.folded)} same
                  </button>
                ) : (
                  <Step
                    projectId={projectId}
                    runIds={runIds}
                    step={row.step}
                    isCurrent={row.key === current}
                    isFirst={row.step.n === firstN}
                    note={note?.(row.step)}
                  />
                )}
              </div>
            )
          );
        })}
      </div>
      {query.isFetchNextPageError && query.error && (
        <ProblemPanel error={query.error} onRetry={() => void query.fetchNextPage()} />
      )}
    </section>
  );
}
