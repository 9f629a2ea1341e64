import { Button } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useRef } from "react";
import { useLocation, useNavigate } from "react-router";
import type { Run } from "@/api/types";
import { useKeys } from "@/components/useKeys";
import { useNow } from "@/components/useNow";
import classes from "./RunList.module.css";
import { RunRow } from "./RunRow";

interface Props {
  rows: Run[];
  projectId: string;
  /** Counts how often the reader asked for what is new; each time leads to the top. */
  reloads: number;
  /** The rows are those of the filters before. */
  stale: boolean;
  hasMore: boolean;
  isLoadingMore: boolean;
  moreError: Error | null;
  onMore: () => void;
}

interface Position {
  offset: number;
  runId: string | undefined;
}

// Where each entry of the browser's history stood, so that "back" leads to the same rows.
const positions = new Map<string, Position>();

/** The rows, virtual: j and k move, Enter opens, more come when the end is near. */
export function RunList({
  rows,
  projectId,
  reloads,
  stale,
  hasMore,
  isLoadingMore,
  moreError,
  onMore,
}: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const isNarrow = useMediaQuery("(max-width: 48em)", false, { getInitialValueInEffect: false });
  const historyKey = useLocation().key;
  const navigate = useNavigate();
  const now = useNow(5_000);

  const rowHeight = isNarrow ? 58 : 36;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    initialOffset: positions.get(historyKey)?.offset ?? 0,
    getItemKey: (index) => rows[index]?.run_id ?? index,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the sizes change with the row's height only
  useEffect(() => virtual.measure(), [rowHeight]);

  // The row that has, or last had, the focus; and the one that gets it once it is on the page.
  const cursor = useRef<string | undefined>(positions.get(historyKey)?.runId);
  const wanted = useRef<string | undefined>(cursor.current);
  useLayoutEffect(() => {
    if (!wanted.current) return;
    const link = scroller.current?.querySelector<HTMLElement>(`[data-run="${wanted.current}"]`);
    if (!link) return;
    link.focus({ preventScroll: true });
    wanted.current = undefined;
  });
  const move = (step: number) => {
    const at = rows.findIndex((run) => run.run_id === cursor.current);
    const next = at < 0 ? (step > 0 ? 0 : -1) : Math.min(rows.length - 1, Math.max(0, at + step));
    const run = rows[next];
    if (!run) return;
    wanted.current = run.run_id;
    cursor.current = run.run_id;
    virtual.scrollToIndex(next);
    const link = scroller.current?.querySelector<HTMLElement>(`[data-run="${run.run_id}"]`);
    if (link) {
      link.focus({ preventScroll: true });
      wanted.current = undefined;
    }
  };
  const openCurrent = () => {
    if (cursor.current) navigate(cursor.current, { state: { fromList: true } });
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    Enter: openCurrent,
  });

  const shownReloads = useRef(reloads);
  useEffect(() => {
    if (shownReloads.current === reloads) return;
    shownReloads.current = reloads;
    cursor.current = undefined;
    scroller.current?.scrollTo({ top: 0 });
  }, [reloads]);

  // Before the list leaves the page: after it, there is no offset to read.
  useLayoutEffect(() => {
    const element = scroller.current;
    return () => {
      positions.set(historyKey, { offset: element?.scrollTop ?? 0, runId: cursor.current });
    };
  }, [historyKey]);

  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && !isLoadingMore && !moreError && last >= rows.length - 20) onMore();
  }, [hasMore, isLoadingMore, moreError, last, rows.length, onMore]);

  return (
    <div ref={scroller} className={classes.scroller} data-stale={stale || undefined}>
      <div
        role="table"
        aria-label="Runs"
        aria-rowcount={hasMore ? -1 : rows.length + 1}
        data-testid="run-list"
      >
        <div className={classes.head} role="row" aria-rowindex={1}>
          <span role="columnheader">Run</span>
          <span role="columnheader">Input → output</span>
          <span role="columnheader" data-number>
            Duration
          </span>
          <span role="columnheader" data-number>
            Tokens
          </span>
          <span role="columnheader" data-number>
            Cost
          </span>
          <span role="columnheader" data-column="models">
            Models
          </span>
          <span role="columnheader" data-column="session">
            Session
          </span>
          <span role="columnheader" data-number>
            Age
          </span>
        </div>
        <div className={classes.rows} style={{ height: virtual.getTotalSize() }} role="rowgroup">
          {items.map((item) => {
            const run = rows[item.index];
            return (
              run && (
                <RunRow
                  key={item.key}
                  run={run}
                  to={`/p/${projectId}/runs/${run.run_id}`}
                  top={item.start}
                  height={item.size}
                  index={item.index}
                  now={now}
                  onFocus={() => {
                    cursor.current = run.run_id;
                  }}
                />
              )
            );
          })}
        </div>
      </div>
      <div className={classes.foot} role="status">
        {moreError ? (
          <Button size="compact-sm" variant="default" onClick={() => onMore()}>
            More runs could not be loaded. Retry
          </Button>
        ) : hasMore ? (
          "Loading more runs…"
        ) : (
          `${rows.length} ${rows.length === 1 ? "run" : "runs"}`
        )}
      </div>
    </div>
  );
}
