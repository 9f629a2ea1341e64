import { useState } from "react";
import { followPointer } from "./followPointer";
import classes from "./SpanTree.module.css";

/** The least and the most of the width that names have, in percent. */
const NAMES = { least: 20, most: 80 };

/** Pixels between the names and the lanes. */
const GAP = 10;

interface Props {
  /** The pane and the lanes in it. */
  root: React.RefObject<HTMLElement | null>;
  lane: React.RefObject<HTMLElement | null>;
  /** In percent of the pane; undefined for what the names need. */
  share: number | undefined;
  onShare: (share: number | undefined) => void;
}

/** Moves the border between the names and the waterfall. */
export function NameSplitter({ root, lane, share, onShare }: Props) {
  const [measured, setMeasured] = useState(50);
  const now = () => {
    const [pane, lanes] = [root.current?.getBoundingClientRect(), lane.current?.getBoundingClientRect()];
    return pane && lanes && pane.width > 0
      ? ((lanes.left - GAP / 2 - pane.left) / pane.width) * 100
      : measured;
  };
  const move = (to: number) => onShare(Math.min(NAMES.most, Math.max(NAMES.least, to)));
  return (
    // biome-ignore lint/a11y/useSemanticElements: a rule can't be moved
    <div
      className={classes.nameSplitter}
      role="separator"
      tabIndex={0}
      aria-label="Width of the names"
      aria-orientation="vertical"
      aria-valuemin={NAMES.least}
      aria-valuemax={NAMES.most}
      aria-valuenow={Math.round(share ?? measured)}
      title="Drag to resize, double-click to reset"
      onFocus={() => setMeasured(now())}
      onPointerDown={(down) => {
        const pane = root.current;
        if (down.button !== 0 || !pane) return;
        down.preventDefault();
        down.currentTarget.focus();
        const box = pane.getBoundingClientRect();
        followPointer(down.nativeEvent, pane, (event) =>
          move(((event.clientX - box.left) / box.width) * 100),
        );
      }}
      onDoubleClick={() => onShare(undefined)}
      onKeyDown={(event) => {
        const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (by === undefined && event.key !== "Home" && event.key !== "End") return;
        event.preventDefault();
        if (by !== undefined) move(now() + by * (event.shiftKey ? 10 : 2));
        else move(event.key === "Home" ? NAMES.least : NAMES.most);
      }}
    />
  );
}
