import { useMemo, useRef, useState } from "react";
import { formatDuration } from "@/components/format";
import { followPointer } from "./followPointer";
import classes from "./Minimap.module.css";
import type { Interval, RunTree } from "./outline";
import { type Edge, hasOverview, keyOfEdge, keyOfWindow, moveEdge, OVERVIEW, overviewOf } from "./overview";
import { pan } from "./timing";

/** How many pixels a pointer may move during a click. */
const CLICK_TOLERANCE = 4;

interface Props {
  tree: RunTree;
  /** The run's length in milliseconds. */
  runEnd: number;
  shown: Interval;
  isWhole: boolean;
  onShow: (interval: Interval) => void;
  onShowAll: () => void;
}

/** The whole run in a strip, and which part of it the waterfall shows. The part can be dragged and resized. Nothing for a small run. */
export function Minimap(props: Props) {
  const { tree, runEnd } = props;
  const drawing = useMemo(() => (hasOverview(tree) ? overviewOf(tree, runEnd) : undefined), [tree, runEnd]);
  if (!drawing) return null;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms
    <div role="group" aria-label="Overview of the run" className={classes.root} data-testid="minimap">
      <svg
        className={classes.drawing}
        viewBox={`0 0 ${OVERVIEW.columns} ${OVERVIEW.lanes}`}
        preserveAspectRatio="none"
        aria-hidden="true"
      >
        <path className={classes.spans} d={drawing.spans} />
        <path className={classes.errors} d={drawing.errors} />
      </svg>
      <Window {...props} />
    </div>
  );
}

function Window({ runEnd, shown, isWhole, onShow, onShowAll }: Props) {
  const strip = useRef<HTMLDivElement>(null);
  const [picked, setPicked] = useState<Interval>();
  const momentAt = (x: number) => {
    const box = strip.current?.getBoundingClientRect();
    if (!box || box.width === 0) return 0;
    return Math.min(1, Math.max(0, (x - box.left) / box.width)) * runEnd;
  };
  const onEdgeDown = (edge: Edge) => (down: React.PointerEvent) => {
    if (down.button !== 0 || !strip.current) return;
    down.stopPropagation();
    followPointer(down.nativeEvent, strip.current, (move) =>
      onShow(moveEdge(shown, edge, momentAt(move.clientX), runEnd)),
    );
  };
  const onWindowDown = (down: React.PointerEvent) => {
    // In the whole run there is nothing to move: the strip picks a part of it.
    if (down.button !== 0 || isWhole || !strip.current) return;
    down.stopPropagation();
    const length = shown.to - shown.from;
    const begin = momentAt(down.clientX);
    followPointer(down.nativeEvent, strip.current, (move) =>
      onShow(pan(shown, (momentAt(move.clientX) - begin) / length, runEnd)),
    );
  };
  const onStripDown = (down: React.PointerEvent) => {
    if (down.button !== 0 || !strip.current) return;
    const begin = momentAt(down.clientX);
    let interval: Interval | undefined;
    followPointer(down.nativeEvent, strip.current, (move) => {
      const now = momentAt(move.clientX);
      interval =
        Math.abs(move.clientX - down.clientX) > CLICK_TOLERANCE
          ? { from: Math.min(begin, now), to: Math.max(begin, now) }
          : undefined;
      setPicked(interval);
    }).then(() => {
      setPicked(undefined);
      if (interval) onShow(interval);
      // A click outside the window moves it there.
      else if (!isWhole)
        onShow(pan(shown, (begin - (shown.from + shown.to) / 2) / (shown.to - shown.from), runEnd));
    });
  };
  const onKey = (read: (key: string) => Interval | undefined) => (event: React.KeyboardEvent) => {
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    const next = read(event.key);
    if (!next) return;
    event.preventDefault();
    onShow(next);
  };
  const share = (ms: number) => `${(ms / runEnd) * 100}%`;
  const edge = (which: Edge, label: string) => (
    <span
      className={classes.edge}
      data-edge={which}
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={runEnd}
      aria-valuenow={shown[which]}
      aria-valuetext={formatDuration(shown[which])}
      style={{ left: share(shown[which]) }}
      onPointerDown={onEdgeDown(which)}
      onKeyDown={onKey((key) => keyOfEdge(key, shown, which, runEnd))}
    />
  );
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the sliders in it do the same by keyboard
    <div
      ref={strip}
      className={classes.strip}
      onPointerDown={onStripDown}
      onDoubleClick={onShowAll}
      title="Drag to choose a part, double-click for the whole run"
    >
      <span className={classes.outside} style={{ left: 0, width: share(shown.from) }} />
      <span className={classes.outside} style={{ left: share(shown.to), right: 0 }} />
      <span
        className={classes.window}
        data-whole={isWhole || undefined}
        role="slider"
        tabIndex={0}
        aria-label="Visible part of the run"
        aria-valuemin={0}
        aria-valuemax={runEnd}
        aria-valuenow={shown.from}
        aria-valuetext={
          isWhole ? "The whole run" : `${formatDuration(shown.from)} to ${formatDuration(shown.to)}`
        }
        style={{ left: share(shown.from), width: share(shown.to - shown.from) }}
        onPointerDown={onWindowDown}
        onKeyDown={onKey((key) => keyOfWindow(key, shown, runEnd))}
      />
      {edge("from", "Start of the visible part")}
      {edge("to", "End of the visible part")}
      {picked && (
        <span
          className={classes.picked}
          style={{ left: share(picked.from), width: share(picked.to - picked.from) }}
        />
      )}
    </div>
  );
}
