import { Text } from "@mantine/core";
import { useMemo, useRef, useState } from "react";
import { formatCount, formatDuration } from "@/components/format";
import { KindIcon } from "@/components/KindIcon";
import { GraphTable } from "./GraphTable";
import classes from "./GraphView.module.css";
import { type GraphEdge, type GraphNode, graphOf, type Layout, type LayoutNode, layOut } from "./graph";
import { groupAlike, isGroup } from "./graphGroups";
import type { RunTree } from "./outline";
import { useInitialFocus } from "./useInitialFocus";

const BOX = { width: 190, height: 54, gapX: 90, gapY: 18, margin: 16 };

interface Props {
  tree: RunTree;
  /** Shows a span in the tree. */
  onOpen: (spanId: string) => void;
}

/** The agents, models and tools of a run and their calls, as a drawing and a table. */
export function GraphView({ tree, onOpen }: Props) {
  const [expanded, setExpanded] = useState<ReadonlySet<string>>(new Set());
  const graph = useMemo(() => graphOf(tree), [tree]);
  const drawn = useMemo(() => groupAlike(graph, expanded), [graph, expanded]);
  const layout = useMemo(() => layOut(drawn), [drawn]);
  const drawing = useRef<HTMLElement>(null);
  useInitialFocus(drawing);
  const open = (index: number) => onOpen(tree.ids[index] as string);
  const toggle = (id: string) => {
    const next = new Set(expanded);
    if (!next.delete(id)) next.add(id);
    setExpanded(next);
  };
  return (
    <section className={classes.root} aria-label="Graph" data-testid="run-graph">
      <section
        ref={drawing}
        className={classes.drawing}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
        tabIndex={0}
        aria-label="Drawing. The table below has the same content."
      >
        <Drawing
          layout={layout}
          edges={drawn.edges}
          onOpen={open}
          onExpand={(id) => {
            // The button goes.
            drawing.current?.focus();
            toggle(id);
          }}
        />
      </section>
      {layout.leftOut > 0 && (
        <Text size="xs" c="dimmed" px="md">
          {formatCount(layout.leftOut)} more in the table below.
        </Text>
      )}
      <div className={classes.table}>
        <GraphTable tree={tree} graph={graph} expanded={expanded} onToggle={toggle} onOpen={open} />
      </div>
    </section>
  );
}

interface DrawingProps {
  layout: Layout;
  edges: readonly GraphEdge[];
  onOpen: (index: number) => void;
  onExpand: (id: string) => void;
}

function Drawing({ layout, edges, onOpen, onExpand }: DrawingProps) {
  const { width, height, gapX, gapY, margin } = BOX;
  const fullWidth = layout.layers * (width + gapX) - gapX + 2 * margin;
  const fullHeight = layout.rows * (height + gapY) - gapY + 2 * margin;
  const inLayer = new Map<number, number>();
  for (const node of layout.nodes) inLayer.set(node.layer, (inLayer.get(node.layer) ?? 0) + 1);
  const at = (node: LayoutNode) => {
    const used = (inLayer.get(node.layer) ?? 1) * (height + gapY) - gapY;
    return {
      x: margin + node.layer * (width + gapX),
      y: (fullHeight - used) / 2 + node.row * (height + gapY),
    };
  };
  const byId = new Map(layout.nodes.map((node) => [node.id, node]));
  const maxCalls = Math.max(1, ...edges.map((edge) => edge.calls));
  return (
    <div className={classes.canvas} style={{ width: fullWidth, height: fullHeight }}>
      <svg width={fullWidth} height={fullHeight} className={classes.edges} aria-hidden="true">
        <defs>
          <marker
            id="arrow"
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="9"
            markerHeight="9"
            markerUnits="userSpaceOnUse"
            orient="auto"
          >
            <path d="M0 0.5 8 4 0 7.5Z" fill="context-stroke" />
          </marker>
        </defs>
        {edges.map((edge) => {
          const [from, to] = [byId.get(edge.from), byId.get(edge.to)];
          if (!from || !to) return null;
          const line = edgeLine(at(from), at(to), from === to);
          return (
            <g key={`${edge.from} → ${edge.to}`} data-failed={edge.errors > 0 || undefined}>
              <path
                d={line.path}
                strokeWidth={1.25 + 2 * Math.sqrt(edge.calls / maxCalls)}
                markerEnd="url(#arrow)"
              />
              <text x={line.labelX} y={line.labelY}>
                {formatCount(edge.calls)}
                {edge.errors > 0 && ` (${formatCount(edge.errors)} failed)`}
              </text>
            </g>
          );
        })}
      </svg>
      {layout.nodes.map((node) => {
        const { x, y } = at(node);
        return (
          <button
            key={node.id}
            type="button"
            className={classes.node}
            data-failed={node.errors > 0 || undefined}
            style={{ left: x, top: y, width, height }}
            data-group={isGroup(node) || undefined}
            onClick={() => (isGroup(node) ? onExpand(node.id) : onOpen(node.first))}
            title={`${node.kind} ${node.name}: show ${isGroup(node) ? `all ${formatCount(node.members.length)}` : "the first span"}`}
          >
            <span className={classes.nodeName}>
              <KindIcon kind={node.kind} size={15} />
              <bdi>{node.name}</bdi>
            </span>
            <span className={classes.nodeFacts}>
              {countsOf(node)} · {formatDuration(node.ms)}
              {node.errors > 0 && <b> · {formatCount(node.errors)} failed</b>}
            </span>
          </button>
        );
      })}
    </div>
  );
}

/** How often a node was called, and by how many nodes that are alike if those differ. */
function countsOf(node: GraphNode): string {
  const calls = `${formatCount(node.calls)}×`;
  if (!isGroup(node)) return calls;
  const alike = `${formatCount(node.members.length)} alike`;
  return node.calls === node.members.length ? alike : `${alike} · ${calls}`;
}

interface Point {
  x: number;
  y: number;
}

function edgeLine(from: Point, to: Point, toItself: boolean) {
  const { width, height, gapX, gapY } = BOX;
  if (toItself) {
    const [x, y] = [from.x + width - 30, from.y];
    return {
      path: `M${x} ${y}C${x} ${y - gapY} ${x + 50} ${y - gapY} ${from.x + width} ${y + height / 2}`,
      labelX: x + 22,
      labelY: y - 5,
    };
  }
  const start = { x: from.x + width, y: from.y + height / 2 };
  const end = { x: to.x, y: to.y + height / 2 };
  if (end.x > start.x) {
    const bend = Math.min(gapX, end.x - start.x) * 0.6;
    return {
      path: `M${start.x} ${start.y}C${start.x + bend} ${start.y} ${end.x - bend} ${end.y} ${end.x} ${end.y}`,
      labelX: (start.x + end.x) / 2,
      labelY: (start.y + end.y) / 2 - 4,
    };
  }
  // Back to an earlier layer: below the boxes.
  const below = Math.max(from.y, to.y) + height + gapY;
  return {
    path: `M${from.x + width / 2} ${from.y + height}C${from.x + width / 2} ${below} ${to.x + width / 2} ${below} ${to.x + width / 2} ${to.y + height}`,
    labelX: (from.x + to.x + width) / 2,
    labelY: below - 8,
  };
}
