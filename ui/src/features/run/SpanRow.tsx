import { VisuallyHidden } from "@mantine/core";
import { memo } from "react";
import type { Status } from "@/api/types";
import { formatDuration, formatTime, formatTokens, UNKNOWN } from "@/components/format";
import { KindIcon } from "@/components/KindIcon";
import { StatusMark } from "@/components/StatusMark";
import type { RunTree, Stretch } from "./outline";
import classes from "./SpanTree.module.css";
import { bar, pathLine } from "./timing";

interface Props {
  tree: RunTree;
  place: number;
  top: number;
  height: number;
  /** Its number among its visible siblings, from 1 on, and how many they are. */
  position: number;
  siblings: number;
  shown: Stretch;
  runEnd: number;
  withPath: boolean;
  isOpen: boolean;
  isSelected: boolean;
  /** It is here for what stands below it. */
  isAside: boolean;
  onSelect: (spanId: string) => void;
  onToggle: (place: number, open: boolean) => void;
}

const INDENT = 14;
const MAX_INDENT = 18;
const LEAST_BAR = "2px";

/** One span: its place in the tree, its name, its time. */
export const SpanRow = memo(function SpanRow(props: Props) {
  const { tree, place, top, height, shown, runEnd, isOpen, isSelected, onSelect, onToggle } = props;
  const id = tree.ids[place] as string;
  const status = tree.status[place] as Status;
  const depth = tree.depth[place] as number;
  const start = tree.start[place] as number;
  const children = tree.children[place] as number;
  const errorsBelow = tree.errorsBelow[place] as number;
  const tokens = tree.tokens[place] as number;
  const ms = tree.duration[place] as number;
  const duration = ms >= 0 ? formatDuration(ms) : status === "running" ? "running" : UNKNOWN;
  const at = bar(start, ms, shown, runEnd);
  const stretches = props.withPath ? tree.path.get(place) : undefined;
  const model = tree.word.model(place);
  const name = tree.word.name(place) || "unnamed";
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree has the focus and handles the keys
    // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus, aria-activedescendant points here
    <div
      id={`span-${id}`}
      role="treeitem"
      aria-level={depth + 1}
      aria-posinset={props.position}
      aria-setsize={props.siblings}
      aria-expanded={children > 0 ? isOpen : undefined}
      aria-selected={isSelected}
      data-status={status}
      data-aside={props.isAside || undefined}
      data-testid="span-row"
      className={classes.row}
      style={{ transform: `translateY(${top}px)`, height }}
      onClick={() => onSelect(id)}
    >
      <span className={classes.name} style={{ paddingLeft: Math.min(depth, MAX_INDENT) * INDENT }}>
        {children > 0 ? (
          <button
            type="button"
            className={classes.toggle}
            tabIndex={-1}
            aria-hidden="true"
            data-testid="span-toggle"
            onClick={(event) => {
              event.stopPropagation();
              onToggle(place, !isOpen);
            }}
          >
            {isOpen ? "▾" : "▸"}
          </button>
        ) : (
          <span className={classes.toggle} />
        )}
        {status === "ok" ? <VisuallyHidden>ok</VisuallyHidden> : <StatusMark status={status} />}
        <span className={classes.kind}>
          <KindIcon kind={tree.word.kind(place)} size={15} />
        </span>
        <span className={classes.label} title={model && !name.includes(model) ? `${name} · ${model}` : name}>
          {name}
        </span>
        {stretches && <VisuallyHidden>on the critical path</VisuallyHidden>}
        {!isOpen && children > 0 && (
          <span className={classes.count}>
            {(tree.end[place] as number) - place - 1}
            {errorsBelow > 0 && <span className={classes.hiddenErrors}> · {errorsBelow} failed</span>}
          </span>
        )}
        {tokens >= 0 && (
          <span className={classes.tokens} title="Input and output tokens">
            {formatTokens(tokens)} tok
          </span>
        )}
      </span>
      <span
        className={classes.lane}
        aria-hidden="true"
        title={`${formatTime(new Date(tree.startedAt + start).toISOString())}, ${formatDuration(start)} after the start`}
      >
        {at.outside ? (
          <span className={classes.outside} data-side={at.outside}>
            {at.outside === "before" ? "‹" : "›"}
          </span>
        ) : (
          <span
            className={classes.bar}
            data-status={status}
            data-open={at.open || undefined}
            style={{
              // What is short at the very end is seen too: the lane cuts what is behind it.
              left: `min(${at.left * 100}%, 100% - ${LEAST_BAR})`,
              width: `max(${LEAST_BAR}, ${at.width * 100}%)`,
            }}
          />
        )}
        {stretches && (
          <svg className={classes.path} viewBox="0 0 2000 1" preserveAspectRatio="none" aria-hidden="true">
            <path d={pathLine(stretches, shown)} vectorEffect="non-scaling-stroke" />
          </svg>
        )}
      </span>
      <span className={classes.duration} data-unknown={duration === UNKNOWN || undefined}>
        {duration}
      </span>
    </div>
  );
});
