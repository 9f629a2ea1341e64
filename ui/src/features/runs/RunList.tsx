import { Button, Skeleton } from "@mantine/core";
import { useElementSize, useMediaQuery } from "@mantine/hooks";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useLocation, useNavigate } from "react-router";
import { RUN_PAGE, type RunFilter, useRunWindow } from "@/api/runs";
import type { Run } from "@/api/types";
import { nextOrder, type Order } from "@/components/filters/filters";
import { formatCount, formatTime } from "@/components/format";
import { useKeys } from "@/components/useKeys";
import { useNow } from "@/components/useNow";
import { type ColumnId, leastWidth, shownColumns } from "./columns";
import classes from "./RunList.module.css";
import { RunRow } from "./RunRow";

interface Props {
  filter: RunFilter;
  projectId: string;
  /** Rows of the filters before, which stand in until there are others. */
  stale: Run[] | null;
  /** Runs as they are now, by id, where that is newer than the list. */
  changed: ReadonlyMap<string, Run>;
  /** Counts how often the reader asked for what is new; each time leads to the top. */
  reloads: number;
  columns: readonly ColumnId[];
  order: Order | null;
  onOrder: (order: Order | null) => void;
  words: readonly string[];
  /** What a run's address says of the search that found it. */
  find: string;
  selected: ReadonlyMap<string, Run>;
  onSelect: (runs: Run[], select: boolean) => void;
  peeked: string | null;
  onPeek: (runId: string | null) => void;
}

interface Position {
  offset: number;
  runId: string | undefined;
}

// Where each entry of the browser's history stood, so that "back" leads to the same rows.
const positions = new Map<string, Position>();

// Browsers end an element at about 33 million pixels.
const TALLEST = 30_000_000;
// The next rows are asked for before they are looked at.
const AHEAD = 40;

const ARROWS = { ascending: " ↑", descending: " ↓", none: "" } as const;

/** How a column is ordered: without a choice the newest run comes first, and so the least age. */
function sortOf(order: Order | null, key: string): keyof typeof ARROWS {
  if (key === "start_time") return order === null ? "ascending" : order === key ? "descending" : "none";
  return order === key ? "ascending" : order === `-${key}` ? "descending" : "none";
}

/** The rows, virtual: j and k move, Enter opens, x selects, Space peeks; more come when the end is near. */
export function RunList({
  filter,
  projectId,
  stale,
  changed,
  reloads,
  columns,
  order,
  onOrder,
  words,
  find,
  selected,
  onSelect,
  peeked,
  onPeek,
}: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const { ref: sized, width } = useElementSize();
  const isNarrow = useMediaQuery("(max-width: 48em)", false, { getInitialValueInEffect: false });
  const historyKey = useLocation().key;
  const navigate = useNavigate();
  const now = useNow(5_000);

  const rowHeight = isNarrow ? 58 : 36;
  const start = Math.floor((positions.get(historyKey)?.offset ?? 0) / rowHeight);
  const [range, setRange] = useState({ first: start, last: start + RUN_PAGE });
  const runs = useRunWindow(filter, range.first, range.last + AHEAD);
  const isStale = stale !== null;
  const most = Math.floor(TALLEST / rowHeight);
  const count = isStale ? stale.length : Math.min(most, runs.count);
  const rowAt = (index: number): Run | undefined => {
    const run = isStale ? stale[index] : runs.row(index);
    return run && (changed.get(run.run_id) ?? run);
  };
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    initialOffset: positions.get(historyKey)?.offset ?? 0,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the sizes change with the row's height only
  useEffect(() => virtual.measure(), [rowHeight]);

  const items = virtual.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  // A row more or less changes no page: the range moves in steps.
  const step = { first: Math.max(0, first - (first % 10)), last: last + 10 - (last % 10) };
  useEffect(() => {
    if (items.length > 0) setRange({ first: step.first, last: step.last });
  }, [items.length, step.first, step.last]);

  // The row that has, or last had, the focus; and the one that gets it once it is on the page.
  const cursor = useRef<string | undefined>(positions.get(historyKey)?.runId);
  const cursorIndex = useRef(-1);
  const wanted = useRef<string | undefined>(cursor.current);
  const focusRow = (runId: string) => {
    const link = scroller.current?.querySelector<HTMLElement>(`[data-run="${runId}"]`);
    link?.focus({ preventScroll: true });
    return link !== null && link !== undefined;
  };
  useLayoutEffect(() => {
    if (wanted.current && focusRow(wanted.current)) wanted.current = undefined;
  });
  /** Where the cursor is: rows may have come above it. */
  const findCursor = () => {
    if (cursor.current === undefined) return -1;
    if (rowAt(cursorIndex.current)?.run_id === cursor.current) return cursorIndex.current;
    for (let index = range.first; index <= range.last + AHEAD; index++)
      if (rowAt(index)?.run_id === cursor.current) return index;
    return -1;
  };
  const move = (by: number) => {
    const at = findCursor();
    const next = at < 0 ? first : Math.min(count - 1, Math.max(0, at + by));
    const run = rowAt(next);
    if (!run) return;
    cursor.current = run.run_id;
    cursorIndex.current = next;
    virtual.scrollToIndex(next);
    wanted.current = focusRow(run.run_id) ? undefined : run.run_id;
    if (peeked !== null) onPeek(run.run_id);
  };
  const current = () => rowAt(findCursor());
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    Enter: () => {
      if (cursor.current) navigate(cursor.current + find, { state: { fromList: true } });
    },
    x: () => {
      const run = current();
      if (run) onSelect([run], !selected.has(run.run_id));
    },
    " ": () => {
      const run = current() ?? rowAt(first);
      if (run) onPeek(peeked === run.run_id ? null : run.run_id);
    },
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

  const shown = useMemo(() => shownColumns(columns, isNarrow ? 0 : width), [columns, isNarrow, width]);
  const setCursor = useCallback((runId: string) => {
    cursor.current = runId;
    cursorIndex.current = -1;
  }, []);

  // From the row that was chosen last to this one, where Shift is held.
  const anchor = useRef<string | undefined>(undefined);
  const latest = useRef({ loaded: runs.loaded, selected, onSelect });
  useEffect(() => {
    latest.current = { loaded: runs.loaded, selected, onSelect };
  });
  const select = useCallback((run: Run, extend: boolean) => {
    const { loaded, selected, onSelect } = latest.current;
    const from = loaded.findIndex(({ run_id }) => run_id === anchor.current);
    const to = loaded.findIndex(({ run_id }) => run_id === run.run_id);
    anchor.current = run.run_id;
    const isOn = !selected.has(run.run_id);
    if (extend && from >= 0 && to >= 0)
      onSelect(loaded.slice(Math.min(from, to), Math.max(from, to) + 1), isOn);
    else onSelect([run], isOn);
  }, []);

  const tracks = ["minmax(190px, 1fr)", ...shown.map((column) => column.width)].join(" ");
  const isCut = runs.count > most;
  return (
    <div ref={scroller} className={classes.scroller} data-stale={isStale || undefined}>
      <div
        ref={sized}
        role="table"
        aria-label="Runs"
        aria-rowcount={runs.hasMore ? -1 : count + 1}
        data-testid="run-list"
        className={classes.table}
        style={
          {
            "--tracks": tracks,
            "--least":
              shown.length > 0 && !isNarrow && width < leastWidth(shown) ? `${leastWidth(shown)}px` : "0",
          } as React.CSSProperties
        }
      >
        <div className={classes.head} role="row" aria-rowindex={1}>
          <span role="columnheader" className={classes.nameHead}>
            Run
          </span>
          {shown.map((column) => (
            <span
              key={column.id}
              role="columnheader"
              data-number={column.number || undefined}
              aria-sort={column.order ? sortOf(order, column.order) : undefined}
            >
              {column.order ? (
                <button
                  type="button"
                  className={classes.sort}
                  onClick={() => onOrder(nextOrder(order, column.order ?? ""))}
                >
                  {column.label}
                  <span aria-hidden="true">{ARROWS[sortOf(order, column.order)]}</span>
                </button>
              ) : (
                column.label
              )}
            </span>
          ))}
        </div>
        <div className={classes.rows} style={{ height: virtual.getTotalSize() }} role="rowgroup">
          {items.map((item) => {
            const run = rowAt(item.index);
            return run ? (
              <RunRow
                key={run.run_id}
                run={run}
                to={`/p/${projectId}/runs/${run.run_id}${find}`}
                top={item.start}
                height={item.size}
                index={item.index}
                columns={shown}
                words={words}
                selected={selected.has(run.run_id)}
                peeked={peeked === run.run_id}
                now={now}
                onFocus={setCursor}
                onSelect={select}
              />
            ) : (
              <div
                key={item.index}
                className={classes.waiting}
                role="row"
                aria-rowindex={item.index + 2}
                style={{ transform: `translateY(${item.start}px)`, height: item.size }}
              >
                <span role="cell">
                  <Skeleton h={10} w={160} animate={false} />
                </span>
              </div>
            );
          })}
        </div>
      </div>
      <div className={classes.foot} role="status">
        {runs.error ? (
          <Button size="compact-sm" variant="default" onClick={runs.retry}>
            More runs could not be loaded. Retry
          </Button>
        ) : runs.searchedTo !== null ? (
          <span>
            Searched back to {formatTime(runs.searchedTo)}; what was before would have taken too long.{" "}
            {runs.hasMore && (
              <Button size="compact-xs" variant="default" onClick={runs.goOn}>
                Search further back
              </Button>
            )}
          </span>
        ) : isCut ? (
          `The first ${formatCount(most)} runs. A shorter time range or another filter leads to the rest.`
        ) : runs.hasMore ? (
          "Loading more runs…"
        ) : (
          `${formatCount(count)} ${count === 1 ? "run" : "runs"}`
        )}
      </div>
    </div>
  );
}
