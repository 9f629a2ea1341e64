import type { Outline, Status } from "@/api/types";
import { parseTime } from "@/components/format";

/** A time interval, in milliseconds since the run's start. */
export interface Interval {
  from: number;
  to: number;
}

/** A run's spans in columns. A span is identified by its index. Parents come before their children. */
export interface RunTree {
  size: number;
  ids: readonly string[];
  /** When the first span started, in milliseconds since the epoch. */
  startedAt: number;
  /** The parent's index; -1 for none. */
  parent: readonly number[];
  depth: Int32Array;
  /** The index after the last descendant. */
  end: Int32Array;
  /** The number of children. */
  children: Int32Array;
  /** The number of failed descendants. */
  errorsBelow: Int32Array;
  status: readonly Status[];
  /** Milliseconds since the run's start. */
  start: readonly number[];
  /** Milliseconds; -1 if the span hasn't ended. */
  duration: readonly number[];
  /** Input and output tokens; -1 if unknown or counted in another span. */
  tokens: readonly number[];
  text: Record<TextColumn, (index: number) => string>;
  indexById: ReadonlyMap<string, number>;
  /** The first failed span, then its ancestors. */
  errorChain: readonly number[];
  /** When each span itself is on the critical path, in time order. */
  path: ReadonlyMap<number, readonly Interval[]>;
  partial: boolean;
}

const TEXT_COLUMNS = ["name", "kind", "model", "tool", "agent", "error"] as const;
type TextColumn = (typeof TEXT_COLUMNS)[number];

/** What the tree knows about a span. */
export interface SpanHead {
  span_id: string;
  name: string;
  kind: string;
  status: Status;
}

/** Builds the tree of an outline in linear time. */
export function readOutline(outline: Outline): RunTree {
  const { spans, strings } = outline;
  const size = spans.span_id.length;
  const depth = new Int32Array(size);
  const end = new Int32Array(size);
  const children = new Int32Array(size);
  const errorsBelow = new Int32Array(size);
  const indexById = new Map<string, number>();
  for (let i = 0; i < size; i++) {
    const parent = spans.parent[i] as number;
    if (parent >= 0) {
      depth[i] = (depth[parent] as number) + 1;
      children[parent] = (children[parent] as number) + 1;
    }
    end[i] = i + 1;
    indexById.set(spans.span_id[i] as string, i);
  }
  for (let i = size - 1; i > 0; i--) {
    const parent = spans.parent[i] as number;
    if (parent < 0) continue;
    end[parent] = Math.max(end[parent] as number, end[i] as number);
    errorsBelow[parent] =
      (errorsBelow[parent] as number) + (errorsBelow[i] as number) + (spans.status[i] === "error" ? 1 : 0);
  }
  const path = new Map<number, Interval[]>();
  for (let i = outline.critical_path.span.length - 1; i >= 0; i--) {
    const index = outline.critical_path.span[i] as number;
    const from = outline.critical_path.start_ms[i] as number;
    const interval = { from, to: from + (outline.critical_path.duration_ms[i] as number) };
    const known = path.get(index);
    if (known) known.push(interval);
    else path.set(index, [interval]);
  }
  return {
    size,
    ids: spans.span_id,
    startedAt: parseTime(outline.start_time),
    parent: spans.parent,
    depth,
    end,
    children,
    errorsBelow,
    status: spans.status,
    start: spans.start_ms,
    duration: spans.duration_ms,
    tokens: spans.tokens,
    text: Object.fromEntries(
      TEXT_COLUMNS.map((column) => [
        column,
        (index: number) => strings[spans[column][index] as number] ?? "",
      ]),
    ) as RunTree["text"],
    indexById,
    errorChain: outline.error_chain,
    path,
    partial: outline.partial,
  };
}

export function headOf(tree: RunTree, index: number): SpanHead {
  return {
    span_id: tree.ids[index] as string,
    name: tree.text.name(index),
    kind: tree.text.kind(index),
    status: tree.status[index] as Status,
  };
}

/** Which spans to find. */
export interface SpanFilter {
  text: string;
  /** A kind, `errors`, or `path` for the critical path. Empty for all. */
  only: string;
}

export const ERRORS = "errors";
export const PATH = "path";

/** A flag per span: whether the filter matches it. Undefined if the filter is empty. */
export function findSpans(tree: RunTree, filter: SpanFilter): Uint8Array | undefined {
  const text = filter.text.trim().toLowerCase();
  if (text === "" && filter.only === "") return undefined;
  const found = new Uint8Array(tree.size);
  const known = new Map<string, boolean>();
  const contains = (value: string) => {
    let answer = known.get(value);
    if (answer === undefined) {
      answer = value.toLowerCase().includes(text);
      known.set(value, answer);
    }
    return answer;
  };
  const searched = TEXT_COLUMNS.filter((column) => column !== "kind").map((column) => tree.text[column]);
  for (let i = 0; i < tree.size; i++) {
    if (!isAmong(tree, i, filter.only)) continue;
    if (text === "" || searched.some((column) => contains(column(i))) || tree.ids[i] === text) found[i] = 1;
  }
  return found;
}

function isAmong(tree: RunTree, index: number, only: string): boolean {
  switch (only) {
    case "":
      return true;
    case ERRORS:
      return tree.status[index] === "error";
    case PATH:
      return tree.path.has(index);
    default:
      return tree.text.kind(index) === only;
  }
}

/** The indices of the visible spans: without descendants of closed spans, or the matches of a filter and their ancestors. */
export function visibleIndices(
  tree: RunTree,
  closed: ReadonlySet<string>,
  found: Uint8Array | undefined,
): Int32Array {
  const indices = new Int32Array(tree.size);
  let count = 0;
  if (found) {
    const shown = found.slice();
    for (let i = tree.size - 1; i >= 0; i--) {
      const parent = tree.parent[i] as number;
      if (shown[i] && parent >= 0) shown[parent] = 1;
    }
    for (let i = 0; i < tree.size; i++) if (shown[i]) indices[count++] = i;
    return indices.subarray(0, count);
  }
  const isClosed = new Uint8Array(tree.size);
  for (const id of closed) {
    const index = tree.indexById.get(id);
    if (index !== undefined) isClosed[index] = 1;
  }
  for (let i = 0; i < tree.size; i = isClosed[i] ? (tree.end[i] as number) : i + 1) indices[count++] = i;
  return indices.subarray(0, count);
}

/** The position of each visible span among its visible siblings, from 1, and their number. */
export interface Siblings {
  position: (index: number) => number;
  count: (index: number) => number;
}

export function siblingsOf(tree: RunTree, visible: Int32Array): Siblings {
  const positions = new Int32Array(tree.size);
  // By the parent's index plus one: all spans without a parent are siblings.
  const counts = new Int32Array(tree.size + 1);
  const group = (index: number) => (tree.parent[index] as number) + 1;
  for (const index of visible) {
    const position = (counts[group(index)] as number) + 1;
    counts[group(index)] = position;
    positions[index] = position;
  }
  return {
    position: (index) => positions[index] as number,
    count: (index) => counts[group(index)] as number,
  };
}

/** The row of a span, by binary search; -1 if it isn't visible. */
export function rowOf(visible: Int32Array, index: number | undefined): number {
  if (index === undefined) return -1;
  let low = 0;
  let high = visible.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((visible[middle] as number) < index) low = middle + 1;
    else high = middle;
  }
  return visible[low] === index ? low : -1;
}

/** Every span with children, except the roots. */
export function allClosed(tree: RunTree): Set<string> {
  const closed = new Set<string>();
  for (let i = 0; i < tree.size; i++) {
    if ((tree.children[i] as number) > 0 && (tree.depth[i] as number) > 0) closed.add(tree.ids[i] as string);
  }
  return closed;
}

/** The next (step 1) or previous (step -1) failed span, wrapping around. */
export function neighbourError(tree: RunTree, from: number | undefined, step: 1 | -1): number | undefined {
  const at = from ?? (step === 1 ? -1 : tree.size);
  for (let count = 1; count <= tree.size; count++) {
    const index = (((at + step * count) % tree.size) + tree.size) % tree.size;
    if (tree.status[index] === "error") return index;
  }
  return undefined;
}

/** The closed spans without the ancestors of a span. */
export function reveal(tree: RunTree, index: number, closed: ReadonlySet<string>): ReadonlySet<string> {
  const next = new Set(closed);
  for (let above = tree.parent[index] as number; above >= 0; above = tree.parent[above] as number) {
    next.delete(tree.ids[above] as string);
  }
  return next.size === closed.size ? closed : next;
}

/** How many rows a new list moved what is on the screen: the selected row if it is in view, else the first one. */
export function rowsPushed(
  before: { tree: RunTree; visible: Int32Array },
  after: { tree: RunTree; visible: Int32Array },
  selectedId: string | undefined,
  top: number,
  height: number,
): number {
  const first = Math.floor(top);
  const selected = selectedId === undefined ? undefined : before.tree.indexById.get(selectedId);
  const selectedRow = rowOf(before.visible, selected);
  const isInView = selectedRow >= first && selectedRow < Math.ceil(top + height);
  const row = isInView ? selectedRow : first;
  const index = before.visible[row];
  if (index === undefined || (first === 0 && row === 0)) return 0;
  const now = rowOf(after.visible, after.tree.indexById.get(before.tree.ids[index] as string));
  return now < 0 ? 0 : now - row;
}

/** The length of a run: until its last span ended, or until `now` if a span is running. */
export function lengthOf(tree: RunTree, isRunning: boolean, now: number): number {
  let length = 0;
  for (let i = 0; i < tree.size; i++) {
    const start = tree.start[i] as number;
    const duration = tree.duration[i] as number;
    length = Math.max(length, duration >= 0 ? start + duration : isRunning ? now - tree.startedAt : start);
  }
  return Math.max(length, 0.001);
}
