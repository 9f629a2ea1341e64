import { VisuallyHidden } from "@mantine/core";
import { memo } from "react";
import type { Status } from "@/api/types";
import { formatDuration, formatTime, formatTokens, UNKNOWN } from "@/components/format";
import { KindIcon } from "@/components/KindIcon";
import { StatusMark } from "@/components/StatusMark";
import { MAX_INDENT } from "./nameWidth";
import type { Interval, RunTree } from "./outline";
import classes from "./SpanTree.module.css";
import { modelBesideName } from "./spanModel";
import { bar, pathLine } from "./timing";

interface Props {
  tree: RunTree;
  index: number;
  top: number;
  height: number;
  /** Its position among its visible siblings, from 1, and their number. */
  position: number;
  siblings: number;
  shown: Interval;
  runEnd: number;
  withPath: boolean;
  isOpen: boolean;
  isSelected: boolean;
  /** Shown only because a descendant matches the filter. */
  isContext: boolean;
  onSelect: (spanId: string) => void;
  onToggle: (index: number, open: boolean) => void;
}

const INDENT = 14;
const MIN_BAR = "2px";

/** A span as a row of the tree and the waterfall. */
export const SpanRow = memo(function SpanRow(props: Props) {
  const { tree, index, top, height, shown, runEnd, isOpen, isSelected, onSelect, onToggle } = props;
  const id = tree.ids[index] as string;
  const status = tree.status[index] as Status;
  const depth = tree.depth[index] as number;
  const start = tree.start[index] as number;
  const children = tree.children[index] as number;
  const errorsBelow = tree.errorsBelow[index] as number;
  const tokens = tree.tokens[index] as number;
  const ms = tree.duration[index] as number;
  const duration = ms >= 0 ? formatDuration(ms) : status === "running" ? "running" : UNKNOWN;
  const at = bar(start, ms, shown, runEnd);
  const intervals = props.withPath ? tree.path.get(index) : undefined;
  const name = tree.text.name(index) || "unnamed";
  const model = tree.text.model(index);
  const shownModel = modelBesideName(tree.text.kind(index), name, model);
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
      data-context={props.isContext || undefined}
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
              onToggle(index, !isOpen);
            }}
          >
            {isOpen ? "▾" : "▸"}
          </button>
        ) : (
          <span className={classes.toggle} />
        )}
        {status === "ok" ? <VisuallyHidden>ok</VisuallyHidden> : <StatusMark status={status} />}
        <span className={classes.kind}>
          <KindIcon kind={tree.text.kind(index)} size={15} />
        </span>
        <span
          className={classes.label}
          dir="auto"
          title={model && !name.includes(model) ? `${name} · ${model}` : name}
        >
          {name}
          {shownModel && <span className={classes.model}> · {shownModel}</span>}
        </span>
        {intervals && <VisuallyHidden>on the critical path</VisuallyHidden>}
        {!isOpen && children > 0 && (
          <span className={classes.count}>
            {(tree.end[index] as number) - index - 1}
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
              // Keeps short bars at the end visible: the lane cuts what overflows.
              left: `min(${at.left * 100}%, 100% - ${MIN_BAR})`,
              width: `max(${MIN_BAR}, ${at.width * 100}%)`,
            }}
          />
        )}
        {intervals && (
          <svg className={classes.path} viewBox="0 0 2000 1" preserveAspectRatio="none" aria-hidden="true">
            <path d={pathLine(intervals, shown)} vectorEffect="non-scaling-stroke" />
          </svg>
        )}
      </span>
      <span className={classes.duration} data-unknown={duration === UNKNOWN || undefined}>
        {duration}
      </span>
    </div>
  );
});
