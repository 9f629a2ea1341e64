import { Button, Text } from "@mantine/core";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { formatCount } from "@/components/format";
import { useKeys } from "@/components/useKeys";
import { Minimap } from "./Minimap";
import { NameSplitter } from "./NameSplitter";
import { nameWidth } from "./nameWidth";
import {
  allClosed,
  findSpans,
  type RunTree,
  rowOf,
  rowsPushed,
  type SpanFilter,
  siblingsOf,
  visibleIndices,
} from "./outline";
import { PathLegend } from "./PathLegend";
import type { Place } from "./place";
import { SpanRow } from "./SpanRow";
import { SpanTools } from "./SpanTools";
import classes from "./SpanTree.module.css";
import { around, pan, ticks, zoom } from "./timing";
import { useInitialFocus } from "./useInitialFocus";
import { useKeptScroll } from "./useKeptScroll";
import { useRowWindow } from "./useRowWindow";
import { useStoredShare } from "./useStoredShare";
import { useTimeWindow } from "./useTimeWindow";
import { useWidth } from "./useWidth";

const ROW = 28;

interface Props {
  tree: RunTree;
  /** The run's length in milliseconds. */
  runEnd: number;
  closed: ReadonlySet<string>;
  onClosedChange: (closed: ReadonlySet<string>) => void;
  selectedId: string | undefined;
  onSelect: (spanId: string) => void;
  /** Moves to the details of the selected span. */
  onEnter: () => void;
  onJump: (step: 1 | -1) => void;
  errorCount: number;
  scroller: React.RefObject<HTMLDivElement | null>;
  place: Place;
}

/** The spans as a tree with a waterfall. Renders only the rows in view, however many there are. */
export function SpanTree(props: Props) {
  const { tree, runEnd, closed, onClosedChange, selectedId, onSelect, scroller, place } = props;
  const root = useRef<HTMLDivElement>(null);
  const axis = useRef<HTMLDivElement>(null);
  const lane = useRef<HTMLDivElement>(null);
  const search = useRef<HTMLInputElement>(null);
  const [filter, setFilter] = useState<SpanFilter>({ text: "", only: "" });
  const [withPath, setWithPath] = useState(true);
  const time = useTimeWindow(scroller, axis, lane, runEnd, place);
  const { shown, show, showAll } = time;

  const found = useMemo(() => findSpans(tree, filter), [tree, filter]);
  const visible = useMemo(() => visibleIndices(tree, closed, found), [tree, closed, found]);
  const siblings = useMemo(() => siblingsOf(tree, visible), [tree, visible]);
  const matches = useMemo(() => found?.reduce((sum, flag) => sum + flag, 0), [found]);
  const kinds = useMemo(() => kindsOf(tree), [tree]);
  const laneWidth = useWidth(lane);
  const marks = useMemo(() => ticks(shown, laneWidth), [shown, laneWidth]);
  const [names, setNames] = useStoredShare("looptrace.run-names");
  const wanted = useMemo(() => nameWidth(tree), [tree]);
  const rows = useRowWindow(scroller, visible.length, ROW);

  const selectedIndex = selectedId === undefined ? undefined : tree.indexById.get(selectedId);
  const selectedRow = rowOf(visible, selectedIndex);
  const scrollToRow = useCallback(
    (row: number) => {
      const element = scroller.current;
      if (!element) return;
      const top = row * ROW;
      const bottom = top + ROW - element.clientHeight;
      const isNear = top > element.scrollTop - 2 * ROW && bottom < element.scrollTop + 2 * ROW;
      if (!isNear) element.scrollTop = top - element.clientHeight / 2;
      else element.scrollTop = Math.min(top, Math.max(bottom, element.scrollTop));
    },
    [scroller],
  );
  useKeptScroll(scroller, place, "tree");
  // Scroll to the selection when it changes, not when more spans arrive or the reader comes back.
  const shownId = useRef(place.scroll.has("tree") ? selectedId : undefined);
  useEffect(() => {
    if (selectedRow < 0 || shownId.current === selectedId) return;
    shownId.current = selectedId;
    scrollToRow(selectedRow);
  }, [selectedRow, selectedId, scrollToRow]);

  // Keep the rows on the screen in place when more spans arrive.
  const before = useRef({ tree, visible });
  useLayoutEffect(() => {
    const last = before.current;
    before.current = { tree, visible };
    const element = scroller.current;
    if (last.tree === tree || !element) return;
    const by = rowsPushed(
      last,
      before.current,
      selectedId,
      element.scrollTop / ROW,
      element.clientHeight / ROW,
    );
    if (by !== 0) element.scrollTop += by * ROW;
  }, [tree, visible, selectedId, scroller]);

  useInitialFocus(scroller);

  const setOpen = useCallback(
    (index: number, open: boolean) => {
      const next = new Set(closed);
      if (open) next.delete(tree.ids[index] as string);
      else next.add(tree.ids[index] as string);
      onClosedChange(next);
    },
    [tree, closed, onClosedChange],
  );
  const isOpen = (index: number) => found !== undefined || !closed.has(tree.ids[index] as string);

  const middle = (shown.from + shown.to) / 2;
  const zoomBy = (factor: number) => show(zoom(shown, factor, middle, runEnd));
  const zoomToSelected = () => {
    if (selectedIndex === undefined) return;
    const duration = tree.duration[selectedIndex] as number;
    const start = tree.start[selectedIndex] as number;
    show(around(start, duration >= 0 ? duration : runEnd - start, runEnd));
  };
  useKeys({
    "/": () => search.current?.focus(),
    "+": () => zoomBy(0.5),
    "=": () => zoomBy(0.5),
    "-": () => zoomBy(2),
    "0": showAll,
    z: zoomToSelected,
    c: () => setWithPath(!withPath),
  });
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    if (event.shiftKey && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      event.preventDefault();
      show(pan(shown, event.key === "ArrowLeft" ? -0.2 : 0.2, runEnd));
      return;
    }
    if (event.key === "Enter") {
      event.preventDefault();
      props.onEnter();
      return;
    }
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / ROW) - 1);
    const target = keyTarget(event.key, tree, visible, selectedRow, isOpen, page);
    if (target === undefined) return;
    event.preventDefault();
    if (target === "open" || target === "close") {
      if (selectedIndex !== undefined && !found) setOpen(selectedIndex, target === "open");
    } else if (target !== null) onSelect(tree.ids[target] as string);
  };
  const stopFiltering = () => {
    setFilter({ text: "", only: "" });
    scroller.current?.focus();
  };

  // In the order of the slots, so that a jump changes texts and positions but creates and moves no elements.
  // aria-owns gives assistive technology the order of the rows.
  const rendered: React.ReactNode[] = [];
  for (let slot = 0; slot < rows.slots; slot++) {
    const row = rows.first + ((((slot - rows.first) % rows.slots) + rows.slots) % rows.slots);
    if (row >= rows.last) continue;
    const index = visible[row] as number;
    const id = tree.ids[index] as string;
    rendered.push(
      <SpanRow
        key={slot}
        tree={tree}
        index={index}
        top={row * ROW}
        height={ROW}
        position={siblings.position(index)}
        siblings={siblings.count(index)}
        shown={shown}
        runEnd={runEnd}
        withPath={withPath}
        isOpen={isOpen(index)}
        isSelected={id === selectedId}
        isContext={found !== undefined && !found[index]}
        onSelect={onSelect}
        onToggle={setOpen}
      />,
    );
  }

  const inOrder = Array.from(
    visible.subarray(rows.first, rows.last),
    (index) => `span-${tree.ids[index]}`,
  ).join(" ");

  const someClosed = closed.size > 0;
  return (
    <div
      ref={root}
      className={classes.root}
      style={
        {
          "--names": names === undefined ? `clamp(34cqw, ${wanted}px, 58cqw)` : `calc(${names}cqw - 13px)`,
        } as React.CSSProperties
      }
    >
      <SpanTools
        search={search}
        filter={filter}
        onFilter={setFilter}
        onStop={stopFiltering}
        onFirst={() => {
          const first = found?.indexOf(1) ?? -1;
          if (first >= 0) onSelect(tree.ids[first] as string);
          scroller.current?.focus();
        }}
        kinds={kinds}
        errorCount={props.errorCount}
        onJump={props.onJump}
        withPath={withPath}
        onWithPath={setWithPath}
        isWhole={time.isWhole}
        onZoom={zoomBy}
        onShowAll={showAll}
      />
      <Minimap
        tree={tree}
        runEnd={runEnd}
        shown={shown}
        isWhole={time.isWhole}
        onShow={show}
        onShowAll={showAll}
      />
      <div className={classes.axis}>
        <span className={classes.counts}>
          <Text size="xs" c="dimmed" role="status" data-testid="span-count">
            {matches === undefined
              ? `${formatCount(tree.size)} ${tree.size === 1 ? "span" : "spans"}`
              : `${formatCount(matches)} of ${formatCount(tree.size)} spans`}
            {tree.partial && " (only the first ones)"}
          </Text>
          {tree.size > 1 && !found && (
            <Button
              size="compact-xs"
              variant="subtle"
              color="gray"
              onClick={() => onClosedChange(someClosed ? new Set() : allClosed(tree))}
            >
              {someClosed ? "Expand all" : "Collapse all"}
            </Button>
          )}
          {found && (
            <Button size="compact-xs" variant="subtle" color="gray" onClick={stopFiltering}>
              Show all
            </Button>
          )}
        </span>
        <div ref={axis} className={classes.marks} aria-hidden="true" title="Drag to zoom">
          <div ref={lane} className={classes.ruler}>
            {marks.map((mark) => (
              <span
                key={mark.at}
                className={classes.mark}
                style={{ left: part(mark.at - shown.from, shown) }}
              >
                {mark.label}
              </span>
            ))}
            {time.dragged && (
              <span
                className={classes.dragged}
                style={{
                  left: part(time.dragged.from - shown.from, shown),
                  width: part(time.dragged.to - time.dragged.from, shown),
                }}
              />
            )}
          </div>
        </div>
        <span />
        <NameSplitter root={root} lane={lane} share={names} onShare={setNames} />
      </div>
      {visible.length === 0 && (
        <Text c="dimmed" size="sm" p="md">
          {tree.size === 0 ? "This run has no spans yet." : "No spans match."}
        </Text>
      )}
      {/* The axis leaves room for the scroll bar of the rows. */}
      <div
        ref={scroller}
        className={classes.scroller}
        role="tree"
        tabIndex={0}
        aria-label="Spans"
        aria-owns={inOrder || undefined}
        aria-activedescendant={
          selectedRow >= rows.first && selectedRow < rows.last ? `span-${selectedId}` : undefined
        }
        onKeyDown={onKeyDown}
        data-testid="span-tree"
        data-from={shown.from}
        data-to={shown.to}
      >
        <div className={classes.rows} style={{ height: visible.length * ROW }} role="presentation">
          {rendered}
        </div>
      </div>
      {withPath && <PathLegend tree={tree} onSelect={onSelect} />}
    </div>
  );
}

function part(ms: number, shown: { from: number; to: number }): string {
  return `${(ms / (shown.to - shown.from)) * 100}%`;
}

function kindsOf(tree: RunTree): string[] {
  const kinds = new Set<string>();
  for (let index = 0; index < tree.size; index++) kinds.add(tree.text.kind(index));
  return [...kinds].sort();
}

/** What a key does: select another span, open or close the current one. Undefined for other keys. */
function keyTarget(
  key: string,
  tree: RunTree,
  visible: Int32Array,
  row: number,
  isOpen: (index: number) => boolean,
  page: number,
): number | "open" | "close" | null | undefined {
  const at = (wanted: number) => visible[Math.max(0, Math.min(visible.length - 1, wanted))] ?? null;
  const index = visible[row];
  const hasChildren = index !== undefined && (tree.children[index] as number) > 0;
  switch (key) {
    case "ArrowDown":
    case "j":
      return at(row + 1);
    case "ArrowUp":
    case "k":
      return at(row - 1);
    case "PageDown":
      return at(row + page);
    case "PageUp":
      return at(row - page);
    case "Home":
      return at(0);
    case "End":
      return at(visible.length - 1);
    case "ArrowRight":
      if (!hasChildren) return null;
      return isOpen(index) ? at(row + 1) : "open";
    case "ArrowLeft": {
      if (hasChildren && isOpen(index)) return "close";
      const parent = index === undefined ? -1 : (tree.parent[index] as number);
      return parent >= 0 ? parent : null;
    }
    default:
      return undefined;
  }
}
