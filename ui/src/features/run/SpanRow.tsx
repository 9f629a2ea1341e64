import { VisuallyHidden } from "@mantine/core";
import { memo } from "react";
import { formatDuration, formatTime, UNKNOWN } from "@/components/format";
import { KindIcon } from "@/components/KindIcon";
import { StatusMark } from "@/components/StatusMark";
import classes from "./SpanTree.module.css";
import { bar, type Timeline } from "./timing";
import type { Node } from "./tree";

interface Props {
  node: Node;
  top: number;
  height: number;
  whole: Timeline;
  isOpen: boolean;
  isSelected: boolean;
  onSelect: (spanId: string) => void;
  onToggle: (node: Node, open: boolean) => void;
}

const INDENT = 14;
const MAX_INDENT = 18;

/** One span: its place in the tree, its name, its time. */
export const SpanRow = memo(
  function SpanRow({ node, top, height, whole, isOpen, isSelected, onSelect, onToggle }: Props) {
    const { span } = node;
    const hasChildren = node.children.length > 0;
    const place = bar(span, whole);
    const duration =
      span.status === "running" && span.duration_ms === null ? "running" : formatDuration(span.duration_ms);
    const hidden = !isOpen && node.errorsBelow > 0;
    return (
      // biome-ignore lint/a11y/useKeyWithClickEvents: the tree has the focus and handles the keys
      // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus, aria-activedescendant points here
      <div
        id={`span-${span.span_id}`}
        role="treeitem"
        aria-level={node.depth + 1}
        aria-expanded={hasChildren ? isOpen : undefined}
        aria-selected={isSelected}
        data-status={span.status}
        data-testid="span-row"
        className={classes.row}
        style={{ transform: `translateY(${top}px)`, height }}
        onClick={() => onSelect(span.span_id)}
      >
        <span className={classes.name} style={{ paddingLeft: Math.min(node.depth, MAX_INDENT) * INDENT }}>
          {hasChildren ? (
            <button
              type="button"
              className={classes.toggle}
              tabIndex={-1}
              aria-hidden="true"
              data-testid="span-toggle"
              onClick={(event) => {
                event.stopPropagation();
                onToggle(node, !isOpen);
              }}
            >
              {isOpen ? "▾" : "▸"}
            </button>
          ) : (
            <span className={classes.toggle} />
          )}
          {span.status === "ok" ? <VisuallyHidden>ok</VisuallyHidden> : <StatusMark status={span.status} />}
          <span className={classes.kind}>
            <KindIcon kind={span.kind} size={15} />
          </span>
          <span className={classes.label}>{span.name || "unnamed"}</span>
          {!isOpen && hasChildren && (
            <span className={classes.count}>
              {node.children.length}
              {hidden && <span className={classes.hiddenErrors}> · {node.errorsBelow} failed</span>}
            </span>
          )}
        </span>
        <span className={classes.lane} aria-hidden="true" title={formatTime(span.start_time)}>
          <span
            className={classes.bar}
            data-status={span.status}
            data-open={place.open || undefined}
            style={{ left: `${place.left * 100}%`, width: `max(2px, ${place.width * 100}%)` }}
          />
        </span>
        <span className={classes.duration} data-unknown={duration === UNKNOWN || undefined}>
          {duration}
        </span>
      </div>
    );
  },
  (a, b) =>
    a.node === b.node &&
    a.top === b.top &&
    a.whole === b.whole &&
    a.isOpen === b.isOpen &&
    a.isSelected === b.isSelected &&
    a.onSelect === b.onSelect &&
    a.onToggle === b.onToggle,
);
