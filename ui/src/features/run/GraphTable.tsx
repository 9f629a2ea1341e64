import { Text } from "@mantine/core";
import { useMemo } from "react";
import type { Status } from "@/api/types";
import { DataTable } from "@/components/DataTable";
import { formatCount, formatDuration, formatTokens, NONE, UNKNOWN } from "@/components/format";
import { KindIcon } from "@/components/KindIcon";
import { StatusMark } from "@/components/StatusMark";
import classes from "./GraphView.module.css";
import { callsOf, GROUPING_KINDS, type GraphEdge, type GraphNode, type RunGraph } from "./graph";
import { groupAlike, isGroup } from "./graphGroups";
import type { RunTree } from "./outline";

/** Kinds that use tokens. */
const MODELS = new Set(["llm", "embedding", "reranker"]);

/** More calls of a node are not listed. */
const MAX_CALLS = 200;

/** A node, or one of its calls. */
interface Row {
  key: string;
  level: number;
  node: GraphNode;
  /** Who called it; at the last call that is listed, how many are not. */
  callers: string;
  /** The index of the span; undefined for the node itself. */
  call?: number;
  isOpen?: boolean;
}

interface Props {
  tree: RunTree;
  graph: RunGraph;
  /** The ids of the nodes whose members or calls are listed. */
  expanded: ReadonlySet<string>;
  onToggle: (id: string) => void;
  /** Shows a span by its index. */
  onOpen: (index: number) => void;
}

/** What a run used. Nodes that are alike are one row, which lists them; a node with several calls lists those. */
export function GraphTable({ tree, graph, expanded, onToggle, onOpen }: Props) {
  const rows = useMemo(() => rowsOf(tree, graph, expanded), [tree, graph, expanded]);
  const canExpand = rows.some(({ isOpen }) => isOpen !== undefined);
  return (
    <DataTable
      label="What the run used"
      stacks
      columns={[
        {
          header: "Name",
          cell: (row) => (
            <Name row={row} canExpand={canExpand} tree={tree} onToggle={onToggle} onOpen={onOpen} />
          ),
        },
        {
          header: "Called by",
          cell: ({ callers }) => <bdi>{callers}</bdi>,
        },
        {
          header: "Calls",
          number: true,
          cell: ({ node, call }) => call === undefined && formatCount(node.calls),
        },
        {
          header: "Errors",
          number: true,
          cell: ({ node, call }) =>
            call === undefined && (
              <Text span inherit c={node.errors > 0 ? "red" : "dimmed"}>
                {formatCount(node.errors)}
              </Text>
            ),
        },
        {
          header: "Time",
          number: true,
          cell: ({ node, call }) => (call === undefined ? formatDuration(node.ms) : durationOf(tree, call)),
        },
        {
          header: "Tokens",
          number: true,
          cell: ({ node, call }) =>
            tokensOf(node.kind, call === undefined ? node.tokens : (tree.tokens[call] as number)),
        },
      ]}
      rows={rows}
      rowKey={({ key }) => key}
    />
  );
}

interface NameProps {
  row: Row;
  /** Some rows can be expanded: the names of the others are aligned with theirs. */
  canExpand: boolean;
  tree: RunTree;
  onToggle: (id: string) => void;
  onOpen: (index: number) => void;
}

function Name({ row: { node, level, call, isOpen }, canExpand, tree, onToggle, onOpen }: NameProps) {
  const listed = isGroup(node) ? node.members.length : node.calls;
  return (
    <span className={classes.nameCell} style={{ paddingLeft: level * 20 }}>
      {isOpen === undefined ? (
        canExpand && <span className={classes.expand} />
      ) : (
        <button
          type="button"
          className={classes.expand}
          aria-expanded={isOpen}
          aria-label={`${formatCount(listed)} ${isGroup(node) ? "alike" : "calls"}`}
          onClick={() => onToggle(node.id)}
        >
          {isOpen ? "▾" : "▸"}
        </button>
      )}
      <button
        type="button"
        className={classes.name}
        onClick={() => onOpen(call ?? node.first)}
        title={call === undefined ? "Show the first span" : "Show the span"}
      >
        {call === undefined ? (
          <KindIcon kind={node.kind} size={15} />
        ) : (
          <StatusMark status={tree.status[call] as Status} />
        )}
        <bdi>{call === undefined ? node.name : tree.text.name(call) || "unnamed"}</bdi>
      </button>
      {isGroup(node) && <span className={classes.alike}>{formatCount(node.members.length)} alike</span>}
    </span>
  );
}

function rowsOf(tree: RunTree, graph: RunGraph, expanded: ReadonlySet<string>): Row[] {
  const grouped = groupAlike(graph);
  const names = new Map([...graph.nodes, ...grouped.nodes].map(({ id, name }) => [id, name]));
  const rows: Row[] = [];
  const add = (node: GraphNode, level: number, edges: readonly GraphEdge[]) => {
    const isOpen = expanded.has(node.id);
    const row = { key: node.id, level, node, callers: callersOf(node.id, edges, names) };
    rows.push(isGroup(node) || hasCalls(node) ? { ...row, isOpen } : row);
    if (!isOpen) return;
    if (isGroup(node)) {
      for (const member of byTime(node.members)) add(member, level + 1, graph.edges);
      return;
    }
    for (const call of callsOf(tree, node, MAX_CALLS))
      rows.push({ key: `call ${call}`, level: level + 1, node, callers: "", call });
    const last = rows.at(-1);
    if (last?.call !== undefined && node.calls > MAX_CALLS)
      last.callers = `${formatCount(node.calls - MAX_CALLS)} more in the tree`;
  };
  for (const node of byTime(grouped.nodes)) add(node, 0, grouped.edges);
  return rows;
}

function hasCalls({ kind, calls }: GraphNode): boolean {
  return calls > 1 && !GROUPING_KINDS.has(kind);
}

function byTime(nodes: readonly GraphNode[]): GraphNode[] {
  return [...nodes].sort((a, b) => b.ms - a.ms);
}

function durationOf(tree: RunTree, index: number): string {
  const ms = tree.duration[index] as number;
  if (ms >= 0) return formatDuration(ms);
  return tree.status[index] === "running" ? "running" : UNKNOWN;
}

function tokensOf(kind: string, tokens: number): string {
  if (tokens >= 0) return formatTokens(tokens);
  return MODELS.has(kind) ? UNKNOWN : NONE;
}

/** The callers of a node, those with the most calls first. */
function callersOf(id: string, edges: readonly GraphEdge[], names: ReadonlyMap<string, string>): string {
  return edges
    .filter((edge) => edge.to === id)
    .sort((a, b) => b.calls - a.calls)
    .map((edge) => `${names.get(edge.from)} ${formatCount(edge.calls)}×`)
    .join(", ");
}
