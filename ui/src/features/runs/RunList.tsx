import { Button, Skeleton } from "@mantine/core";
import { useElementSize, useMediaQuery, useMergedRef } from "@mantine/hooks";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useLocation, useNavigate } from "react-router";
import { RUN_PAGE, useRunWindow } from "@/api/runs";
import type { Run, RunFilter } from "@/api/types";
import type { Order } from "@/components/filters/filters";
import { formatCount, formatRuns, formatTime } from "@/components/format";
import { useAbsoluteTimes } from "@/components/times";
import { useKeys } from "@/components/useKeys";
import { useNow } from "@/components/useNow";
import {
  type Column,
  DATE_SPACE,
  GAP,
  type Layout,
  shownColumns,
  totalMinWidth,
  tracksOf,
  type Widths,
} from "./columns";
import { withWidth } from "./layout";
import classes from "./RunList.module.css";
import { RunListHead } from "./RunListHead";
import { RunRow } from "./RunRow";
import { isSelected, NO_SELECTION, type Selection, selectionOfLoaded, shareOf } from "./selection";

interface Props {
  filter: RunFilter;
  projectId: string;
  /** Rows of the previous filter, shown until the new ones load. */
  stale: Run[] | null;
  /** Current runs by id, where newer than the list. */
  changed: ReadonlyMap<string, Run>;
  /** How often the reader loaded new runs. Each time scrolls to the top. */
  reloads: number;
  /** Called when the list reaches or leaves its top. */
  onTop: (isAtTop: boolean) => void;
  layout: Layout;
  onLayout: (layout: Layout) => void;
  order: Order | null;
  onOrder: (order: Order | null) => void;
  words: readonly string[];
  /** The search, as the query of a run's address. */
  find: string;
  selection: Selection;
  onSelect: (runs: Run[], select: boolean) => void;
  onSelection: (selection: Selection) => void;
  previewed: string | null;
  onPreview: (runId: string | null) => void;
}

interface Position {
  offset: number;
  runId: string | undefined;
}

// The position of each history entry, so that "back" shows the same rows.
const positions = new Map<string, Position>();

// Browsers limit an element's height to about 33 million pixels.
const MAX_HEIGHT = 30_000_000;
// The widest that a column becomes by itself, in pixels.
const MAX_FIT = 600;
// Rows to load before they become visible.
const PREFETCH = 40;

/** The virtual list: j and k move, Enter opens, x selects, Space shows the preview. Loads more rows near the end. */
export function RunList({
  filter,
  projectId,
  stale,
  changed,
  reloads,
  onTop,
  layout,
  onLayout,
  order,
  onOrder,
  words,
  find,
  selection,
  onSelect,
  onSelection,
  previewed,
  onPreview,
}: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const { ref: sized, width } = useElementSize();
  const setScroller = useMergedRef(scroller, sized);
  const isNarrow = useMediaQuery("(max-width: 48em)", false, { getInitialValueInEffect: false });
  const historyKey = useLocation().key;
  const navigate = useNavigate();
  const now = useNow(5_000);

  const rowHeight = isNarrow ? 58 : 36;
  const start = Math.floor((positions.get(historyKey)?.offset ?? 0) / rowHeight);
  const [range, setRange] = useState({ first: start, last: start + RUN_PAGE - 1 });
  // Most visits end on the first page: the next one is loaded once the reader scrolls.
  const [hasScrolled, setHasScrolled] = useState(start > 0);
  const ahead = hasScrolled ? PREFETCH : 0;
  const runs = useRunWindow(filter, range.first, range.last + ahead);
  const isStale = stale !== null;
  const maxRows = Math.floor(MAX_HEIGHT / rowHeight);
  const count = isStale ? stale.length : Math.min(maxRows, runs.count);
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
  // biome-ignore lint/correctness/useExhaustiveDependencies: only the row height changes the sizes
  useEffect(() => virtual.measure(), [rowHeight]);

  const items = virtual.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  // Move the range in steps: one row rarely changes the pages.
  const step = { first: Math.max(0, first - (first % 10)), last: last + 10 - (last % 10) };
  useEffect(() => {
    if (items.length > 0) setRange({ first: step.first, last: step.last });
  }, [items.length, step.first, step.last]);
  const isScrolled = (virtual.scrollOffset ?? 0) > 0;
  useEffect(() => {
    if (isScrolled) setHasScrolled(true);
  }, [isScrolled]);

  // The row with the focus, or the last one; and the row to focus once it is rendered.
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
  /** The cursor's index. New rows above may have moved it. */
  const findCursor = () => {
    if (cursor.current === undefined) return -1;
    if (rowAt(cursorIndex.current)?.run_id === cursor.current) return cursorIndex.current;
    for (let index = range.first; index <= range.last + ahead; index++)
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
    if (previewed !== null) onPreview(run.run_id);
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
      if (run) onSelect([run], !isSelected(selection, run));
    },
    " ": () => {
      const run = current() ?? rowAt(first);
      if (run) onPreview(previewed === run.run_id ? null : run.run_id);
    },
  });

  const shownReloads = useRef(reloads);
  useEffect(() => {
    if (shownReloads.current === reloads) return;
    shownReloads.current = reloads;
    cursor.current = undefined;
    scroller.current?.scrollTo({ top: 0 });
  }, [reloads]);

  const isAtTop = (virtual.scrollOffset ?? 0) < rowHeight / 2;
  useEffect(() => onTop(isAtTop), [onTop, isAtTop]);

  // A layout effect, because the offset is lost once the list is removed.
  useLayoutEffect(() => {
    const element = scroller.current;
    return () => {
      positions.set(historyKey, { offset: element?.scrollTop ?? 0, runId: cursor.current });
    };
  }, [historyKey]);

  const { columns, widths } = layout;
  const forDates = useAbsoluteTimes() && columns.includes("age") && widths.age === undefined ? DATE_SPACE : 0;
  const shown = useMemo(
    () => shownColumns(columns, isNarrow ? 0 : width - forDates),
    [columns, isNarrow, width, forDates],
  );
  const setCursor = useCallback((runId: string) => {
    cursor.current = runId;
    cursorIndex.current = -1;
  }, []);

  // Shift selects all rows between the last selected one and this one.
  const anchor = useRef<string | undefined>(undefined);
  const latest = useRef({ loaded: runs.loaded, selection, onSelect });
  useEffect(() => {
    latest.current = { loaded: runs.loaded, selection, onSelect };
  });
  const select = useCallback((run: Run, extend: boolean) => {
    const { loaded, selection, onSelect } = latest.current;
    const from = loaded.findIndex(({ run_id }) => run_id === anchor.current);
    const to = loaded.findIndex(({ run_id }) => run_id === run.run_id);
    anchor.current = run.run_id;
    const isOn = !isSelected(selection, run);
    if (extend && from >= 0 && to >= 0)
      onSelect(loaded.slice(Math.min(from, to), Math.max(from, to) + 1), isOn);
    else onSelect([run], isOn);
  }, []);

  const table = useRef<HTMLDivElement>(null);
  const styleOf = (changed: Widths) => ({
    "--tracks": tracksOf(shown, changed),
    "--min-width": isNarrow ? "0" : `${totalMinWidth(shown, changed) + forDates}px`,
  });
  // Dragging an edge sets the style alone, so that no row is rendered.
  const drag = (id: string, dragged: number | null) => {
    const style = styleOf(dragged === null ? widths : withWidth(widths, id, dragged));
    for (const [name, value] of Object.entries(style)) table.current?.style.setProperty(name, value);
  };
  const isCut = runs.count > maxRows;
  return (
    <div ref={setScroller} className={classes.scroller} data-stale={isStale || undefined}>
      <div
        ref={table}
        role="table"
        aria-label="Runs"
        aria-rowcount={runs.hasMore ? -1 : count + 1}
        data-testid="run-list"
        className={classes.table}
        style={styleOf(widths) as React.CSSProperties}
      >
        <RunListHead
          columns={shown}
          widths={widths}
          onDrag={drag}
          onWidth={(id, chosen) => onLayout({ ...layout, widths: withWidth(widths, id, chosen) })}
          fitting={(id) => fittingWidth(table.current, id, shown)}
          order={order}
          onOrder={onOrder}
          selection={isStale ? null : shareOf(selection, runs.known)}
          onSelectAll={(isOn) => onSelection(isOn ? selectionOfLoaded(runs.known()) : NO_SELECTION)}
        />
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
                selected={isSelected(selection, run)}
                previewed={previewed === run.run_id}
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
            Couldn't load more runs. Retry
          </Button>
        ) : runs.searchedTo !== null ? (
          <span>
            Searched back to {formatTime(runs.searchedTo)}. Searching earlier runs would take too long.{" "}
            {runs.hasMore && (
              <Button size="compact-xs" variant="default" onClick={runs.searchFurther}>
                Search further back
              </Button>
            )}
          </span>
        ) : isCut ? (
          `Showing the first ${formatCount(maxRows)} runs. Choose a shorter time range or another filter to see the others.`
        ) : runs.hasMore ? (
          "Loading more runs…"
        ) : (
          formatRuns(count)
        )}
      </div>
    </div>
  );
}

/** The width that shows the rendered texts of a column whole, with its head, but no less than the column's own minimum. */
function fittingWidth(table: HTMLElement | null, id: string, columns: readonly Column[]): number {
  const of = (attribute: string) => `[${attribute}="${CSS.escape(id)}"]`;
  const cells = [...(table?.querySelectorAll<HTMLElement>(`${of("data-column")}, ${of("data-head")}`) ?? [])];
  for (const cell of cells) cell.style.width = "max-content";
  const least = (columns.find((column) => column.id === id)?.minWidth ?? GAP) - GAP;
  const widest = Math.max(least, ...cells.map((cell) => cell.offsetWidth + 1));
  for (const cell of cells) cell.style.width = "";
  return Math.min(widest, MAX_FIT);
}
