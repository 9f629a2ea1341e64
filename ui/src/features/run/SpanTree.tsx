import { Button, Progress, Text } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useMemo, useRef } from "react";
import { formatCount, formatDuration } from "@/components/format";
import { ProblemPanel } from "@/components/ProblemPanel";
import { useNow } from "@/components/useNow";
import { SpanRow } from "./SpanRow";
import classes from "./SpanTree.module.css";
import { ticks, timeline } from "./timing";
import { type Node, rowsPushed, type Tree, visibleNodes } from "./tree";

const ROW = 28;

interface Props {
  tree: Tree;
  closed: ReadonlySet<string>;
  onClosedChange: (closed: ReadonlySet<string>) => void;
  selectedId: string | undefined;
  onSelect: (spanId: string) => void;
  isRunning: boolean;
  isLoading: boolean;
  loaded: number;
  total: number;
  error: Error | null;
  onRetry: () => void;
  onNextError: () => void;
  errorCount: number;
}

/** The spans as a tree with a waterfall; virtual, so that ten thousand are no more work than thirty. */
export function SpanTree(props: Props) {
  const { tree, closed, onClosedChange, selectedId, onSelect, isRunning } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const now = useNow(isRunning ? 1_000 : 3_600_000);
  const nodes = useMemo(() => visibleNodes(tree, closed), [tree, closed]);
  const whole = useMemo(
    () =>
      timeline(
        tree.order.map((node) => node.span),
        isRunning,
        now,
      ),
    [tree, isRunning, now],
  );
  const marks = useMemo(() => ticks(whole, 4), [whole]);
  const length = whole.end - whole.start;

  const virtual = useVirtualizer({
    count: nodes.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 16,
  });

  const selectedIndex = useMemo(
    () => nodes.findIndex((node) => node.span.span_id === selectedId),
    [nodes, selectedId],
  );
  // Scrolls to the selection when it changes, not when more spans come.
  const shownId = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (selectedIndex < 0 || shownId.current === selectedId) return;
    shownId.current = selectedId;
    const { startIndex, endIndex } = virtual.range ?? { startIndex: 0, endIndex: 0 };
    const isNear = selectedIndex >= startIndex - 1 && selectedIndex <= endIndex + 1;
    virtual.scrollToIndex(selectedIndex, { align: isNear ? "auto" : "center" });
  }, [selectedIndex, selectedId, virtual]);

  // Spans that come later push none of the rows away that are being read.
  const shown = useRef({ tree, nodes });
  useLayoutEffect(() => {
    const before = shown.current;
    shown.current = { tree, nodes };
    const element = scroller.current;
    if (before.tree === tree || !element) return;
    const by = rowsPushed(
      before.nodes,
      nodes,
      selectedId,
      element.scrollTop / ROW,
      element.clientHeight / ROW,
    );
    if (by !== 0) element.scrollTop += by * ROW;
  }, [tree, nodes, selectedId]);

  const hasRows = nodes.length > 0;
  useEffect(() => {
    // Arrow keys work at once, unless the reader is somewhere else already.
    if (hasRows && document.activeElement === document.body) scroller.current?.focus({ preventScroll: true });
  }, [hasRows]);

  const setOpen = (node: Node, open: boolean) => {
    const next = new Set(closed);
    if (open) next.delete(node.span.span_id);
    else next.add(node.span.span_id);
    onClosedChange(next);
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    const node = nodes[selectedIndex];
    const target = keyTarget(event.key, nodes, selectedIndex, closed);
    if (target === undefined || event.metaKey || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    if (target === "open" || target === "close") {
      if (node) setOpen(node, target === "open");
    } else if (target) onSelect(target.span.span_id);
  };

  const isPartial = props.total > props.loaded && !props.isLoading;
  const allClosed = closed.size > 0;
  const toggleAll = () =>
    onClosedChange(
      allClosed
        ? new Set()
        : new Set(
            tree.order
              .filter((node) => node.children.length > 0 && node.depth > 0)
              .map((node) => node.span.span_id),
          ),
    );

  return (
    <div className={classes.root}>
      <div className={classes.bar}>
        <Text size="xs" c="dimmed" role="status" data-testid="span-count">
          {isPartial
            ? `${formatCount(props.loaded)} of ${formatCount(props.total)} spans`
            : `${formatCount(props.loaded)} ${props.loaded === 1 ? "span" : "spans"}`}
        </Text>
        {tree.order.length > 1 && (
          <Button size="compact-xs" variant="subtle" color="gray" onClick={toggleAll}>
            {allClosed ? "Open all" : "Close all"}
          </Button>
        )}
        {props.errorCount > 0 && (
          <Button size="compact-xs" variant="subtle" color="red" onClick={props.onNextError} ml="auto">
            Next error
          </Button>
        )}
      </div>
      {isPartial && (
        <Progress
          value={(props.loaded / Math.max(1, props.total)) * 100}
          size={2}
          radius={0}
          aria-label="Loading spans"
        />
      )}
      {props.error && <ProblemPanel error={props.error} onRetry={props.onRetry} />}
      <div className={classes.axis} aria-hidden="true">
        <span />
        <span className={classes.marks}>
          {marks.map((mark) => (
            <span key={mark} className={classes.mark} style={{ left: `${(mark / length) * 100}%` }}>
              {formatDuration(mark)}
            </span>
          ))}
        </span>
        <span />
      </div>
      <div
        ref={scroller}
        className={classes.scroller}
        role="tree"
        tabIndex={0}
        aria-label="Spans"
        aria-activedescendant={selectedIndex >= 0 ? `span-${selectedId}` : undefined}
        onKeyDown={onKeyDown}
        data-testid="span-tree"
      >
        <div className={classes.rows} style={{ height: virtual.getTotalSize() }} role="presentation">
          {virtual.getVirtualItems().map((item) => {
            const node = nodes[item.index];
            return (
              node && (
                <SpanRow
                  key={node.span.span_id}
                  node={node}
                  top={item.start}
                  height={ROW}
                  whole={whole}
                  isOpen={!closed.has(node.span.span_id)}
                  isSelected={node.span.span_id === selectedId}
                  onSelect={onSelect}
                  onToggle={setOpen}
                />
              )
            );
          })}
        </div>
      </div>
    </div>
  );
}

/** What a key means in the tree: another node, opening or closing this one; undefined for a key of no meaning. */
function keyTarget(
  key: string,
  nodes: Node[],
  at: number,
  closed: ReadonlySet<string>,
): Node | "open" | "close" | null | undefined {
  const node = nodes[at];
  const isOpen = node && node.children.length > 0 && !closed.has(node.span.span_id);
  switch (key) {
    case "ArrowDown":
    case "j":
      return nodes[Math.min(nodes.length - 1, at + 1)] ?? null;
    case "ArrowUp":
    case "k":
      return nodes[Math.max(0, at - 1)] ?? null;
    case "Home":
      return nodes[0] ?? null;
    case "End":
      return nodes.at(-1) ?? null;
    case "ArrowRight":
      if (isOpen) return nodes[at + 1] ?? null;
      return node && node.children.length > 0 ? "open" : null;
    case "ArrowLeft":
      return isOpen ? "close" : (node?.parent ?? null);
    default:
      return undefined;
  }
}
